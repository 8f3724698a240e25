r"""Losses read as likelihoods: Gaussian noise (squares), Laplace noise (absolute values), softmax (cross-entropy).

For residuals $r\in\mathbb R^{n\times d}$ with $N=nd$ entries
$$-\log p=\tfrac N2\ln(2\pi\sigma^2)+\tfrac1{2\sigma^2}\sum r^2,\qquad-\log p=N\ln(2b)+\tfrac1b\sum|r|,$$
least for $\hat\sigma^2=\frac1N\sum r^2$ and $\hat b=\frac1N\sum|r|$. For logits $g$ and classes $k_i$,
$-\log p=\sum_i\mathrm{lse}(g_i)-g_{i,k_i}$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]
from scipy import special

from ftheta.certify.balls import known
from ftheta.logic import Enclosure, UsageError

BITS = 256
NATS_PER_BIT = log(2.0)
NOISES = ("Gaussian", "Laplace")


def gaussian_nll(residuals: np.ndarray, sigma: float) -> float:
    r"""$\frac N2\ln(2\pi\sigma^2)+\frac{\mathrm{SSE}}{2\sigma^2}$."""
    _positive(sigma)
    return residuals.size / 2 * log(2 * pi * sigma**2) + float(np.sum((residuals / sigma) ** 2)) / 2


def laplace_nll(residuals: np.ndarray, scale: float) -> float:
    r"""$N\ln(2b)+\frac1b\sum|r|$."""
    _positive(scale)
    return residuals.size * log(2 * scale) + float(np.abs(residuals / scale).sum())


def _positive(scale: float) -> None:
    if not scale > 0:
        raise UsageError("The scale of the noise is a positive number.", got=scale)


def profile_sigma(residuals: np.ndarray) -> float:
    r"""$\hat\sigma=\sqrt{\mathrm{SSE}/N}$, the maximum-likelihood estimate of the standard deviation."""
    return float(np.sqrt(np.mean(np.square(residuals))))


def profile_scale(residuals: np.ndarray) -> float:
    r"""$\hat b=\frac1N\sum|r|$, the maximum-likelihood estimate of the scale of Laplace noise."""
    return float(np.mean(np.abs(residuals)))


def categorical_nll(logits: np.ndarray, labels: np.ndarray) -> float:
    r"""$\sum_i\mathrm{lse}(g_i)-g_{i,k_i}$."""
    chosen = np.take_along_axis(logits, np.asarray(labels, int).reshape(-1, 1), axis=1)[:, 0]
    return float(np.sum(special.logsumexp(logits, axis=1) - chosen))


def gaussian_gap(residuals: Sequence[float], sigma: float) -> Enclosure:
    """The difference of the two sides below, in balls."""
    with ctx.workprec(BITS):
        by_density, formula = _gaussian_balls(residuals, sigma)
        return known(by_density - formula)


def gaussian_sides(residuals: Sequence[float], sigma: float) -> tuple[Enclosure, Enclosure]:
    r"""$-\sum_i\ln p(r_i)$, density by density, and $\frac N2\ln(2\pi\sigma^2)+\frac{\mathrm{SSE}}{2\sigma^2}$."""
    with ctx.workprec(BITS):
        by_density, formula = _gaussian_balls(residuals, sigma)
        return known(by_density), known(formula)


def _gaussian_balls(residuals: Sequence[float], sigma: float) -> tuple[Any, Any]:
    s = arb(sigma)
    N = len(residuals)
    squares = sum((arb(r) ** 2 for r in residuals), arb(0))
    formula = arb(N) / 2 * (2 * arb.pi() * s**2).log() + squares / (2 * s**2)
    density = [(-((arb(r) / s) ** 2) / 2).exp() / (s * (2 * arb.pi()).sqrt()) for r in residuals]
    return -sum((d.log() for d in density), arb(0)), formula


def profile_gain(residuals: Sequence[float], factor: float) -> Enclosure:
    r"""The NLL at $\hat\sigma\cdot$`factor` minus that at $\hat\sigma$, in balls: never negative.

    Residuals that are all zero have no such $\sigma$; $10^{-9}$ takes its place.
    """
    with ctx.workprec(BITS):
        return known(_profile_ball(residuals, factor) - _profile_ball(residuals, 1.0))


def profile_nll(residuals: Sequence[float], factor: float) -> Enclosure:
    r"""The NLL at $\hat\sigma\cdot$`factor`, in balls."""
    with ctx.workprec(BITS):
        return known(_profile_ball(residuals, factor))


def _profile_ball(residuals: Sequence[float], factor: float) -> Any:
    squares = sum((arb(r) ** 2 for r in residuals), arb(0))
    N = len(residuals)
    best = squares / N if any(residuals) else arb(10) ** -18  # σ̂²
    variance = best * arb(factor) ** 2
    return arb(N) / 2 * (2 * arb.pi() * variance).log() + squares / (2 * variance)


def categorical_gap(logits: np.ndarray, labels: np.ndarray) -> Enclosure:
    """The difference of the two sides below, in balls."""
    with ctx.workprec(BITS):
        product, entropy = _categorical_balls(logits, labels)
        return known(product - entropy)


def categorical_sides(logits: np.ndarray, labels: np.ndarray) -> tuple[Enclosure, Enclosure]:
    r"""$-\ln\prod_ip_{i,k_i}$, from the product of probabilities, and $\sum_i\mathrm{lse}(g_i)-g_{i,k_i}$, in balls."""
    with ctx.workprec(BITS):
        product, entropy = _categorical_balls(logits, labels)
        return known(product), known(entropy)


def _categorical_balls(logits: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
    product = arb(1)
    entropy = arb(0)
    for row, k in zip(logits.tolist(), np.asarray(labels, int).tolist()):
        weights = [arb(v).exp() for v in row]
        total = sum(weights, arb(0))
        product = product * weights[k] / total
        entropy = entropy + total.log() - arb(row[k])
    return -product.log(), entropy


@dataclass(frozen=True, slots=True)
class Fit:
    """How likely data are under a model: the negative log-likelihood, and the scale of the noise where there is one."""

    noise: str
    nll: float
    rows: int
    numbers: int
    scale: float | None = None

    @property
    def bits(self) -> float:
        """Bits per row."""
        return self.nll / self.rows / NATS_PER_BIT


def likelihood(predictions: np.ndarray, y: np.ndarray, noise: str = "Gaussian") -> Fit:
    """The fit of predictions to targets: real ones with the best scale of the noise, or classes with the softmax."""
    n = len(predictions)
    flat = predictions.reshape(n, -1)
    if noise == "categorical":
        return Fit(noise, categorical_nll(flat, y), n, n)
    residuals = flat - np.asarray(y, float).reshape(n, -1)
    scale = profile_sigma(residuals) if noise == "Gaussian" else profile_scale(residuals)
    if scale == 0:
        return Fit(noise, -np.inf, n, residuals.size, 0.0)
    nll = gaussian_nll if noise == "Gaussian" else laplace_nll
    return Fit(noise, nll(residuals, scale), n, residuals.size, scale)
