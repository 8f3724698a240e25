r"""The error $E(f,\Sigma_n)$ that a budget of $n$ neurons or connections leaves, for two concave or convex functions.

Let $f$ be convex or concave on $[0,1]$. On an interval the best affine function errs by half as much as the chord. If
all chords over $n$ intervals err by the same $\varepsilon$, then the chords moved by $\varepsilon/2$ err by
$\varepsilon/2$; and no function of $n$ affine pieces errs less, for one of its pieces contains one of the intervals.
One hidden layer of $n$ neurons makes $n$ such pieces on $[0,1]$ (one neuron is linear there), $2n$ connections; none
makes more than $n+1$.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from ftheta.relu.elementary import ridges
from ftheta.relu.line.cpa1d import PiecewiseAffine
from ftheta.relu.line.points import through_points
from ftheta.relu.network import ExactNetwork

SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True, eq=False)
class ChordCurve:
    r"""`reach(a, e)` is the end of the interval from $a$ on which the chord errs by $e$; `even(n)` is the largest error
    of the chords over $n$ equal intervals."""

    name: str
    reach: Callable[[float, float], float]
    even: Callable[[int], float]


SQUARED = ChordCurve("x²", lambda a, e: a + 2 * sqrt(e), lambda n: 1 / (4 * n**2))
# with s = √a, t = √b the chord errs by (t − s)² / (4(s + t))
ROOT = ChordCurve(
    "√x",
    lambda a, e: (sqrt(a) + 2 * e + sqrt(4 * e * e + 8 * e * sqrt(a))) ** 2,
    lambda n: sqrt(1 / n) / 4,
)
CURVES = {curve.name: curve for curve in (SQUARED, ROOT)}


def knots(curve: ChordCurve, error: float, n: int) -> list[float]:
    """From 0, the ends of n intervals on which the chord errs by so much."""
    ends = [0.0]
    for _ in range(n):
        ends.append(curve.reach(ends[-1], error))
    return ends


def best_error(curve: ChordCurve, n: int) -> float:
    """The least error of n affine pieces, by bisection on the error of the chords: they end at 1."""
    lo = 0.0
    hi = 1.0
    while True:
        middle = (lo + hi) / 2
        if middle in (lo, hi):
            return hi / 2
        lo, hi = (lo, middle) if knots(curve, middle, n)[-1] >= 1 else (middle, hi)


def best_square(n: int) -> PiecewiseAffine:
    r"""The chords of $x^2$ over $n$ equal intervals, moved down by $\frac1{8n^2}$."""
    nodes = [Fraction(i, n) for i in range(n + 1)]
    return through_points(nodes, [x * x - Fraction(1, 8 * n * n) for x in nodes])


def realise(f: PiecewiseAffine) -> ExactNetwork:
    r"""$f$ on $[0,1]$ by one hidden layer: $f(0)+s_0r(x)+\sum_i(s_i-s_{i-1})r(x-t_i)$."""
    shift = [0, *(-t for t in f.kinks)]
    return ridges([f.slopes[0], *f.jumps.values()], [1] * len(shift), shift, f(0))


def realise_with_skip(f: PiecewiseAffine) -> ExactNetwork:
    r"""The same with a connection from the input to the output, which takes $s_0x$: one neuron less."""
    m = len(f.kinks)
    first = [[1]] * (m + 1), [0, *(-t for t in f.kinks)], np.arange(m + 1) > 0
    return ridges([1], [1], [0]).rebuilt(
        [first, ([[f.slopes[0], *f.jumps.values()]], [f(0)], np.zeros(1, bool))]
    )


@dataclass(frozen=True, eq=False)
class Errors:
    """The error for one curve by one hidden layer of `SIZES` neurons: with the best knots and with equal ones."""

    curve: ChordCurve
    best: tuple[float, ...]
    even: tuple[float, ...]


def measure_errors(name: str) -> Errors:
    """For the curve of that name."""
    curve = CURVES[name]
    return Errors(
        curve, tuple(best_error(curve, n) for n in SIZES), tuple(curve.even(n) for n in SIZES)
    )
