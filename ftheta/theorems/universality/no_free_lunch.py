"""Averaged over all targets, every learner errs half the time where it has not looked."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.limits.universality import lunches
from ftheta.logic import AtMost, Basis, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.subjects import Family

TARGETS = {"all labellings": lunches.all_labellings, "thresholds": lunches.thresholds}


def labellings(
    rng: np.random.Generator,
    *,
    targets: Annotated[str, Knob(says="the targets averaged over", choices=tuple(TARGETS))] = "all labellings",
) -> Family:
    return Family(targets, lambda n, _: TARGETS[targets](n), scales=(2, 3, 4))


def structured(rng: np.random.Generator) -> Family:
    return labellings(rng, targets="thresholds")


def rows_of(targets: Family, points: int) -> np.ndarray:
    return np.asarray(targets.member(points, np.random.default_rng(0)), int)


@hypothesis("all $2^N$ labellings of the domain are equally likely", remedy="average over every labelling, once each")
def uniform(targets: Family, *, points: int) -> Finding:
    rows = rows_of(targets, points)
    distinct = len(np.unique(rows, axis=0))
    note = f"{len(rows):,} targets, {distinct:,} different, of {2**points:,}"
    return Finding.decide(distinct == len(rows) == 2**points, note, "counted", basis=Basis.EXACT)


@hypothesis("some points are not seen in training", remedy="train on fewer points")
def unseen(targets: Family, *, points: int, train: int) -> Finding:
    return Finding.decide(0 < train < points, f"{train} of {points} are seen", "counted", basis=Basis.EXACT)


@theorem(
    title="No free lunch",
    sources=("seed 0", "seed 4", "wolpert1996", "shalevshwartz2014"),
    assumes=(uniform, unseen),
    on=labellings,
    breaks_on=structured,
    presets={
        "textbook": {},
        "a trained network": {"learner": "trained network", "points": 8, "train": 4},
        "at the edge": {"points": 2, "train": 1},
        "broken on purpose": {"targets": "thresholds"},
    },
    errata="Seeds 0 and 4 have the three words alone; without a class of targets there is nothing to learn from.",
)
def no_free_lunch(
    targets: Family,
    rng: np.random.Generator,
    *,
    learner: Annotated[
        str, Knob(says="the learner", symbol="A", choices=tuple(lunches.LEARNERS))
    ] = "nearest neighbour",
    points: Annotated[int, Knob(2, 12, "points of the domain", "N", most=14)] = 10,
    train: Annotated[int, Knob(1, 11, "points seen in training", "m")] = 5,
    draws: Annotated[int, Knob(1, 3, "draws from 2m points, for the second part", "m′")] = 2,
) -> Evidence:
    r"""Let the domain have $N$ points, $m<N$ of them seen. For every learner the error off the seen points, averaged
    over all $2^N$ labellings, is $$\mathbb E_f\big[\mathrm{err}_{\mathrm{off}}(A,f)\big]=\tfrac12.$$ With $m$
    independent draws from $2m$ points the mean risk is at least $\frac14$, and some target has
    $\mathbb P(R\ge\frac18)\ge\frac17$."""
    given, exact = callable(targets.limit), Enclosure.exact
    A: lunches.Learner = targets.limit if given else lunches.LEARNERS[learner]
    name = getattr(A, "__name__", "given") if given else learner
    seen = np.unique(np.linspace(0, points - 1, train).round().astype(int))
    lunch = lunches.off_training(A, rows_of(targets, points), seen)
    mean_risk, often = lunches.sample_risks(A, draws)
    average = exact(lunch.average)
    return Evidence(
        claims=(
            Identity("mean error off the training points", average, exact(Fraction(1, 2))),
            AtMost("1/4 ≤ mean risk with m′ draws from 2m′ points", exact(Fraction(1, 4)), exact(mean_risk)),
            AtMost("1/7 ≤ largest P(R ≥ 1/8) over the targets", exact(Fraction(1, 7)), exact(often)),
        ),
        charts=(lunch.histogram(name), lunches.by_training(A, name, min(points, 8))),
        numbers={"mean error": average, "mean risk": exact(mean_risk), "P(R ≥ 1/8) of the worst": exact(often)},
        summary=f"“{name}”: mean error {lunch.average} off the {len(seen)} training points over {len(lunch.wrong):,} "
        f"targets; mean risk {float(mean_risk):.4g} with {draws} draws, P(R ≥ 1/8) up to {float(often):.4g}",
    )
