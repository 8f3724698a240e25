"""Squares and cross-entropy as maximum likelihood, shown on rows with a linear model or on a network's outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]
from scipy import special

from ftheta.certify.balls import known
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Heatmap, Identity, Series, Table

from .bayes import ConditionalLaw
from .likelihoods import (
    BITS,
    NOISES,
    Fit,
    categorical_gap,
    gaussian_gap,
    gaussian_nll,
    laplace_nll,
    likelihood,
    profile_gain,
    profile_scale,
    profile_sigma,
)
from .linear import exact_least_squares, least_squares
from .outputs import Outputs

ZERO = Enclosure.exact(0)
TINY = 1e-30
BALLS = 400  # residuals that are taken as balls
FACTORS = (0.1, 0.5, 0.99, 1.01, 2.0, 10.0)


@dataclass(frozen=True, eq=False)
class Regression:
    r"""Rows `x` with targets `y` (one column each), and $g_\theta(x)=\theta x$."""

    x: np.ndarray
    y: np.ndarray

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        return self.y - self.x @ theta

    @cached_property
    def best(self) -> np.ndarray:
        """Least squares: rounded from rationals where they are few, else of least norm."""
        exact = exact_least_squares(self.x, self.y[:, 0]) if self.y.shape[1] == 1 else None
        return least_squares(self.x, self.y) if exact is None else np.array(exact, float)[:, None]

    @property
    def largest_residual(self) -> float:
        """Relative to the largest target."""
        return float(np.abs(self.residuals(self.best)).max() / max(np.abs(self.y).max(), 1e-300))

    def likeliest(self, noise: str) -> np.ndarray:
        """The maximum-likelihood parameters; those of Laplace noise for a constant model alone: the median."""
        if noise == "Gaussian":
            return self.best
        median = ConditionalLaw.of(self.y[:, 0]).median[0] if (self.x == self.x[0]).all() else None
        theta = self.best.copy()
        if median is not None:
            theta[:] = 0.0
            theta[0] = float(median) / self.x[0, 0]
        return theta


def regression_claims(model: Regression, sigma: float, rng: np.random.Generator, noise: str) -> tuple[Claim, ...]:
    """Both sides at random parameters, their difference free of θ, the gradients, the profile."""
    few = Regression(model.x[:BALLS], model.y[:BALLS])
    thetas = [np.zeros_like(few.best), few.best, *rng.normal(size=(4, *few.best.shape))]
    gaps = [gaussian_gap(few.residuals(t).ravel().tolist(), sigma) for t in thetas]
    worst = Enclosure.measured(max(max(-g.lo, g.hi) for g in gaps), samples=len(gaps))
    gains = [profile_gain(few.residuals(few.likeliest(noise)).ravel().tolist(), f) for f in FACTORS]
    least = min(gains, key=lambda g: g.lo)
    return (
        Identity("−Σ ln p − N/2 ln 2πσ² − SSE/2σ² at random θ", worst, ZERO, atol=TINY),
        Identity(
            "∇(−ln p) − ∇SSE/2σ², relative",
            Enclosure.measured(gradient_gap(model, sigma, rng), samples=1),
            ZERO,
            atol=1e-6,
        ),
        Identity("∇SSE at the likeliest θ, relative", _stationary(model, model.likeliest(noise)), ZERO, atol=1e-9),
        AtMost("0 ≤ NLL at 0.1, ½, 0.99, 1.01, 2, 10 times σ̂ − NLL at σ̂", ZERO, least),
    )


def gradient_gap(model: Regression, sigma: float, rng: np.random.Generator) -> float:
    """Central differences of the log-likelihood against the gradient of the sum of squares over 2σ²."""
    theta = rng.normal(size=model.best.shape)
    direct = -model.x.T @ model.residuals(theta) / sigma**2
    step = 1e-4 * max(1.0, sigma)
    slopes = np.zeros_like(theta)
    for i in np.ndindex(theta.shape):
        bump = np.zeros_like(theta)
        bump[i] = step
        ends = [gaussian_nll(model.residuals(theta + s * bump), sigma) for s in (1, -1)]
        slopes[i] = (ends[0] - ends[1]) / (2 * step)
    size = np.abs(model.x).T @ np.abs(model.residuals(theta)) / sigma**2  # before cancellation
    return float(np.abs(slopes - direct).max() / max(size.max(), 1e-300))


def _stationary(model: Regression, theta: np.ndarray) -> Enclosure:
    """The gradient at θ relative to its size before cancellation; exactly 0 where the solution is rational."""
    exact = exact_least_squares(model.x, model.y[:, 0]) if model.y.shape[1] == 1 else None
    if exact is not None and np.array_equal(np.array(exact, float), theta[:, 0]):
        rows = [[Fraction(v) for v in row] for row in model.x.tolist()]
        left = [
            Fraction(y) - sum((a * t for a, t in zip(row, exact)), Fraction(0))
            for row, y in zip(rows, model.y[:, 0].tolist())
        ]
        slopes = [sum((row[j] * r for row, r in zip(rows, left)), Fraction(0)) for j in range(len(exact))]
        return Enclosure.exact(max(map(abs, slopes)))
    residuals = model.residuals(theta)
    size = max(float((np.abs(model.x).T @ (np.abs(model.y) + np.abs(model.x) @ np.abs(theta))).max()), 1e-300)
    return Enclosure.equal(float(np.abs(model.x.T @ residuals).max()) / size)


def class_claims(logits: np.ndarray, labels: np.ndarray) -> tuple[Claim, ...]:
    gap = categorical_gap(logits[:BALLS], labels[:BALLS])
    return (Identity("−ln Π p(yᵢ) − n × cross-entropy", gap, ZERO, atol=TINY),)


def printed_proportional() -> Identity:
    """Seed 3: log P(Y = k) ∝ g_k. At g = (1, 2, 4) the quotients of k = 1 and k = 3 would be equal."""
    with ctx.workprec(BITS):
        g = [arb(1), arb(2), arb(4)]
        total = sum((v.exp() for v in g), arb(0)).log()
        first, last = ((v - total) / v for v in (g[0], g[2]))
    return Identity("log P(k)/g_k for k = 1 and 3, g = (1, 2, 4)", known(first), known(last))


# ---- figures --------------------------------------------------------------------------------------------------------


def surface(model: Regression, sigma: float) -> Heatmap:
    """The negative log-likelihood a number against the first coordinate of θ and σ."""
    best, spread = float(model.best[0, 0]), max(profile_sigma(model.residuals(model.best)), 1e-3)
    width = 3 * max(spread, abs(best), sigma / 2)
    t, s = np.linspace(best - width, best + width, 80), np.geomspace(min(spread, sigma) / 3, 5 * max(spread, sigma), 60)
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
        "negative log-likelihood a number", Axis("θ₁"), Axis("σ", "log"), np.minimum(values, top), extent, "nats"
    )


def slices(model: Regression, sigma: float) -> Curves:
    """NLL for several σ against θ₁, above the least one, beside the sum of squares: all least at one place."""
    best = float(model.best[0, 0])
    spread = max(profile_sigma(model.residuals(model.best)), 1e-3)
    t = np.linspace(best - 3 * spread, best + 3 * spread, 161)
    thetas = np.repeat(model.best[None], len(t), axis=0)
    thetas[:, 0, 0] = t
    sse = np.array([float(np.sum(model.residuals(theta) ** 2)) for theta in thetas])
    lines = [Series(f"NLL, σ = {s:.3g}", t, (sse - sse.min()) / (2 * s**2)) for s in (sigma / 2, sigma, 2 * sigma)]
    series = (Series("SSE", t, sse - sse.min(), "bound"), *lines)
    return Curves("above the least value: one minimiser for every σ", Axis("θ₁"), Axis("NLL, or SSE"), series)


def scale_chart(residuals: np.ndarray) -> Curves:
    """Negative log-likelihood a number against the scale of the noise, for both kinds."""
    r = residuals.ravel()
    sigma, scale = profile_sigma(r), profile_scale(r)
    s = np.geomspace(min(sigma, scale) / 2, 4 * max(sigma, scale), 161)
    found = (("Gaussian", gaussian_nll, sigma, "σ̂"), ("Laplace", laplace_nll, scale, "b̂"))
    series = []
    for name, nll, best, letter in found:
        series.append(Series(name, s, [nll(r, float(a)) / r.size for a in s]))
        series.append(Series(f"{letter} = {best:.4g}", [best], [nll(r, best) / r.size], "bound", "points"))
    return Curves(
        "which noise explains the residuals", Axis("scale of the noise", "log"), Axis("nats a number"), tuple(series)
    )


def table_of(fits: Sequence[Fit]) -> Table:
    rows = [(f.noise, f.scale if f.scale is not None else "–", f.nll, f.nll / f.rows, f.bits) for f in fits]
    return Table("how likely the targets are", ("noise", "scale", "NLL", "NLL a row", "bits a row"), tuple(rows))


# ---- evidence -------------------------------------------------------------------------------------------------------


def regression_evidence(
    model: Regression, theta: float, sigma: float, rng: np.random.Generator, noise: str
) -> Evidence:
    """A linear model on rows."""
    at = np.full_like(model.best, theta)
    best = model.residuals(model.best)
    logits, labels = rng.normal(size=(12, 4)) * 3, rng.integers(0, 4, 12)
    claims = (*regression_claims(model, sigma, rng, noise), *class_claims(logits, labels))
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
    numbers |= {"least NLL": fits[0].nll, "bits a row": fits[0].bits}
    charts = (slices(model, sigma), surface(model, sigma)) + ((scale_chart(best),) if best.any() else ())
    told = f"NLL {numbers['NLL at θ']:.8g} at θ = {theta:g}, σ = {sigma:g}; least squares has σ̂ = {numbers['σ̂']:.6g}"
    return Evidence(claims, charts, numbers, (table_of(fits),), (printed_proportional(),), told)


def prediction_evidence(found: Outputs) -> Evidence:
    """A network's outputs on its data: classes, or real targets with Gaussian and Laplace noise."""
    flat, labels = found.predictions, found.classes
    return _real_evidence(flat, found.y) if labels is None else _class_evidence(flat, labels)


