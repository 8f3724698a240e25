r"""Weights that grow without end: the infimum of a loss over flows need not be attained.

Along the gradient flow $\dot\theta=-\nabla F$, by Cauchy–Schwarz,
$\|\theta(t)-\theta(0)\|^2\le t\int_0^t\|\nabla F\|^2=t\,(F(\theta(0))-F(\theta(t)))$: the weights may grow, but no
faster than $\sqrt t$. With a penalty $\gamma\|\theta\|^2$ and $F\ge0$ they stay in the ball of radius
$\sqrt{F_\gamma(\theta(0))/\gamma}$.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any

import jax
import numpy as np
from scipy.integrate import LSODA, RK45

from ftheta.estimates import worst_ratio
from ftheta.graph import GraphError, trace
from ftheta.graph.domains.cost import total_cost
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Identity, Series, Witness

POINTS = 96
SETTLED = 0.01  # relative growth of the norm over the second half of the time, on a logarithmic scale
IMPLICIT = 32  # parameters up to which the solver may switch to a stiff method
EVALUATIONS = 4000  # of the gradient
OF_NETWORKS, FEWEST, WORK = 600, 50, 1e10  # gradients of a network's loss, at most and at least; operations
FURTHER = (0.25, 1.0, 4.0)  # steps beyond the end, along its direction


def affordable_gradients(apply: Callable[[Any, Any], Any], params: Any, shape: tuple[int, ...], rows: int) -> int:
    """How many gradients of a network's loss on this many rows can be taken: by its operations."""
    try:
        flops = total_cost(trace(apply, params, jax.ShapeDtypeStruct(shape, np.float64))).flops
    except GraphError:
        return 0
    return int(min(OF_NETWORKS, WORK / (4 * max(flops, 1) * rows)))


@dataclass(frozen=True, eq=False)
class Flowed:
    """A gradient flow at `times`: `states[k]` and `losses[k]`; `reached` is False where the budget ran out."""

    objective: Callable[[Any], Any]
    times: np.ndarray
    states: np.ndarray
    losses: np.ndarray
    penalty: float
    reached: bool
    shape: tuple[int, ...]

    @property
    def norms(self) -> np.ndarray:
        return np.linalg.norm(self.states, axis=1)

    @property
    def growth(self) -> float:
        """By how much the norm grows while the time grows from its square root to its end, in units of the start."""
        end = float(self.times[-1])
        middle = int(np.searchsorted(self.times, min(sqrt(end), end / 4)))
        return float((self.norms[-1] - self.norms[middle]) / max(1.0, self.norms[0]))

    def claims(self) -> tuple[AtMost, ...]:
        moved = np.sum((self.states - self.states[0]) ** 2, 1)[1:]
        room = self.times[1:] * (self.losses[0] - self.losses[1:])
        quotient = worst_ratio(moved, room)
        what = "‖θ(t) − θ(0)‖² over t (F(θ(0)) − F(θ(t)))"
        return (AtMost(what, Enclosure.measured(quotient, samples=len(moved)), Enclosure.exact(1), rtol=1e-4),)

    @cached_property
    def beyond(self) -> dict[float, float]:
        """The loss at some steps beyond the end, along its direction from 0."""
        end = self.states[-1]
        unit = end / max(float(np.linalg.norm(end)), 1e-300)
        return {s: float(self.objective((end + s * unit).reshape(self.shape))) for s in (0.0, *FURTHER)}

    @property
    def improves(self) -> bool:
        return all(self.beyond[s] < self.beyond[0.0] for s in FURTHER)

    def further(self) -> tuple[AtMost, ...]:
        """Beyond the end, along its direction, the loss is smaller still."""
        here, says = Enclosure.equal(self.beyond[0.0]), "F at {:g} beyond the end, against F at the end"
        claims = []
        for s in FURTHER:
            witness = self._further_again(s) if self.beyond[s] > self.beyond[0.0] else None
            claims.append(AtMost(says.format(s), Enclosure.equal(self.beyond[s]), here, witness=witness))
        return tuple(claims)

    def _further_again(self, s: float) -> Witness:
        """The loss at both points, in intervals."""
        end = self.states[-1]
        unit = end / max(float(np.linalg.norm(end)), 1e-300)
        there, here = (enclose_number(self.objective, (end + t * unit).reshape(self.shape)) for t in (s, 0.0))
        return Witness({"beyond": s}, there, here, "the loss at both points, in intervals rounded outward")

    def stays_in_its_ball(self) -> tuple[AtMost, ...]:
        """Asks for F ≥ 0."""
        if (self.losses < self.penalty * self.norms**2).any():
            return ()
        radius = sqrt(self.losses[0] / self.penalty)
        largest = Enclosure.measured(float(self.norms.max()), samples=len(self.times))
        return (AtMost("‖θ(t)‖ with a penalty γ‖θ‖²", largest, Enclosure.equal(radius), rtol=1e-6),)


