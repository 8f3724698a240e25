"""The squared loss is Gaussian noise, the absolute loss Laplace noise, the cross-entropy a softmax."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import numpy as np
from flint import arb, ctx
from scipy import special

from ftheta.certify.balls import known
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.risks.outputs import Outputs, asked_loss, outputs_of
from ftheta.subjects import Dataset, Network
from ftheta.training.study import first_rows

from .charts import draw_scales, draw_slices, draw_surface
from .likelihoods import (
    BITS,
    NOISES,
    Fit,
    categorical_gap,
    categorical_sides,
    gaussian_gap,
    gaussian_nll,
    gaussian_sides,
    likelihood,
    profile_gain,
    profile_nll,
    profile_scale,
    profile_sigma,
)
from .regression import Regression, gradient_gap, stationarity

KINDS = ("three residuals", "noisy line", "heavy tails", "no noise")
ZERO = Enclosure.exact(0)
TINY = 1e-30
BALLS = 400  # residuals that are taken as balls
FACTORS = (0.1, 0.5, 0.99, 1.01, 2.0, 10.0)


def rows_with_noise(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three residuals",
) -> Dataset:
    if kind == "three residuals":
        return Dataset(
            "a constant and three residuals", np.ones((3, 1)), np.array([1.0, -2.0, 0.5])
        )
    if kind == "no noise":
        return Dataset(
            "two points on a line", np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([3.0, 5.0])
        )
    x = np.column_stack([rng.uniform(-2, 2, 80), np.ones(80)])
    noise = rng.normal(size=80) if kind == "noisy line" else rng.laplace(size=80)
    return Dataset(f"{kind}: y = 2x − 1 + noise", x, x @ np.array([2.0, -1.0]) + noise)


def no_noise(rng: np.random.Generator) -> Dataset:
    return rows_with_noise(rng, kind="no noise")


def _regression_of(data: Dataset) -> Regression:
    return Regression(*first_rows(data, flat=True))


@hypothesis(
    "there are targets that fit the model",
    remedy="give data with labels, one number or one class per row",
    name="targets",
)
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.decide(
            subject.y is not None, f"{len(subject):,} rows", "counted", basis=Basis.EXACT
        )
    loss = asked_loss(subject)
    return Finding.decide(
        loss is not None, f"the {loss} loss" if loss else "none", "counted", basis=Basis.EXACT
    )


@hypothesis(
    r"$\varepsilon\sim\mathcal N(0,\sigma^2I)$",
    remedy="take the absolute loss for Laplace noise",
    name="Gaussian noise",
)
def gaussian_noise(subject: Dataset | Network, *, noise: str) -> Finding:
    return Finding.decide(
        noise == "Gaussian",
        f"the noise is taken to be {noise}",
        "the model of the likelihood",
        basis=Basis.EXACT,
    )


@hypothesis(
    "the best fit leaves a residual",
    remedy="give more rows than parameters: without residual σ̂ = 0",
    name="a non-zero residual",
)
def residual_left(subject: Dataset | Network) -> Finding:
    found = outputs_of(subject) if isinstance(subject, Network) else None
    if isinstance(subject, Dataset):
        left = 0.0 if subject.y is None else _regression_of(subject).largest_residual
    else:
        left = (
            1.0
            if found is None or found.loss != "squared"
            else float(np.abs(found.predictions - found.y).max())
        )
    return Finding.decide(
        left > 1e-12,
        f"largest residual {left:.3g}",
        "least squares in float64",
        Enclosure.equal(left),
    )


@theorem(
    title="Squares and cross-entropy as maximum likelihood",
    gist="Minimising the squared loss is maximum likelihood under Gaussian noise and minimising the cross-entropy is "
    "maximum likelihood of a softmax, so the choice of a loss is a choice of a noise model.",
    see_also=("loss-zoo", "bayes-predictors", "softmax-calculus"),
    same_for_all={
        "∇SSE at the maximum-likelihood estimate": "the normal equations of the given rows are solved in rationals: "
        "nothing is left over"
    },
    sources=("murari-slides", "scaman-slides"),
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
    errata=r"""Scaman's slides write $\log P(Y=k|X)\propto g_\theta(X)_k$. It is $P\propto e^{g_k}$, that is
    $\log P=g_k-\mathrm{lse}(g)$: equal up to an additive constant. Their $\mathbb P_\theta(\varepsilon=\dots)$ is a
    density.""",
)
def mle_interpretations(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    sigma: Annotated[
        float, Knob(0.1, 10, "standard deviation of noise", "σ", log=True, least=1e-6, most=1e6)
    ] = 2.0,
    theta: Annotated[
        float, Knob(-3, 3, "every parameter, where it is read off", "θ", least=-1e6, most=1e6)
    ] = 0.0,
    noise: Annotated[
        str, Knob(says="the noise of the rows", symbol="ε", choices=NOISES)
    ] = "Gaussian",
) -> Evidence:
    r"""(a) $Y=g_\theta(X)+\varepsilon$ with $\varepsilon\sim\mathcal N(0,\sigma^2I_d)$:
    $$-\log p=\frac{nd}2\ln(2\pi\sigma^2)+\frac1{2\sigma^2}\sum_i\|Y_i-g_\theta(X_i)\|^2,$$ so for every $\sigma$ the
    maximum-likelihood $\theta$ is that of least squares, and then $\hat\sigma^2=\frac{\mathrm{SSE}}{nd}$. (b)
    $P(Y=k|X)=\mathrm{softmax}(g_\theta(X))_k$: the negative log-likelihood is $n$ times the cross-entropy. Laplace
    noise gives absolute values."""
    if isinstance(subject, Dataset):
        return _fit_line(_regression_of(subject), theta, sigma, rng, noise)
    found = outputs_of(subject)
    return Evidence(()) if found is None else evidence_of_predictions(found)


def _regression_claims(
    model: Regression, sigma: float, rng: np.random.Generator, noise: str
) -> tuple[Claim, ...]:
    """Both sides at random parameters, their difference free of θ, the gradients, the profile."""
    few = Regression(model.x[:BALLS], model.y[:BALLS])
    thetas = [np.zeros_like(few.best), few.best, *rng.normal(size=(4, *few.best.shape))]
    gaps = [gaussian_gap(few.residuals(t).ravel().tolist(), sigma) for t in thetas]
    worst = Enclosure.measured(max(max(-g.lo, g.hi) for g in gaps), samples=len(gaps))
    best = model.maximum_likelihood(noise)
    gains = [
        profile_gain(few.residuals(few.maximum_likelihood(noise)).ravel().tolist(), f)
        for f in FACTORS
    ]
    least = min(gains, key=lambda g: g.lo)
    return (
        Identity("−Σ ln p − N/2 ln 2πσ² − SSE/2σ² at random θ", worst, ZERO, atol=TINY),
        Identity(
            "∇(−ln p) − ∇SSE/2σ², relative",
            Enclosure.measured(gradient_gap(model, sigma, rng), samples=1),
            ZERO,
            atol=1e-6,
        ),
        Identity(
            "∇SSE at the maximum-likelihood estimate, relative",
            stationarity(model, best),
            ZERO,
            atol=1e-9,
        ),
        AtMost("0 ≤ NLL at 0.1, ½, 0.99, 1.01, 2, 10 times σ̂ − NLL at σ̂", ZERO, least),
    )


def _class_examples(logits: np.ndarray, labels: np.ndarray) -> Examples:
    """Part (b) at random logits of four classes."""
    gap = categorical_gap(logits[:BALLS], labels[:BALLS])
    return Examples((Identity("−ln Π p(yᵢ) − n × cross-entropy", gap, ZERO, atol=TINY),))


def _printed_proportional() -> Identity:
    """Scaman's slides: log P(Y = k) ∝ g_k. At g = (1, 2, 4) the quotients of k = 1 and k = 3 would be equal."""
    with ctx.workprec(BITS):
        g = [arb(1), arb(2), arb(4)]
        total = sum((v.exp() for v in g), arb(0)).log()
        first, last = ((v - total) / v for v in (g[0], g[2]))
    return Identity("log P(k)/g_k for k = 1 and 3, g = (1, 2, 4)", known(first), known(last))


