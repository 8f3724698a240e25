"""The value type: `Interval(lo, hi)`, an array of closed intervals of the extended reals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ftheta.graph.domains.interval.rounding import Array, add_above, add_below
from ftheta.graph.errors import GraphError

FILE = "ftheta/graph/domains/interval/"
"""Where the rules of the domain are, for errors that name a missing one."""


@dataclass(frozen=True, eq=False, init=False)
class Interval:
    """All arrays x with lo ≤ x ≤ hi, entry by entry.

    Numbers, integers included, are float64 whatever the program's dtype; truth values are bool, and
    (False, True) is undecided. An infinite end means unbounded; (−∞, ∞) says that nothing is known.
    """

    lo: Array
    hi: Array

    def __init__(self, lo: ArrayLike, hi: ArrayLike) -> None:
        lower = _ends(lo)
        upper = _ends(hi)
        if lower.shape != upper.shape or lower.dtype != upper.dtype:
            raise GraphError(
                "the ends of an interval have one shape and one type",
                got=f"{lower.dtype}{list(lower.shape)} and {upper.dtype}{list(upper.shape)}",
                remedy="broadcast them first",
            )
        if not bool(np.all(lower <= upper)):
            raise GraphError(
                "an interval has lo ≤ hi and no NaN",
                got=f"lo={lo}, hi={hi}",
                remedy="exchange the ends, or use Interval.hull_of for two arrays in any order",
            )
        object.__setattr__(self, "lo", lower)
        object.__setattr__(self, "hi", upper)

    @classmethod
    @np.errstate(over="ignore")
    def point(cls, value: ArrayLike) -> "Interval":
        """The interval of one value. Integers beyond 2⁵³ are enclosed; NaN is enclosed by (−∞, ∞)."""
        x = _ends(value)
        whole = np.asarray(value).dtype.kind in "iu"
        if x.dtype == bool or not (whole or np.isnan(x).any()):
            return cls(x, x)
        inexact = (np.abs(x) >= 2.0**53) & whole
        return cls.enclosing(
            np.where(inexact, np.nextafter(x, -np.inf), x),
            np.where(inexact, np.nextafter(x, np.inf), x),
        )

    @classmethod
    def enclosing(cls, lo: Array, hi: Array) -> "Interval":
        """Ends that may be NaN, which then say nothing: −∞ below, ∞ above."""
        return cls(np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi))

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def around(cls, centre: ArrayLike, radius: ArrayLike) -> "Interval":
        """centre ± radius, rounded outward."""
        c, r = np.broadcast_arrays(_ends(centre), _ends(radius))
        return cls(add_below(c, -r), add_above(c, r))

    @classmethod
    def hull_of(cls, a: ArrayLike, b: ArrayLike) -> "Interval":
        """The smallest interval that holds both arrays."""
        a, b = np.broadcast_arrays(_ends(a), _ends(b))
        return cls(np.minimum(a, b), np.maximum(a, b))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lo.shape

    @property
    def is_point(self) -> bool:
        return self.lo is self.hi or bool(np.all(self.lo == self.hi))

    @property
    def is_bool(self) -> bool:
        return self.lo.dtype == bool

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def width(self) -> Array:
        """hi − lo, rounded up."""
        return np.where(self.lo == self.hi, 0.0, add_above(self.hi, -self.lo))

    @property
    def magnitude(self) -> Array:
        """The largest absolute value."""
        return (
            np.abs(self.lo) if self.lo is self.hi else np.maximum(np.abs(self.lo), np.abs(self.hi))
        )

    @property
    def middle(self) -> Array:
        """A number of the interval, in the middle; where an end is infinite, the one that is nearest to 0."""
        bounded = np.isfinite(self.lo) & np.isfinite(self.hi)
        with np.errstate(invalid="ignore"):  # halves of subnormal numbers are rounded
            return np.clip(np.where(bounded, self.lo / 2 + self.hi / 2, 0.0), self.lo, self.hi)

    def contains(self, x: ArrayLike) -> bool:
        x = np.asarray(x)
        return bool(np.all((self.lo <= x) & (x <= self.hi)))

    def map(self, move: Callable[[Array], Array]) -> "Interval":
        """Apply a function that only moves entries."""
        lo = move(self.lo)
        return Interval(lo, lo if self.lo is self.hi else move(self.hi))

    def hull(self, other: "Interval") -> "Interval":
        return Interval(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def meet(self, other: "Interval") -> "Interval":
        """Both enclose the same value: so does their intersection."""
        lo = np.maximum(self.lo, other.lo)
        hi = np.minimum(self.hi, other.hi)
        if not bool(np.all(lo <= hi)):
            raise GraphError(
                "two enclosures of one value do not meet",
                got=f"{self} and {other}",
                remedy="the program is undefined on all of the box, or a rule is wrong: please report it",
            )
        return Interval(lo, hi)

    def __str__(self) -> str:
        return f"[{self.lo}, {self.hi}]"


def _ends(x: Any) -> Array:
    x = np.asarray(x)
    if x.dtype.kind == "c" or x.dtype.kind in "OSU":
        raise GraphError(
            "intervals are of real numbers or truth values",
            got=str(x.dtype),
            remedy="use real arrays",
        )
    return x if x.dtype == bool or x.dtype == np.float64 else x.astype(np.float64)


WHOLE_LINE = Interval(np.array(-np.inf), np.array(np.inf))
UNDECIDED = Interval(np.array(False), np.array(True))