def gradient_flow(
    objective: Callable[[Any], Any],
    start: np.ndarray,
    until: float,
    penalty: float = 0.0,
    *,
    rtol: float = 1e-9,
    evaluations: int = EVALUATIONS,
) -> Flowed:
    r"""$\dot\theta=-\nabla(F+\gamma\|\theta\|^2)$ from `start`, at logarithmically spaced times up to `until`."""
    total = lambda theta: objective(theta) + penalty * (theta**2).sum()
    both = jax.jit(jax.value_and_grad(total))
    right = lambda _, theta: -np.asarray(both(theta.reshape(np.shape(start)))[1]).ravel()
    times = np.concatenate([[0.0], np.geomspace(min(1e-3, until / 10), until, POINTS)])
    first = np.ravel(np.asarray(start, float))
    method = LSODA if first.size <= IMPLICIT else RK45
    solver, states = method(right, 0.0, first, until, rtol=rtol, atol=rtol * 1e-3), [first]
    while solver.status == "running" and solver.nfev <= evaluations:
        solver.step()
        between = solver.dense_output() if solver.status != "failed" else None
        while between is not None and len(states) < len(times) and times[len(states)] <= solver.t:
            states.append(between(times[len(states)]))
    reached = solver.status == "finished"
    losses = np.array([float(both(s.reshape(np.shape(start)))[0]) for s in states])
    return Flowed(objective, times[: len(states)], np.array(states), losses, penalty, reached, np.shape(start))


def textbook(until: float = 10.0) -> tuple[tuple[Identity, ...], dict[str, float]]:
    r"""$\dot x=ax$ from 1 with target 0: $F(a)=\frac12e^{2a}$ and $a(t)=-\frac12\ln(1+2t)$, $F=\frac1{2(1+2t)}$."""
    import jax.numpy as jnp

    run = gradient_flow(lambda a: jnp.exp(2 * a).sum() / 2, np.zeros(1), until, rtol=1e-11)
    n, a, loss = len(run.times), float(run.states[-1, 0]), float(run.losses[-1])
    wanted = -log(1 + 2 * until) / 2, 1 / (2 * (1 + 2 * until))
    claims = tuple(
        Identity(what, Enclosure.measured(got, samples=n), Enclosure.equal(value), rtol=1e-7)
        for what, got, value in zip(
            (f"a({until:g}) of ẋ = ax, target 0", f"its loss at t = {until:g}"), (a, loss), wanted
        )
    )
    return claims, {f"a({until:g})": a, f"loss at {until:g}": loss}


def charts(free: Flowed, held: Flowed) -> tuple[Curves, Curves]:
    """Norm and loss against time, without and with the penalty."""
    seen = [(run, run.times > 0, name) for run, name in ((free, "no penalty"), (held, f"γ = {held.penalty:g}"))]
    roles = ("measured", "other")
    bound = free.norms[0] + np.sqrt(free.times * np.maximum(free.losses[0] - free.losses, 0.0))
    kept = (free.times > 0) & (bound <= 3 * free.norms.max() + 1)
    norms = [Series(name, run.times[k], run.norms[k], role) for (run, k, name), role in zip(seen, roles)]
    norms.append(Series("bound √(tΔF)", free.times[kept], bound[kept], "bound"))
    losses = [
        Series(name, run.times[k], np.maximum(run.losses[k], 1e-16), role) for (run, k, name), role in zip(seen, roles)
    ]
    return (
        Curves("weights that grow without end", Axis("time t", "log"), Axis("‖θ(t)‖"), tuple(norms)),
        Curves("the loss that they buy", Axis("time t", "log"), Axis("F(θ(t))", "log"), tuple(losses)),
    )