# ---- figures --------------------------------------------------------------------------------------------------------


def _fits_table(fits: Sequence[Fit]) -> Table:
    rows = [
        (f.noise, f.scale if f.scale is not None else "–", f.nll, f.nll / f.rows, f.bits)
        for f in fits
    ]
    return Table(
        "how likely the targets are",
        ("noise", "scale", "NLL", "NLL per row", "bits per row"),
        tuple(rows),
    )


# ---- evidence -------------------------------------------------------------------------------------------------------


def _fit_line(
    model: Regression, theta: float, sigma: float, rng: np.random.Generator, noise: str
) -> Evidence:
    """A linear model on rows."""
    at = np.full_like(model.best, theta)
    best = model.residuals(model.best)
    logits = rng.normal(size=(12, 4)) * 3
    labels = rng.integers(0, 4, 12)
    claims = _regression_claims(model, sigma, rng, noise)
    fits = [likelihood(model.x @ model.best, model.y, kind) for kind in NOISES]
    numbers = {
        "NLL at θ": gaussian_nll(model.residuals(at), sigma),
        "SSE at θ": float(np.sum(model.residuals(at) ** 2)),
    }
    numbers |= {
        "profile σ at θ": profile_sigma(model.residuals(at)),
        "σ̂": profile_sigma(best),
        "b̂": profile_scale(best),
    }
    numbers |= {"least NLL": fits[0].nll, "bits per row": fits[0].bits}
    charts = (draw_slices(model, sigma), draw_surface(model, sigma)) + (
        (draw_scales(best),) if best.any() else ()
    )
    summary = f"NLL {numbers['NLL at θ']:.8g} at θ = {theta:g}, σ = {sigma:g}; least squares has σ̂ = {numbers['σ̂']:.6g}"
    return Evidence(
        claims,
        charts,
        numbers,
        (_fits_table(fits),),
        (_printed_proportional(),),
        summary,
        partial(_class_examples, logits, labels),
    )


