"""Axes: which values they span, where their ticks stand and how those read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, copysign, floor, isfinite, log1p, log10

from ftheta.logic.chart import Axis

from ..numbers import number, power_of_ten, typeset

# beyond these float64 loses the differences that drawing needs
HUGE = 1e300
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Tick:
    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Scaled:
    """An axis with the values it spans. `linear` is the width around zero that a symlog axis draws linearly; `finest`
    is the least step between its ticks, 1 where whole numbers are counted."""

    axis: Axis
    lo: float
    hi: float
    linear: float = 1.0
    finest: float = 0.0

    def keeps(self, value: float) -> bool:
        """Whether the value can be drawn at all."""
        return isfinite(value) and (value > 0 or self.axis.scale != "log")

    def cut(self, value: float) -> float:
        """The value, moved to the nearest one on the axis."""
        return min(max(value, self.lo), self.hi)

    def fraction(self, value: float) -> float:
        """Where on the axis the value stands: 0 at its lower end, 1 at its upper end."""
        lo, hi, here = (self._bent(v) for v in (self.lo, self.hi, self.cut(value)))
        return (here - lo) / (hi - lo)

    def _bent(self, value: float) -> float:
        if self.axis.scale == "log":
            return log10(value)
        return (
            value
            if self.axis.scale == "linear"
            else copysign(log1p(abs(value) / self.linear), value)
        )

    def spans(self, values: Sequence[float]) -> bool:
        """Whether all values, one or more, lie on the axis. (The sum finds what is not a number.)"""
        return isfinite(sum(values)) and self.lo <= min(values) and max(values) <= self.hi

    def places(self, values: Sequence[float], start: float, end: float) -> list[float]:
        """Where many values stand on an axis from pixel `start` to pixel `end`; its lower end, where they cannot."""
        drawn = (
            values
            if self.spans(values)
            else [self.cut(v) if self.keeps(v) else self.lo for v in values]
        )
        lo = self._bent(self.lo)
        hi = self._bent(self.hi)
        bent = drawn if self.axis.scale == "linear" else [self._bent(v) for v in drawn]
        pixels = (end - start) / (hi - lo)
        return [start + (v - lo) * pixels for v in bent]

    def roomy(self) -> "Scaled":
        """The axis a little longer at both ends, so that no point is cut by the frame."""
        if self.axis.scale == "log":
            grow = 10 ** (0.03 * (log10(self.hi) - log10(self.lo)))
            return replace(self, lo=max(self.lo / grow, 1e-307), hi=min(self.hi * grow, 1e307))
        room = 0.03 * (self.hi - self.lo)
        return replace(self, lo=self.lo - room, hi=self.hi + room)

    def vega(self, name: str, pixels: tuple[float, float]) -> dict[str, object]:
        """The scale as Vega states it."""
        constant = {"constant": self.linear} if self.axis.scale == "symlog" else {}
        domain = {"domain": [self.lo, self.hi], "range": list(pixels), "zero": False, "nice": False}
        return {"name": name, "type": self.axis.scale, **domain, **constant}

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """At most about so many labelled ticks."""
        if self.axis.scale == "log":
            return _log_ticks(self.lo, self.hi, most)
        if self.axis.scale == "symlog":
            return self._symlog_ticks(most)
        return _linear_ticks(self.lo, self.hi, most, "" if self.axis.years else ",", self.finest)

    def write_ends(self) -> tuple[str, str]:
        """The two values that the axis spans, as they are written beside it."""
        lo, hi = (f"{v:.0f}" if self.axis.years else number(v, 3) for v in (self.lo, self.hi))
        return lo, hi

    def minor(self) -> tuple[float, ...]:
        """The unlabelled ticks of a logarithmic axis that spans few decades."""
        if (
            self.axis.scale != "log"
            or log10(self.hi / self.lo if self.hi / self.lo < HUGE else HUGE) > 4
        ):
            return ()
        exponents = range(floor(log10(self.lo)), ceil(log10(self.hi)))
        return tuple(
            m * 10.0**e
            for e in exponents
            for m in range(2, 10)
            if self.lo <= m * 10.0**e <= self.hi
        )

    def _symlog_ticks(self, most: int) -> tuple[Tick, ...]:
        reach = max(abs(self.lo), abs(self.hi))
        low = ceil(log10(self.linear))
        high = floor(log10(reach))
        both = 2 if self.lo < 0 < self.hi else 1
        step = _round_step(both * (high - low + 1) / max(most - 1, 1))
        powers = [10.0**e for e in range(high, low - 1, -step)]
        values = sorted(v for v in {0.0, *powers, *(-p for p in powers)} if self.lo <= v <= self.hi)
        return (
            tuple(Tick(v, _short(v)) for v in values)
            if len(values) > 2
            else _linear_ticks(self.lo, self.hi, most)
        )


def make_scale(
    axis: Axis, values: Iterable[float], *, nice: bool = False, zero: bool = False
) -> Scaled | None:
    """The axis that spans the values which can be drawn on it; None if there are none."""
    kept = [v for v in values if isfinite(v) and (v > 0 or axis.scale != "log")]
    if not kept:
        return None
    lo, hi = (max(-HUGE, min(HUGE, v)) for v in (min(kept), max(kept)))
    if axis.scale == "log":
        lo, hi = _log_ends(max(lo, TINY), max(hi, TINY), nice)
        return Scaled(axis, lo, hi)
    if zero:
        lo = min(lo, 0.0)
        hi = max(hi, 0.0)
    finest = 1.0 if axis.scale == "linear" and _are_counts(kept) else 0.0
    lo, hi = _linear_ends(lo, hi, nice and axis.scale == "linear", finest)
    reach = max(abs(lo), abs(hi))
    sizes = [abs(v) for v in kept if v]
    linear = 10.0 ** floor(log10(max(min(sizes, default=1.0), reach * 1e-8)))
    return Scaled(axis, lo, hi, linear, finest)


def _are_counts(values: Sequence[float]) -> bool:
    """Whether all are whole numbers, beyond the 0 and 1 that shares and coordinates have too."""
    return max(map(abs, values)) > 1 and all(float(v).is_integer() for v in values)


def _linear_ends(lo: float, hi: float, nice: bool, finest: float) -> tuple[float, float]:
    if hi - lo <= 1e-12 * max(abs(lo), abs(hi)) or hi - lo < TINY:
        room = 0.5 * abs(lo) if abs(lo) > TINY else 1.0
        return lo - room, hi + room
    if not nice:
        return lo, hi
    step = max(_step(lo, hi, 6), finest)
    below = step * floor(lo / step)
    above = step * ceil(hi / step)
    return below, above


def _log_ends(lo: float, hi: float, nice: bool) -> tuple[float, float]:
    if hi <= lo * (1 + 1e-9):
        return lo / 3, hi * 3
    if not nice:
        return lo, hi
    decades = log10(hi) - log10(lo)
    whole = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0)
    return _below(lo, whole), _above(hi, whole)


def _below(value: float, multiples: tuple[float, ...]) -> float:
    e = floor(log10(value) + 1e-9)
    return max(
        [m * 10.0**e for m in multiples if m * 10.0**e <= value * (1 + 1e-9)], default=10.0**e
    )


def _above(value: float, multiples: tuple[float, ...]) -> float:
    e = floor(log10(value) - 1e-9)
    return min(
        [m * 10.0**e for m in (*multiples, 10.0) if m * 10.0**e >= value * (1 - 1e-9)],
        default=10.0 ** (e + 1),
    )


def _step(lo: float, hi: float, most: int) -> float:
    """The smallest of 1, 2, 5 · 10ᵏ that makes at most so many steps."""
    rough = (hi - lo) / max(most, 1)
    power = 10.0 ** floor(log10(rough))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))


def _linear_ticks(
    lo: float, hi: float, most: int, comma: str = ",", finest: float = 0.0
) -> tuple[Tick, ...]:
    step = max(_step(lo, hi, most), finest)
    first = ceil(lo / step - 1e-9)
    last = floor(hi / step + 1e-9)
    values = [k * step for k in range(first, last + 1)]
    if max(abs(lo), abs(hi)) >= 1e6 or step < 1e-5:
        spread = max(abs(lo), abs(hi)) / step
        digits = min(15, max(1, ceil(log10(spread))) + 1)
        return tuple(Tick(v, _short(v, digits)) for v in values)
    decimals = max(0, -floor(log10(step) + 1e-9))
    return tuple(
        Tick(v, f"{v:{comma}.{decimals}f}".replace("-", "−") if v else "0") for v in values
    )


def _log_ticks(lo: float, hi: float, most: int) -> tuple[Tick, ...]:
    first = ceil(log10(lo) - 1e-9)
    last = floor(log10(hi) + 1e-9)
    if last - first < 1:
        return _short_log_ticks(lo, hi, most)
    step = _round_step((last - first + 1) / max(most, 2))
    exponents = range(first - first % step, last + 1, step)
    plain = first >= -4 and last <= 5
    kept = [e for e in exponents if e >= first]
    ticks = [Tick(10.0**e, _decimal(10.0**e) if plain else _power(e)) for e in kept]
    if last - first <= 2 and 3 * len(ticks) <= most and plain:
        ticks += [
            Tick(m * 10.0**e, _decimal(m * 10.0**e))
            for e in range(first - 1, last + 1)
            for m in (2, 5)
        ]
    return tuple(
        t
        for t in sorted(ticks, key=lambda t: t.value)
        if lo * (1 - 1e-9) <= t.value <= hi * (1 + 1e-9)
    )


def _round_step(decades: float) -> int:
    """So many decades or a few more, a number easy to count in."""
    return next((step for step in (1, 2, 3, 5, 10, 20, 50, 100) if step >= decades), 200)


def _short_log_ticks(lo: float, hi: float, most: int) -> tuple[Tick, ...]:
    """Less than a decade or two: 1, 2, 5 if enough of them fall on the axis, evenly spaced values otherwise."""
    exponents = range(floor(log10(lo)), ceil(log10(hi)) + 1)
    values = [
        m * 10.0**e
        for e in exponents
        for m in (1, 2, 5)
        if lo * (1 - 1e-9) <= m * 10.0**e <= hi * (1 + 1e-9)
    ]
    if len(values) < 3:
        return _linear_ticks(lo, hi, most)
    return tuple(Tick(v, _decimal(v) if 1e-5 < v < 1e6 else _short(v)) for v in values)


def _decimal(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.5f}".rstrip("0").rstrip(".")


def _power(exponent: int) -> str:
    return {0: "1", 1: "10"}.get(exponent, power_of_ten(exponent))


def _short(value: float, digits: int = 3) -> str:
    """2×10⁻⁷; a whole power of ten without its factor."""
    text = typeset(number(float(f"{value:.{digits}g}"), digits))
    sign, bare = ("−", text[1:]) if text.startswith("−") else ("", text)
    return sign + bare.removeprefix("1×")
