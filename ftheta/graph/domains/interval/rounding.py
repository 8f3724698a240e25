"""Directed rounding on float64 arrays: results one step, or a proved number of steps, outside the exact value.

NumPy computes + - * / and square roots correctly rounded, so one step of `nextafter` encloses them. Transcendental
functions are enclosed by a margin in ulps (see `functions.py`). Sums of n terms in any order, with or without fused
multiply-add, err by at most gamma(n) times the sum of magnitudes (Higham, *Accuracy and Stability*, §3.1).

A bound that is NaN (∞ − ∞, ∞ · 0 and the like) says nothing and becomes −∞ below, +∞ above.
"""

from typing import Any

import numpy as np

Array = np.ndarray
HALF_ULP = 2.0**-53
MOST_TERMS = 2**26
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


def below(x: Any) -> Array:
    """The next float64 below."""
    x = np.asarray(x, np.float64)
    if x.ndim == 0:
        return _step_below(x)
    bits = x.view(np.int64)
    stepped = bits >> 63  # -1 where the sign is set: there the bits count upwards
    stepped *= -2
    stepped -= 1
    stepped += bits
    found = stepped.view(np.float64)
    sound = np.isfinite(found) & (x == x)
    if not sound.all():  # +0, NaN, −∞: their neighbours are not those of their bits
        odd = ~sound
        found[odd] = _step_below(x[odd])
    return found


def _step_below(x: Array) -> Array:
    return np.nextafter(np.where(np.isnan(x), -np.inf, x), -np.inf)


def above(x: Any) -> Array:
    """The next float64 above x; ∞ where x is not a number."""
    return -below(-np.asarray(x, np.float64))


def below_by(x: Any, ulps: Any, absolute: float = 0.0) -> Array:
    """At least `ulps` units in the last place, and `absolute`, below. An overflow (+∞) counts as the largest float."""
    x = np.minimum(x, LARGEST)
    return below(x - (ulps * np.spacing(np.abs(x)) + absolute))  # −∞ − NaN is no number either


def above_by(x: Any, ulps: Any, absolute: float = 0.0) -> Array:
    """A float64 above x by so many units in the last place and the `absolute` error."""
    return -below_by(-np.asarray(x), ulps, absolute)


def _rounding_error(a: Array, b: Array, total: Array) -> Array:
    """a + b − fl(a + b), exactly (Knuth's two-sum); NaN where something overflows."""
    part = total - a
    return (a - (total - part)) + (b - part)


def add_below(a: Array, b: Array) -> Array:
    """A float at most a + b, and equal to it where the sum is exact."""
    total = a + b
    return np.where(_rounding_error(a, b, total) >= 0, total, below(total))


def add_above(a: Array, b: Array) -> Array:
    """a + b, rounded up."""
    return -add_below(-a, -b)


def multiply_below(a: Array, b: Array) -> Array:
    """A float at most a·b. Zero times anything is zero (infinite ends stand for unbounded, not for ∞ itself)."""
    product = np.asarray(a * b)
    bound = np.asarray(below(product))
    zero = (product == 0) | (np.isnan(product) & ((a == 0) | (b == 0)))  # 0 · ∞
    if zero.any():
        below_zero = (a != 0) & (b != 0) & (np.signbit(a) != np.signbit(b))
        bound = np.where(zero, np.where(below_zero, -SMALLEST, 0.0), bound)
    return bound


def multiply_above(a: Array, b: Array) -> Array:
    """a · b, rounded up."""
    return -multiply_below(-a, b)


def gamma(n: int) -> float:
    """n·u / (1 − n·u) with u = 2⁻⁵³, rounded up."""
    return float(np.nextafter(n * HALF_ULP / (1 - n * HALF_ULP), 1))


def sum_error(magnitude: Array, terms: int) -> Array:
    """Bound of the error of a computed sum of `terms` (products of) floats whose magnitudes sum to `magnitude`.

    The error is at most gamma(n)·M, and the computed magnitude at least (1 − gamma(n))·M; gamma(n)/(1 − gamma(n)) is
    below gamma(n + 1) for n ≤ 2²⁶, and one unit more pays for the product here. The absolute part pays for
    products that underflow, also on hardware set to flush subnormal numbers to zero.
    """
    if terms > MOST_TERMS:
        raise ValueError(
            f"a sum of {terms} terms is too long for this error bound (at most {MOST_TERMS})"
        )
    return above(above(gamma(terms + 2) * magnitude) + 2 * terms * SMALLEST_NORMAL)


def sum_below(x: Array, axes: tuple[int, ...]) -> Array:
    """A float at most the sum of x over the axes; at least 0 where every term is."""
    terms = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    if terms <= 1:
        return x.sum(axis=axes)
    bound = below(x.sum(axis=axes) - sum_error(np.abs(x).sum(axis=axes), terms))
    return np.where((x >= 0).all(axis=axes), np.maximum(bound, 0.0), bound)


def sum_above(x: Array, axes: tuple[int, ...]) -> Array:
    """The sum of x over the axes, rounded up by a bound valid for any order of summation."""
    return -sum_below(-x, axes)
