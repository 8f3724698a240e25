r"""What can be proved about a scalar activation: its steepest slope, and that it is no polynomial.

**Steepest slope.** On a cell of centre $m$ and radius $\rho$, $|\sigma'|\le|\sigma'(m)|+\rho\sup|\sigma''|$, in Arb
balls; branch and bound splits the cell of largest bound until the bounds meet. Beyond `FAR` every derivative of the
table is monotone, so that its supremum there is its value at `FAR` or its limit.

**Polynomials.** $\sigma$ is a polynomial of degree at most $r$ exactly when every difference
$\Delta_h^{r+1}\sigma(x)=\sum_k(-1)^{r+1-k}\binom{r+1}k\sigma(x+kh)$ vanishes. One that does not excludes all degrees up
to $r$ at once. The points lie off centre: about its centre an even or odd function has vanishing differences.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, inf
from typing import Any

import jax
import numpy as np
from flint import arb, ctx, fmpq  # type: ignore[import-untyped]

from ftheta.graph.domains.interval import Interval
from ftheta.graph.enclosing import enclose
from ftheta.logic.enclosure import Basis, Enclosure

from .activations import LEAK, Activation

BITS = 320  # enough for differences of order 200, whose binomials take 200 bits
FAR = 16
OFFSETS = (Fraction(3, 8), Fraction(1, 16))  # of the grid of differences, in steps
ULPS = 8 * 2.0**-53  # relative error granted to a function evaluated in float64

Arb = Any  # flint.arb, which has no types


def _logistic(x: Arb) -> Arb:
    return 1 / (1 + (-x).exp())


def _gauss(x: Arb) -> tuple[Arb, Arb]:
    """The normal distribution function and density."""
    return (1 + (x / arb(2).sqrt()).erf()) / 2, (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


# at a point: the kinks of the piecewise ones lie at 0
VALUES: dict[str, Callable[[Arb], Arb]] = {
    "identity": lambda x: x,
    "relu": lambda x: x if x > 0 else arb(0),
    "leaky-relu": lambda x: x if x > 0 else x * arb(fmpq(LEAK.numerator, LEAK.denominator)),
    "tanh": lambda x: x.tanh(),
    "sigmoid": _logistic,
    "arctan": lambda x: x.atan(),
    "softplus": lambda x: x.exp().log1p(),
    "gelu": lambda x: x * _gauss(x)[0],
    "silu": lambda x: x * _logistic(x),
    "square": lambda x: x * x,
}

SLOPES: dict[str, Callable[[Arb], Arb]] = {
    "tanh": lambda x: x.sech() ** 2,
    "sigmoid": lambda x: (x / 2).sech() ** 2 / 4,
    "arctan": lambda x: 1 / (1 + x * x),
    "softplus": _logistic,
    "gelu": lambda x: _gauss(x)[0] + x * _gauss(x)[1],
    "silu": lambda x: _logistic(x) * (1 + x * _logistic(-x)),
}
CURVATURES: dict[str, Callable[[Arb], Arb]] = {
    "tanh": lambda x: -2 * x.tanh() * x.sech() ** 2,
    "sigmoid": lambda x: -(x / 2).tanh() * (x / 2).sech() ** 2 / 4,
    "arctan": lambda x: -2 * x / (1 + x * x) ** 2,
    "softplus": lambda x: (x / 2).sech() ** 2 / 4,
    "gelu": lambda x: _gauss(x)[1] * (2 - x * x),
    "silu": lambda x: (x / 2).sech() ** 2 / 4 * (2 - x * (x / 2).tanh()),
}
# the larger of the two ends
LIMIT_SLOPES = {"tanh": 0, "sigmoid": 0, "arctan": 0, "softplus": 1, "gelu": 1, "silu": 1}
PIECES = {"identity": (1, 1), "relu": (0, 1), "leaky-relu": (LEAK, 1)}  # slopes left and right of 0


def slope_at(name: str, x: float) -> Enclosure:
    """The derivative of a named activation at a point; at the kink of a piecewise one, that of the left piece."""
    if name in PIECES:
        return Enclosure.exact(PIECES[name][x > 0])
    if name == "square":
        return Enclosure.exact(2 * Fraction(x))
    with ctx.workprec(BITS):
        return Enclosure.ball(SLOPES[name](arb(x)))


@cache
def steepest_slope(name: str, tolerance: float = 1e-10) -> Enclosure:
    r"""An enclosure of $\sup|\sigma'|$ over the line for a named activation."""
    if name in PIECES:
        return Enclosure.exact(max(abs(Fraction(s)) for s in PIECES[name]))
    if name not in SLOPES:
        return Enclosure.between(inf, inf)
    with ctx.workprec(64):
        slope = SLOPES[name]
        curvature = CURVATURES[name]
        tail = max(float(LIMIT_SLOPES[name]), *(_upper(slope(arb(x))) for x in (-FAR, FAR)))
        best = float(LIMIT_SLOPES[name])
        cells = [(-inf, x + 0.5, 0.5) for x in range(-FAR, FAR)]  # bound (negative), centre, radius
        while -cells[0][0] > best + tolerance:
            _, centre, radius = heapq.heappop(cells)
            for m in (centre - radius / 2, centre + radius / 2):
                here = abs(slope(arb(m)))
                best = max(best, Enclosure.ball(here).lo)
                bound = _upper(here + radius / 2 * abs(curvature(arb(m, radius / 2))))
                heapq.heappush(cells, (-bound, m, radius / 2))
    return Enclosure.between(best, max(-cells[0][0], tail))


