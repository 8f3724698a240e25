"""Descriptions: what a slot is in terms of earlier slots, as far as `recognise.py` follows it."""

import math
from dataclasses import dataclass
from fractions import Fraction

from ftheta.graph.graph import Axes


@dataclass(frozen=True)
class Atom:
    slot: int


@dataclass(frozen=True)
class Deviation:
    """x − mean of x over the axes."""

    of: "Term"
    axes: Axes


@dataclass(frozen=True)
class Square:
    of: "Term"


@dataclass(frozen=True)
class Exponential:
    of: "Term"


@dataclass(frozen=True)
class Total:
    """(scale·Σ of + shift), its root, plus offset, inverted, its logarithm: as the flags say, in this order.

    `shape` is that of the summand; `places[k]` is the axis of the summand that axis k of the slot runs along, or
    None where the slot does not vary.
    """

    of: "Term"
    shape: tuple[int, ...]
    axes: Axes
    places: tuple[int | None, ...]
    scale: Fraction = Fraction(1)
    shift: float = 0.0
    root: bool = False
    offset: float = 0.0
    inverse: bool = False
    logarithm: bool = False

    @property
    def count(self) -> int:
        return math.prod(self.shape[a] for a in self.axes)

    @property
    def is_plain(self) -> bool:
        return (
            self.shift == 0
            and self.offset == 0
            and not (self.root or self.inverse or self.logarithm)
        )

    @property
    def is_mean(self) -> bool:
        return self.is_plain and self.scale == Fraction(1, self.count)

    @property
    def keeps_axes(self) -> bool | None:
        """Are the summed axes still there (with length 1, or repeated)? None for any other layout."""
        if self.places == tuple(k for k in range(len(self.shape)) if k not in self.axes):
            return False
        return True if self.stands_beside(self.shape) else None

    def stands_beside(self, shape: tuple[int, ...]) -> bool:
        """In an entry-by-entry operation with an array of this shape, does each entry meet its own total?"""
        if shape != self.shape:
            return False
        if self.places == () and set(self.axes) == set(range(len(shape))):
            return True
        return len(self.places) == len(shape) and all(
            place == k or (place is None and (k in self.axes or shape[k] == 1))
            for k, place in enumerate(self.places)
        )


Term = Atom | Deviation | Square | Exponential | Total
