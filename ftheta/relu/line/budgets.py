r"""The error $E(f,\Sigma_n)$ that a budget of $n$ neurons or connections leaves, for two concave or convex functions.

Let $f$ be convex or concave on $[0,1]$. On an interval the best affine function errs by half as much as the chord. If
all chords over $n$ intervals err by the same $\varepsilon$, then the chords moved by $\varepsilon/2$ err by
$\varepsilon/2$; and no function of $n$ affine pieces errs less, for one of its pieces contains one of the intervals.
One hidden layer of $n$ neurons makes $n$ such pieces on $[0,1]$ (one neuron is linear there), $2n$ connections; none
makes more than $n+1$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from ftheta.estimates import fit_rate
from ftheta.logic import Axis, Claim, Curves, Enclosure, Identity, Rate, Series

from ..counts import count
from ..elementary.constructions import ridges
from ..exact import ExactNetwork
from ..shallow.ridges import square_error as error_on_cells
from .cpa1d import PiecewiseAffine, known
from .pieces import along
from .points import on_line, through_points
from .sawtooth import sparse_zigzag, square, square_error
from .separation import distance

SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
LEVELS = range(3, 9)


@dataclass(frozen=True, eq=False)
class Curve:
    r"""`reach(a, e)` is the end of the interval from $a$ on which the chord errs by $e$; `even(n)` is the largest error
    of the chords over $n$ equal intervals."""

    name: str
    reach: Callable[[float, float], float]
    even: Callable[[int], float]


SQUARED = Curve("x²", lambda a, e: a + 2 * sqrt(e), lambda n: 1 / (4 * n**2))
# with s = √a, t = √b the chord errs by (t − s)² / (4(s + t))
ROOT = Curve("√x", lambda a, e: (sqrt(a) + 2 * e + sqrt(4 * e * e + 8 * e * sqrt(a))) ** 2, lambda n: sqrt(1 / n) / 4)
CURVES = {curve.name: curve for curve in (SQUARED, ROOT)}


def knots(curve: Curve, error: float, n: int) -> list[float]:
    """From 0, the ends of n intervals on which the chord errs by so much."""
    ends = [0.0]
    for _ in range(n):
        ends.append(curve.reach(ends[-1], error))
    return ends


def best(curve: Curve, n: int) -> float:
    """The least error of n affine pieces, by bisection on the error of the chords: they end at 1."""
    lo, hi = 0.0, 1.0
    while True:
        middle = (lo + hi) / 2
        if middle in (lo, hi):
            return hi / 2
        lo, hi = (lo, middle) if knots(curve, middle, n)[-1] >= 1 else (middle, hi)


def best_square(n: int) -> PiecewiseAffine:
    r"""The chords of $x^2$ over $n$ equal intervals, moved down by $\frac1{8n^2}$."""
    nodes = [Fraction(i, n) for i in range(n + 1)]
    return through_points(nodes, [x * x - Fraction(1, 8 * n * n) for x in nodes])


def strict(f: PiecewiseAffine) -> ExactNetwork:
    r"""$f$ on $[0,1]$ by one hidden layer: $f(0)+s_0r(x)+\sum_i(s_i-s_{i-1})r(x-t_i)$."""
    shift = [0, *(-t for t in f.kinks)]
    return ridges([f.slopes[0], *f.jumps.values()], [1] * len(shift), shift, f(0))


def with_skip(f: PiecewiseAffine) -> ExactNetwork:
    r"""The same with a connection from the input to the output, which takes $s_0x$: one neuron less."""
    m = len(f.kinks)
    first = [[1]] * (m + 1), [0, *(-t for t in f.kinks)], np.arange(m + 1) > 0
    return ridges([1], [1], [0]).rebuilt([first, ([[f.slopes[0], *f.jumps.values()]], [f(0)], np.zeros(1, bool))])


def about_the_square(n: int) -> tuple[Identity, ...]:
    """Claims on the best n pieces for x², in rationals: the error, the budgets, and what a skip connection changes."""
    f = best_square(n)
    plain, short = strict(f), with_skip(f)
    size, less = count(plain), count(short)
    error = error_on_cells(on_line(plain)[0], n)
    return (
        Identity(f"8n² max |x² − f| for the best f of n = {n} pieces", known(8 * n * n * error), known(1)),
        Identity("its neurons", known(size.neurons), known(n)),
        Identity("its connections", known(size.connections), known(2 * n)),
        Identity("∫₀¹|f − f with a skip connection|", known(distance(f, on_line(short)[0])), known(0)),
        Identity("neurons that the skip connection saves", known(size.neurons - less.neurons), known(1)),
    )


def about_the_zigzag(a: int, k: int) -> tuple[tuple[Identity, ...], dict[str, Enclosure]]:
    """Claims on k sparse zig-zags of a pieces, and the numbers behind them."""
    net = sparse_zigzag(a, k)
    size, pieces = count(net), along(net, [0], [1]).within(0, 1)
    W, L = size.connections, size.affine_layers
    claims = (
        Identity("connections W = 2ak", known(W), known(2 * a * k)),
        Identity("affine maps L = 2k", known(L), known(2 * k)),
        Identity("pieces on [0, 1] = (W/L)^(L/2)", known(pieces), known(Fraction(W, L) ** (L // 2))),
    )
    return claims, {"W": known(W), "L": known(L), "pieces": known(pieces)}


@dataclass(frozen=True, eq=False)
class Study:
    """Errors against budgets: one hidden layer with the best knots and with equal ones."""

    curve: Curve
    errors: tuple[float, ...]
    even: tuple[float, ...]

    def rate(self, budget: str, each: int) -> Rate:
        """Error against a budget of which every neuron takes so much."""
        scales = tuple(float(each * n) for n in SIZES)
        slope = fit_rate(np.array(scales), np.array(self.errors))
        return Rate(f"E({self.curve.name}, Σ) against {budget}", 2.0, slope, scales, self.errors, slack=0.1, sharp=True)

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.rate("neurons N", 1), self.rate("connections W", 2)

    @property
    def numbers(self) -> dict[str, Enclosure]:
        even = fit_rate(np.array(SIZES), np.array(self.even))
        return {
            "α": -self.rate("", 1).slope,
            "α with equal knots": -even,
            "n² E": Enclosure.equal(self.errors[-1] * SIZES[-1] ** 2),
        }

    def chart(self) -> Curves:
        W = [2 * n for n in SIZES]
        series = [
            Series("one hidden layer, N", SIZES, self.errors),
            Series("one hidden layer, W", W, self.errors, "other"),
        ]
        if self.curve is SQUARED:
            sizes, errors = [count(square(m)) for m in LEVELS], [float(square_error(m)) for m in LEVELS]
            series.append(Series("deep, N", [s.neurons for s in sizes], errors, "measured"))
            series.append(Series("deep, W", [s.connections for s in sizes], errors, "other"))
        else:
            series.append(Series("equal knots, N", SIZES, self.even, "reference"))
        title = f"largest error for {self.curve.name} against both budgets"
        return Curves(title, Axis("budget: neurons N or connections W", "log"), Axis("error", "log"), tuple(series))


def study(name: str, sizes: Sequence[int] = SIZES) -> Study:
    curve = CURVES[name]
    return Study(curve, tuple(best(curve, n) for n in sizes), tuple(curve.even(n) for n in sizes))
