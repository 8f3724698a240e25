"""Data on the line and their interpolating network."""

from fractions import Fraction

import numpy as np

from ftheta.logic import Enclosure, SubjectError, Witness
from ftheta.relu.line.cpa1d import PiecewiseAffine
from ftheta.relu.line.points import through_points

MOST = 1000  # points


def pairs(x: np.ndarray, y: np.ndarray | None) -> list[tuple[Fraction, Fraction]] | str:
    """The points in exact numbers, sorted and without repetition, or why there are none."""
    if y is None:
        return "no labels"
    if x[0].size != 1 or y[0].size != 1:
        return f"rows of {x[0].size} numbers with labels of {y[0].size}"
    if len(x) > MOST:
        return f"{len(x):,} points, more than {MOST:,}"
    points = sorted(
        {(Fraction(a), Fraction(b)) for a, b in zip(x.ravel().tolist(), y.ravel().tolist())}
    )
    return points if len({a for a, _ in points}) > 1 else "fewer than two distinct abscissae"


def interpolate(x: np.ndarray, y: np.ndarray | None) -> tuple[PiecewiseAffine, Witness | None]:
    """The chords through the first value at every abscissa, and a point that they miss if there is one."""
    points = pairs(x, y)
    if isinstance(points, str):
        raise SubjectError("Points on the line are needed.", got=points)
    first: dict[Fraction, Fraction] = {}
    for a, b in points:
        first.setdefault(a, b)
    f = through_points(list(first), list(first.values()))
    gap, at = max((abs(f(a) - b), a) for a, b in points)
    missed = Witness(
        {"x": float(at)}, Enclosure.exact(gap), Enclosure.exact(0), "the chords in rationals"
    )
    return f, missed if gap else None
