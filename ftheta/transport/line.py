r"""Transport on the line, where the monotone plan is optimal for every convex cost $|x-y|^p$, $p\ge1$:
$W_p^p=\int_0^1|F^{-1}(q)-G^{-1}(q)|^p\,dq$."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Int, Real

from .problems import LOST, Array, U

Number = int | float | Fraction


@np.errstate(over="ignore")
def line_cost(
    x: Real[np.ndarray, "n"],
    y: Real[np.ndarray, "m"],
    a: Real[np.ndarray, "n"] | None = None,
    b: Real[np.ndarray, "m"] | None = None,
    p: float = 1.0,
) -> Enclosure:
    r"""$W_p^p$ of two finite sets of points with weights $a$, $b$ (normalised to sum 1; all alike if not given).

    As fast as sorting both. The enclosure holds the rounding of float64.
    """
    # differences of shorter numbers would round or wrap around
    x, y = (np.asarray(x, float), np.asarray(y, float))
    if a is None and b is None and len(x) == len(y):
        steps = np.sort(x)
        steps -= np.sort(y)
        np.abs(steps, out=steps)
        if not steps.any():
            return Enclosure.between(0.0, 0.0)  # no two numbers differ by less than float64 holds
        if p != 1:
            steps **= p
        value = float(steps.mean())
        return _around(value, len(x), p)
    if a is None and b is None:
        values_x, values_y = np.sort(x), np.sort(y)
        rows, columns, masses = _match_levels(*_whole_levels(len(x), len(y)))
    else:
        rows, columns, masses = monotone_plan(x, y, a, b)
        values_x, values_y = x, y
    steps = np.abs(values_x[rows] - values_y[columns])
    value = float((masses * steps**p).sum())
    if a is None and b is None:
        return _around(value, len(rows), p)
    spread = np.maximum(x.max(), y.max()) - np.minimum(x.min(), y.min())
    misplaced = 8 * p * (len(x) + len(y)) * U  # masses are differences of sums
    return _around(value, len(rows), p, float(misplaced * spread**p))


def _around(value: float, terms: int, p: float, extra: float = 0.0) -> Enclosure:
    """Differences, powers and a pairwise sum of non-negative terms: each rounds by a few units in the last place, or
    underflows. What overflows on the way tells nothing: a mean may be finite whose sum is not."""
    if not np.isfinite(value):
        return Enclosure.between(0.0, np.inf)
    relative = (200 + 4 * p + int(terms).bit_length()) * U
    error = value * relative + extra + LOST
    return Enclosure.between(max(0.0, value - error), value + error)


def monotone_plan(
    x: Real[np.ndarray, "n"],
    y: Real[np.ndarray, "m"],
    a: Real[np.ndarray, "n"] | None = None,
    b: Real[np.ndarray, "m"] | None = None,
) -> tuple[Int[np.ndarray, "k"], Int[np.ndarray, "k"], Real[np.ndarray, "k"]]:
    """Rows, columns and masses of the plan that moves quantiles to quantiles; the masses sum to 1."""
    order_x = np.argsort(x, kind="stable")
    order_y = np.argsort(y, kind="stable")
    if a is None and b is None:
        levels = _whole_levels(len(x), len(y))
    else:
        levels = _cumulate(a, order_x), _cumulate(b, order_y)
    rows, columns, masses = _match_levels(*levels)
    return order_x[rows], order_y[columns], masses


def _whole_levels(n: int, m: int) -> tuple[Array, Array]:
    """The levels $i/n$ and $j/m$ as whole numbers."""
    total = n * m // int(np.gcd(n, m))
    return np.arange(1, n + 1) * (total // n), np.arange(1, m + 1) * (total // m)


def _cumulate(weights: Array | None, order: Array) -> Array:
    count = len(order)
    sums = (
        np.arange(1, count + 1) / count
        if weights is None
        else np.cumsum(np.asarray(weights, float)[order])
    )
    return sums / sums[-1]


def _match_levels(levels_x: Array, levels_y: Array) -> tuple[Array, Array, Array]:
    """Between two neighbouring levels of either kind: the quantile of x, that of y, and the mass."""
    # two sorted runs: merged in linear time
    levels = np.sort(np.concatenate([levels_x, levels_y]), kind="stable")
    masses = np.diff(levels, prepend=0) / levels_x[-1]
    there = masses > 0
    levels = levels[there]
    rows = np.minimum(np.searchsorted(levels_x, levels), len(levels_x) - 1)
    columns = np.minimum(np.searchsorted(levels_y, levels), len(levels_y) - 1)
    return rows, columns, masses[there]


def exact_line_cost(
    x: Sequence[Number],
    y: Sequence[Number],
    a: Sequence[Number] | None = None,
    b: Sequence[Number] | None = None,
    p: int = 1,
) -> Fraction:
    r"""$W_p^p$ in rational arithmetic, $p$ a whole number; floats count at their exact values."""
    left = _sorted_masses(x, a)
    right = _sorted_masses(y, b)
    total = Fraction(0)
    i = j = 0
    here, there = left[0][1], right[0][1]
    while i < len(left) and j < len(right):
        amount = min(here, there)
        total += amount * abs(left[i][0] - right[j][0]) ** p
        here -= amount
        there -= amount
        if here == 0:
            i += 1
            here = left[i][1] if i < len(left) else here
        if there == 0:
            j += 1
            there = right[j][1] if j < len(right) else there
    return total


def _sorted_masses(
    points: Sequence[Number], weights: Sequence[Number] | None
) -> list[tuple[Fraction, Fraction]]:
    exact = [Fraction(w) for w in weights] if weights is not None else [Fraction(1)] * len(points)
    total = sum(exact, Fraction(0))
    pairs = [(Fraction(point), w / total) for point, w in zip(points, exact, strict=True) if w]
    return sorted(pairs)
