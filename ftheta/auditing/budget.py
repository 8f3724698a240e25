"""How long an audit may compute, and each part of it."""

import re
from dataclasses import dataclass
from math import inf, isfinite
from time import monotonic

from ftheta.logic import Skipped, UsageError

from .plan import Task

DEFAULT = 60.0  # seconds
SHARE = 0.2  # of the budget that one fact may take while others wait; a theorem may take half of that
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
        raise UsageError("A budget is a positive time.", got=words, remedy="write 60s, 2m, 1h or a number of seconds")
    return value


def duration_text(seconds: float) -> str:
    """`12 s`, `0.4 s`, `5 min`."""
    if seconds >= 120 and seconds % 60 == 0:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


@dataclass
class Clock:
    """A budget. `share` is what one of many facts may take while others wait for their turn.

    It runs from `begun`, when the first worker has read the network; the `held` seconds are not counted (`fairness`).
    """

    budget: float | None
    share: float
    begun: float | None = None
    held: float = 0.0

    @classmethod
    def of(cls, budget: float | None, tasks: int, workers: int) -> "Clock":
        """A clock that does not run yet."""
        if budget is None:
            return cls(None, inf)
        return cls(budget, budget * min(1.0, max(SHARE, workers / max(tasks, 1))))

    def begin(self) -> None:
        """Run from now on, if it does not run already."""
        if self.begun is None:
            self.begun = monotonic()

    @property
    def used(self) -> float:
        return 0.0 if self.begun is None else monotonic() - self.begun - self.held

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


def describe_stop(task: Task, after: float, clock: Clock) -> Skipped:
    """A task that was stopped after so many seconds, and how to give it more."""
    return Skipped(task.id, f"stopped after {duration_text(after)}", _more_time(clock), unfinished=True)


def not_begun(task: Task, clock: Clock) -> Skipped:
    """A task for which no time was left, and how to give it some."""
    reason = f"not begun: the budget of {duration_text(clock.budget or 0)} was used up"
    return Skipped(task.id, reason, _more_time(clock), unfinished=True)


def _more_time(clock: Clock) -> str:
    """How something that was not finished can be."""
    return f"give more time with `--budget {clock.more()}`, or all of it to one theorem with `--only` and its id"
