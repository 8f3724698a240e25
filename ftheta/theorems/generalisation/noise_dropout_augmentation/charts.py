"""Where error and penalty touch, and expected losses against the strength of the disturbance."""

from collections.abc import Sequence

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import Axis, Curves, Enclosure, Series
from ftheta.risks.averages import (
    draw_dropout_losses,
    draw_noise_losses,
    dropout_fit,
    dropout_loss,
    noise_fit,
    noise_loss,
)


def trace_ellipse(
    A: np.ndarray, centre: np.ndarray, through: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    r"""The curve $(w-c)^\top A(w-c)=\text{its value at the given point}$; none where it is no ellipse."""
    level = float((through - centre) @ A @ (through - centre))
    values = np.linalg.eigvalsh(A)
    if level <= 0 or values[0] <= 1e-9 * values[1]:
        return None
    t = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(t), np.sin(t)]) * np.sqrt(level)
    found = centre[:, None] + np.linalg.solve(np.linalg.cholesky(A).T, circle)
    return found[0], found[1]


def draw_ellipses(X: np.ndarray, y: np.ndarray, variance: float, keep: float) -> Curves:
    """Two columns: the level of the squared error and of each penalty that touch at the fits."""
    X = X[:, :2]
    gram = X.T @ X
    zero = np.zeros(2)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    fits = {"noise": noise_fit(X, y, variance), "dropout": dropout_fit(X, y, keep)}
    shapes = {"noise": np.eye(2), "dropout": np.diag(np.diag(gram))}
    curves = [
        ("error at the noise fit", trace_ellipse(gram, best, fits["noise"]), "reference"),
        ("error at the dropout fit", trace_ellipse(gram, best, fits["dropout"]), "reference"),
        ("penalty of noise", trace_ellipse(shapes["noise"], zero, fits["noise"]), "measured"),
        ("penalty of dropout", trace_ellipse(shapes["dropout"], zero, fits["dropout"]), "other"),
    ]
    series = [Series(name, *curve, role) for name, curve, role in curves if curve is not None]  # type: ignore[arg-type]
    series += [
        Series(f"{name} fit", [float(w[0])], [float(w[1])], mark="points")
        for name, w in fits.items()
    ]
    series.append(
        Series("least squares", [float(best[0])], [float(best[1])], "reference", "points")
    )
    return Curves("where error and penalty touch", Axis("w₁"), Axis("w₂"), tuple(series))


def draw_losses(
    X: np.ndarray, Y: np.ndarray, W: np.ndarray, rng: np.random.Generator, draws: int
) -> tuple[Curves, Curves]:
    """Expected losses per row against the spread of the noise and the share kept: the formula, and means of draws."""
    size = max(float(X.std()), 1e-300)
    spreads = np.linspace(0, 1.5 * size, 40)
    shares = np.linspace(0.3, 1, 40)
    few = max(20, draws // 10)
    at_spreads = spreads[4::7]
    at_shares = shares[2::7]
    noisy = [mean(draw_noise_losses(X, Y, W, s, rng, few), 0.99) for s in at_spreads]
    dropped = [mean(draw_dropout_losses(X, Y, W, q, rng, few), 0.99) for q in at_shares]
    by_noise = [noise_loss(X, Y, W, s**2) for s in spreads]
    by_dropout = [dropout_loss(X, Y, W, q) for q in shares]
    n = len(X)
    return (
        _draw_loss("input noise", Axis("spread s"), spreads, by_noise, at_spreads, noisy, n),
        _draw_loss("dropout", Axis("share kept q"), shares, by_dropout, at_shares, dropped, n),
    )


def _draw_loss(
    title: str,
    axis: Axis,
    x: np.ndarray,
    formula: Sequence[float],
    at: np.ndarray,
    seen: Sequence[Enclosure],
    n: int,
) -> Curves:
    middles = [e.middle / n for e in seen]
    lows = [e.lo / n for e in seen]
    highs = [e.hi / n for e in seen]
    series = (
        Series("formula", x, np.array(formula) / n, "reference"),
        Series("mean of draws", at, middles, "measured", "points", lows, highs),
    )
    return Curves(title, axis, Axis("expected loss per row"), series)
