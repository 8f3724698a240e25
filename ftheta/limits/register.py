"""The register of open problems: for each a proxy that can be measured, its protocol, its seeds, and what was seen.

An open problem has no theorem, so nothing here may be proved or refuted. An entry is expected to have a negative effect
on average; what is claimed is the existence of an effect, and only from a sample: such a claim is consistent where
the interval of the mean (nominal level, by the central limit theorem) lies below zero, and inconclusive anywhere else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import Axis, Bars, Basis, Chart, Enclosure, Evidence, Exists, Table, UsageError

CONFIDENCE = 0.95
DIVERGED = 1e100
STATUS = "evidence, not theorem"


@dataclass(frozen=True, eq=False)
class Observed:
    """One number a seed, expected below 0; and what it is the number of."""

    what: str
    effects: np.ndarray
    chart: Chart | None = None

    def __post_init__(self) -> None:
        effects = np.asarray(self.effects, np.float64)
        if effects.ndim != 1 or len(effects) < 2:
            raise UsageError("An observation is one number a seed, of at least two seeds.", got=f"{effects.shape}")
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

    def claim(self, problem: str) -> Exists:
        """A sampled claim of existence: by its kind never proved, never refuted."""
        found = self._mean
        highest = replace(found, lo=found.hi)
        told = f"{problem}: {self.what} < 0"
        return Exists(told, {"seeds": float(len(self.effects))}, highest, Enclosure.exact(0))


@dataclass(frozen=True, slots=True)
class Entry:
    """An open problem; `proxy` is what is measured in its place, `protocol` how, `measure(rng, seeds)` does it."""

    problem: str
    proxy: str
    protocol: str
    measure: Callable[[np.random.Generator, int], Observed]


def register_evidence(entries: Sequence[Entry], seed: int, seeds: int) -> Evidence:
    """Every entry is measured with its own stream of random numbers, so that leaving one out changes no other."""
    streams = [np.random.default_rng([seed, *entry.problem.encode()]) for entry in entries]
    seen = [entry.measure(rng, seeds) for entry, rng in zip(entries, streams)]
    told = lambda o: "[{:.3g}, {:.3g}]".format(*o.interval)
    rows = tuple(
        (e.problem, e.proxy, e.protocol, len(o.effects), told(o), f"{o.agree:.0%}", STATUS)
        for e, o in zip(entries, seen)
    )
    columns = ("problem", "proxy", "protocol", "seeds", "mean effect, nominal 95 %", "seeds that agree", "status")
    shown = sum(o.interval[1] < 0 for o in seen)
    return Evidence(
        claims=tuple(o.claim(e.problem) for e, o in zip(entries, seen)),
        charts=(dashboard(entries, seen), *(o.chart for o in seen if o.chart is not None)),
        numbers={"entries": Enclosure.exact(len(entries)), "seeds": Enclosure.exact(seeds)}
        | {
            f"{e.problem}: mean effect": Enclosure.measured(float(np.mean(o.effects)), samples=len(o.effects))
            for e, o in zip(entries, seen)
            if np.isfinite(o.interval[1])
        },
        tables=(Table("register of open problems", columns, rows),),
        summary=f"{shown} of {len(entries)} proxies show the expected effect in {seeds} seeds; evidence, not theorems",
    )


def dashboard(entries: Sequence[Entry], seen: Sequence[Observed]) -> Bars:
    """How many seeds show the effect, entry by entry."""
    names = tuple(entry.problem for entry in entries)
    values = (tuple(100 * o.agree for o in seen),)
    return Bars(
        "open problems: seeds that show the expected effect", Axis("per cent of seeds"), names, ("seeds",), values
    )