def evidence_of_predictions(found: Outputs) -> Evidence:
    """A network's outputs on its data: classes, or real targets with Gaussian and Laplace noise."""
    flat = found.predictions
    labels = found.classes
    return _fit_noise(flat, found.y) if labels is None else _fit_classes(flat, labels)


def _fit_classes(logits: np.ndarray, labels: np.ndarray) -> Evidence:
    n = len(logits)
    fit = likelihood(logits, labels, "categorical")
    own = np.sort(special.softmax(logits, axis=1)[np.arange(n), labels])
    series = (Series("rows", own, (np.arange(n) + 1) / n, "measured", "step"),)
    chart = Curves(
        "probability given to the true class", Axis("p(y | x)"), Axis("share of rows below"), series
    )
    numbers = {"NLL": fit.nll, "NLL per row": fit.nll / n, "bits per row": fit.bits}
    summary = f"{fit.nll / n:.6g} nats or {fit.bits:.6g} bits per row on {n:,} rows"
    likelihood_of_labels, entropy = categorical_sides(logits[:BALLS], labels[:BALLS])
    claims = (
        Identity(
            f"−ln Π p(yᵢ) = n × cross-entropy, n = {min(n, BALLS)}", likelihood_of_labels, entropy
        ),
    )
    return Evidence(
        claims, (chart,), numbers, (_fits_table([fit]),), (_printed_proportional(),), summary
    )


def _fit_noise(predictions: np.ndarray, y: np.ndarray) -> Evidence:
    n = len(y)
    residuals = y - predictions
    fits = [likelihood(predictions, y, noise) for noise in NOISES]
    few = residuals.ravel()[:BALLS].tolist()
    elsewhere = [profile_nll(few, factor) for factor in FACTORS]
    claims = (
        Identity("−Σ ln p = N/2 ln 2πσ̂² + SSE/2σ̂²", *gaussian_sides(few, fits[0].scale or 1.0)),
        AtMost(
            "NLL at σ̂ ≤ least NLL at 0.1, ½, 0.99, 1.01, 2, 10 times σ̂",
            profile_nll(few, 1.0),
            min(elsewhere, key=lambda nll: nll.lo),
        ),
    )
    numbers = {
        "σ̂": fits[0].scale or 0.0,
        "b̂": fits[1].scale or 0.0,
        "NLL": fits[0].nll,
        "bits per row": fits[0].bits,
    }
    charts = (draw_scales(residuals),) if residuals.any() else ()
    summary = f"σ̂ = {numbers['σ̂']:.6g}, NLL {fits[0].nll / n:.6g} nats or {fits[0].bits:.6g} bits per row on {n:,} rows"
    return Evidence(
        claims, charts, numbers, (_fits_table(fits),), (_printed_proportional(),), summary
    )
