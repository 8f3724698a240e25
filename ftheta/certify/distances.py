"""Distances of points in ℓ1, ℓ2 and ℓ∞, in rationals."""

from collections.abc import Iterable
from fractions import Fraction
from math import inf, isfinite, ldexp, sqrt

import numpy as np

from ftheta.shapes import Float

from .questions import round_up


def distance_between(x: Iterable[float | Fraction], centre: Iterable[float], norm: float) -> float:
    """How far two points are apart in ℓ1, ℓ2 or ℓ∞, rounded up."""
    power = _power(x, centre, norm)
    if norm != 2:
        return round_up(power)
    root = _root(power)
    while isfinite(root) and Fraction(root) ** 2 < power:
        root = float(np.nextafter(root, inf))
    return root


def pull_inside(
    x: Float[np.ndarray, "d"], centre: Float[np.ndarray, "d"], radius: Fraction, norm: float
) -> Float[np.ndarray, "d"]:
    """Towards the centre, until the point lies in the ball exactly."""
    limit = radius**2 if norm == 2 else radius
    for k in range(40, 0, -1):
        if not np.isfinite(x).all() or _power(x.tolist(), centre.tolist(), norm) <= limit:
            return x
        x = centre + (1 - 2.0**-k) * (x - centre)
    return centre


def _power(x: Iterable[float | Fraction], centre: Iterable[float], norm: float) -> Fraction:
    """The distance, exactly; in ℓ2 its square."""
    differences = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x, centre)]
    if norm == inf:
        return max(differences, default=Fraction(0))
    return sum((d if norm == 1 else d * d for d in differences), Fraction(0))


def _root(square: Fraction) -> float:
    """Nearly the square root, where the square itself may be beyond the range of floats."""
    if not square:
        return 0.0
    scale = (square.denominator.bit_length() - square.numerator.bit_length()) // 2
    return ldexp(sqrt(float(square * Fraction(4) ** scale)), -scale)
