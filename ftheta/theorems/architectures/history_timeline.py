"""The events of the field in order, each with theorems in which it can be run."""

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Basis, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks.history import EVENTS, missing, timeline_chart, timeline_table
from ftheta.subjects import Dataset

ZERO = Enclosure.exact(0)
PRINTED = 1975  # "Rumelhart, Hinton, Williams, 75"
DATES = ("of the publications", "as seed 3 prints them")
RUNNABLE = frozenset(p.stem.replace("_", "-") for p in Path(__file__).parents[1].glob("*/*.py") if p.stem != "__init__")


def timeline(
    rng: np.random.Generator, *, dates: Annotated[str, Knob(says="the dates of the events", choices=DATES)] = DATES[0]
) -> Dataset:
    printed = [PRINTED if e.source == "rumelhart1986" and dates == DATES[1] else e.year for e in EVENTS]
    return Dataset(f"timeline with the dates {dates}", np.array(printed)[:, None])


def misprinted(rng: np.random.Generator) -> Dataset:
    return timeline(rng, dates=DATES[1])


def wrong_years(data: Dataset) -> list[str]:
    """Events whose year is not that of their source."""
    return [e.what for e, year in zip(EVENTS, np.ravel(data.x).tolist()) if year != e.published]


@hypothesis("there is one year an event", remedy=f"give {len(EVENTS)} rows of one year each")
def one_year_an_event(data: Dataset) -> Finding:
    note = f"{data.x.size} years, {len(EVENTS)} events"
    return Finding.decide(data.x.size == len(EVENTS), note, "counted", basis=Basis.EXACT)


@hypothesis("the years are those of the publications", remedy="look the years up in references.bib")
def years_of_the_publications(data: Dataset) -> Finding:
    if data.x.size != len(EVENTS):
        return Finding.failed("unknown without one year an event")
    wrong = wrong_years(data)
    note = f"other years than their sources: {', '.join(wrong) or 'none'}"
    return Finding.decide(not wrong, note, "each compared with references.bib", basis=Basis.EXACT)


@theorem(
    title="A timeline that runs",
    sources=("seed 2", "seed 3", "mourtzis2020", *dict.fromkeys(event.source for event in EVENTS)),
    assumes=(one_year_an_event, years_of_the_publications),
    on=timeline,
    breaks_on=misprinted,
    presets={"textbook": {}, "broken on purpose": {"dates": DATES[1]}},
    errata=r"Seed 3 dates the multi-layer perceptron of Rumelhart, Hinton and Williams “75”; the paper is of 1986.",
)
def history_timeline(data: Dataset, rng: np.random.Generator) -> Evidence:
    r"""The events of the field, from the logical neuron $1\{\langle w,x\rangle\ge t\}$ of 1943 to the language
    models of 2020, are in the order of their years $t_1\le t_2\le\dots\le t_n$, each year is that of its source, and
    every event leads to a theorem that runs: `ftheta check` with the id in the table."""
    if data.x.size != len(EVENTS):
        return Evidence((), summary=f"{data.x.size} years for {len(EVENTS)} events")
    years = np.ravel(data.x).tolist()
    back = max(a - b for a, b in pairwise(years))
    dead, wrong = missing(EVENTS, RUNNABLE), wrong_years(data)
    claims = (
        AtMost("largest step back in time", Enclosure.exact(back), ZERO),
        Identity("years that are not those of the sources", Enclosure.exact(len(wrong)), ZERO),
        Identity("links that lead to no theorem", Enclosure.exact(len(dead)), ZERO),
    )
    mlp = next(e.year for e in EVENTS if e.source == "rumelhart1986")
    printed = Identity(
        "year of the multi-layer perceptron, as seed 3 prints it", Enclosure.exact(PRINTED), Enclosure.exact(mlp)
    )
    links = len({id for e in EVENTS for id in e.theorems})
    return Evidence(
        claims,
        (timeline_chart(EVENTS, tuple(years)),),
        {
            "events": Enclosure.exact(len(EVENTS)),
            "theorems": Enclosure.exact(links),
            "year of the MLP paper": Enclosure.exact(mlp),
        },
        (timeline_table(EVENTS),),
        (printed,),
        summary=f"{len(EVENTS)} events from {years[0]:.0f} to {years[-1]:.0f} lead to {links} theorems",
    )
