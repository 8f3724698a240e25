"""A point where a claim fails."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .enclosure import Basis, Enclosure

Coordinate: TypeAlias = float | str | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Witness:
    """A point where the claim fails, with both sides evaluated again there; `how` says by what means.

    It refutes only where both sides are EXACT enclosures, apart by more than the claim's tolerance. (An enclosure of
    all numbers is what is known of a side that cannot be evaluated again: it refutes nothing.)
    """

    at: Mapping[str, Coordinate]
    left: Enclosure
    right: Enclosure
    how: str

    def __post_init__(self) -> None:
        if Basis.SAMPLED in (self.left.basis, self.right.basis):
            raise ValueError(
                "A witness is evaluated again at its point: its two sides cannot be sampled."
            )
