"""Counter-examples of several points, and points at which values are certain."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ftheta.certify.questions import Box
from ftheta.certify.searches import Witness
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float

if TYPE_CHECKING:
    from ftheta.certify.programs.network import TracedNetwork

Point: TypeAlias = tuple[Fraction, ...]
Values: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
"""Of each output a number that is at most and one that is at least its value."""


@dataclass(frozen=True)
class WitnessPoints(Witness):
    """Several inputs, one after the other in `x`, with the outputs there in `y`: together they refute a property.

    `says` tells how; `points` and `values` are the inputs and the outputs one by one.
    """

    count: int = 1
    says: str = ""

    @property
    def points(self) -> tuple[Point, ...]:
        return _split(self.x, self.count)

    @property
    def values(self) -> tuple[Point, ...]:
        return _split(self.y, self.count)


def _split(numbers: Point, count: int) -> tuple[Point, ...]:
    size = len(numbers) // count
    return tuple(numbers[k * size : (k + 1) * size] for k in range(count))


class Evaluator:
    """Values of a network at rational points: in rationals, or enclosed where it is not piecewise affine."""

    def __init__(self, net: "ReluNetwork | TracedNetwork") -> None:
        self._at = _in_rationals(net) if isinstance(net, ReluNetwork) else _in_intervals(net)

    def __call__(self, x: Point) -> Values:
        return self._at(x)

    def gather(self, points: Sequence[Point], says: str) -> WitnessPoints:
        """The points with their values, as a witness."""
        values = [self(x) for x in points]
        middles = tuple((low + high) / 2 for row in values for low, high in row)
        within = max(((high - low) / 2 for row in values for low, high in row), default=Fraction(0))
        return WitnessPoints(
            tuple(v for x in points for v in x), middles, within, len(points), says
        )


def _in_rationals(net: ReluNetwork) -> Callable[[Point], Values]:
    in_rationals = exact(net)
    return lambda x: tuple((value, value) for value in in_rationals(x))


def _in_intervals(net: "TracedNetwork") -> Callable[[Point], Values]:
    def enclose(x: Point) -> Values:
        found = net.enclose_at(x)
        if not (np.isfinite(found.lo).all() and np.isfinite(found.hi).all()):
            raise ArithmeticError("a value that is not finite")
        return tuple((Fraction(float(a)), Fraction(float(b))) for a, b in zip(found.lo, found.hi))

    return enclose


def move_into(box: Box, point: Float[np.ndarray, "d"]) -> Point:
    """The point as rationals, moved into the box by what rounding took it out."""
    return tuple(min(max(Fraction(float(v)), a), b) for v, a, b in zip(point, box.lo, box.hi))
