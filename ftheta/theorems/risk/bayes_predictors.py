"""What a loss asks for: the mean, a median, the mode, the log-odds."""

from typing import Annotated

import numpy as np

from ftheta.learning.bayes_study import bayes_evidence, probability
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset
from ftheta.training.study import first_rows

KINDS = ("three values", "skewed", "two values", "a sine with noise", "one class")


def conditional_law(
    rng: np.random.Generator, *, kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three values"
) -> Dataset:
    if kind == "three values":
        y = np.repeat([0.0, 1.0, 10.0], [8, 7, 5])
        return Dataset("0, 1 and 10 with weights .4, .35, .25", np.ones((20, 1)), y)
    if kind == "one class":
        return Dataset("label 1 in every row", np.ones((10, 1)), np.ones(10))
    if kind == "two values":
        return Dataset("0 and 1, one to four", np.ones((10, 1)), np.repeat([0.0, 1.0], [2, 8]))
    if kind == "skewed":
        return Dataset("rounded log-normal values", np.ones((400, 1)), np.round(4 * np.exp(rng.normal(size=400))) / 4)
    x = np.repeat(np.arange(16.0), 8)
    return Dataset("16 points, 8 noisy values at each", x[:, None], np.sin(x / 3) + 0.3 * rng.normal(size=128))


def one_class(rng: np.random.Generator) -> Dataset:
    return conditional_law(rng, kind="one class")


@hypothesis("every row has one target", remedy="give data with one label a row")
def one_target(data: Dataset) -> Finding:
    got = 0 if data.y is None else data.y[0].size
    return Finding.decide(got == 1, f"{len(data):,} rows, targets a row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(r"$0<p<1$", remedy="give data with both classes: with one alone the logistic risk has no minimiser")
def both_classes(data: Dataset, *, p: float) -> Finding:
    if data.y is None:
        return Finding.failed("there are no labels")
    chance = probability(data.y.ravel(), p)
    return Finding.decide(
        0 < chance < 1, f"p = {float(chance):.6g}", "in rationals", Enclosure.exact(chance), basis=Basis.EXACT
    )


@theorem(
    title="What each loss estimates",
    sources=("seed 1", "seed 3"),
    assumes=(one_target, both_classes),
    on=conditional_law,
    breaks_on=one_class,
    presets={
        "textbook": {},
        "skewed": {"kind": "skewed"},
        "noise floor": {"kind": "a sine with noise"},
        "at the edge": {"kind": "two values"},
        "broken on purpose": {"kind": "one class"},
    },
)
def bayes_predictors(
    data: Dataset,
    rng: np.random.Generator,
    *,
    p: Annotated[float, Knob(0.01, 0.99, "probability of the positive label", "p", least=1e-9, most=1 - 1e-9)] = 0.8,
) -> Evidence:
    r"""Pointwise minimisers of the conditional risk $c\mapsto\mathbb E[\ell(c,Y)\mid X=x]$: the squared loss asks for
    $\mathbb E[Y|X]$, and its least value is the conditional variance; the absolute loss for any conditional median; the
    zero-one loss for the mode; the logistic loss for $$\log\frac p{1-p},\qquad p=P(Y=1|X=x)\in(0,1);$$ the
    cross-entropy for the logarithms of the probabilities, up to a common constant."""
    x, y = first_rows(data, flat=True)
    return bayes_evidence(x, y[:, 0], p)
