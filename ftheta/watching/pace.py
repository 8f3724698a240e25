"""When to look: every n steps, or as often as a share of the time of training allows."""

from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class Pace:
    """Looks take `spent` seconds in all. With `every` they come at its multiples; without, the next one comes when
    all of them and one more like the last would take at most `share` of the time of training."""

    share: float
    every: int | None = None
    spent: float = 0.0
    last: float = 0.0
    begun: float = field(default_factory=perf_counter)

    @property
    def training(self) -> float:
        """Seconds since the beginning that no look took."""
        return perf_counter() - self.begun - self.spent

    @property
    def cost(self) -> float:
        """The share of the time of training that looks took."""
        return self.spent / max(self.training, 1e-9)

    def is_due(self, step: int) -> bool:
        """Whether to look at this step."""
        if self.every is not None:
            return step % self.every == 0
        return self.spent + self.last <= self.share * self.training

    def charge(self, seconds: float) -> None:
        """A look took so long."""
        self.spent += seconds
        self.last = seconds
