"""The four terms as bands, along training and against the sample size; two fits of one run."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ftheta.estimates import mean
from ftheta.logic import Axis, Curves, Series, Table

from .decomposition import Terms, TrainingRun
from .experiments import Experiment

SIZES = (1, 2, 4, 8, 16, 32)  # sample sizes of the second chart, in units of n


def tabulate_fits(terms: Terms) -> Table:
    """Early and late: the more regular fit is worse on the sample and better on the law."""
    rows = [
        (name, int(terms.steps[k]), float(terms.train[k]), float(terms.true[k]))
        for name, k in (
            ("more regular: least risk", terms.regular),
            ("less regular: the end", len(terms.steps) - 1),
        )
    ]
    return Table(
        "two fits of one run", ("fit", "step t", "risk on the sample", "true risk"), tuple(rows)
    )


def draw_terms(
    terms: Terms, floor: float | None = None, title: str = "the four terms along training"
) -> Curves:
    """The terms against the step; the start is drawn at ½."""
    flat = [np.full(len(terms.steps), level) for level in (terms.best_train, terms.best_true)]
    axis = Axis("training step t", "log")
    return _draw_levels(
        title, axis, np.maximum(terms.steps, 0.5), (terms.true, terms.train, *flat), floor
    )


def _draw_levels(
    title: str, axis: Axis, at: np.ndarray, levels: Sequence[np.ndarray], floor: float | None
) -> Curves:
    r"""Levels $R(\hat\theta)$, $R_n(\hat\theta)$, $R_n(\theta^*)$, $R(\theta^*)$: the band between two of them is a
    term, and goes down where it is negative."""
    names = (
        "R(θ̂): + generalisation",
        "Rₙ(θ̂): + optimisation",
        "Rₙ(θ*): + statistical",
        "R(θ*): approximation",
    )
    below = (*levels[1:], np.zeros(len(at)))
    series = [
        Series(
            name, at, upper, "measured", "line", np.minimum(upper, lower), np.maximum(upper, lower)
        )
        for name, upper, lower in zip(names, levels, below)
    ]
    if floor:
        series.append(Series("noise floor", at, np.full(len(at), floor), "reference"))
    return Curves(title, axis, Axis("risk"), tuple(series))


def draw_sizes(experiment: Experiment, rows: np.ndarray, first: Terms, floor: float) -> Curves:
    """The terms at the end of training against the sample size; each sample begins with the smaller ones."""
    sizes = [len(rows) * s // SIZES[-1] for s in SIZES]
    parts = [experiment.law.count(rows[:size]) for size in sizes[1:]]
    ends = [first, *(experiment.run(counts, [experiment.steps])[1] for counts in parts)]
    levels = np.array([(e.true[-1], e.train[-1], e.best_train, e.best_true) for e in ends]).T
    title = f"the four terms after {experiment.steps:,} steps"
    return _draw_levels(title, Axis("sample size n", "log"), np.array(sizes), list(levels), floor)


def draw_widths(compared: Sequence[tuple[int, Terms]], floor: float) -> Curves:
    """The terms at the end of training on one sample against the width of both hidden layers."""
    levels = np.array([(t.true[-1], t.train[-1], t.best_train, t.best_true) for _, t in compared]).T
    widths = np.array([width for width, _ in compared])
    title = "the four terms against the size of the model"
    return _draw_levels(title, Axis("width w", "log"), widths, list(levels), floor)


def draw_fits(experiment: Experiment, run: TrainingRun, terms: Terms, counts: np.ndarray) -> Curves:
    """The sample, the mean of the law, and the network at its best and at the end."""
    law = experiment.law
    net = experiment.net
    x = np.linspace(law.x.min(), law.x.max(), 201)

    def predict(params: Any) -> np.ndarray:
        return np.asarray(jax.vmap(lambda row: net.apply(params, row))(x[:, None]))[:, 0]

    inputs, where = np.unique(law.x[:, 0], return_inverse=True)
    means = np.bincount(where.ravel(), law.y[:, 0]) / np.bincount(where.ravel())
    met = counts > 0
    early = terms.regular
    late = len(run.params) - 1
    series = [
        Series("sample", law.x[met, 0], law.y[met, 0], "measured", "points"),
        Series(f"less regular, t = {run.steps[late]:,}", x, predict(run.params[late]), "other"),
        Series(f"more regular, t = {run.steps[early]:,}", x, predict(run.params[early]), "other"),
        Series("mean of the law", inputs, means, "reference"),
    ]
    return Curves(
        "more regular and less regular fits of one sample",
        Axis("x, standardised"),
        Axis("y"),
        tuple(series),
    )


def draw_estimates(terms: Terms, held: np.ndarray, loss: str) -> Curves:
    """Training and held-out risk with its nominal 95% band."""
    t = np.maximum(terms.steps, 0.5)
    known = [mean(losses, 0.95) for losses in held]
    lo = [k.lo for k in known]
    hi = [k.hi for k in known]
    best = Series("the network handed in", t, np.full(len(t), terms.best_true), "reference")
    return Curves(
        f"{loss} risk on the sample and on held-out rows",
        Axis("training step t", "log"),
        Axis("risk"),
        (
            Series("held-out rows, nominal 95%", t, terms.true, "measured", "line", lo, hi),
            Series("sample", t, terms.train),
            best,
        ),
    )
