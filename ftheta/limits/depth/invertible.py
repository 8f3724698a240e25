r"""Residual blocks that can be undone, and flows that always can.

If $L_k=\mathrm{Lip}(v_k)<1$, then $x\mapsto x+v_k(x)$ stretches by factors in $[1-L_k,1+L_k]$, $y=x+v_k(x)$ has the one
solution that $x\leftarrow y-v_k(x)$ converges to with the rate $L_k$, and
$|\log\det(I+Dv_k)-\mathrm{tr}\,Dv_k|\le d\,(-\log(1-L_k)-L_k)$. The flow of $\dot x=v_k(x)$ needs no such bound:
it is undone by running it backwards, and $\log\det D\Phi=\int\mathrm{tr}\,Dv_k$ (Liouville).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, log
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, arb_mat

from ftheta.certify.lipschitz import enclosed_slopes
from ftheta.certify.steepness import steepness
from ftheta.estimates import worst_ratio
from ftheta.graph import GraphError
from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose
from ftheta.logic import AtMost, Axis, Chart, Curves, Enclosure, Exists, Identity, Series, Table, Witness

from .chains import Chain, Stage, flowing, one_step
from .films import cells, grid, moving_grid, trajectories

SOLVER_STEPS = 16  # of the Runge-Kutta method, a block
MOST_ITERATIONS = 2000
LARGEST_JACOBIAN = 64  # dimensions up to which determinants are computed
LOOKED_AT = 64  # dimensions up to which the slope of a block without a certificate is met at points
SOLVED = 1e-13


@dataclass(frozen=True)
class Steepest:
    """Of one block: a bound of Lip(v), or the steepest slope met and why there is no bound."""

    number: int
    bound: Enclosure
    why: str = ""


def block_constants(chain: Chain, weights: Sequence[Any], x: np.ndarray) -> list[Steepest]:
    """Of every residual block, certified where each of its nodes has a rule, else met at the rows of `x`."""
    found: list[Steepest] = []
    seen: list[Any] | None = None
    for i in chain.residual_stages:
        stage, theta = chain.stages[i], [np.asarray(w) for w in weights[i]]
        for k, part in enumerate(stage.parts):
            still = {**part.fixed, **{slot.id: w[k] for slot, w in zip(part.weights, theta)}}
            try:
                found.append(Steepest(len(found) + 1, steepness(part.nodes, part.start, part.end, still)))
            except GraphError as error:
                if seen is None and stage.size <= LOOKED_AT:
                    seen = jax.vmap(lambda x: chain.states(weights, x)[1])(x)
                met = inf if seen is None else _met(stage, [w[k] for w in theta], np.asarray(seen[i])[:, k])
                known = Enclosure.at_least(met, samples=len(x)) if met < inf else Enclosure.at_least(0.0)
                found.append(Steepest(len(found) + 1, known, str(error).splitlines()[0]))
    return found


def _met(stage: Stage, theta: list[np.ndarray], states: np.ndarray) -> float:
    flat = lambda z: jnp.ravel(stage.field(theta, z.reshape(stage.shape)))
    slopes = np.asarray(jax.vmap(jax.jacfwd(flat))(states.reshape(len(states), -1)))
    return float(np.linalg.norm(slopes, 2, axis=(1, 2)).max())


@dataclass(frozen=True, eq=False)
class Undone:
    """What was seen of one stage: `x` its inputs, `y` its outputs, `lipschitz` the constants of its blocks."""

    stage: Stage
    theta: tuple[Any, ...]
    x: np.ndarray
    y: np.ndarray
    lipschitz: np.ndarray

    @property
    def bounded(self) -> np.ndarray:
        return np.minimum(self.lipschitz, 1.0)

    # -- the map and its inverse ---------------------------------------------------------------------

    def forward(self, x: Any, step: Any = one_step) -> Any:
        move = lambda z, theta: (step(self.stage.field, theta, z), None)
        return jax.lax.scan(move, x, self.theta, length=len(self.stage))[0]

    def backward(self, y: Any, step: Any) -> Any:
        move = lambda z, theta: (step(self.stage.field, theta, z), None)
        return jax.lax.scan(move, y, self.theta, length=len(self.stage), reverse=True)[0]

    @cached_property
    def iterations(self) -> int:
        """Enough for the fixed point of the steepest block, or as many as are affordable."""
        steepest = min(float(self.lipschitz.max()), 1.0)
        return (
            MOST_ITERATIONS if steepest >= 1 else min(MOST_ITERATIONS, 2 + ceil(log(SOLVED) / log(max(steepest, 1e-8))))
        )

    @cached_property
    def returned(self) -> float:
        r"""The largest $\|\Phi^{-1}(\Phi(x))-x\|$ with every block undone by its fixed point, in units of $1+\|x\|$."""

        def undo(v: Any, theta: Any, y: Any) -> Any:
            return jax.lax.fori_loop(0, self.iterations, lambda _, z: y - v(theta, z), y)

        back = call_compiled(jax.vmap(lambda y: self.backward(y, undo)), self.y)
        return _apart(back, self.x)

    @property
    def contraction(self) -> np.ndarray:
        """`[n]`: the largest distance between iterates n and n + 1 of the last block's fixed point, over the first."""
        first = np.maximum(self.differences[:, :1], 1e-300)
        return (self.differences / first).max(0)

    @cached_property
    def differences(self) -> np.ndarray:
        """`[input, n]`: the distance between iterates n and n + 1 of the last block's fixed point."""
        theta, rounds = [w[-1] for w in self.theta], min(self.iterations, 40)

        def differences(y: Any) -> Any:
            def once(z: Any, _: Any) -> tuple[Any, Any]:
                new = y - self.stage.field(theta, z)
                return new, jnp.linalg.norm(jnp.ravel(new - z))

            return jax.lax.scan(once, y, None, length=rounds)[1]

        return np.asarray(call_compiled(jax.vmap(differences), self.y))

    @cached_property
    def stretch(self) -> tuple[float, int, int]:
        r"""The smallest $\|\Phi(x_i)-\Phi(x_j)\|/\|x_i-x_j\|$ over all pairs, and the pair."""
        x, y = (a.reshape(len(a), -1) for a in (self.x, self.y))
        before, after = (np.linalg.norm(a[:, None] - a[None], axis=2) for a in (x, y))
        ratio = np.where(before > 0, after / np.where(before > 0, before, 1.0), inf)
        i, j = np.unravel_index(int(np.nan_to_num(ratio, nan=inf).argmin()), ratio.shape)
        return float(ratio[i, j]), int(i), int(j)

    # -- the flow of the blocks ------------------------------------------------------------------------

    @cached_property
    def flowed_back(self) -> float:
        """The same round trip for the flow: forwards and backwards in time."""
        there = lambda x: self.backward(self.forward(x, flowing(SOLVER_STEPS)), flowing(SOLVER_STEPS, -1.0))
        return _apart(call_compiled(jax.vmap(there), self.x), self.x)

    @cached_property
    def volumes(self) -> tuple[np.ndarray, ...]:
        r"""At each input: sign and $\log|\det|$ of the blocks' Jacobian, $\sum_k\mathrm{tr}\,Dv_k$, $\log\det$ of the
        flow's Jacobian, $\int\mathrm{tr}\,Dv$."""
        d, shape = self.stage.size, self.stage.shape
        flat = lambda f: lambda z: jnp.ravel(f(z.reshape(shape)))

        def one(x: Any) -> tuple[Any, ...]:
            blocks = jnp.linalg.slogdet(jax.jacfwd(flat(self.forward))(x))
            flow = jnp.linalg.slogdet(jax.jacfwd(flat(lambda z: self.forward(z, flowing(SOLVER_STEPS))))(x))
            divergence = lambda theta, z: jnp.trace(jax.jacfwd(flat(lambda u: self.stage.field(theta, u)))(z[:d]))
            lifted = lambda theta, z: jnp.append(
                jnp.ravel(self.stage.field(theta, z[:d].reshape(shape))), divergence(theta, z)
            )
            both = [self._lifted(lifted, step, jnp.append(x, 0.0))[-1] for step in (one_step, flowing(SOLVER_STEPS))]
            return blocks[0], blocks[1], both[0], flow[1], both[1]

        rows = self.x.reshape(len(self.x), -1)
        return tuple(np.asarray(part) for part in call_compiled(jax.vmap(one), rows))

    def _lifted(self, field: Callable[[Any, Any], Any], step: Any, start: Any) -> Any:
        move = lambda z, theta: (step(field, theta, z), None)
        return jax.lax.scan(move, start, self.theta, length=len(self.stage))[0]

    # -- claims -----------------------------------------------------------------------------------------

    def claims(self) -> tuple[Any, ...]:
        d, n = self.stage.size, len(self.x)
        narrow, factors = float(np.prod(1 - self.bounded)), np.array([1 + 1e-9, 1 - 1e-9])
        ratio, i, j = self.stretch
        least = Enclosure.equal(narrow * factors[1])
        pair = self._pair(i, j) if ratio < narrow else None
        measured = lambda value: Enclosure.measured(value, samples=n)
        steps, rate = self.differences, float(self.bounded[-1])
        rounding = 1e-13 * (1 + np.linalg.norm(self.y.reshape(n, -1), axis=1, keepdims=True))  # granted to float64
        quotient = worst_ratio(steps[:, 1:], steps[:, :-1], rounding)
        found: list[Any] = [
            AtMost("∏(1 − L_k) ≤ ‖Φ(x) − Φ(y)‖/‖x − y‖", least, measured(ratio), witness=pair),
            AtMost("contraction of x ← y − v(x)", measured(quotient), Enclosure.equal(rate * factors[0]), rtol=1e-6),
            AtMost("‖Φ⁻¹(Φ(x)) − x‖ by fixed points", measured(self.returned), Enclosure.exact(1e-9)),
            AtMost("the flow, forwards and backwards", measured(self.flowed_back), Enclosure.exact(1e-6)),
        ]
        if d <= LARGEST_JACOBIAN:
            found += self._volume_claims(narrow**d)
        return tuple(found)

    def _volume_claims(self, least: float) -> list[Any]:
        sign, logs, traces, flow, integral = self.volumes
        n, k = len(self.x), int((sign * np.exp(logs)).argmin())
        smallest = float(sign[k] * np.exp(logs[k]))
        slack = self.stage.size * float((-np.log1p(-np.minimum(self.lipschitz, 1 - 1e-12)) - self.bounded).sum())
        off = int(np.abs(flow - integral).argmax())
        bound = Enclosure.equal(least * (1 - 1e-9))
        how = "the Jacobian in intervals, its determinant in balls"
        at = {"x": tuple(map(float, np.ravel(self.x[k])))}
        size = self.stage.size
        witness = Witness(at, self._narrowest(size), self._determinant(k), how) if smallest < least else None
        return [
            AtMost("∏(1 − L_k)^d ≤ det DΦ", bound, Enclosure.measured(smallest, samples=n), witness=witness),
            AtMost(
                "|log det DΦ − Σ tr Dv_k|",
                Enclosure.measured(float(np.abs(logs - traces).max()), samples=n),
                Enclosure.equal(slack),
                atol=1e-9,
            ),
            Identity(
                "log det of the flow = ∫ tr Dv",
                Enclosure.measured(float(flow[off]), samples=n),
                Enclosure.measured(float(integral[off]), samples=n),
                rtol=1e-6,
                atol=1e-6,
            ),
        ]

    def _narrowest(self, power: int = 1) -> Enclosure:
        r"""$\prod_k(1-L_k)^p$ in balls, for the constants $L_k$ as they are stored."""
        product = arb(1)
        for constant in self.bounded.tolist():
            product *= 1 - arb(constant)
        return Enclosure.ball(product**power)

    def _pair(self, i: int, j: int) -> Witness:
        slope = enclosed_slopes(self.forward, self.x[i][None], self.x[j][None])[0]
        how = "the blocks at the two inputs, in intervals rounded outward"
        return Witness({"i": float(i), "j": float(j)}, self._narrowest(), slope, how)

    def _determinant(self, k: int) -> Enclosure:
        """det DΦ at one input: its entries in intervals, the determinant in balls."""
        flat = lambda z: jnp.ravel(self.forward(z.reshape(self.stage.shape)))
        found = enclose(jax.jacfwd(flat), np.ravel(self.x[k]))
        if found is None or not np.isfinite([found.lo, found.hi]).all():
            return Enclosure.unknown()
        ends = zip(found.lo.tolist(), found.hi.tolist())
        rows = [[arb(a).union(arb(b)) for a, b in zip(low, high)] for low, high in ends]
        determinant = arb_mat(rows).det()
        return Enclosure.ball(determinant) if determinant.is_finite() else Enclosure.unknown()

    # -- pictures -----------------------------------------------------------------------------------------

    def iteration_chart(self) -> Curves:
        n = np.arange(len(self.contraction))
        seen = self.contraction > 1e-17
        bound = np.maximum(float(self.bounded[-1]), 1e-12) ** n
        curves = (
            Series("bound Lⁿ", n[seen], bound[seen], "bound"),
            Series("measured", n[seen], self.contraction[seen], "measured", "points"),
        )
        return Curves(
            "undoing a block: x ← y − v(x)", Axis("iteration n"), Axis("‖xₙ₊₁ − xₙ‖ / ‖x₁ − x₀‖", "log"), curves
        )

    def pictures(self) -> tuple[Chart, ...]:
        """On the line, states that move from block to block. In more dimensions, a grid of the first two coordinates
        that moves, and what becomes of its cells."""
        low, high = (float(f(self.x.reshape(len(self.x), -1)[:, :2])) for f in (np.min, np.max))
        if self.stage.size == 1:
            return (trajectories(self._visited(np.linspace(low, high, 15)[:, None])),)
        visited = self._visited(grid(low, high))
        return moving_grid(visited), cells(visited, low, high)

    def _visited(self, starts: np.ndarray) -> np.ndarray:
        """`[k, point]`: the first two coordinates after k blocks, from these; the others start at their mean."""

        def visited(x: Any) -> Any:
            later = jax.lax.scan(move, x, self.theta, length=len(self.stage))[1]
            return jnp.concatenate([jnp.ravel(x)[None, :2], later])

        def move(z: Any, theta: Any) -> tuple[Any, Any]:
            z = one_step(self.stage.field, theta, z)
            return z, jnp.ravel(z)[:2]

        rest = np.mean(self.x.reshape(len(self.x), -1), 0)[starts.shape[1] :]
        x = np.concatenate([starts, np.tile(rest, (len(starts), 1))], 1).reshape(-1, *self.stage.shape)
        return np.swapaxes(np.asarray(call_compiled(jax.vmap(visited), x)), 0, 1)


