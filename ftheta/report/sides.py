"""The two sides of a claim, and the room between them."""

import re
from dataclasses import dataclass
from math import floor, inf, isfinite, log10

from ftheta.logic.claim import AtMost, Claim, Converges, Exists, Identity, Rate
from ftheta.logic.enclosure import Enclosure

from .numbers import enclosure, number, quantity, tidy

_CONFIDENCE = re.compile(r" \((nominal )?[\d.]+ %\)")


@dataclass(frozen=True, slots=True)
class Sides:
    """A claim as a row of a table: what was measured, what it is compared with, and the room between."""

    measured: str
    bound: str
    slack: str


def sides(claim: Claim) -> Sides:
    """The two sides of a claim and the room between them."""
    match claim:
        case AtMost(left=left, right=right):
            return Sides(enclosure(left), enclosure(right), _room(_top(left), _bottom(right)))
        case Identity(what=what, left=left, right=right):
            return Sides(
                quantity(what, left),
                f"= {quantity(what, right)}",
                _distance(left.middle, right.middle),
            )
        case Rate(slope=slope, order=order, sharp=sharp):
            return Sides(
                f"slope {enclosure(slope)}", f"{'' if sharp else '≤ '}{number(-order)}", ""
            )
        case Converges(values=values, limit=limit):
            last = values[-1].middle if values else inf
            known = enclosure(values[-1]) if values else "unknown"
            return Sides(known, f"→ {enclosure(limit)}", _distance(last, limit.middle))
        case Exists(achieved=achieved, wanted=wanted):
            return Sides(
                enclosure(achieved),
                f"≤ {enclosure(wanted)}",
                _room(_top(achieved), _bottom(wanted)),
            )


def brief(claim: Claim) -> Sides:
    """The same for a table of many claims; how sure the numbers are is said where the claim stands alone."""
    row = sides(claim)
    return Sides(_CONFIDENCE.sub("", row.measured), _CONFIDENCE.sub("", row.bound), row.slack)


def _top(e: Enclosure) -> float:
    """The end that a bound from above is compared with; the other one if it is not known."""
    return e.hi if isfinite(e.hi) else e.lo


def _bottom(e: Enclosure) -> float:
    return e.lo if isfinite(e.lo) else e.hi


def _room(left: float, right: float) -> str:
    """How far `left` is below `right`: as a factor where both are positive."""
    if not (isfinite(left) and isfinite(right)):
        return ""
    if left > 0 and right > 0:
        factor = 10 ** min(log10(right) - log10(left), 300.0)
        digits = 2 if factor < 10 else 3
        return f"{_factor(factor, digits)}×"
    return number(right - left, 3)


def _factor(x: float, digits: int) -> str:
    if 0.995 <= x < 1.005:
        return "1"
    if x <= 0:
        return "0"
    if x >= 1e6:
        return tidy(f"{x:.1e}")
    rounded = round(x, digits - 1 - floor(log10(x)))
    return number(rounded, digits)


def _distance(a: float, b: float) -> str:
    return f"Δ {number(abs(a - b), 2)}" if isfinite(a) and isfinite(b) else ""
