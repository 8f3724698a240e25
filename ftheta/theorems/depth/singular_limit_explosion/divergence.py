r"""Weights that grow without end: the infimum of a loss over flows need not be attained.

Along the gradient flow $\dot\theta=-\nabla F$, by Cauchy–Schwarz,
$\|\theta(t)-\theta(0)\|^2\le t\int_0^t\|\nabla F\|^2=t\,(F(\theta(0))-F(\theta(t)))$: the weights may grow, but no
faster than $\sqrt t$. With a penalty $\gamma\|\theta\|^2$ and $F\ge0$ they stay in the ball of radius
$\sqrt{F_\gamma(\theta(0))/\gamma}$.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import jax
import numpy as np
from scipy.integrate import LSODA, RK45

from ftheta.graph import GraphError, trace
from ftheta.graph.domains.cost import cost
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure

POINTS = 96
# relative growth of the norm over the second half of the time, on a logarithmic scale
SETTLED = 0.01
IMPLICIT = 32  # parameters up to which the solver may switch to a stiff method
EVALUATIONS = 4000  # of the gradient
# gradients of a network's loss, at most and at least; operations
OF_NETWORKS = 600
FEWEST = 50
WORK = 1e10
FURTHER = (0.25, 1.0, 4.0)  # steps beyond the end, along its direction


def affordable_gradients(objective: Callable[[Any], Any], start: np.ndarray) -> int:
    """How many gradients of an objective can be taken: by its operations."""
    try:
        spent = cost(trace(objective, start))
    except GraphError:
        return 0
    of_a_gradient = spent.forward_total + spent.reverse_total
    return int(min(OF_NETWORKS, WORK / max(of_a_gradient.flops, 1)))


@dataclass(frozen=True, eq=False)
class GradientFlow:
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

    @property
    def squared_distances(self) -> np.ndarray:
        r"""$\|\theta(t)-\theta(0)\|^2$ at every time but the first."""
        return np.sum((self.states - self.states[0]) ** 2, 1)[1:]

    @property
    def travel_bounds(self) -> np.ndarray:
        r"""$t\,(F(\theta(0))-F(\theta(t)))$ at every time but the first."""
        return self.times[1:] * (self.losses[0] - self.losses[1:])

    @cached_property
    def beyond(self) -> dict[float, float]:
        """The loss at some steps beyond the end, along its direction from 0."""
        end = self.states[-1]
        unit = end / max(float(np.linalg.norm(end)), 1e-300)
        return {
            s: float(self.objective((end + s * unit).reshape(self.shape))) for s in (0.0, *FURTHER)
        }

    @property
    def improves(self) -> bool:
        return all(self.beyond[s] < self.beyond[0.0] for s in FURTHER)

    def loss_beyond(self, s: float) -> Enclosure:
        """The loss at `s` beyond the end, along its direction, in intervals."""
        end = self.states[-1]
        unit = end / max(float(np.linalg.norm(end)), 1e-300)
        return enclose_number(self.objective, (end + s * unit).reshape(self.shape))


def gradient_flow(
    objective: Callable[[Any], Any],
    start: np.ndarray,
    until: float,
    penalty: float = 0.0,
    *,
    rtol: float = 1e-9,
    evaluations: int = EVALUATIONS,
) -> GradientFlow:
    r"""$\dot\theta=-\nabla(F+\gamma\|\theta\|^2)$ from `start`, at logarithmically spaced times up to `until`."""

    def total(theta: Any) -> Any:
        return objective(theta) + penalty * (theta**2).sum()

    def right(_: float, theta: np.ndarray) -> np.ndarray:
        return -np.asarray(both(theta.reshape(np.shape(start)))[1]).ravel()

    both = jax.jit(jax.value_and_grad(total))
    times = np.concatenate([[0.0], np.geomspace(min(1e-3, until / 10), until, POINTS)])
    first = np.ravel(np.asarray(start, float))
    method = LSODA if first.size <= IMPLICIT else RK45
    solver = method(right, 0.0, first, until, rtol=rtol, atol=rtol * 1e-3)
    states = [first]
    while solver.status == "running" and solver.nfev <= evaluations:
        solver.step()
        between = solver.dense_output() if solver.status != "failed" else None
        while between is not None and len(states) < len(times) and times[len(states)] <= solver.t:
            states.append(between(times[len(states)]))
    reached = solver.status == "finished"
    losses = np.array([float(both(s.reshape(np.shape(start)))[0]) for s in states])
    return GradientFlow(
        objective, times[: len(states)], np.array(states), losses, penalty, reached, np.shape(start)
    )
