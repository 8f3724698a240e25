"""The squared loss is Gaussian noise, the absolute loss Laplace noise, the cross-entropy a softmax."""

from typing import Annotated

import numpy as np

from ftheta.learning.likelihood_study import Regression, prediction_evidence, regression_evidence
from ftheta.learning.likelihoods import NOISES
from ftheta.learning.outputs import asked_loss, outputs_of
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network
from ftheta.training.study import first_rows

KINDS = ("three residuals", "noisy line", "heavy tails", "no noise")


def rows_with_noise(
    rng: np.random.Generator, *, kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three residuals"
) -> Dataset:
    if kind == "three residuals":
        return Dataset("a constant and three residuals", np.ones((3, 1)), np.array([1.0, -2.0, 0.5]))
    if kind == "no noise":
        return Dataset("two points on a line", np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([3.0, 5.0]))
    x = np.column_stack([rng.uniform(-2, 2, 80), np.ones(80)])
    noise = rng.normal(size=80) if kind == "noisy line" else rng.laplace(size=80)
    return Dataset(f"{kind}: y = 2x − 1 + noise", x, x @ np.array([2.0, -1.0]) + noise)


def no_noise(rng: np.random.Generator) -> Dataset:
    return rows_with_noise(rng, kind="no noise")


def model_of(data: Dataset) -> Regression:
    return Regression(*first_rows(data, flat=True))


@hypothesis("there are targets that fit the model", remedy="give data with labels, one number or one class a row")
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.decide(subject.y is not None, f"{len(subject):,} rows", "counted", basis=Basis.EXACT)
    loss = asked_loss(subject)
    return Finding.decide(loss is not None, f"the {loss} loss" if loss else "none", "counted", basis=Basis.EXACT)


@hypothesis(r"$\varepsilon\sim\mathcal N(0,\sigma^2I)$", remedy="take the absolute loss for Laplace noise")
def gaussian_noise(subject: Dataset | Network, *, noise: str) -> Finding:
    return Finding.decide(
        noise == "Gaussian", f"the noise is taken to be {noise}", "the model of the likelihood", basis=Basis.EXACT
    )


@hypothesis("the best fit leaves a residual", remedy="give more rows than parameters: without residual σ̂ = 0")
def residual_left(subject: Dataset | Network) -> Finding:
    found = outputs_of(subject) if isinstance(subject, Network) else None
    if isinstance(subject, Dataset):
        left = 0.0 if subject.y is None else model_of(subject).largest_residual
    else:
        left = 1.0 if found is None or found.loss != "squared" else float(np.abs(found.predictions - found.y).max())
    return Finding.decide(
        left > 1e-12, f"largest residual {left:.3g}", "least squares in float64", Enclosure.equal(left)
    )


@theorem(
    title="Squares and cross-entropy as maximum likelihood",
    sources=("seed 2", "seed 3"),
    assumes=(targets_known, gaussian_noise, residual_left),
    on=rows_with_noise,
    breaks_on=no_noise,
    presets={
        "textbook": {},
        "noisy line": {"kind": "noisy line", "sigma": 1.0},
        "heavy tails": {"kind": "heavy tails", "sigma": 0.5},
        "at the edge": {"sigma": 1e-3},
        "broken on purpose": {"noise": "Laplace"},
    },
    errata=r"""Seed 3 writes $\log P(Y=k|X)\propto g_\theta(X)_k$. It is $P\propto e^{g_k}$, that is
    $\log P=g_k-\mathrm{lse}(g)$: equal up to an additive constant. Its $\mathbb P_\theta(\varepsilon=\dots)$ is a
    density.""",
)
def mle_interpretations(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    sigma: Annotated[float, Knob(0.1, 10, "standard deviation of noise", "σ", log=True, least=1e-6, most=1e6)] = 2.0,
    theta: Annotated[float, Knob(-3, 3, "every parameter, where it is read off", "θ", least=-1e6, most=1e6)] = 0.0,
    noise: Annotated[str, Knob(says="the noise of the rows", symbol="ε", choices=NOISES)] = "Gaussian",
) -> Evidence:
    r"""(a) $Y=g_\theta(X)+\varepsilon$ with $\varepsilon\sim\mathcal N(0,\sigma^2I_d)$:
    $$-\log p=\frac{nd}2\ln(2\pi\sigma^2)+\frac1{2\sigma^2}\sum_i\|Y_i-g_\theta(X_i)\|^2,$$ so for every $\sigma$ the
    likeliest $\theta$ is that of least squares, and then $\hat\sigma^2=\frac{\mathrm{SSE}}{nd}$. (b)
    $P(Y=k|X)=\mathrm{softmax}(g_\theta(X))_k$: the negative log-likelihood is $n$ times the cross-entropy. Laplace
    noise gives absolute values."""
    if isinstance(subject, Dataset):
        return regression_evidence(model_of(subject), theta, sigma, rng, noise)
    found = outputs_of(subject)
    return Evidence(()) if found is None else prediction_evidence(found)
