r"""Lines below and above any function of one variable, whatever its curvature: GELU, SiLU, Mish, sine, ELU, …

The range $[l,u]$ of the variable is cut into pieces. Slopes are chosen by the values at the cuts: of all lines above
them the one that is lowest in the middle of the range, which is a chord of their upper hull. The offset then has to be
at least $\sup(g(x)-\lambda x)$, which on a piece around $c$ of half length $r$ is at most
$$g(c)-\lambda c+r\,\sup|g'-\lambda|,$$
and at most the difference of the two intervals; the worst pieces are halved a few times. Knots of the function (numbers
that the variable is compared with) are cuts, and pieces of one point each.
"""

from itertools import pairwise

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array, add_above, multiply_above
from ftheta.graph.domains.interval.univariate import asinh_cuts
from ftheta.graph.domains.linear.derivatives import Dual, Evaluate

EVEN_PIECES = 17
SPREAD_PIECES = 8
"""Pieces of equal length, and of equal length in asinh: wide ranges are cut finely near 0 as well. An odd number of
equal ones has the middle inside a piece."""

SHORTEST_CHORD = 2.0**-10
"""Of the range; the slopes of shorter ones are rounding."""

ROUNDS = 3
HALVED = 2
"""Pieces halved in each round, for either line."""


@np.errstate(all="ignore")
def lines_around(
    evaluate: Evaluate, x: Interval, knots: tuple[float, ...], kinks: tuple[float, ...] = ()
) -> tuple[Array, Array, Array, Array]:
    """Slopes and offsets of a line below and of a line above, for each entry of x (entries,). The range is cut at the
    `kinks` too, which need not be exact."""
    left, right, cuts = _pieces(x, knots, kinks)
    heights = evaluate(Interval(cuts, cuts)).value
    at_cuts = heights.middle
    pieces = _Pieces.of(evaluate, left, right)
    middle = x.middle
    upper = _line_above(evaluate, pieces, cuts, at_cuts, middle)
    lower = _line_above(_negate(evaluate), pieces.negate(), cuts, -at_cuts, middle)
    return -lower[0], -lower[1], *upper


def _negate(evaluate: Evaluate) -> Evaluate:
    def negative(x: Interval) -> Dual:
        found = evaluate(x)
        return Dual(_minus(found.value), None if found.slope is None else _minus(found.slope))

    return negative


def _minus(x: Interval) -> Interval:
    return Interval(-x.hi, -x.lo)


def _pieces(
    x: Interval, knots: tuple[float, ...], kinks: tuple[float, ...]
) -> tuple[Array, Array, Array]:
    """The pieces (left and right ends), and all cuts in order: arrays (pieces or cuts, entries)."""
    inner = [np.clip(k, x.lo, x.hi) for k in knots]
    shares = [k / EVEN_PIECES for k in range(1, EVEN_PIECES)]
    even = [np.nan_to_num((1 - t) * x.lo + t * x.hi) for t in shares]  # ∞ − ∞: any place will do
    spread = asinh_cuts(x.lo, x.hi, SPREAD_PIECES)[1:]
    turns = [np.full(x.shape, k) for k in kinks]
    cuts = np.sort(
        np.clip(np.stack([x.lo, *inner, *turns, *even, *spread, x.hi]), x.lo, x.hi), axis=0
    )
    left = np.concatenate([cuts[:-1], np.stack(inner)]) if inner else cuts[:-1]
    right = np.concatenate([cuts[1:], np.stack(inner)]) if inner else cuts[1:]
    return left, right, cuts


