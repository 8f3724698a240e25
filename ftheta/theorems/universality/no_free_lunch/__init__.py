"""Averaged over all targets, every learner errs half the time where it has not looked."""

from fractions import Fraction
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
    Histogram,
    Identity,
    Knob,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Family

from . import enumeration

TARGETS = {"all labellings": enumeration.all_labellings, "thresholds": enumeration.thresholds}


def labellings(
    rng: np.random.Generator,
    *,
    targets: Annotated[
        str, Knob(says="the targets averaged over", choices=tuple(TARGETS))
    ] = "all labellings",
) -> Family:
    return Family(targets, lambda n, _: TARGETS[targets](n), scales=(2, 3, 4))


def thresholds(rng: np.random.Generator) -> Family:
    return labellings(rng, targets="thresholds")


def rows_of(targets: Family, points: int) -> np.ndarray:
    return np.asarray(targets.member(points, np.random.default_rng(0)))


@hypothesis(
    "all $2^N$ labellings of the domain are equally likely",
    remedy="average over every labelling by 0 and 1, once each",
)
def uniform(targets: Family, *, points: int) -> Finding:
    rows = rows_of(targets, points)
    if rows.ndim != 2 or rows.shape[1] != points or not np.isin(rows, (0, 1)).all():
        return Finding.failed(
            f"rows of shape {rows.shape}, required: {points} labels 0 or 1 in each"
        )
    distinct = len(np.unique(rows, axis=0))
    note = f"{len(rows):,} targets, {distinct:,} different, of {2**points:,}"
    return Finding.decide(distinct == len(rows) == 2**points, note, "counted", basis=Basis.EXACT)


@hypothesis("some points are not seen in training", remedy="train on fewer points")
def unseen(targets: Family, *, points: int, train: int) -> Finding:
    return Finding.decide(
        0 < train < points, f"{train} of {points} are seen", "counted", basis=Basis.EXACT
    )


@theorem(
    title="No free lunch",
    gist="Averaged over all possible targets, every learner is wrong half the time on points it has not seen: without "
    "assumptions on the target nothing generalises.",
    see_also=("vc-uniform-convergence", "error-decomposition", "concatenated-activation"),
    sources=("peyre-slides", "peyre-notes", "wolpert1996", "shalevshwartz2014"),
    assumes=(uniform, unseen),
    on=labellings,
    breaks_on=thresholds,
    presets={
        "textbook": {},
        "a trained network": {"learner": "trained network", "points": 8, "train": 4},
        "at the edge": {"points": 2, "train": 1},
        "broken on purpose": {"targets": "thresholds"},
    },
    errata="Peyré's slides and notes have the three words alone; without a class of targets nothing can be learned.",
)
def no_free_lunch(
    targets: Family,
    rng: np.random.Generator,
    *,
    learner: Annotated[
        str, Knob(says="the learner", symbol="A", choices=tuple(enumeration.LEARNERS))
    ] = "nearest neighbour",
    points: Annotated[int, Knob(2, 12, "points of the domain", "N", most=14)] = 10,
    train: Annotated[int, Knob(1, 11, "points seen in training", "m")] = 5,
    draws: Annotated[int, Knob(1, 3, "draws from 2m points, for the second part", "m′")] = 2,
) -> Evidence:
    r"""Let the domain have $N$ points, $m<N$ of them seen. For every learner the error off the seen points, averaged
    over all $2^N$ labellings, is $$\mathbb E_f\big[\mathrm{err}_{\mathrm{off}}(A,f)\big]=\tfrac12.$$ With $m$
    independent draws from $2m$ points the mean risk is at least $\frac14$, and some target has
    $\mathbb P(R\ge\frac18)\ge\frac17$."""
    given = callable(targets.limit)
    exact = Enclosure.exact
    A: enumeration.Learner = targets.limit if given else enumeration.LEARNERS[learner]
    name = getattr(A, "__name__", "given") if given else learner
    seen = np.unique(np.linspace(0, points - 1, train).round().astype(int))
    errors = enumeration.off_training(A, rows_of(targets, points), seen)
    mean_risk, often = enumeration.sample_risks(A, draws)
    average = exact(errors.average)
    return Evidence(
        claims=(
            Identity("mean error off the training points", average, exact(Fraction(1, 2))),
            AtMost(
                "1/4 ≤ mean risk with m′ draws from 2m′ points",
                exact(Fraction(1, 4)),
                exact(mean_risk),
            ),
            AtMost(
                "1/7 ≤ largest P(R ≥ 1/8) over the targets", exact(Fraction(1, 7)), exact(often)
            ),
        ),
        charts=(_draw_histogram(errors, name), _draw_against_training(A, name, min(points, 8))),
        numbers={
            "mean error": average,
            "mean risk": exact(mean_risk),
            "P(R ≥ 1/8) of the worst": exact(often),
        },
        summary=f"“{name}”: mean error {errors.average} off the {len(seen)} training points over {len(errors.wrong):,} "
        f"targets; mean risk {float(mean_risk):.4g} with {draws} draws, P(R ≥ 1/8) up to {float(often):.4g}",
    )


def _draw_histogram(errors: enumeration.OffTraining, learner: str) -> Histogram:
    """How the error is spread over the targets."""
    counts = np.bincount(errors.wrong, minlength=errors.places + 1)
    edges = (np.arange(errors.places + 2) - 0.5) / errors.places
    title = f"errors of “{learner}” over {len(errors.wrong):,} targets"
    return Histogram(title, Axis("error off the training points"), Axis("targets"), edges, counts)


def _draw_against_training(learner: enumeration.Learner, name: str, points: int) -> Curves:
    """The mean error off the training points against their number: over all targets, and over the thresholds."""
    sizes = list(range(1, points))
    every = []
    few = []
    for m in sizes:
        seen = np.unique(np.linspace(0, points - 1, m).round().astype(int))
        every.append(
            float(
                enumeration.off_training(learner, enumeration.all_labellings(points), seen).average
            )
        )
        few.append(
            float(enumeration.off_training(learner, enumeration.thresholds(points), seen).average)
        )
    return draw_curves(
        f"“{name}”: a class helps",
        sizes,
        x="training points m",
        y="mean error elsewhere",
        measured={"all labellings": every},
        reference={"thresholds only": few},
    )