def _apart(found: Any, wanted: np.ndarray) -> float:
    off = np.linalg.norm((np.asarray(found) - wanted).reshape(len(wanted), -1), axis=1)
    size = 1 + np.linalg.norm(wanted.reshape(len(wanted), -1), axis=1)
    return float(np.nan_to_num((off / size).max(), nan=inf))


def undone(chain: Chain, weights: Sequence[Any], constants: Sequence[Steepest], x: np.ndarray) -> list[Undone]:
    """Every residual stage, between the states that the inputs `x` pass."""
    end, before = call_compiled(jax.vmap(lambda row: chain.states(weights, row)), x)
    bounds, found = [c.bound for c in constants], []
    for i in chain.residual_stages:
        stage, after = chain.stages[i], before[i + 1][:, 0] if i + 1 < len(chain.stages) else end
        mine, bounds = bounds[: len(stage)], bounds[len(stage) :]
        L = np.array([b.hi if b.hi < inf else b.lo for b in mine])
        found.append(Undone(stage, tuple(weights[i]), np.asarray(before[i])[:, 0], np.asarray(after), L))
    return found


def table(constants: Sequence[Steepest], most: int = 40) -> Table:
    rows = [
        (c.number, c.bound.hi if c.bound.hi < inf else c.bound.lo, "met" if c.why else "certified") for c in constants
    ]
    return Table("Lipschitz constants of the blocks", ("block", "Lip(v)", "how"), tuple(rows[:most]))


