"""What is not known: open problems, each with a proxy that can be measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, TypeAlias

import numpy as np

from ftheta.logic import (
    Axis,
    Bars,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Knob,
    Table,
    hypothesis,
    theorem,
)
from ftheta.spectra.objective import LabelledNetwork
from ftheta.subjects import Dataset, Network
from ftheta.theorems.observations import ADAM, STATUS, Observed

from . import proxies

BUILT_IN = "words of Zipf's law"
Measure: TypeAlias = Callable[[np.random.Generator, int], Observed]  # of so many seeds


@dataclass(frozen=True, slots=True)
class Entry:
    """An open problem; `proxy` is what is measured in its place, `protocol` how, `measure(rng, seeds)` does it."""

    problem: str
    proxy: str
    protocol: str
    measure: Measure


ENTRIES = (
    Entry(
        "why gradient descent works",
        "wide networks fit random labels",
        "20 rows, 1,500 steps, widths 4 and 64",
        proxies.wide_networks_fit_noise,
    ),
    Entry(
        "bias of architectures",
        "matrix completion",
        "6×6, rank 1, 26 entries seen, 1,500 steps",
        proxies.factors_complete_matrices,
    ),
    Entry(
        "bias of optimisers",
        "ℓ∞ margin on separable rows",
        "30 rows, logistic loss, 5,000 steps",
        proxies.adam_seeks_another_margin,
    ),
    Entry(
        ADAM,
        "words of Zipf's law, a linear classifier",
        "24 words of 64/k rows, 30 steps, best of 11 step sizes",
        proxies.adam_on_heavy_tails(np.zeros((0, 1)), np.zeros(0, int)),
    ),
    Entry(
        "theory of transformers",
        "tokens meet in one point",
        "8 tokens on the sphere, β = 2, time 40",
        proxies.tokens_meet,
    ),
    Entry(
        "neurons for Chizat–Bach",
        "students match a teacher",
        "teacher of 3, students 3 to 24, 1,000 steps of Adam",
        proxies.more_students_succeed,
    ),
    Entry(
        "grokking",
        "test loss falls after training loss",
        "diagonal network, α = 1.5, weight decay, 20,000 steps",
        proxies.late_generalisation,
    ),
    Entry(
        "infinite depth",
        "trained functions approach a limit",
        "depths 4, 8, 16, steps 1/L, 150 steps",
        proxies.depth_has_a_limit,
    ),
)

CHOICES = ("all", *(entry.problem for entry in ENTRIES))


def entries_for(problem: str, own: Measure | None, name: str) -> list[Entry]:
    """The asked entries; with `own` the one about Adam speaks of the subject that was handed in."""
    asked = [entry for entry in ENTRIES if problem in ("all", entry.problem)]
    mine = (
        Entry(ADAM, f"Adam and gradient descent on {name}", "each at its best step of 11", own)
        if own
        else None
    )
    return [mine if mine and entry.problem == ADAM else entry for entry in asked]


def words(rng: np.random.Generator) -> Dataset:
    return Dataset(BUILT_IN, *proxies.zipf_words(rng))


MOST_CLASSES = 1000  # each has weights of its own


def classes_of(data: Dataset) -> np.ndarray | None:
    """Whole numbers from 0, one per row and not too large; None where the labels are no classes."""
    if (
        data.y is None
        or data.y[0].size != 1
        or not (data.y == np.floor(data.y)).all()
        or data.y.min() < 0
        or data.y.max() >= MOST_CLASSES
    ):
        return None
    return data.y.reshape(len(data)).astype(int)


@hypothesis("the proxies stand for the problems", remedy="none: this is evidence, not a theorem")
def proxies_stand(subject: Dataset | Network) -> Finding:
    return Finding.assumed("small networks, few seeds, short runs")


@theorem(
    title="Register of open problems",
    sources=(
        "peyre-slides",
        "scaman-slides",
        "peyre-notes",
        "chizat2018",
        "kunstner2024",
        "lyu2024",
        "gunasekar2017",
    ),
    gist="What is not understood about deep learning, kept honest: each open problem comes with a small experiment "
    "whose outcome counts as evidence and never as a proof.",
    see_also=("implicit-bias", "adam", "grokking", "chizat-bach"),
    assumes=(proxies_stand,),
    on=words,
    unbreakable="an open problem has no statement that could be broken: a proxy is consistent or inconclusive",
    presets={"textbook": {}, "one problem": {"problem": "grokking", "seeds": 24}},
    audited=False,
)
def open_problems_register(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    problem: Annotated[str, Knob(says="which entry to measure", choices=CHOICES)] = "all",
    seeds: Annotated[
        int, Knob(4, 32, "independent runs of every proxy", "S", log=True, least=2, most=200)
    ] = 8,
) -> Evidence:
    r"""Not known: why descent on $\mathcal L(\theta)$ works; the implicit bias of architectures; of optimisers; why
    Adam helps transformers; a mean-field theory of transformers; how many neurons $q<\infty$ the theorem of Chizat and
    Bach needs; what grokking is; learning in the limit of infinite depth. Each entry is a proxy with a protocol and
    seeds: one number $e_s$ a seed, expected $\mathbb E\,e_s<0$. Its status is evidence, not theorem: consistent if the
    95 % interval of the mean is negative, else inconclusive, never proved or refuted."""
    own = _measure_own(subject)
    seed = int(rng.integers(2**31))
    entries = entries_for(problem, own, subject.name)
    if own is None or problem not in ("all", ADAM):
        return measure_entries(entries, seed, seeds)
    mine = [entry for entry in entries if entry.problem == ADAM]
    others = [entry for entry in entries if entry.problem != ADAM]
    return replace(
        measure_entries(mine, seed, seeds), examples=partial(_examples, others, seed, seeds)
    )


def _measure_own(subject: Dataset | Network) -> Measure | None:
    """Adam and gradient descent on the network or data handed in; None for the built-in words and unlabelled data."""
    if isinstance(subject, Network):
        labelled = LabelledNetwork.of(subject)
        if labelled.loss is None:
            return None
        return proxies.adam_on_network(subject, labelled.x, labelled.y, labelled.loss)
    labels = classes_of(subject)
    if subject.name == BUILT_IN or labels is None:
        return None
    return proxies.adam_on_heavy_tails(subject.x.reshape(len(subject), -1)[:512], labels[:512])


def measure_entries(entries: Sequence[Entry], seed: int, seeds: int) -> Evidence:
    """Every entry is measured with its own stream of random numbers, so that leaving one out changes no other."""
    streams = [np.random.default_rng([seed, *entry.problem.encode()]) for entry in entries]
    seen = [entry.measure(rng, seeds) for entry, rng in zip(entries, streams)]
    rows = []
    for e, o in zip(entries, seen):
        lo, hi = o.interval
        effect = f"[{lo:.3g}, {hi:.3g}]"
        rows.append(
            (e.problem, e.proxy, e.protocol, len(o.effects), effect, f"{o.agree:.0%}", STATUS)
        )
    columns = (
        "problem",
        "proxy",
        "protocol",
        "seeds",
        "mean effect, nominal 95 %",
        "seeds that agree",
        "status",
    )
    shown = sum(o.interval[1] < 0 for o in seen)
    return Evidence(
        claims=tuple(claim_effect(e.problem, o) for e, o in zip(entries, seen)),
        charts=(_draw_dashboard(entries, seen), *(o.chart for o in seen if o.chart is not None)),
        numbers={"entries": Enclosure.exact(len(entries)), "seeds": Enclosure.exact(seeds)}
        | {
            f"{e.problem}: mean effect": Enclosure.measured(
                float(np.mean(o.effects)), samples=len(o.effects)
            )
            for e, o in zip(entries, seen)
            if np.isfinite(o.interval[1])
        },
        tables=(Table("register of open problems", columns, tuple(rows)),),
        summary=f"{shown} of {len(entries)} proxies show the expected effect in {seeds} seeds; evidence, not theorems",
    )


def claim_effect(problem: str, observed: Observed) -> Exists:
    """A sampled claim of existence: by its kind never proved, never refuted."""
    return Exists(
        f"{problem}: {observed.what} < 0",
        observed.witness,
        observed.highest_mean,
        Enclosure.exact(0),
    )


def _draw_dashboard(entries: Sequence[Entry], seen: Sequence[Observed]) -> Bars:
    """How many seeds show the effect, entry by entry."""
    names = tuple(entry.problem for entry in entries)
    values = (tuple(100 * o.agree for o in seen),)
    return Bars(
        "open problems: seeds that show the expected effect",
        Axis("per cent of seeds"),
        names,
        ("seeds",),
        values,
    )


def _examples(others: Sequence[Entry], seed: int, seeds: int) -> Examples:
    """The entries that are not about the subject."""
    found = measure_entries(others, seed, seeds)
    return Examples(found.claims, found.charts, found.tables)
