"""Observations about open problems: one effect per seed, for claims that can be neither proved nor refuted.

An open problem has no theorem. An effect is expected to be negative on average; what is claimed is the existence of an
effect, and only from a sample: such a claim is consistent where the interval of the mean (nominal level, by the central
limit theorem) lies below zero, and inconclusive anywhere else.
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import Basis, Chart, Enclosure, UsageError

CONFIDENCE = 0.95
DIVERGED = 1e100
STATUS = "evidence, not theorem"
ADAM = "why Adam helps"


@dataclass(frozen=True, eq=False)
class Observed:
    """One number per seed, expected below 0; and what it is the number of."""

    what: str
    effects: np.ndarray
    chart: Chart | None = None

    def __post_init__(self) -> None:
        effects = np.asarray(self.effects, np.float64)
        if effects.ndim != 1 or len(effects) < 2:
            raise UsageError(
                "An observation is one number per seed, of at least two seeds.",
                got=f"{effects.shape}",
            )
        object.__setattr__(self, "effects", effects)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the mean effect; all numbers where a run has diverged."""
        found = self._mean
        return found.lo, found.hi

    @property
    def _mean(self) -> Enclosure:
        if (np.abs(self.effects) < DIVERGED).all():
            return mean(self.effects, CONFIDENCE)
        return Enclosure(-inf, inf, Basis.SAMPLED, len(self.effects))

    @property
    def agree(self) -> float:
        """The part of the seeds that show the effect."""
        return float(np.mean(self.effects < 0))

    @property
    def highest_mean(self) -> Enclosure:
        """The upper end of the interval: a claim that it lies below 0 is sampled, so never proved and never refuted."""
        return replace(self._mean, lo=self._mean.hi)

    @property
    def witness(self) -> dict[str, float]:
        """What shows the effect: so many seeds."""
        return {"seeds": float(len(self.effects))}
