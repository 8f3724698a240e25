"""Grokking: memorised early, generalised late; and a network that generalises by construction."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Annotated, Any

import numpy as np

from ftheta.datasets import dataset
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.risks.watching import run_side_by_side
from ftheta.subjects import Dataset

from .effects import VARIED, Effect, measure_effect, median_time
from .fourier import LARGEST, control, exact_logits
from .tables import Operation
from .training import GrokkingRun, Protocol, grok

WORK = 1.5e11  # floating-point operations of one run
SETTINGS = {"decay": "weight decay λ", "fraction": "share of the pairs that trains"}
OPERATIONS = ("a+b", "a-b", "a*b", "a^2+b^2", "a^2+ab+b^2", "S4", "no rule", "two results")


def make_table(
    rng: np.random.Generator,
    *,
    operation: Annotated[
        str, Knob(says="the built-in operation: mod p, or a group", choices=OPERATIONS)
    ] = "a+b",
    p: Annotated[int, Knob(5, 97, "modulus", "p", least=2, most=113)] = 23,
) -> Dataset:
    if operation == "S4":
        found = dataset("group", of="S4")
        return Dataset("composition in S4", found.x, found.y)
    found = dataset("modular", p=p, operation=operation if operation in OPERATIONS[:5] else "a+b")
    if operation == "no rule":
        return Dataset(f"a random table of {p} elements", found.x, rng.integers(0, p, len(found.y)))
    if operation == "two results":  # the first pair is listed again, with another result
        x = np.concatenate([found.x, found.x[:1]])
        y = np.append(found.y, (found.y[0] + 1) % p)
        return Dataset("a pair with two results", x, y)
    return Dataset(f"{operation} mod {p}", found.x, found.y)


def make_contradictory_table(rng: np.random.Generator, *, p: int = 23) -> Dataset:
    return make_table(rng, operation="two results", p=p)


@hypothesis(
    r"the rows are an operation: every pair $(a,b)$ once, with one result",
    remedy="drop the rows that repeat",
)
def an_operation(data: Dataset) -> Finding:
    found = Operation.of(data.name, data.x, data.y)
    note = f"{len(found):,} rows, {len(found.pairs):,} pairs of {found.elements} elements"
    return (
        Finding.proved(note, "counted", Enclosure.exact(len(found.pairs)))
        if found.once
        else Finding.failed(note)
    )


@theorem(
    title="Grokking on tables of operations",
    gist="A network may memorise its training pairs early and generalise only long after, and weight decay and data "
    "shorten the wait; so a perfect training accuracy says little about when, or whether, a rule is learnt.",
    see_also=(
        "double-descent-networks",
        "implicit-bias",
        "explicit-regularisation",
        "error-decomposition",
    ),
    sources=("scaman-slides", "power2022", "gromov2023", "nanda2023"),
    assumes=(an_operation,),
    on=make_table,
    breaks_on=make_contradictory_table,
    presets={
        "textbook": {},
        "what controls the delay": {"effects": True},
        "thirty-one elements": {"p": 31, "fraction": 0.4, "steps": 4000},
        "multiplication": {"operation": "a*b"},
        "symmetric group": {"operation": "S4", "fraction": 0.8, "decay": 2.0, "long": 3.0},
        "most pairs known": {"fraction": 0.8, "long": 3.0},
        "nothing to understand": {"operation": "no rule"},
        "at the edge": {"p": 11, "fraction": 0.3, "steps": 2000},
        "broken on purpose": {"operation": "two results"},
    },
)
def grokking(
    data: Dataset,
    rng: np.random.Generator,
    *,
    fraction: Annotated[
        float, Knob(0.2, 0.9, "share of the pairs that trains", least=0.01, most=0.99)
    ] = 0.5,
    decay: Annotated[float, Knob(0, 5, "weight decay of AdamW", "λ", most=100)] = 1.0,
    hidden: Annotated[int, Knob(16, 256, "hidden units", "N", log=True, least=1, most=2048)] = 128,
    step: Annotated[
        float, Knob(1e-3, 0.02, "step of AdamW", "τ", log=True, least=1e-5, most=1)
    ] = 0.005,
    steps: Annotated[
        int, Knob(300, 20_000, "optimisation steps", "K", log=True, least=10, most=200_000)
    ] = 3000,
    seeds: Annotated[int, Knob(1, 10, "networks trained", "S", least=1, most=50)] = 3,
    long: Annotated[
        float, Knob(1, 50, "so many times later is long after", least=1, most=1e6)
    ] = 5.0,
    effects: Annotated[bool, Knob(says="also vary weight decay and data share (a minute)")] = False,
) -> Evidence:
    r"""Train a network on a share of the table $(a,b)\mapsto a\circ b$. The training accuracy saturates at a time
    $t_{mem}$ long before the validation accuracy does, $t_{gen}\gg t_{mem}$; the delay shrinks with more data and
    moderate weight decay, and without weight decay the network does not generalise sooner. For $a+b\bmod p$ a
    solution has a closed form: the logits $$\sum_{k=1}^{p-1}\cos\frac{2\pi k(a+b-c)}p=\begin{cases}p-1&
    c\equiv a+b,\\-1&\text{otherwise,}\end{cases}$$ which one hidden layer of squares computes on all $p^2$ pairs."""
    operation = Operation.of(data.name, data.x, data.y)
    protocol = Protocol(fraction, decay, hidden, step, steps)
    return gather(operation, protocol, int(rng.integers(2**31)), seeds, long, effects)


def gather(
    operation: Operation, protocol: Protocol, first: int, seeds: int, long: float, effects: bool
) -> Evidence:
    """Runs with and without weight decay, the control where the table is that of addition, and the effects if asked."""
    protocol = protocol.limit_steps(operation, WORK)
    numbered = range(first, first + seeds)
    without_decay = replace(protocol, decay=0.0)
    cells = [(protocol, seed) for seed in numbered]
    cells += [(without_decay, seed) for seed in list(numbered)[: 1 + seeds // 3]]
    trained = run_side_by_side(lambda cell: grok(operation, *cell), cells)
    runs = trained[:seeds]
    bare = trained[seeds:]
    found = []
    if effects:
        few = min(seeds, 2)
        found = [
            measure_effect(operation, protocol, name, values, few, first) for name, values in VARIED
        ]
    claims, numbers = _claim_closed_form(operation)
    claims += [*_claim_times(runs, bare, long), *map(_claim_effect, found)]
    last = float(np.median([run.validation[-1] for run in runs]))
    numbers |= {
        "t_mem": _enclose_time(runs, "memorised_at"),
        "t_gen": _enclose_time(runs, "generalised_at"),
        "validation accuracy": Enclosure.measured(last, samples=seeds),
    }
    title = f"{operation.name}: {protocol.fraction:.0%} of {len(operation):,} pairs, weight decay {protocol.decay:g}"
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_accuracies(title, runs, bare), *map(_draw_effect, found)),
        numbers=numbers,
        tables=(_tabulate_times(runs, bare), *map(_tabulate_effect, found)),
        summary=_summarise(runs, bare),
    )


# ---- claims ---------------------------------------------------------------------------------------------------------


def _claim_closed_form(operation: Operation) -> tuple[list[Claim], dict[str, Any]]:
    """The table is a function; for addition mod p the Fourier logits and their network answer every pair."""
    answered = Enclosure.exact(operation.answerable)
    claims: list[Claim] = [
        Identity(
            "rows that some function of (a, b) answers", answered, Enclosure.exact(len(operation))
        )
    ]
    numbers: dict[str, Any] = {"pairs": Enclosure.exact(len(operation.pairs))}
    p = operation.elements
    if not operation.modular_addition or not 2 <= p <= LARGEST:
        return claims, numbers
    logits = exact_logits(p)
    network = control(p)
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


def _claim_times(
    runs: Sequence[GrokkingRun], bare: Sequence[GrokkingRun], long: float
) -> list[Claim]:
    """The two times, and the later one with and without weight decay on the same seeds."""
    memorised = _enclose_time(runs, "memorised_at")
    same = runs[: len(bare)]
    with_decay = _enclose_time(same, "generalised_at")
    return [
        AtMost(
            f"{long:g} t_mem ≤ t_gen (medians)",
            memorised * long,
            _enclose_time(runs, "generalised_at"),
        ),
        AtMost(
            "t_gen with weight decay ≤ without", with_decay, _enclose_time(bare, "generalised_at")
        ),
    ]


def _claim_effect(found: Effect) -> Claim:
    """With the largest value the network generalises no later than with the least."""
    least = _enclose_time(found.runs[0], "generalised_at")
    most = _enclose_time(found.runs[-1], "generalised_at")
    return AtMost(
        f"t_gen at {found.setting} {found.values[-1]:g} ≤ at {found.values[0]:g}", most, least
    )


def _enclose_time(runs: Sequence[GrokkingRun], which: str) -> Enclosure:
    """The median over the runs; if half of them did not get there, it is at least the length of the run."""
    time = median_time([getattr(run, which) for run in runs])
    if isfinite(time):
        return Enclosure.measured(time, samples=len(runs))
    return Enclosure.at_least(float(runs[0].at[-1]), samples=len(runs))


def _summarise(runs: Sequence[GrokkingRun], bare: Sequence[GrokkingRun]) -> str:
    memorised = median_time([run.memorised_at for run in runs])
    generalised = median_time([run.generalised_at for run in runs])
    told = (
        f"generalises at step {generalised:.0f}"
        if isfinite(generalised)
        else f"does not generalise in {runs[0].protocol.steps:,} steps"
    )
    bare_end = float(np.median([run.validation[-1] for run in bare]))
    return (
        f"memorised at step {memorised:.0f}, {told} (medians of {len(runs)} seeds); without weight decay validation "
        f"accuracy {bare_end:.0%} after the same time"
    )


# ---- charts and tables ----------------------------------------------------------------------------------------------


def _draw_accuracies(
    title: str, runs: Sequence[GrokkingRun], without_decay: Sequence[GrokkingRun] = ()
) -> Curves:
    """Accuracies against the logarithm of the steps: medians over seeds, bands from the worst to the best."""
    series = [
        _draw_band("training", runs, "train", "reference"),
        _draw_band("validation", runs, "validation", "measured"),
    ]
    if without_decay:
        series.append(
            _draw_band("validation without weight decay", without_decay, "validation", "other")
        )
    return Curves(title, Axis("optimisation steps", "log"), Axis("accuracy in %"), tuple(series))


def _draw_band(name: str, runs: Sequence[GrokkingRun], which: str, role: Any) -> Series:
    rows = 100 * np.array([getattr(run, which) for run in runs])[:, 1:]  # step 0 has no logarithm
    band = {"lo": rows.min(0), "hi": rows.max(0)} if len(runs) > 1 else {}
    return Series(name, runs[0].at[1:], np.median(rows, 0), role, **band)


def _draw_effect(found: Effect) -> Curves:
    """Both times against one setting."""
    late = found.times("generalised_at")
    never = [v for v, time in zip(found.values, late) if not isfinite(time)]
    end = float(found.runs[0][0].at[-1])
    series = [
        _draw_reached("memorised", found, "memorised_at", "reference"),
        _draw_reached("generalised", found, "generalised_at", "measured"),
        Series("not generalised by the end", never, [end] * len(never), "other", "points"),
    ]
    name = SETTINGS[found.setting]
    axis = Axis(name, "symlog" if found.setting == "decay" else "linear")
    kept = tuple(one for one in series if one.x)
    return Curves(f"effect of the {name}", axis, Axis("steps (median over seeds)", "log"), kept)


def _draw_reached(name: str, found: Effect, which: str, role: Any) -> Series:
    kept = [
        (value, time) for value, time in zip(found.values, found.times(which)) if isfinite(time)
    ]
    return Series(name, [value for value, _ in kept], [time for _, time in kept], role)


def _tabulate_effect(found: Effect) -> Table:
    rows = []
    for k, value in enumerate(found.values):
        times = [
            _show_time(found.times(which)[k])
            for which in ("memorised_at", "generalised_at", "delay")
        ]
        rows.append(
            (value, *times, float(np.median([run.validation[-1] for run in found.runs[k]])))
        )
    columns = (found.setting, "t_mem", "t_gen", "delay", "validation")
    return Table(f"effect of {found.setting}", columns, tuple(rows))


def _tabulate_times(runs: Sequence[GrokkingRun], bare: Sequence[GrokkingRun]) -> Table:
    rows = []
    for run in (*runs, *bare):
        times = [_show_time(time) for time in (run.memorised_at, run.generalised_at, run.delay)]
        rows.append((run.protocol.decay, run.seed, *times, float(run.validation[-1])))
    return Table(
        "runs",
        ("weight decay", "seed", "t_mem", "t_gen", "delay", "validation accuracy"),
        tuple(rows),
    )


def _show_time(time: float) -> float | str:
    return round(time, 1) if isfinite(time) else "—"
