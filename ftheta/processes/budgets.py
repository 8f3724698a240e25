"""Times in words: how long something may take."""

import re
from math import isfinite

from ftheta.logic.errors import UsageError

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_WORDS = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|m|min|h)?")


def seconds_of(words: str | float | None) -> float | None:
    """`60s`, `2m`, `1.5h` or a number of seconds; None is no limit."""
    return None if words is None else parse_seconds(words)


def parse_seconds(words: str | float) -> float:
    """`60s`, `2m`, `1.5h` or a number of seconds."""
    match = _WORDS.fullmatch(str(words).strip().lower())
    value = float(match[1]) * _UNITS[match[2] or ""] if match else 0.0
    if not (isfinite(value) and value > 0):
        raise UsageError(
            "A budget is a positive time.",
            got=words,
            remedy="write 60s, 2m, 1h or a number of seconds",
        )
    return value


def duration_text(seconds: float) -> str:
    """`12 s`, `0.4 s`, `5 min`."""
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