class _Pieces:
    """Pieces with the function over each of them and at its middle."""

    def __init__(self, left: Array, right: Array, whole: Dual, centre: Array, at_centre: Interval):
        self.left = left
        self.right = right
        self.whole = whole
        self.centre = centre
        self.at_centre = at_centre

    @classmethod
    def of(cls, evaluate: Evaluate, left: Array, right: Array) -> "_Pieces":
        piece = Interval(left, right)
        centre = piece.middle
        return cls(left, right, evaluate(piece), centre, evaluate(Interval(centre, centre)).value)

    def negate(self) -> "_Pieces":
        slope = None if self.whole.slope is None else _minus(self.whole.slope)
        return _Pieces(
            self.left,
            self.right,
            Dual(_minus(self.whole.value), slope),
            self.centre,
            _minus(self.at_centre),
        )

    def excess(self, slope: Array) -> Array:
        """At least g(x) − slope·x on every piece."""
        rise = np.maximum(multiply_above(-slope, self.left), multiply_above(-slope, self.right))
        plain = add_above(self.whole.value.hi, rise)
        reach = np.maximum(add_above(self.right, -self.centre), add_above(self.centre, -self.left))
        steepness = self.whole.slope
        if steepness is None:
            steepness = Interval(np.zeros_like(reach), np.zeros_like(reach))
        turn = np.maximum(
            np.maximum(add_above(steepness.hi, -slope), add_above(slope, -steepness.lo)), 0.0
        )
        centred = add_above(
            add_above(self.at_centre.hi, multiply_above(-slope, self.centre)),
            multiply_above(turn, reach),
        )
        return np.fmin(
            np.where(np.isnan(plain), np.inf, plain), np.where(np.isnan(centred), np.inf, centred)
        )


def _line_above(
    evaluate: Evaluate, pieces: _Pieces, cuts: Array, at_cuts: Array, middle: Array
) -> tuple[Array, Array]:
    slope = _hull_slope(cuts, at_cuts, middle)
    slope = np.where(np.isfinite(slope), slope, 0.0)
    offset = _height(evaluate, pieces, slope)
    most = pieces.whole.value.hi.max(axis=0)
    good = np.isfinite(offset) & (slope * middle + offset < most)
    return np.where(good, slope, 0.0), np.where(good, offset, most)


def _hull_slope(cuts: Array, heights: Array, middle: Array) -> Array:
    """The slope of the chord, from a cut at most the middle to one beyond, that is highest in the middle; the shortest
    of them, which touches the hull where the middle is a cut itself."""
    best = np.full(middle.shape, -np.inf)
    slope = np.zeros(middle.shape)
    starts = [i for i in range(len(cuts)) if bool(np.any(cuts[i] <= middle))]
    ends = [j for j in range(len(cuts)) if bool(np.any(cuts[j] >= middle))]
    shortest = SHORTEST_CHORD * (cuts[-1] - cuts[0])
    margin = 2.0**-40 * np.abs(heights).max(axis=0)  # a longer chord is not taken for its rounding
    for i in reversed(starts):
        for j in ends:
            rise = (heights[j] - heights[i]) / (cuts[j] - cuts[i])
            at_middle = heights[i] + rise * (middle - cuts[i])
            better = (
                (cuts[i] <= middle)
                & (cuts[j] >= middle)
                & (cuts[j] - cuts[i] > shortest)
                & (at_middle > best + margin)
            )
            best = np.where(better, at_middle, best)
            slope = np.where(better, rise, slope)
    return slope


def _height(evaluate: Evaluate, pieces: _Pieces, slope: Array) -> Array:
    """At least sup g(x) − slope·x, the worst pieces halved."""
    excess = pieces.excess(slope)
    left = pieces.left
    right = pieces.right
    for _ in range(ROUNDS):
        worst = np.argpartition(-excess, min(HALVED, len(excess) - 1), axis=0)[:HALVED]
        a = np.take_along_axis(left, worst, 0)
        b = np.take_along_axis(right, worst, 0)
        c = Interval(a, b).middle
        first, second = (_Pieces.of(evaluate, *ends).excess(slope) for ends in pairwise((a, c, b)))
        # a half is inside of the piece, whose bound holds for it too
        old = np.take_along_axis(excess, worst, 0)
        new = excess.copy()
        np.put_along_axis(new, worst, np.fmin(first, old), 0)
        left = np.concatenate([left, c])
        moved = right.copy()
        np.put_along_axis(moved, worst, c, 0)
        right = np.concatenate([moved, b])
        excess = np.concatenate([new, np.fmin(second, old)])
    return excess.max(axis=0)
