"""Functions of one real variable.

Each is computed by NumPy or SciPy and widened by a margin in ulps. NumPy documents at most 4 ulps for its vector
loops and glibc at most 2; SciPy gives no figure. Measured against arb (tests/graph/test_interval_accuracy.py): at
most 3 ulps, so `NUMPY` and `SCIPY` leave a factor of 2 and more. Two exceptions are written where they occur.

A monotone function maps ends to ends. `through=((p, v), ...)` lists points where f(p) = v exactly: for x ≥ p the
true value is ≥ v (f increasing), so the rounded bound is cut there, which also keeps signs: tanh, expm1 and erf of
something ≥ 0 stay ≥ 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.arithmetic import absolute, integer_power, positive_power
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import SMALLEST_NORMAL, Array, above_by, below_by
from ftheta.graph.errors import OutsideDomain
from ftheta.graph.graph import Node
from ftheta.lazy import special

NUMPY = 8
SCIPY = 16


@dataclass(frozen=True)
class Monotone:
    """An increasing (or decreasing) function on [domain], with values in [values]."""

    f: Callable[[Array], Array]
    ulps: Any = NUMPY
    through: tuple[tuple[float, float], ...] = ()
    values: tuple[float, float] = (-np.inf, np.inf)
    domain: tuple[float, float] = (-np.inf, np.inf)
    decreasing: bool = False
    absolute: float = 0.0

    def __call__(self, x: Interval) -> Interval:
        first, last = (x.hi, x.lo) if self.decreasing else (x.lo, x.hi)
        return Interval(self.lower(first), self.upper(last))

    def margin(self, x: Array) -> Any:
        return self.ulps(x) if callable(self.ulps) else self.ulps

    def lower(self, x: Array) -> Array:
        bound = below_by(self.f(x), self.margin(x), self.absolute)
        for p, v in self.through:
            bound = np.where(x <= p if self.decreasing else x >= p, np.maximum(bound, v), bound)
        return np.clip(bound, *self.values)

    def upper(self, x: Array) -> Array:
        bound = above_by(self.f(x), self.margin(x), self.absolute)
        for p, v in self.through:
            bound = np.where(x >= p if self.decreasing else x <= p, np.minimum(bound, v), bound)
        return np.clip(bound, *self.values)


PI_UP = float(np.nextafter(np.pi, 4))
HALF_PI_UP = float(np.nextafter(np.pi / 2, 4))
NONNEGATIVE = (0.0, np.inf)

MONOTONE: dict[str, Monotone] = {
    "exp": Monotone(np.exp, through=((0, 1),), values=NONNEGATIVE),
    "exp2": Monotone(np.exp2, through=((0, 1),), values=NONNEGATIVE),
    "expm1": Monotone(np.expm1, through=((0, 0),), values=(-1.0, np.inf)),
    "log": Monotone(np.log, through=((1, 0),), domain=(0.0, np.inf)),
    "log1p": Monotone(np.log1p, through=((0, 0),), domain=(-1.0, np.inf)),
    "tanh": Monotone(np.tanh, through=((0, 0),), values=(-1.0, 1.0)),
    # SciPy flushes subnormal results to zero here and in erfc: hence the absolute margin.
    "logistic": Monotone(
        lambda x: special.expit(x), SCIPY, ((0, 0.5),), (0.0, 1.0), absolute=SMALLEST_NORMAL
    ),
    "erf": Monotone(lambda x: special.erf(x), SCIPY, ((0, 0),), (-1.0, 1.0)),
    # erfc(x) is computed from exp(−x²), whose relative error grows like x².
    "erfc": Monotone(
        lambda x: special.erfc(x),
        lambda x: SCIPY + 4 * np.square(np.clip(x, 0, 28)),
        ((0, 1),),
        (0.0, 2.0),
        decreasing=True,
        absolute=SMALLEST_NORMAL,
    ),
    "erf_inv": Monotone(lambda x: special.erfinv(x), SCIPY, ((0, 0),), domain=(-1.0, 1.0)),
    "sinh": Monotone(np.sinh, through=((0, 0),)),
    "asinh": Monotone(np.arcsinh, through=((0, 0),)),
    "acosh": Monotone(np.arccosh, through=((1, 0),), values=NONNEGATIVE, domain=(1.0, np.inf)),
    "atanh": Monotone(np.arctanh, through=((0, 0),), domain=(-1.0, 1.0)),
    "atan": Monotone(np.arctan, through=((0, 0),), values=(-HALF_PI_UP, HALF_PI_UP)),
    "asin": Monotone(
        np.arcsin, through=((0, 0),), values=(-HALF_PI_UP, HALF_PI_UP), domain=(-1.0, 1.0)
    ),
    "acos": Monotone(np.arccos, values=(0.0, PI_UP), domain=(-1.0, 1.0), decreasing=True),
    "cbrt": Monotone(np.cbrt, through=((0, 0),)),
    "rsqrt": Monotone(
        lambda x: 1 / np.sqrt(np.abs(x)), values=NONNEGATIVE, domain=(0.0, np.inf), decreasing=True
    ),
}

COSH_OF_MAGNITUDE = Monotone(np.cosh, through=((0, 1),), values=(1.0, np.inf))


def within(node: Node, x: Interval, lowest: float, highest: float = np.inf) -> Interval:
    """x itself, if the function is defined on all of it."""
    if bool(np.all((x.lo >= lowest) & (x.hi <= highest))):
        return x
    outside = (x.lo < lowest) | (x.hi > highest)
    worst = f"an enclosure [{x.lo[outside].flat[0]:.6g}, {x.hi[outside].flat[0]:.6g}] in {node.inputs[0]}"
    raise OutsideDomain(
        f"{node.primitive} is defined on [{lowest:g}, {highest:g}] only",
        where=node.source,
        got=worst,
        remedy="narrow the box, or guard the argument, for example jnp.log(jnp.where(x > 0, x, 1))",
    )


def monotone(name: str) -> Callable[[Node, Interval], Interval]:
    """The rule of a monotone function by its name: its values at the two ends, rounded outward, within its domain."""
    f = MONOTONE[name]
    return lambda node, x: f(within(node, x, *f.domain))


def cosh(x: Interval) -> Interval:
    """cosh x = cosh |x|, monotone in |x|."""
    return COSH_OF_MAGNITUDE(absolute(x))


def _holds_multiple(x: Interval, offset: float, period: float) -> Array:
    """May x contain offset + k·period for an integer k? Errs towards yes.

    The quotients below carry at most 4 rounding errors and the float's error in π: 2⁻⁵⁰ times their size covers both.
    """
    lo = (x.lo - offset) / period
    hi = (x.hi - offset) / period
    slack = 2.0**-50 * (np.maximum(np.abs(lo), np.abs(hi)) + 1)
    return ~(np.floor(hi + slack) < np.ceil(lo - slack))


def cos(x: Interval) -> Interval:
    """cos x, with the extrema that lie inside."""
    return _wave(x, np.cos, maximum_at=0.0)


def sin(x: Interval) -> Interval:
    """sin x, with the extrema that lie inside."""
    return _wave(x, np.sin, maximum_at=np.pi / 2)


def _wave(x: Interval, f: Callable[[Array], Array], maximum_at: float) -> Interval:
    """Between extrema a wave is monotone; an extremum inside sets the bound to ±1."""
    finite = np.isfinite(x.lo) & np.isfinite(x.hi)
    ends = [f(np.where(finite, end, 0.0)) for end in (x.lo, x.hi)]
    lo = below_by(np.minimum(*ends), NUMPY)
    hi = above_by(np.maximum(*ends), NUMPY)
    top = _holds_multiple(x, maximum_at, 2 * np.pi) | ~finite
    bottom = _holds_multiple(x, maximum_at + np.pi, 2 * np.pi) | ~finite
    return Interval(
        np.where(bottom, -1.0, np.maximum(lo, -1.0)), np.where(top, 1.0, np.minimum(hi, 1.0))
    )


def tan(x: Interval) -> Interval:
    """Increasing between poles; with a pole inside nothing is known."""
    finite = np.isfinite(x.lo) & np.isfinite(x.hi)
    pole = _holds_multiple(x, np.pi / 2, np.pi) | ~finite
    lo, hi = (np.tan(np.where(pole, 0.0, end)) for end in (x.lo, x.hi))
    return Interval(
        np.where(pole, -np.inf, below_by(lo, NUMPY)), np.where(pole, np.inf, above_by(hi, NUMPY))
    )


def atan2(y: Interval, x: Interval) -> Interval:
    """The angle of (x, y): extreme at the corners of a box that avoids the cut {y = 0, x ≤ 0}."""
    cut = (y.lo <= 0) & (y.hi >= 0) & (x.lo <= 0)
    angles = np.broadcast_arrays(*[np.arctan2(b, a) for b in (y.lo, y.hi) for a in (x.lo, x.hi)])
    lo = np.maximum(below_by(np.minimum.reduce(angles), NUMPY), -PI_UP)
    hi = np.minimum(above_by(np.maximum.reduce(angles), NUMPY), PI_UP)
    return Interval(np.where(cut, -PI_UP, lo), np.where(cut, PI_UP, hi))


def power(node: Node, x: Interval, y: Interval) -> Interval:
    """x^y for x ≥ 0; for an exponent that is one integer, any x."""
    exponents = np.unique(y.lo) if y.is_point else np.zeros(0)
    if exponents.size == 1 and float(exponents[0]).is_integer():
        return integer_power(broadcast(x, y.shape), int(exponents[0]))
    return positive_power(within(node, x, 0.0), y)


def broadcast(x: Interval, shape: tuple[int, ...]) -> Interval:
    """x, repeated to a shape that holds both its own and `shape`."""
    full = np.broadcast_shapes(x.shape, shape)
    return x.map(lambda end: np.broadcast_to(end, full))
