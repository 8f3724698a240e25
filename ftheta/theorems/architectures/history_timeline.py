"""The events of the field in order, each with its source and the theorems in which it can be run."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
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
from ftheta.subjects import Dataset

ZERO = Enclosure.exact(0)
PRINTED = 1975  # "Rumelhart, Hinton, Williams, 75"
DATES = ("of the publications", "as Scaman's slides print them")


@dataclass(frozen=True)
class Event:
    """`source` is a key of the bibliography, `theorems` are ids, the first one the main one."""

    year: int
    what: str
    who: str
    source: str
    theorems: tuple[str, ...]

    @property
    def year_of_source(self) -> int:
        """The year of the source, which ends its key."""
        return int(self.source[-4:])


EVENTS = (
    Event(
        1943,
        "logical neuron",
        "McCulloch, Pitts",
        "mcculloch1943",
        ("perceptron-xor", "depth-conventions"),
    ),
    Event(
        1951,
        "stochastic approximation",
        "Robbins, Monro",
        "robbins1951",
        ("sgd-robbins-monro", "training-loop"),
    ),
    Event(1957, "perceptron", "Rosenblatt", "rosenblatt1957", ("perceptron-xor", "implicit-bias")),
    Event(
        1969,
        "Perceptrons",
        "Minsky, Papert",
        "minsky1969",
        ("perceptron-xor", "vc-uniform-convergence"),
    ),
    Event(
        1970,
        "reverse mode",
        "Linnainmaa",
        "linnainmaa1970",
        ("reverse-mode", "worked-example-graph"),
    ),
    Event(1982, "associative memory", "Hopfield", "hopfield1982", ("hopfield",)),
    Event(
        1986,
        "back-propagation",
        "Rumelhart, Hinton, Williams",
        "rumelhart1986",
        ("backprop-mlp", "training-loop"),
    ),
    Event(
        1989,
        "universal approximation",
        "Cybenko; Hornik",
        "cybenko1989",
        ("uat-cybenko-hornik", "stone-weierstrass"),
    ),
    Event(1993, "rates without dimension", "Barron", "barron1993", ("barron-rate", "barron-norm")),
    Event(
        2009,
        "graphics cards",
        "Raina, Madhavan, Ng",
        "raina2009",
        ("training-loop", "reverse-mode"),
    ),
    Event(
        2012,
        "AlexNet",
        "Krizhevsky, Sutskever, Hinton",
        "krizhevsky2012",
        ("cnn-alexnet-activations", "conv-iff-equivariant"),
    ),
    Event(2016, "ResNet", "He, Zhang, Ren, Sun", "he2016", ("resnet-block-34", "neural-ode-limit")),
    Event(
        2017,
        "Transformer",
        "Vaswani et al.",
        "vaswani2017",
        ("transformer-block", "self-attention"),
    ),
    Event(
        2018,
        "neural tangent kernel",
        "Jacot, Gabriel, Hongler",
        "jacot2018",
        ("ntk-kernel", "overparam-gd"),
    ),
    Event(
        2018,
        "neural ODE",
        "Chen, Rubanova, Bettencourt, Duvenaud",
        "chen2018",
        ("neural-ode-limit",),
    ),
    Event(2020, "diffusion models", "Ho, Jain, Abbeel", "ho2020", ("diffusion-score",)),
    Event(2020, "large language models", "Brown et al.", "brown2020", ("self-attention", "adam")),
    Event(2022, "Stable Diffusion", "Rombach et al.", "rombach2022", ("diffusion-score", "unet")),
    Event(2022, "DALL·E 2", "Ramesh et al.", "ramesh2022", ("diffusion-score", "self-attention")),
)


def timeline(
    rng: np.random.Generator,
    *,
    dates: Annotated[str, Knob(says="the dates of the events", choices=DATES)] = DATES[0],
) -> Dataset:
    printed = [
        PRINTED if e.source == "rumelhart1986" and dates == DATES[1] else e.year for e in EVENTS
    ]
    return Dataset(f"timeline with the dates {dates}", np.array(printed)[:, None])


def timeline_as_printed(rng: np.random.Generator) -> Dataset:
    return timeline(rng, dates=DATES[1])


def _wrong_years(data: Dataset) -> list[str]:
    """Events whose year is not that of their source."""
    return [
        e.what for e, year in zip(EVENTS, np.ravel(data.x).tolist()) if year != e.year_of_source
    ]


@hypothesis("there is one year per event", remedy=f"give {len(EVENTS)} rows of one year each")
def one_year_per_event(data: Dataset) -> Finding:
    note = f"{data.x.size} years, {len(EVENTS)} events"
    return Finding.decide(data.x.size == len(EVENTS), note, "counted", basis=Basis.EXACT)


@hypothesis("the years are those of the publications", remedy="look the years up in references.bib")
def years_of_the_publications(data: Dataset) -> Finding:
    if data.x.size != len(EVENTS):
        return Finding.undecided("one year per event")
    wrong = _wrong_years(data)
    note = f"other years than their sources: {', '.join(wrong) or 'none'}"
    return Finding.decide(not wrong, note, "each compared with references.bib", basis=Basis.EXACT)


@theorem(
    title="A timeline that runs",
    gist="The milestones of deep learning from the logical neuron to images made from words, in order, each with a "
    "theorem of this catalogue in which it can be tried out.",
    see_also=("perceptron-xor", "hopfield", "backprop-mlp", "transformer-block"),
    sources=(
        "murari-slides",
        "scaman-slides",
        "mourtzis2020",
        *dict.fromkeys(event.source for event in EVENTS),
    ),
    assumes=(one_year_per_event, years_of_the_publications),
    on=timeline,
    breaks_on=timeline_as_printed,
    presets={"textbook": {}, "broken on purpose": {"dates": DATES[1]}},
    errata=r"""Scaman's slides date the multi-layer perceptron of Rumelhart, Hinton and Williams “75”; the paper is
    of 1986.""",
)
def history_timeline(data: Dataset, rng: np.random.Generator) -> Evidence:
    r"""The events of the field, from the logical neuron $1\{\langle w,x\rangle\ge t\}$ of 1943 to the images that
    are made from words in 2022, are in the order of their years $t_1\le t_2\le\dots\le t_n$, each year is that of its
    source, and every event leads to a theorem that runs: `ftheta check` with the id in the table."""
    if data.x.size != len(EVENTS):
        return Evidence((), summary=f"{data.x.size} years for {len(EVENTS)} events")
    years = np.ravel(data.x).tolist()
    back = max(a - b for a, b in pairwise(years))
    wrong = _wrong_years(data)
    claims = (
        AtMost("largest step back in time", Enclosure.exact(back), ZERO),
        Identity("years that are not those of the sources", Enclosure.exact(len(wrong)), ZERO),
    )
    mlp = next(e.year for e in EVENTS if e.source == "rumelhart1986")
    printed = Identity(
        "year of the multi-layer perceptron, as Scaman's slides print it",
        Enclosure.exact(PRINTED),
        Enclosure.exact(mlp),
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


def timeline_table(events: tuple[Event, ...]) -> Table:
    rows = tuple(
        (str(e.year), e.what, e.who, ", ".join(f"ftheta check {id}" for id in e.theorems))
        for e in events
    )
    return Table("timeline", ("year", "event", "by", "run it"), rows)


def timeline_chart(
    events: tuple[Event, ...], years: tuple[float, ...], until: int = 2026
) -> Curves:
    """One line per event, from its year on, the oldest at the bottom."""
    series = tuple(
        Series(f"{year:.0f} {event.what}", (year, until), (k, k))
        for k, (event, year) in enumerate(zip(events, years), 1)
    )
    return Curves("timeline of the field", Axis("year", years=True), Axis("event"), series)
