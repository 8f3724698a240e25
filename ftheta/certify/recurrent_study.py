"""A recurrent network on a sequence: two ways to differentiate it, how its gradients fade, and what it forgets."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Claim, Curves, Dag, Enclosure, Evidence, Identity, Series, Vertex, Witness

from .recurrent import Cell, lagged_norms

ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)
LAG, DECAY = 50, Fraction(9, 10)
PAIRS = 4  # other starts
UNDERFLOW = 1e-290  # products of derivatives are not followed below


@dataclass(frozen=True, eq=False)
class Run:
    """A cell along a sequence `xs` from h = 0, beside other starts."""

    cell: Cell
    xs: np.ndarray
    states: np.ndarray
    J: np.ndarray
    others: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, cell: Cell, xs: np.ndarray, rng: np.random.Generator) -> "Run":
        start = np.zeros(cell.hidden)
        states = cell.states(start, xs)
        others = tuple(cell.states(0.1 * rng.normal(size=cell.hidden), xs) for _ in range(PAIRS))
        return cls(cell, xs, states, cell.jacobians(states, xs), others)

    @property
    def norms(self) -> np.ndarray:
        return lagged_norms(self.J)

    @property
    def distances(self) -> np.ndarray:
        """Of the other starts, of shape (pairs, T + 1)."""
        return np.array([np.linalg.norm(other - self.states, axis=1) for other in self.others])

    @property
    def rounding(self) -> float:
        """What one step in float64 may add to a distance: granted, 10⁻¹³ of the largest state."""
        return 1e-13 * max(1.0, largest(np.abs(self.states)))

    def derivative_claims(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        aims = rng.normal(size=(len(self.xs), self.cell.hidden))
        product = np.eye(self.cell.hidden)
        for step in self.J:
            product = step @ product
        whole = self.cell.unrolled_jacobian(self.states[0], self.xs)
        grad = self.cell.unrolled_gradient(self.states[0], self.xs, aims)
        steps = self.cell.through_time(self.states, self.xs, aims, self.J)
        scale = max(float(np.prod([max(1.0, float(np.linalg.norm(j, 2))) for j in self.J])), 1.0)
        gap, off = float(np.abs(product - whole).max()), float(np.abs(grad - steps).max())
        size = max(float(np.abs(grad).max()), 1e-300)
        return (
            Identity("J_(T−1)⋯J_0 − ∂h_T/∂h_0 of the unrolled network", Enclosure.equal(gap), ZERO, atol=1e-10 * scale),
            Identity(
                "back-propagation through time − gradient of the unrolled network, relative",
                Enclosure.equal(off / size),
                ZERO,
                atol=1e-9,
            ),
        )

    def fading_claims(self) -> tuple[Claim, ...]:
        """No step brings two states further apart, and both gradients and distances are below the powers of c."""
        ratios = np.vectorize(worst_ratio)(self.distances[:, 1:], self.distances[:, :-1], self.rounding)
        pair, t = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
        worst, count = float(ratios[pair, t]), ratios.size
        witness = None
        if worst > 1:
            a, b = self.states[t], self.others[pair][t]
            again = enclose_number(self._growth, self.cell.params, a, b, self.xs[t])
            place = {"h": tuple(a.tolist()), "h′": tuple(b.tolist())}
            witness = Witness(place, again, ONE, "the two steps taken again, in intervals rounded outward")
        seen = Enclosure.measured(worst, samples=count)
        claims: tuple[Claim, ...] = (AtMost("largest growth of a distance in one step", seen, ONE, witness=witness),)
        c = self.cell.contraction
        if c is None:
            return claims
        k = np.arange(len(self.xs) + 1)
        powers = c.hi**k
        carried = self.rounding * np.cumsum(np.append(0.0, powers[:-1]))
        faded = worst_ratio(self.norms, powers, UNDERFLOW)
        closer = worst_ratio(self.distances, powers * self.distances[:, :1], carried)
        granted = f"{carried[-1]:.1e} granted to rounding"
        return (
            *claims,
            AtMost("largest ‖∂h_T/∂h_(T−k)‖/c^k", Enclosure.equal(faded), ONE),
            AtMost(f"largest ‖h_t − h′_t‖/(c^t‖h_0 − h′_0‖), {granted}", Enclosure.equal(closer), ONE, atol=1e-9),
        )

    def _growth(self, params: Any, a: Any, b: Any, x: Any) -> Any:
        one, two = (self.cell.apply(params, jnp.concatenate([h, x])) for h in (a, b))
        return jnp.sqrt(jnp.sum((one - two) ** 2) / jnp.sum((a - b) ** 2))

    # -- figures ------------------------------------------------------------------------------------

    def gradient_chart(self) -> Curves:
        k = np.arange(len(self.norms))
        shown = self.norms > 1e-18
        series = [Series("measured", k[shown], self.norms[shown])]
        c = self.cell.contraction
        if c is not None:
            bound = c.hi ** k.astype(float)
            series.append(Series("cᵏ, c = ‖W‖ Lip σ", k[bound > 1e-18], bound[bound > 1e-18], "bound"))
        return Curves("gradient against lag", Axis("lag k"), Axis("‖∂h(T)/∂h(T − k)‖", "log"), tuple(series))

    def distance_chart(self) -> Curves:
        t, d = np.arange(self.distances.shape[1]), self.distances
        series = [Series(f"start {i + 1}", t[row > 1e-17], row[row > 1e-17]) for i, row in enumerate(d)]
        c = self.cell.contraction
        if c is not None:
            bound = c.hi ** t.astype(float) * d[:, 0].max()
            series.append(Series("cᵗ times the distance at the start", t[bound > 1e-17], bound[bound > 1e-17], "bound"))
        title = "memory of the start: the same inputs, other starts"
        return Curves(title, Axis("step t"), Axis("distance of the states", "log"), tuple(series))


def unrolled_chart(steps: int = 4) -> Dag:
    """The same cell at every time: one weight matrix, many copies."""
    states = [Vertex(f"h{t}", f"h_{t}", "σ(Wh + Ux + b)" if t else "start") for t in range(steps + 1)]
    inputs = [Vertex(f"x{t}", f"x_{t}") for t in range(steps)]
    edges = [(f"h{t}", f"h{t + 1}") for t in range(steps)] + [(f"x{t}", f"h{t + 1}") for t in range(steps)]
    return Dag("unrolled in time, with shared weights", (*states, *inputs), tuple(edges))


def linear_claims(lag: int = LAG) -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
    r"""Linear networks in rationals: $.9^{50}$, $h_T=W^Th_0+\sum_tW^{T-1-t}Ux_t$, and growth where $\rho(W)>1$."""
    scalar = Cell(lambda p, z: p * z[:1] + z[1:], np.array(float(DECAY)), 1, 1)
    slope = float(np.prod(scalar.jacobians(np.zeros((lag + 1, 1)), np.zeros((lag, 1)))))
    W = [[Fraction(11, 10), Fraction(1)], [Fraction(0), Fraction(1, 2)]]
    h, power = [Fraction(1), Fraction(-2)], [[Fraction(i == j) for j in range(2)] for i in range(2)]
    total = [Fraction(0)] * 2
    xs, U = [Fraction(t % 3 - 1) for t in range(lag)], [Fraction(1, 3), Fraction(1)]
    start = list(h)
    for x in xs:
        h = [a + u * x for a, u in zip(_times(W, h), U)]
    for x in reversed(xs):
        total = [a + b * x for a, b in zip(total, _times(power, U))]
        power = [[sum((row[k] * W[k][j] for k in range(2)), Fraction(0)) for j in range(2)] for row in power]
    total = [a + b for a, b in zip(total, _times(power, start))]
    off = max(abs(a - b) for a, b in zip(h, total))
    exact = Enclosure.exact(DECAY**lag)
    claims = (
        Identity(f"∂h_{lag}/∂h_0 of h′ = 0.9h + x, and 0.9^{lag}", Enclosure.equal(slope), exact),
        Identity("linear network − (W^T h_0 + Σ W^(T−1−t) U x_t)", Enclosure.exact(off), ZERO),
        AtMost(
            f"ρ(W)^{lag} ≤ largest entry of W^{lag}, ρ = 1.1",
            Enclosure.exact(Fraction(11, 10) ** lag),
            Enclosure.exact(max(max(r) for r in power)),
        ),
    )
    return claims, {f"0.9^{lag}": exact, f"1.1^{lag}": Enclosure.exact(Fraction(11, 10) ** lag)}


def _times(W: list[list[Fraction]], v: list[Fraction]) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, v)), Fraction(0)) for row in W]


def recurrent_evidence(cell: Cell, xs: np.ndarray, rng: np.random.Generator) -> Evidence:
    run, (linear, numbers) = Run.of(cell, xs, rng), linear_claims()
    c = cell.contraction
    numbers |= {"‖∂h_T/∂h_0‖": float(run.norms[-1]), "largest ‖J_t‖": max(float(np.linalg.norm(j, 2)) for j in run.J)}
    numbers |= {} if c is None else {"c": c}
    gap = float(run.distances[:, -1].max() / run.distances[:, 0].max())
    told = f"after {len(xs)} steps the gradient has norm {run.norms[-1]:.3g}"
    return Evidence(
        (*run.derivative_claims(rng), *run.fading_claims(), *linear),
        (run.gradient_chart(), run.distance_chart(), unrolled_chart()),
        numbers,
        summary=f"{told}, and two starts are {gap:.3g} times as far apart as at first",
    )
