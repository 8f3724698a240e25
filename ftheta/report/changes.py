"""Two values of one fact, and how far they are apart, in words."""

from math import isfinite

from ftheta.logic import Change, Enclosure

from .numbers import enclosure, number


def format_fact(value: Enclosure | str) -> str:
    """A value as people read it; an interval with a confidence is given by its ends."""
    if isinstance(value, str):
        return value
    if value.level is not None and isfinite(value.lo) and isfinite(value.hi):
        return f"[{number(value.lo)}, {number(value.hi)}]"
    return enclosure(value)


def describe_basis(value: Enclosure | str) -> str:
    """How a value is known: in a word or two."""
    if isinstance(value, str):
        return ""
    if value.samples is None:
        return {"exact": "exact", "float": "float64"}[value.basis.value]
    nominal = "" if value.nominal is None else "nominal "
    sure = "" if value.level is None else f"{nominal}{100 * value.level:.6g} % confidence, "
    assumed = f", {value.assuming}" if value.assuming else ""
    return f"{sure}{value.sample_count}{assumed}"


def format_change(found: Change) -> str:
    """From before to after: a factor between positive numbers, else the difference."""
    one = found.before
    two = found.after
    if found.same:
        return "="
    if isinstance(one, str) or isinstance(two, str):
        return "changed"
    a = one.middle
    b = two.middle
    if a > 0 and b > 0 and isfinite(a) and isfinite(b):
        return (
            f"× {number(b / a, 3)}"
            if abs(b / a - 1) > 5e-4
            else f"{'+' if b > a else ''}{number(b - a, 2)}"
        )
    return f"{'+' if b > a else ''}{number(b - a, 3)}" if isfinite(a) and isfinite(b) else "changed"