def _class_evidence(logits: np.ndarray, labels: np.ndarray) -> Evidence:
    n, fit = len(logits), likelihood(logits, labels, "categorical")
    own = np.sort(special.softmax(logits, axis=1)[np.arange(n), labels])
    series = (Series("rows", own, (np.arange(n) + 1) / n, "measured", "step"),)
    chart = Curves("probability given to the true class", Axis("p(y | x)"), Axis("share of rows below"), series)
    numbers = {"NLL": fit.nll, "NLL a row": fit.nll / n, "bits a row": fit.bits}
    told = f"{fit.nll / n:.6g} nats or {fit.bits:.6g} bits a row on {n:,} rows"
    claims = class_claims(logits, labels)
    return Evidence(claims, (chart,), numbers, (table_of([fit]),), (printed_proportional(),), told)


def _real_evidence(predictions: np.ndarray, y: np.ndarray) -> Evidence:
    n, residuals = len(y), y - predictions
    fits = [likelihood(predictions, y, noise) for noise in NOISES]
    few = residuals.ravel()[:BALLS].tolist()
    gains = [profile_gain(few, f) for f in FACTORS]
    claims = (
        Identity("−Σ ln p − N/2 ln 2πσ̂² − SSE/2σ̂²", gaussian_gap(few, fits[0].scale or 1.0), ZERO, atol=TINY),
        AtMost("0 ≤ NLL at 0.1, ½, 0.99, 1.01, 2, 10 times σ̂ − NLL at σ̂", ZERO, min(gains, key=lambda g: g.lo)),
    )
    numbers = {"σ̂": fits[0].scale or 0.0, "b̂": fits[1].scale or 0.0, "NLL": fits[0].nll, "bits a row": fits[0].bits}
    charts = (scale_chart(residuals),) if residuals.any() else ()
    told = f"σ̂ = {numbers['σ̂']:.6g}, NLL {fits[0].nll / n:.6g} nats or {fits[0].bits:.6g} bits a row on {n:,} rows"
    return Evidence(claims, charts, numbers, (table_of(fits),), (printed_proportional(),), told)