# -- the reflection --------------------------------------------------------------------------------------


def lifted_reflection(points: int = 5, steps: int = 48) -> tuple[tuple[Any, ...], Curves]:
    r"""$x\mapsto-x$ is no flow of the line, as those are increasing, but half a turn of the plane.

    An increasing $g$ has $g(1)>g(-1)$, so one of $|g(1)+1|$ and $|g(-1)-1|$ is above 1; $x\mapsto e^ax$ comes near.
    """
    x, t = np.linspace(-1, 1, points), np.linspace(0, 1, steps + 1)
    turn, ends = np.pi / 256 * np.array([[0.0, -1.0], [1.0, 0.0]]), np.stack([x, np.zeros(points)], 1)
    one = np.eye(2) + turn @ (np.eye(2) + turn @ (np.eye(2) + turn @ (np.eye(2) + turn / 4) / 3) / 2)  # Runge-Kutta
    ends = ends @ np.linalg.matrix_power(one, 256).T
    off = float(np.abs(ends - np.stack([-x, np.zeros(points)], 1)).max())
    rates = np.linspace(-40.0, 4.0, 89)
    best = 1 + min(float(np.exp(a)) for a in rates)  # |e^a + 1| at x = 1
    claims = (
        Exists(
            "a flow of the plane with (x, 0) ↦ (−x, 0)",
            {"field": "half a turn"},
            Enclosure.equal(off),
            Enclosure.exact(1e-9),
        ),
        AtMost("1 ≤ error at ±1 of ẋ = ax as −x", Enclosure.exact(1), Enclosure.measured(best, samples=len(rates))),
    )
    paths = [Series(f"from {a:.3g}", a * np.cos(np.pi * t), a * np.sin(np.pi * t)) for a in x if a]
    return claims, Curves("x ↦ −x after one more dimension", Axis("x"), Axis("added coordinate"), tuple(paths))
