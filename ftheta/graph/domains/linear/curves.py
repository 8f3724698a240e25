r"""Lines below and above functions whose curvature is known: convex or concave, on all of their domain or either side
of 0.

Of all lines above $g$ on $[l,u]$ the one that is lowest in the middle $m$ has the least area between. Above a convex
part it is the secant, above a concave part the tangent at $m$; where both parts meet at 0, the tangent of the concave
part through the far end of the convex one, or the tangent at $m$ if that is beyond.

A slope $\lambda$ is any float. The offset is what makes the line a bound: at least $\sup(g(x)-\lambda x)$, which on a
convex part is attained at its ends, and on a concave part is at most $g(t)-\lambda t+\sup_x(g'(t)-\lambda)(x-t)$ for
any point $t$ of it; computed with outward rounding. Lines below $g$ are lines above $-g$.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ftheta.graph.domains.interval.arithmetic import div, integer_power, neg, positive_power
from ftheta.graph.domains.interval.arithmetic import sqrt as interval_sqrt
from ftheta.graph.domains.interval.arithmetic import square as interval_square
from ftheta.graph.domains.interval.functions import MONOTONE, cos, cosh, sin
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import LARGEST, Array, add_above, multiply_above
from ftheta.graph.domains.linear.derivatives import SLOPES, number, power_slope

BISECTIONS = 40

Function = Callable[[Interval], Interval]


@dataclass(frozen=True)
class Curve:
    """A function with its derivative, in intervals; `left` and `right` tell whether it is convex (+1) or concave (−1)
    for x ≤ 0 and for x ≥ 0."""

    value: Function
    slope: Function
    left: int
    right: int

    def negate(self) -> "Curve":
        return Curve(
            lambda x: neg(self.value(x)), lambda x: neg(self.slope(x)), -self.left, -self.right
        )


def _plain(f: Function) -> Callable[[Array], Array]:
    """In floats, for choosing slopes."""

    def middle(x: Array) -> Array:
        return f(Interval(x, x)).middle

    return middle


@np.errstate(all="ignore")
def lines_around(curve: Curve, x: Interval) -> tuple[Array, Array, Array, Array]:
    """Slopes and offsets of a line below and of a line above, entry by entry."""
    value = curve.value(x)
    upper = _line_above(curve, x, value.hi)
    lower = _line_above(curve.negate(), x, -value.lo)
    return -lower[0], -lower[1], *upper


def _line_above(curve: Curve, x: Interval, most: Array) -> tuple[Array, Array]:
    """A line above; the constant `most` where that is lower in the middle or nothing else is known."""
    slope, touch = _choose_slope(curve, x)
    slope = np.where(np.isfinite(slope), slope, 0.0)
    offset = np.maximum(
        _height(curve, x.lo, np.minimum(x.hi, 0.0), slope, touch, curve.left, x.lo <= 0),
        _height(curve, np.maximum(x.lo, 0.0), x.hi, slope, touch, curve.right, x.hi >= 0),
    )
    middle = x.middle
    good = np.isfinite(offset) & (slope * middle + offset < most)
    return np.where(good, slope, 0.0), np.where(good, offset, most)


def _choose_slope(curve: Curve, x: Interval) -> tuple[Array, Array]:
    """The slope of the line above that is lowest in the middle, and the point of the concave part where it touches."""
    g, slope = _plain(curve.value), _plain(curve.slope)
    middle = x.middle
    secant = (g(x.hi) - g(x.lo)) / (x.hi - x.lo)
    in_left = x.hi <= 0
    in_right = x.lo >= 0
    concave = (in_left & (curve.left < 0)) | (in_right & (curve.right < 0))
    touch = middle
    mixed = ~in_left & ~in_right
    if curve.left != curve.right and mixed.any():
        touch = touch.copy()
        anchor, far = (x.lo, x.hi) if curve.right < 0 else (x.hi, x.lo)
        found = _tangent_through(g, slope, anchor[mixed], far[mixed])
        beyond = np.maximum if curve.right < 0 else np.minimum
        touch[mixed] = beyond(found, middle[mixed])
        reaches = np.zeros_like(mixed)
        reaches[mixed] = found == far[mixed]  # no tangent touches before the end: the secant
        return np.where(concave | (mixed & ~reaches), slope(touch), secant), touch
    if curve.left == curve.right < 0:
        concave = concave | mixed
    return np.where(concave, slope(touch), secant), touch


def _tangent_through(g: Callable, slope: Callable, anchor: Array, far: Array) -> Array:
    """The point t between 0 and `far` whose tangent passes through the function at the anchor; `far` if there is none.

    g(t) − g′(t)(t − anchor) − g(anchor) grows with |t| on the concave part, and is at most 0 at 0.
    """
    at_anchor = g(anchor)
    excess = lambda t: g(t) - slope(t) * (t - anchor) - at_anchor
    near = np.zeros_like(far)
    end = np.clip(far, -LARGEST, LARGEST)  # from ∞ no bisection comes back
    none = ~(excess(far) > 0)
    for _ in range(BISECTIONS):
        middle = near + (end - near) / 2
        past = excess(middle) > 0
        end = np.where(past, middle, end)
        near = np.where(past, near, middle)
    return np.where(none, far, end)


def _height(
    curve: Curve, a: Array, b: Array, slope: Array, touch: Array, bend: int, exists: Array
) -> Array:
    """At least sup g(x) − slope·x over [a, b], where the function is convex (`bend` > 0) or concave; −∞ where the part
    does not exist."""
    a = np.where(exists, a, b)
    b = np.where(exists, b, a)
    if bend > 0:
        height = np.maximum(_excess(curve, a, slope), _excess(curve, b, slope))
    else:
        t = np.clip(touch, a, b)
        s = curve.slope(Interval(t, t))
        right = multiply_above(np.maximum(add_above(s.hi, -slope), 0.0), add_above(b, -t))
        left = multiply_above(np.maximum(add_above(slope, -s.lo), 0.0), add_above(t, -a))
        height = add_above(_excess(curve, t, slope), np.maximum(left, right))
    return np.where(exists, np.where(np.isnan(height), np.inf, height), -np.inf)


def _excess(curve: Curve, t: Array, slope: Array) -> Array:
    """g(t) − slope·t, rounded up."""
    return add_above(curve.value(Interval(t, t)).hi, multiply_above(-slope, t))


# ---- the functions ------------------------------------------------------------------------------------------------

_CONVEX = (1, 1)
_CONCAVE = (-1, -1)
_S_SHAPED = (1, -1)
_REVERSED = (-1, 1)

BENDS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("exp", "exp2", "expm1", "cosh", "square", "rsqrt"), _CONVEX),
    **dict.fromkeys(("log", "log1p", "sqrt", "acosh"), _CONCAVE),
    **dict.fromkeys(("tanh", "logistic", "erf", "atan", "asinh", "cbrt", "acos"), _S_SHAPED),
    **dict.fromkeys(("sinh", "atanh", "asin", "erf_inv", "erfc"), _REVERSED),
}
"""Curvature for x ≤ 0 and for x ≥ 0 of the functions of one variable that have one."""

_VALUES: dict[str, Function] = {
    **MONOTONE,
    "cosh": cosh,
    "square": interval_square,
    "sqrt": interval_sqrt,
}

CURVES: dict[str, Curve] = {
    name: Curve(_VALUES[name], SLOPES[name], *bend) for name, bend in BENDS.items()
}


def power_curve(exponent: float) -> Curve | None:
    """x^p: on all numbers for a whole p ≥ 0, for x ≥ 0 otherwise; None for p = 0 and 1, which are affine."""
    if exponent in (0.0, 1.0):
        return None
    if float(exponent).is_integer():
        n = int(exponent)
        bends = _CONVEX if n % 2 == 0 else _REVERSED
        return Curve(lambda x: integer_power(x, n), lambda x: power_slope(x, n), *bends)
    bends = _CONCAVE if 0 < exponent < 1 else _CONVEX
    return Curve(
        lambda x: positive_power(x, number(exponent)), lambda x: power_slope(x, exponent), *bends
    )


def reciprocal_curve(numerator: float) -> Curve:
    """c/x on either side of 0."""
    c = number(numerator)
    bends = _REVERSED if numerator > 0 else _S_SHAPED
    return Curve(lambda x: div(c, x), lambda x: neg(div(c, interval_square(x))), *bends)


@np.errstate(all="ignore")
def wave_curves(name: str, x: Interval) -> list[tuple[Array, Curve]]:
    """Sine or cosine as curves where the curvature is known, each with the entries of x at which it is."""
    value = WAVES[name]
    found = value(x)
    # the second derivative is the negative
    bends = [(found.lo >= 0, _CONCAVE), (found.hi <= 0, _CONVEX)]
    if name == "sin":
        bends.append(
            (
                (x.lo >= -HALF_TURN) & (x.hi <= HALF_TURN) & (found.lo < 0) & (found.hi > 0),
                _S_SHAPED,
            )
        )
    return [(where, Curve(value, SLOPES[name], *bend)) for where, bend in bends]


WAVES: dict[str, Function] = {"sin": sin, "cos": cos}
HALF_TURN = 3.14  # less than π
