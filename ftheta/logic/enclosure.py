"""What is known of one real number: an interval that contains it, and how that is known."""

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import inf, isfinite, isinf, isnan, nextafter, sqrt
from typing import Any, Self


class Basis(StrEnum):
    """How an enclosure was obtained, from strongest."""

    EXACT = "exact"  # exact arithmetic, or float64 rounded outward at every step
    FLOAT = "float"  # a sound argument evaluated in float64, its rounding not enclosed
    SAMPLED = "sampled"  # known from a sample: of points, of seeds, of draws

    @property
    def rank(self) -> int:
        return list(Basis).index(self)


def _down(x: float) -> float:
    return nextafter(x, -inf)


def _up(x: float) -> float:
    return nextafter(x, inf)


def _float_below(q: Fraction) -> float:
    x = nearest_float(q)
    return x if x == -inf or (x != inf and Fraction(x) <= q) else _down(x)


def nearest_float(q: int | Fraction) -> float:
    """The float that is nearest to a rational; infinite beyond the floats."""
    try:
        return float(q)
    except OverflowError:
        return inf if q > 0 else -inf


def _ends(lo: float, hi: float) -> tuple[float, float]:
    """Both ends; of what came out as no number (∞ − ∞, where numbers overflow) nothing is known on either side."""
    return (-inf, inf) if isnan(lo) or isnan(hi) else (lo, hi)


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b  # 0·∞ = 0: the number itself is finite


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A number known to lie in `[lo, hi]`.

    `samples` counts the points, seeds or draws behind a sampled enclosure. `confidence` is set when the
    interval itself only holds with that probability (a Monte-Carlo mean), at this number of samples and
    under what `assuming` says; a sampled supremum has none, because its lower end was attained.
    `nominal` stands in the place of `confidence` where the level is only approached as the samples grow
    (the central limit theorem): nothing is guaranteed at this number of them. `unit` names what the samples
    are where they are not rows, points or draws of the subject: a random start vector.
    """

    lo: float = -inf
    hi: float = inf
    basis: Basis = Basis.FLOAT
    samples: int | None = None
    confidence: float | None = None
    nominal: float | None = None
    assuming: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        lo = float(self.lo)
        hi = float(self.hi)
        if isnan(lo) or isnan(hi) or lo > hi:
            raise ValueError(
                f"An enclosure needs lo <= hi and no NaN, got lo={self.lo!r}, hi={self.hi!r}."
            )
        if (self.basis is Basis.SAMPLED) != (self.samples is not None):
            raise ValueError(
                "An enclosure states its number of samples exactly when its basis is SAMPLED."
            )
        if self.confidence is not None and not (
            self.samples is not None and 0 < self.confidence < 1
        ):
            raise ValueError(
                f"A confidence lies in (0, 1) and needs samples, got {self.confidence!r}."
            )
        if self.nominal is not None and not (self.samples is not None and 0 < self.nominal < 1):
            raise ValueError(
                f"A nominal level lies in (0, 1) and needs samples, got {self.nominal!r}."
            )
        if self.confidence is not None and self.nominal is not None:
            raise ValueError("A level is guaranteed or nominal, not both.")
        object.__setattr__(self, "lo", lo)
        object.__setattr__(self, "hi", hi)

    # -- ways to know a number ------------------------------------------------------------------

    @classmethod
    def equal(cls, value: float) -> Self:
        """A formula evaluated in float64; nothing is known of what is not a number there."""
        return cls(*_ends(value, value))

    @classmethod
    def exact(cls, value: int | float | Fraction) -> Self:
        """A number known exactly; one that is no float is rounded outward."""
        q = Fraction(value)
        return cls(_float_below(q), 0.0 - _float_below(-q), Basis.EXACT)  # not −0.0

    @classmethod
    def ball(cls, ball: Any) -> Self:
        """An Arb ball of python-flint: midpoint-radius arithmetic, rounded outward to floats; all numbers where it came
        to no number."""
        ends = _down(float(ball.lower())), _up(float(ball.upper()))
        return cls(*_ends(*ends), Basis.EXACT)

    @classmethod
    def between(cls, lo: float, hi: float, basis: Basis = Basis.EXACT) -> Self:
        """Both ends are certificates (by default with outward rounding)."""
        return cls(lo, hi, basis)

    @classmethod
    def around(cls, value: float, error: float) -> Self:
        """A number computed as `value`, off by at most `error`: a bound that holds for the arithmetic that was used."""
        return cls(_down(value - error), _up(value + error), Basis.EXACT)

    @classmethod
    def unknown(cls) -> Self:
        """Any number at all: what is known of a program that cannot be evaluated with outward rounding."""
        return cls(-inf, inf, Basis.EXACT)

    @classmethod
    def at_least(cls, value: float, *, samples: int | None = None) -> Self:
        """A lower bound; with `samples`, the largest value met among that many points."""
        basis = Basis.FLOAT if samples is None else Basis.SAMPLED
        return cls(*_ends(value, inf), basis, samples)

    @classmethod
    def at_most(cls, value: float, basis: Basis = Basis.FLOAT) -> Self:
        """An upper bound that comes with an argument."""
        return cls(*_ends(-inf, value), basis)

    @classmethod
    def estimate(
        cls, mean: float, error: float, *, samples: int, confidence: float, assuming: str = ""
    ) -> Self:
        """A statistical estimate: `mean ± error` with the stated confidence, under the assumption said."""
        ends = _ends(mean - error, mean + error)
        return cls(*ends, Basis.SAMPLED, samples, confidence, assuming=assuming)

    @classmethod
    def approximate(
        cls, mean: float, error: float, *, samples: int, nominal: float, assuming: str
    ) -> Self:
        """A statistical estimate `mean ± error` whose level is only approached as the samples grow."""
        ends = _ends(mean - error, mean + error)
        return cls(*ends, Basis.SAMPLED, samples, nominal=nominal, assuming=assuming)

    @classmethod
    def measured(cls, value: float, *, samples: int) -> Self:
        """A value read off that many sample points; it speaks for the sample alone."""
        return cls(*_ends(value, value), Basis.SAMPLED, samples)

    # -- what can be asked ----------------------------------------------------------------------

    @property
    def is_point(self) -> bool:
        return self.lo == self.hi

    @property
    def level(self) -> float | None:
        """The confidence, guaranteed or nominal."""
        return self.nominal if self.confidence is None else self.confidence

    @property
    def sample_count(self) -> str:
        """`1 sample`, `1,024 samples`; empty where nothing was sampled."""
        if self.samples is None:
            return ""
        return f"{self.samples:,} {self.unit or 'sample'}{'' if self.samples == 1 else 's'}"

    @property
    def width(self) -> float:
        return 0.0 if self.is_point else self.hi - self.lo

    @property
    def middle(self) -> float:
        """The number to print: the middle, or the finite end of a one-sided enclosure."""
        if isfinite(self.lo) and isfinite(self.hi):
            return self.lo + (self.hi - self.lo) / 2
        return (
            self.lo
            if not isinf(self.lo) or self.is_point
            else self.hi
            if not isinf(self.hi)
            else 0.0
        )

    def __contains__(self, value: float | Fraction) -> bool:
        return self.lo <= value <= self.hi

    # -- arithmetic, rounded outward --------------------------------------------------------------

    def widened(self, rel: float = 0.0, absolute: float = 0.0) -> Self:
        """The enclosure made larger by `rel·|end| + absolute` on either side, then rounded outward."""
        if rel == 0 and absolute == 0:
            return self
        lo = self.lo if isinf(self.lo) else _down(self.lo - (rel * abs(self.lo) + absolute))
        hi = self.hi if isinf(self.hi) else _up(self.hi + (rel * abs(self.hi) + absolute))
        return replace(self, lo=lo, hi=hi)

    def __neg__(self) -> "Enclosure":
        return replace(self, lo=-self.hi, hi=-self.lo)

    def __abs__(self) -> "Enclosure":
        return replace(self, lo=max(self.lo, -self.hi, 0.0), hi=max(abs(self.lo), abs(self.hi)))

    def __add__(self, other: "Enclosure | float") -> "Enclosure":
        other = _lift(other)
        return _joint(self, other, _down(self.lo + other.lo), _up(self.hi + other.hi))

    def __sub__(self, other: "Enclosure | float") -> "Enclosure":
        return self + (-_lift(other))

    def __mul__(self, other: "Enclosure | float") -> "Enclosure":
        other = _lift(other)
        corners = [_times(a, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return _joint(self, other, _down(min(corners)), _up(max(corners)))

    def __truediv__(self, other: "Enclosure | float") -> "Enclosure":
        other = _lift(other)
        if 0 in other:
            return _joint(self, other, -inf, inf)
        return self * _joint(other, other, _down(1 / other.hi), _up(1 / other.lo))

    def sqrt(self) -> "Enclosure":
        """The square root of a non-negative number (an end below zero is rounding and is cut)."""
        if self.hi < 0:
            raise ValueError(
                f"The square root needs a number >= 0, got one in [{self.lo}, {self.hi}]."
            )
        lo = max(self.lo, 0.0)
        return replace(self, lo=max(0.0, _down(sqrt(lo))), hi=_up(sqrt(self.hi)))


def _lift(value: "Enclosure | float") -> Enclosure:
    return value if isinstance(value, Enclosure) else Enclosure.exact(value)


def _joint(a: Enclosure, b: Enclosure, lo: float, hi: float) -> Enclosure:
    """An enclosure as well known as the weaker of two."""
    samples = [e.samples for e in (a, b) if e.samples is not None]
    basis = max(a.basis, b.basis, key=lambda basis: basis.rank)
    parts = (a,) if a is b else (a, b)
    units = {e.unit for e in parts if e.samples is not None}
    levels = [e.level for e in parts if e.level is not None]
    # the union bound: two statements of confidence c hold together with at least 2c − 1
    level = sum(levels) - (len(levels) - 1) if levels else None
    if level is not None and level <= 0:
        lo = -inf
        hi = inf
        level = min(levels)
    guaranteed = all(e.nominal is None for e in parts)
    return Enclosure(
        *_ends(lo, hi),
        basis,
        min(samples) if samples else None,
        confidence=level if guaranteed else None,
        nominal=None if guaranteed else level,
        assuming=_both_assumed(parts),
        unit=units.pop() if len(units) == 1 else "",
    )


def _both_assumed(parts: tuple[Enclosure, ...]) -> str:
    """Everything that is assumed, each assumption once."""
    return "; ".join(dict.fromkeys(e.assuming for e in parts if e.assuming))
