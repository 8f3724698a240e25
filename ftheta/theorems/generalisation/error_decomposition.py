"""The risk of a trained predictor is the sum of four terms, each with its own cause."""

from typing import Annotated

import numpy as np

from ftheta.generalisation.bounds.decomposition import Law
from ftheta.generalisation.bounds.decomposition_study import Experiment, held_out_evidence, law_evidence
from ftheta.learning.outputs import asked_loss
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network

ROWS = 400  # of data that are taken as a law
CURVES = ("sine", "step", "line")
SOURCES = ("the law", "its lower half")


def noisy_curve(
    rng: np.random.Generator,
    *,
    curve: Annotated[str, Knob(says="the mean of the targets", choices=CURVES)] = "sine",
    noise: Annotated[
        float, Knob(0, 1, "standard deviation of the noise, which takes three values", "σ", most=1e3)
    ] = 0.3,
    atoms: Annotated[int, Knob(16, 130, "inputs of the law, equally likely", "k", log=True, least=2, most=130)] = 48,
) -> Dataset:
    x = np.linspace(-1, 1, atoms)
    y = {"sine": np.sin(3 * x), "step": np.sign(x), "line": x}[curve]
    noisy = np.concatenate([y + noise * c for c in (-np.sqrt(1.5), 0.0, np.sqrt(1.5))])
    return Dataset(f"{curve} and noise {noise:g} on {atoms} inputs", np.tile(x, 3)[:, None], noisy)


@hypothesis("the examples have targets that fit the predictor", remedy="give --data with one label a row, 16 or more")
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        wanted = asked_loss(subject)
        enough = wanted is not None and subject.data is not None and len(subject.data) >= 16
        return Finding.decide(enough, f"the loss is {wanted or 'unknown'}", "labels counted", basis=Basis.EXACT)
    return Finding.decide(subject.y is not None, f"{len(subject):,} rows", "they are there", basis=Basis.EXACT)


@hypothesis(r"the sample is drawn from $\mathcal D$", remedy="draw the training rows from the law of the test")
def drawn_from_the_law(subject: Dataset | Network, *, drawn: str) -> Finding:
    if isinstance(subject, Network):
        return Finding.assumed("the rows are taken to be independent and unseen in training")
    return Finding.decide(drawn == "the law", f"it is drawn from {drawn}", "drawn here", basis=Basis.EXACT)


@theorem(
    title="The four terms of the error",
    sources=("seed 3", "bottou2008"),
    assumes=(targets_known, drawn_from_the_law),
    on=noisy_curve,
    unbreakable="""No law breaks it: the samples are drawn here. The preset `broken on purpose` draws them from one half
    of the law; forced, the mean of the statistical term is refuted.""",
    presets={
        "textbook": {},
        "many examples": {"n": 200, "p": 20},
        "no noise": {"noise": 0.0, "curve": "step"},
        "at the edge": {"n": 7, "p": 5, "steps": 1000},
        "broken on purpose": {"drawn": "its lower half"},
    },
    errata=r"""Seed 3 leaves out the hat of $\widehat{\mathcal D}_n$ in the third bracket; read as $\mathcal D$ the sum
    misses the statistical term. "By universality the approximation error is arbitrarily small" ignores the noise: no
    function of $x$ has a risk below the Bayes risk, which is part of $R(\theta^*)$.""",
)
def error_decomposition(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(5, 500, "sample size", "n", log=True, least=2, most=5000)] = 20,
    p: Annotated[int, Knob(1, 50, "features of the least-squares check", "p", log=True, most=200)] = 5,
    width: Annotated[int, Knob(4, 64, "neurons in each of two hidden layers", "w", log=True, most=256)] = 24,
    steps: Annotated[int, Knob(100, 5000, "training steps (Adam)", "t", log=True, least=1, most=50_000)] = 2000,
    drawn: Annotated[str, Knob(says="what the sample is drawn from", choices=SOURCES)] = "the law",
) -> Evidence:
    r"""Let $\hat\theta_{n,t}$ be trained for $t$ steps on $n$ rows and $\theta^*\in\arg\min R$. Then
    $$R(\hat\theta_{n,t})=[R-R_n](\hat\theta_{n,t})+[R_n(\hat\theta_{n,t})-R_n(\theta^*)]+[R_n-R](\theta^*)+R(\theta^*):$$
    generalisation, optimisation, statistical and approximation error, in this order.
    The second term is at most $R_n(\hat\theta_{n,t})-\min R_n$ and may be negative; the third has mean 0. Least squares
    with $p$ features: $\sigma^2(1-\frac pn)$ on the sample, $\sigma^2(1+\frac pn)$ on new targets at its rows, and
    $\sigma^2\frac{n-1}{n-p-1}$ at new normal rows, on average."""
    if isinstance(subject, Network):
        return held_out_evidence(subject, rng, steps)
    law = Law.of(subject.x[:ROWS], np.zeros(len(subject.x[:ROWS])) if subject.y is None else subject.y[:ROWS])
    experiment = Experiment.of(law, width, steps, None if drawn == SOURCES[0] else law.lower_half(), rng)
    return law_evidence(experiment, rng, n, p)
