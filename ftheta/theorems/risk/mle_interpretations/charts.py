"""The likelihood as a surface and along slices, and the fit at other scales of the noise."""

import numpy as np

from ftheta.logic import Axis, Curves, Heatmap, Series

from .likelihoods import gaussian_nll, laplace_nll, profile_scale, profile_sigma
from .regression import Regression


def draw_surface(model: Regression, sigma: float) -> Heatmap:
    """The negative log-likelihood per number against the first coordinate of θ and σ."""
    best = float(model.best[0, 0])
    spread = max(profile_sigma(model.residuals(model.best)), 1e-3)
    width = 3 * max(spread, abs(best), sigma / 2)
    t = np.linspace(best - width, best + width, 80)
    s = np.geomspace(min(spread, sigma) / 3, 5 * max(spread, sigma), 60)
    values = np.empty((len(s), len(t)))
    for j, a in enumerate(t):
        theta = model.best.copy()
        theta[0, 0] = a
        residuals = model.residuals(theta)
        mean = float(np.mean(residuals**2))
        values[:, j] = np.log(2 * np.pi * s**2) / 2 + mean / (2 * s**2)
    top = float(np.quantile(values, 0.8))
    extent = (t[0], t[-1], s[0], s[-1])
    return Heatmap(
        "negative log-likelihood per number",
        Axis("θ₁"),
        Axis("σ", "log"),
        np.minimum(values, top),
        extent,
        "nats",
    )


def draw_slices(model: Regression, sigma: float) -> Curves:
    """NLL for several σ against θ₁, above the least one, beside the sum of squares: all least at one place."""
    best = float(model.best[0, 0])
    spread = max(profile_sigma(model.residuals(model.best)), 1e-3)
    t = np.linspace(best - 3 * spread, best + 3 * spread, 161)
    thetas = np.repeat(model.best[None], len(t), axis=0)
    thetas[:, 0, 0] = t
    sse = np.array([float(np.sum(model.residuals(theta) ** 2)) for theta in thetas])
    lines = [
        Series(f"NLL, σ = {s:.3g}", t, (sse - sse.min()) / (2 * s**2))
        for s in (sigma / 2, sigma, 2 * sigma)
    ]
    series = (Series("SSE", t, sse - sse.min(), "bound"), *lines)
    return Curves(
        "above the least value: one minimiser for every σ", Axis("θ₁"), Axis("NLL, or SSE"), series
    )


def draw_scales(residuals: np.ndarray) -> Curves:
    """Negative log-likelihood per number against the scale of the noise, for both kinds."""
    r = residuals.ravel()
    sigma = profile_sigma(r)
    scale = profile_scale(r)
    s = np.geomspace(min(sigma, scale) / 2, 4 * max(sigma, scale), 161)
    found = (("Gaussian", gaussian_nll, sigma, "σ̂"), ("Laplace", laplace_nll, scale, "b̂"))
    series = []
    for name, nll, best, letter in found:
        series.append(Series(name, s, [nll(r, float(a)) / r.size for a in s]))
        series.append(
            Series(f"{letter} = {best:.4g}", [best], [nll(r, best) / r.size], "bound", "points")
        )
    return Curves(
        "which noise explains the residuals",
        Axis("scale of the noise", "log"),
        Axis("nats per number"),
        tuple(series),
    )
