"""How long an audit may take, and each part of it."""

import re
from dataclasses import dataclass
from math import inf, isfinite
from time import monotonic

from ftheta.logic import UsageError

from .plan import Task

DEFAULT = 60.0  # seconds
SHARE = 0.2  # of the budget that one fact may take while others wait; a theorem may take half of that
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_WORDS = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|m|min|h)?")


def seconds_of(words: str | float | None) -> float | None:
    """`60s`, `2m`, `1.5h` or a number of seconds; None is no limit."""
    if words is None:
        return None
    match = _WORDS.fullmatch(str(words).strip().lower())
    value = float(match[1]) * _UNITS[match[2] or ""] if match else 0.0
    if not (isfinite(value) and value > 0):
        raise UsageError("A budget is a positive time.", got=words, remedy="write 60s, 2m, 1h or a number of seconds")
    return value


def told(seconds: float) -> str:
    """`12 s`, `0.4 s`, `5 min`."""
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


@dataclass(frozen=True)
class Clock:
    """A budget that began to run. `share` is what one of many facts may take while others wait for their turn."""

    begun: float
    budget: float | None
    share: float

    @classmethod
    def start(cls, budget: float | None, tasks: int, workers: int, begun: float | None = None) -> "Clock":
        begun = monotonic() if begun is None else begun
        if budget is None:
            return cls(begun, None, inf)
        return cls(begun, budget, budget * min(1.0, max(SHARE, workers / max(tasks, 1))))

    @property
    def used(self) -> float:
        return monotonic() - self.begun

    @property
    def left(self) -> float:
        return inf if self.budget is None else self.budget - self.used

    def share_of(self, task: Task) -> float:
        """What the task may take while others wait."""
        return self.share if task.is_fact else self.share / 2

    def more(self) -> str:
        """A budget that would help, in words."""
        return next(
            (words for words, s in (("2m", 120), ("5m", 300), ("20m", 1200)) if s > 1.9 * (self.budget or 0)), "2h"
        )
