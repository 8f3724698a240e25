"""What grokking shows: the figure of Power et al., the Fourier network as a control, what decay and data share do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Series, Table

from .fourier import LARGEST, control, exact_logits
from .grokking import Protocol, Run, grok
from .tables import Operation

WORK = 1.5e11  # floating-point operations of one run
DECAYS, FRACTIONS = (0.0, 0.3, 0.6, 1.0, 2.0), (0.3, 0.4, 0.5, 0.6, 0.8)
VARIED = (("decay", DECAYS), ("fraction", FRACTIONS))
TIMES = ("memorised", "generalised", "delay")


def accuracy_chart(title: str, runs: Sequence[Run], without_decay: Sequence[Run] = ()) -> Curves:
    """Accuracies against the logarithm of the steps: medians over seeds, bands from the worst to the best."""
    series = [_band("training", runs, "train", "reference"), _band("validation", runs, "validation", "measured")]
    if without_decay:
        series.append(_band("validation without weight decay", without_decay, "validation", "other"))
    return Curves(title, Axis("optimisation steps", "log"), Axis("accuracy in %"), tuple(series))


def _band(name: str, runs: Sequence[Run], which: str, role: Any) -> Series:
    rows = 100 * np.array([getattr(run, which) for run in runs])[:, 1:]  # step 0 has no logarithm
    band = {"lo": rows.min(0), "hi": rows.max(0)} if len(runs) > 1 else {}
    return Series(name, runs[0].at[1:], np.median(rows, 0), role, **band)


def middle(times: Sequence[float]) -> float:
    """The median, infinite if half of the runs never got there."""
    ordered = sorted(times)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return (low + high) / 2 if isfinite(high) else inf


@dataclass(frozen=True, eq=False)
class Effect:
    """The times of several seeds at each value of one setting of the protocol."""

    setting: str
    values: tuple[float, ...]
    runs: tuple[tuple[Run, ...], ...]

    def times(self, which: str) -> list[float]:
        return [middle([getattr(run, which) for run in runs]) for runs in self.runs]

    def chart(self) -> Curves:
        names = {"decay": "weight decay λ", "fraction": "share of the pairs that trains"}
        end, late = float(self.runs[0][0].at[-1]), self.times("generalised")
        never = [v for v, time in zip(self.values, late) if not isfinite(time)]
        series = [
            self._reached("learned by heart", "memorised", "reference"),
            self._reached("understood", "generalised", "measured"),
            Series("not understood by the end", never, [end] * len(never), "other", "points"),
        ]
        axis = Axis(names[self.setting], "symlog" if self.setting == "decay" else "linear")
        kept = tuple(one for one in series if one.x)
        return Curves(f"effect of the {names[self.setting]}", axis, Axis("steps (median over seeds)", "log"), kept)

    def _reached(self, name: str, which: str, role: Any) -> Series:
        kept = [(v, time) for v, time in zip(self.values, self.times(which)) if isfinite(time)]
        return Series(name, [v for v, _ in kept], [time for _, time in kept], role)

    def claim(self) -> Claim:
        """Most of it is understood no later than least of it."""
        least, most = _time(self.runs[0], "generalised"), _time(self.runs[-1], "generalised")
        return AtMost(f"t_gen at {self.setting} {self.values[-1]:g} ≤ at {self.values[0]:g}", most, least)

    def table(self) -> Table:
        rows = [
            (value, *[_word(time) for time in times], float(np.median([r.validation[-1] for r in runs])))
            for value, runs, *times in zip(self.values, self.runs, *map(self.times, TIMES))
        ]
        return Table(f"effect of {self.setting}", (self.setting, "t_mem", "t_gen", "delay", "validation"), tuple(rows))


def _word(time: float) -> float | str:
    return round(time, 1) if isfinite(time) else "—"


def effect(
    operation: Operation, protocol: Protocol, setting: str, values: Sequence[float], seeds: int, first: int = 0
) -> Effect:
    """Vary one setting (`decay`, `fraction`) and keep the others."""
    numbered, changed = range(first, first + seeds), [replace(protocol, **{setting: value}) for value in values]
    runs = tuple(tuple(grok(operation, one, seed) for seed in numbered) for one in changed)
    return Effect(setting, tuple(values), runs)


def grokking_evidence(
    operation: Operation, protocol: Protocol, first: int, seeds: int, long: float, effects: bool
) -> Evidence:
    """Runs with and without weight decay, the control where the table is that of addition, and the effects if asked."""
    protocol = protocol.afforded(operation, WORK)
    numbered = range(first, first + seeds)
    runs = [grok(operation, protocol, seed) for seed in numbered]
    bare = [grok(operation, replace(protocol, decay=0.0), seed) for seed in list(numbered)[: 1 + seeds // 3]]
    heart, understood = (middle([getattr(r, n) for r in runs]) for n in ("memorised", "generalised"))
    claims, numbers = _closed_form(operation)
    claims += _measured_claims(runs, bare, long)
    found = [effect(operation, protocol, *varied, min(seeds, 2), first) for varied in VARIED] if effects else []
    claims += [e.claim() for e in found]
    numbers |= {
        "t_mem": _time(runs, "memorised"),
        "t_gen": _time(runs, "generalised"),
        "validation accuracy": Enclosure.measured(float(np.median([r.validation[-1] for r in runs])), samples=seeds),
    }
    bare_end = float(np.median([r.validation[-1] for r in bare]))
    title = f"{operation.name}: {protocol.fraction:.0%} of {len(operation):,} pairs, weight decay {protocol.decay:g}"
    told = (
        f"understood at step {understood:.0f}"
        if isfinite(understood)
        else f"not understood in {protocol.steps:,} steps"
    )
    return Evidence(
        claims=tuple(claims),
        charts=(accuracy_chart(title, runs, bare), *[e.chart() for e in found]),
        numbers=numbers,
        tables=(_times_table(runs, bare), *[e.table() for e in found]),
        summary=f"learned by heart at step {heart:.0f}, {told} (medians of {seeds} seeds); "
        f"without weight decay {bare_end:.0%} of the other pairs after the same time",
    )


def _closed_form(operation: Operation) -> tuple[list[Claim], dict[str, Any]]:
    """The table is a function; for addition mod p the Fourier logits and their network answer every pair."""
    answered = Enclosure.exact(operation.answerable)
    claims: list[Claim] = [
        Identity("rows that some function of (a, b) answers", answered, Enclosure.exact(len(operation)))
    ]
    numbers: dict[str, Any] = {"pairs": Enclosure.exact(len(operation.pairs))}
    p = operation.elements
    if not operation.modular_addition or not 2 <= p <= LARGEST:
        return claims, numbers
    logits, network = exact_logits(p), control(p)
    wrong = Enclosure.between(min(e.lo for e in logits[1:]), max(e.hi for e in logits[1:]))
    claims += [
        Identity("Fourier logit of the right class", logits[0], Enclosure.exact(p - 1)),
        Identity("Fourier logits of the others", wrong, Enclosure.exact(-1)),
        Identity("pairs that the Fourier network answers", network.right, Enclosure.exact(p * p)),
        AtMost("Fourier network: a logit off its exact value", network.error, Enclosure.exact(1)),
    ]
    return claims, numbers | {
        "logit of the right class": logits[0],
        "logit of a wrong class": wrong,
        "accuracy of the Fourier network": network.accuracy,
    }


def _measured_claims(runs: Sequence[Run], bare: Sequence[Run], long: float) -> list[Claim]:
    """The two times, and the later one with and without weight decay on the same seeds."""
    heart, same = _time(runs, "memorised"), runs[: len(bare)]
    return [
        AtMost(f"{long:g} t_mem ≤ t_gen (medians)", heart * long, _time(runs, "generalised")),
        AtMost("t_gen with weight decay ≤ without", _time(same, "generalised"), _time(bare, "generalised")),
    ]


def _time(runs: Sequence[Run], which: str) -> Enclosure:
    """The median over the runs; if half of them did not get there, it is at least the length of the run."""
    time = middle([getattr(run, which) for run in runs])
    if isfinite(time):
        return Enclosure.measured(time, samples=len(runs))
    return Enclosure.at_least(float(runs[0].at[-1]), samples=len(runs))


def _times_table(runs: Sequence[Run], bare: Sequence[Run]) -> Table:
    rows = [
        (r.protocol.decay, r.seed, _word(r.memorised), _word(r.generalised), _word(r.delay), float(r.validation[-1]))
        for r in (*runs, *bare)
    ]
    return Table("runs", ("weight decay", "seed", "t_mem", "t_gen", "delay", "validation accuracy"), tuple(rows))
