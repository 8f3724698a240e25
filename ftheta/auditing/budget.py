"""How long an audit may compute, and each part of it."""

from dataclasses import dataclass
from math import inf
from time import monotonic

from ftheta.logic import Skipped
from ftheta.processes.budgets import duration_text

from .plan import Task

DEFAULT = 60.0  # seconds
# of the budget that one fact may take while others wait; a theorem may take half of that
SHARE = 0.2


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
    def seconds_used(self) -> float:
        return 0.0 if self.begun is None else monotonic() - self.begun - self.held

    @property
    def left(self) -> float:
        return inf if self.budget is None else self.budget - self.seconds_used

    def share_of(self, task: Task) -> float:
        """What the task may take while others wait."""
        return self.share if task.is_fact else self.share / 2

    def more(self) -> str:
        """A budget that would help, in words."""
        return next(
            (
                words
                for words, s in (("2m", 120), ("5m", 300), ("20m", 1200))
                if s > 1.9 * (self.budget or 0)
            ),
            "2h",
        )


def describe_stop(task: Task, after: float, clock: Clock) -> Skipped:
    """A task that was stopped after so many seconds, and how to give it more."""
    reason = f"stopped after {duration_text(after)}"
    return Skipped(task.id, reason, _more_time(clock), unfinished=True, stopped_after=after)


def not_begun(task: Task, clock: Clock) -> Skipped:
    """A task for which no time was left, and how to give it some."""
    reason = f"not begun: the budget of {duration_text(clock.budget or 0)} was used up"
    return Skipped(task.id, reason, _more_time(clock), unfinished=True)


def _more_time(clock: Clock) -> str:
    """How something that was not finished can be."""
    return f"give more time with `--budget {clock.more()}`, or all of it to one theorem with `--only` and its id"
