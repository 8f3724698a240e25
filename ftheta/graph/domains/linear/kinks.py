r"""Functions with one kink, at the origin: $g(x)=ax$ for $x\le0$ and $bx$ for $x\ge0$.

ReLU, leaky ReLU, $|x|$ and $\min(x,0)$. Where the enclosure of $x$ has 0 inside, one side is the secant and the other
any line through the origin with a slope between $a$ and $b$: of these the default is highest (below $g$) or lowest
(above it) in the middle, which is the one with the smallest area between.
"""

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array, add_above, multiply_above
from ftheta.graph.domains.linear.relaxations import Lines
from ftheta.graph.graph import Slot


@np.errstate(all="ignore")
def bound_kink(operand: Slot, x: Interval, left: float, right: float) -> Lines:
    """Lines around the function with slopes `left` and `right` of the origin, for x in its enclosure (boxes,
    *shape)."""
    crosses = (x.lo < 0) & (x.hi > 0)
    beside = np.where(_is_right_of_middle(x), right, left)
    secant = np.where(crosses, _secant_slope(x, left, right), beside)
    convex = right >= left
    if convex:
        height = np.where(crosses, _height(x, secant, left, right), 0.0)
    else:
        height = np.where(crosses, -_height(x, -secant, -left, -right), 0.0)
    zero = np.zeros_like(height)
    lower, upper = (
        ((beside, zero), (secant, height)) if convex else ((secant, height), (beside, zero))
    )
    return Lines(
        (operand,),
        *lower,
        *upper,
        x.magnitude,
        turns=crosses,
        least=min(left, right),
        most=max(left, right),
        turns_above=not convex,
    )


def _is_right_of_middle(x: Interval) -> Array:
    """Whether the middle is positive; exact where the enclosure does not cross the origin."""
    return np.where(x.lo >= 0, True, np.where(x.hi <= 0, False, x.hi > -x.lo))


def _secant_slope(x: Interval, left: float, right: float) -> Array:
    """Any float will do; with an infinite end the slope of that side, so that the height stays finite."""
    slope = (right * x.hi - left * x.lo) / (x.hi - x.lo)
    slope = np.where(np.isinf(x.lo), left, slope)
    slope = np.where(np.isinf(x.hi), right, slope)
    return np.where(np.isnan(slope), right, slope)


def _height(x: Interval, slope: Array, left: float, right: float) -> Array:
    """The least offset of a line of this slope above a convex g: its excess at the two ends, rounded up."""
    at_lo = add_above(multiply_above(np.asarray(left), x.lo), multiply_above(-slope, x.lo))
    at_hi = add_above(multiply_above(np.asarray(right), x.hi), multiply_above(-slope, x.hi))
    at_lo = np.where((slope == left) & np.isinf(x.lo), 0.0, at_lo)
    at_hi = np.where((slope == right) & np.isinf(x.hi), 0.0, at_hi)
    height = np.maximum(at_lo, at_hi)
    return np.where(np.isnan(height), np.inf, np.maximum(height, 0.0))
