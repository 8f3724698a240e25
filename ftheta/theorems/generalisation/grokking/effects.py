"""What weight decay and the share of training pairs do to the two times of grokking."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

from .tables import Operation
from .training import GrokkingRun, Protocol, grok

DECAYS = (0.0, 0.3, 0.6, 1.0, 2.0)
FRACTIONS = (0.3, 0.4, 0.5, 0.6, 0.8)
VARIED: tuple[tuple[str, tuple[float, ...]], ...] = (("decay", DECAYS), ("fraction", FRACTIONS))


def median_time(times: Sequence[float]) -> float:
    """The median, infinite if half of the runs never got there."""
    ordered = sorted(times)
    low = ordered[(len(ordered) - 1) // 2]
    high = ordered[len(ordered) // 2]
    return (low + high) / 2 if isfinite(high) else inf


@dataclass(frozen=True, eq=False)
class Effect:
    """The runs of several seeds at each value of one setting of the protocol."""

    setting: str
    values: tuple[float, ...]
    runs: tuple[tuple[GrokkingRun, ...], ...]

    def times(self, which: str) -> list[float]:
        """Medians over seeds, one per value, of the time `memorised_at` or `generalised_at`, or of the `delay`."""
        return [median_time([getattr(run, which) for run in runs]) for runs in self.runs]


def measure_effect(
    operation: Operation,
    protocol: Protocol,
    setting: str,
    values: Sequence[float],
    seeds: int,
    first: int = 0,
) -> Effect:
    """Vary one setting (`decay`, `fraction`) and keep the others; seeds are numbered from `first`."""
    numbered = range(first, first + seeds)
    changed = [replace(protocol, **{setting: value}) for value in values]
    runs = tuple(tuple(grok(operation, one, seed) for seed in numbered) for one in changed)
    return Effect(setting, tuple(values), runs)