def _upper(ball: Arb) -> float:
    return Enclosure.ball(abs(ball)).hi


@dataclass(frozen=True, slots=True)
class Difference:
    r"""$|\Delta_h^m\sigma(x)|$ over $\sum_k\binom mk|\sigma(x+kh)|$: zero for a polynomial of degree below $m$."""

    order: int
    start: Fraction
    step: Fraction
    size: Enclosure


Evaluate = Callable[[list[Fraction]], list[Arb]]


def largest_difference(
    order: int, evaluate: Evaluate, lo: Fraction, hi: Fraction, basis: Basis
) -> Difference:
    """The largest of a few differences of that order with points in [lo, hi]."""
    step = (hi - lo) / (order + 1)
    weights = [(-1) ** (order - k) * comb(order, k) for k in range(order + 1)]
    found = []
    with ctx.workprec(BITS):
        for offset in OFFSETS:
            start = lo + offset * step
            values = evaluate([start + k * step for k in range(order + 1)])
            total = abs(sum((w * v for w, v in zip(weights, values)), arb(0)))
            scale = sum((abs(w) * abs(v) for w, v in zip(weights, values)), arb(0))
            found.append(Difference(order, start, step, _ratio(total, scale, basis)))
    return max(found, key=lambda d: d.size.lo)


def _ratio(total: Arb, scale: Arb, basis: Basis) -> Enclosure:
    """total / scale in [0, 1]; zero for the zero function, unknown where a value overflowed."""
    if not (total.is_finite() and scale.is_finite()):
        return Enclosure.between(0.0, 1.0, basis)
    ball = total if scale.is_zero() else total / scale
    if ball.is_zero() or not ball.is_finite():
        return Enclosure.between(0.0, 0.0 if ball.is_zero() else 1.0, basis)
    size = Enclosure.ball(ball)
    return Enclosure.between(max(size.lo, 0.0), min(size.hi, 1.0), basis)


def rational_difference(name: str, difference: Difference) -> Fraction:
    """The same difference of a polynomial activation, not divided by anything, in rational arithmetic."""
    start = difference.start
    step = difference.step
    m = difference.order
    return sum(
        ((-1) ** (m - k) * comb(m, k) * VALUES[name](start + k * step) for k in range(m + 1)),
        Fraction(0),
    )


def differences_of(
    known: Activation | None, function: Callable[[Any], Any], order: int, lo: float, hi: float
) -> Difference:
    """For a named activation with balls, over as wide a range as the order asks; else in float64 on [lo, hi]."""
    if known is not None:
        reach = Fraction(order + 1, 2)
        return largest_difference(
            order,
            lambda points: [VALUES[known.name](_point(x)) for x in points],
            -reach,
            reach,
            Basis.EXACT,
        )

    def evaluate_rounded(points: list[Fraction]) -> list[Arb]:
        x = np.array([float(t) for t in points])
        values = np.asarray(jax.vmap(function)(x), np.float64).reshape(len(x)).tolist()
        return [arb(v, ULPS * abs(v)) for v in values]

    return largest_difference(order, evaluate_rounded, Fraction(lo), Fraction(hi), Basis.FLOAT)


def _point(x: Fraction) -> Arb:
    return arb(fmpq(x.numerator, x.denominator))


def enclosed_difference(
    function: Callable[[Any], Any], order: int, lo: float, hi: float
) -> Enclosure:
    """The size of the largest of the same differences of any program, in intervals; between 0 and 1 without rules."""

    def evaluate_in_intervals(points: list[Fraction]) -> list[Arb]:
        ends = [Enclosure.exact(t) for t in points]
        box = Interval(np.array([e.lo for e in ends]), np.array([e.hi for e in ends]))
        found = enclose(jax.vmap(function), box)
        if found is None:
            return [arb("nan")] * len(points)
        return [
            arb(a).union(arb(b))
            for a, b in zip(np.ravel(found.lo).tolist(), np.ravel(found.hi).tolist())
        ]

    return largest_difference(
        order, evaluate_in_intervals, Fraction(lo), Fraction(hi), Basis.EXACT
    ).size
