"""The four terms along a training run: on a law that is known, and estimated on held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from ftheta.estimates import mean
from ftheta.learning.outputs import asked_loss
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Exists, Identity, Series, SubjectError, Table
from ftheta.networks import Dense, Description, random_mlp
from ftheta.training import fit
from ftheta.training.study import affordable

from .decomposition import (
    SNAPSHOTS,
    THROWS,
    ExactTerms,
    Law,
    Losses,
    Run,
    Terms,
    exact_terms,
    floor_of_sample,
    losses_of,
    losses_on,
    noise_floor,
    snapshots,
    terms_of,
    train_on,
)
from .least_squares import closed_form_claims

ZERO = Enclosure.exact(0)
STEP = 0.005
SIZES = (1, 2, 4, 8, 16, 32)  # sample sizes of the second figure, in units of n
ROUNDING = 1e-15
WORK = 2e9  # multiplications spent on looking at a network handed in
Numbers = dict[str, Enclosure | float]


@dataclass(frozen=True, eq=False)
class Experiment:
    """A law, a network trained for so many steps on samples of it, and the losses of θ* at every row (`best`).

    `drawn_from` are other weights of the rows from which the samples are drawn in truth.
    """

    law: Law
    net: Description
    steps: int
    losses: Losses
    best: np.ndarray
    drawn_from: np.ndarray | None

    @classmethod
    def of(
        cls, law: Law, width: int, steps: int, drawn_from: np.ndarray | None, rng: np.random.Generator
    ) -> "Experiment":
        """θ* is played by the same network trained on the law itself: argmin R is not known, only bounded."""
        net = quiet(random_mlp(rng, (law.x.shape[1], width, width, law.y.shape[1]), "tanh"))
        steps = affordable(sum(W.size for W, _ in net.params), len(law), steps)
        losses = losses_of(net.apply, law)
        whole = train_on(net, law, np.ones(len(law), int), [steps, 2 * steps], STEP, losses)
        return cls(law, net, steps, losses, whole.losses[int(whole.losses.mean(1).argmin())], drawn_from)

    def run(self, counts: np.ndarray, steps: list[int]) -> tuple[Run, Terms]:
        found = train_on(self.net, self.law, counts, steps, STEP, self.losses)
        return found, terms_of(found, self.law, counts, self.best)


def quiet(net: Description) -> Description:
    """The same network with outputs near 0: training begins at the risk of predicting nothing."""
    *hidden, last = net.layers
    return Description((*hidden, Dense(last.weight / 16, last.bias / 16, last.activation)))


def exact_claims(found: ExactTerms) -> tuple[Claim, ...]:
    """Lines fitted exactly: the identity, the sign of the second term, the mean of the third."""
    second = Enclosure.exact(found.train - found.best_train)
    shown = found if found.train < found.best_train else THROWS
    example = {"R_n(θ̂)": float(shown.train), "R_n(θ*)": float(shown.best_train)}
    negative, below = Enclosure.exact(shown.train - shown.best_train), Enclosure.exact(Fraction(-1, 10**12))
    return (
        Identity("sum of the terms − R(θ̂), lines", Enclosure.exact(found.sum_of_terms - found.true), ZERO),
        AtMost("R_n(θ̂) − R_n(θ*) where θ̂ minimises R_n", second, ZERO),
        Exists("an optimisation term below 0", example, negative, below),
        Identity("E [R_n − R](θ*)", Enclosure.exact(found.drifted - found.best_true), ZERO),
    )


def printed(found: ExactTerms, floor: Fraction) -> tuple[Claim, ...]:
    """What seed 3 prints: no hat in the third bracket, and an approximation term that universality makes vanish."""
    without_hat = found.sum_of_terms - (found.best_train - found.best_true)
    return (
        Identity(
            "sum with L_D for L_{D̂_n} in the third term", Enclosure.exact(without_hat), Enclosure.exact(found.true)
        ),
        AtMost("least R of all functions ≤ 0", Enclosure.exact(floor), ZERO),
    )


def law_evidence(experiment: Experiment, rng: np.random.Generator, n: int, features: int) -> Evidence:
    """Everything known: the terms along one run, at several sample sizes, in rationals for lines, and for OLS."""
    law = experiment.law
    drawn = law.drawn(rng, n * SIZES[-1], experiment.drawn_from)
    counts = law.counts(drawn[:n])
    run, terms = experiment.run(counts, snapshots(experiment.steps))
    exact, floor = exact_terms(law, counts, experiment.drawn_from), noise_floor(law)
    on_sample = floor_of_sample(law, counts)
    ols, known = closed_form_claims(n, features, rng) if n > features else ((), {})
    drawn_terms = law.statistical(experiment.best, n, experiment.drawn_from, rng)
    third = mean(drawn_terms, variance=law.variance_of(experiment.best, experiment.drawn_from) / n)
    third = third.widened(absolute=10 * ROUNDING * float(experiment.best.max()))  # of equal losses nothing else is left
    claims = (
        Identity("sum of the terms − R along the run, relative", Enclosure.equal(terms.defect), ZERO, atol=ROUNDING),
        AtMost("least R of all functions ≤ R(θ*)", Enclosure.exact(floor), Enclosure.equal(terms.best_true)),
        AtMost("least R_n of all functions ≤ R_n(θ*)", Enclosure.equal(on_sample), Enclosure.equal(terms.best_train)),
        *exact_claims(exact),
        Identity("mean of the statistical term of the network", third, ZERO),
        *ols,
    )
    charts = [stacked(terms, float(floor)), by_size(experiment, drawn, terms, float(floor))]
    if law.x.shape[1] == law.y.shape[1] == 1:
        charts.append(fits_chart(experiment, run, terms, counts))
    numbers = {**terms_at_end(terms), **known, "noise floor": Enclosure.exact(floor)}
    return Evidence(claims, tuple(charts), numbers, (fits_table(terms),), printed(exact, floor), told(terms, n))


def terms_at_end(terms: Terms) -> Numbers:
    return {
        "generalisation": float(terms.generalisation[-1]),
        "optimisation": float(terms.optimisation[-1]),
        "statistical": terms.statistical,
        "approximation": terms.approximation,
        "risk": float(terms.true[-1]),
        "training risk": float(terms.train[-1]),
        "least risk on the way": float(terms.true.min()),
        "sum of the terms less the risk, relative": terms.defect,
    }


def told(terms: Terms, n: int) -> str:
    parts = f"generalisation {terms.generalisation[-1]:.4g} + optimisation {terms.optimisation[-1]:.4g}"
    parts += f" + statistical {terms.statistical:.4g} + approximation {terms.approximation:.4g}"
    least = f"least risk {terms.true.min():.4g} at t = {terms.steps[terms.regular]:,}"
    return f"n = {n:,}, t = {terms.steps[-1]:,}: risk {terms.true[-1]:.4g} = {parts}; {least}"


def fits_table(terms: Terms) -> Table:
    """Early and late: the more regular fit is worse on the sample and better on the law."""
    rows = [
        (name, int(terms.steps[k]), float(terms.train[k]), float(terms.true[k]))
        for name, k in (("more regular: least risk", terms.regular), ("less regular: the end", len(terms.steps) - 1))
    ]
    return Table("two fits of one run", ("fit", "step t", "risk on the sample", "true risk"), tuple(rows))


# ---- figures --------------------------------------------------------------------------------------------------------


def stacked(terms: Terms, floor: float | None = None, title: str = "the four terms along training") -> Curves:
    """The terms against the step; the start is drawn at ½."""
    flat = [np.full(len(terms.steps), level) for level in (terms.best_train, terms.best_true)]
    axis = Axis("training step t", "log")
    return _levels(title, axis, np.maximum(terms.steps, 0.5), (terms.true, terms.train, *flat), floor)


def _levels(title: str, axis: Axis, at: np.ndarray, levels: Sequence[np.ndarray], floor: float | None) -> Curves:
    r"""Levels $R(\hat\theta)$, $R_n(\hat\theta)$, $R_n(\theta^*)$, $R(\theta^*)$: the band between two of them is a
    term, and goes down where it is negative."""
    names = ("R(θ̂): + generalisation", "Rₙ(θ̂): + optimisation", "Rₙ(θ*): + statistical", "R(θ*): approximation")
    below = (*levels[1:], np.zeros(len(at)))
    series = [
        Series(name, at, upper, "measured", "line", np.minimum(upper, lower), np.maximum(upper, lower))
        for name, upper, lower in zip(names, levels, below)
    ]
    if floor:
        series.append(Series("noise floor", at, np.full(len(at), floor), "reference"))
    return Curves(title, axis, Axis("risk"), tuple(series))


def by_size(experiment: Experiment, drawn: np.ndarray, first: Terms, floor: float) -> Curves:
    """The terms at the end of training against the sample size; each sample begins with the smaller ones."""
    sizes = [len(drawn) * s // SIZES[-1] for s in SIZES]
    parts = [experiment.law.counts(drawn[:size]) for size in sizes[1:]]
    ends = [first, *(experiment.run(counts, [experiment.steps])[1] for counts in parts)]
    levels = np.array([(e.true[-1], e.train[-1], e.best_train, e.best_true) for e in ends]).T
    title = f"the four terms after {experiment.steps:,} steps"
    return _levels(title, Axis("sample size n", "log"), np.array(sizes), list(levels), floor)


def fits_chart(experiment: Experiment, run: Run, terms: Terms, counts: np.ndarray) -> Curves:
    """The sample, the mean of the law, and the network at its best and at the end."""
    law, net = experiment.law, experiment.net
    x = np.linspace(law.x.min(), law.x.max(), 201)
    predict = lambda params: np.asarray(jax.vmap(lambda row: net.apply(params, row))(x[:, None]))[:, 0]
    inputs, where = np.unique(law.x[:, 0], return_inverse=True)
    means = np.bincount(where.ravel(), law.y[:, 0]) / np.bincount(where.ravel())
    met = counts > 0
    early, late = terms.regular, len(run.params) - 1
    series = [
        Series("sample", law.x[met, 0], law.y[met, 0], "measured", "points"),
        Series(f"less regular, t = {run.steps[late]:,}", x, predict(run.params[late]), "other"),
        Series(f"more regular, t = {run.steps[early]:,}", x, predict(run.params[early]), "other"),
        Series("mean of the law", inputs, means, "reference"),
    ]
    return Curves("more regular and less regular fits of one sample", Axis("x, standardised"), Axis("y"), tuple(series))


# ---- a network and rows: estimates ----------------------------------------------------------------------------------


def shuffled(params: Any, rng: np.random.Generator) -> Any:
    """Half of the same weights in another order, and no biases: a start of known size in which nothing is learnt."""
    mix = lambda W: rng.permutation(np.ravel(W)).reshape(W.shape) / 2 if np.ndim(W) > 1 else np.zeros_like(W)
    return jax.tree.map(mix, params)


def held_out_evidence(net: Any, rng: np.random.Generator, steps: int) -> Evidence:
    r"""The network handed in plays $\theta^*$; a copy with shuffled weights is trained on half of its rows, and $R$ is
    estimated on the others, which neither has seen."""
    if net.data is None or asked_loss(net) is None:
        raise SubjectError("The network has no rows with targets that fit it.", where=net.name, remedy="give --data")
    affords = int(max(32, WORK / (2 * SNAPSHOTS * net.parameters)))
    order = rng.permutation(len(net.data))[:affords]
    n, loss = len(order) // 2, asked_loss(net) or "squared"
    sample, others = ((net.data.x[rows], net.data.y[rows]) for rows in (order[:n], order[n:]))
    on_sample, held_out = losses_on(net, sample, loss), losses_on(net, others, loss)
    seen = snapshots(affordable(net.parameters, n, steps))
    params = trained_at(shuffled(net.params, rng), net.apply, sample, loss, seen)
    train, held = np.stack([on_sample(p) for p in params]), np.stack([held_out(p) for p in params])
    best_train, best_held = on_sample(net.params), held_out(net.params)
    terms = Terms(np.array(seen), train.mean(1), held.mean(1), float(best_train.mean()), float(best_held.mean()))
    claims = (
        Identity(
            "sum of the estimates − R, along the run, relative", Enclosure.equal(terms.defect), ZERO, atol=ROUNDING
        ),
        Identity("[R_n − R](θ*), expected", mean(best_train) - mean(best_held), ZERO),
    )
    numbers = terms_at_end(terms) | {
        "generalisation within (nominal 95%)": mean(held[-1] - terms.train[-1], 0.95),
        "approximation within (nominal 95%)": mean(best_held, 0.95),
        "risk within (nominal 95%)": mean(held[-1], 0.95),
    }
    title = f"{loss} risk: estimates on {len(order) - n:,} held-out rows"
    charts = (stacked(terms, title=title), estimates_chart(terms, held, loss))
    return Evidence(claims, charts, numbers, (fits_table(terms),), summary=told(terms, n))


def trained_at(start: Any, apply: Any, data: tuple[np.ndarray, np.ndarray], loss: str, steps: list[int]) -> list[Any]:
    """The parameters after these numbers of steps of one run."""
    run = fit((start, apply), data, loss, "adam", step=STEP, steps=steps[0], progress=False)
    found = [run.params]
    for t in steps[1:]:
        run = run.resume(t)
        found.append(run.params)
    return found


def estimates_chart(terms: Terms, held: np.ndarray, loss: str) -> Curves:
    """Training and held-out risk with its nominal 95% band."""
    t, known = np.maximum(terms.steps, 0.5), [mean(losses, 0.95) for losses in held]
    lo, hi = ([getattr(k, end) for k in known] for end in ("lo", "hi"))
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
