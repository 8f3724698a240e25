"""Noise, dropout and augmentation shown: exact expectations, drawn ones, and the ellipses of their penalties."""

from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.estimates import mean
from ftheta.groups import translations
from ftheta.learning.features import Features
from ftheta.learning.linear import exact_least_squares
from ftheta.logic import Axis, Claim, Curves, Enclosure, Evidence, Identity, Series, Table

from .averages import (
    augmented_ridge,
    drawn_dropout,
    drawn_noise,
    dropout_fit,
    dropout_loss,
    dropout_loss_by_masks,
    fractions,
    invariant_part,
    moved_rows,
    noise_fit,
    noise_loss,
    noise_loss_by_signs,
    noise_variance,
    orbit_means,
    ridge_on_orbits,
)

ZERO = Enclosure.exact(0)
EXACT_ROWS, EXACT_COLUMNS = 6, 6  # that are summed up over all masks, in fractions
ORBIT = 256  # elements of a group, at most
NUMBERS = 20_000_000  # drawn for one mean, at most
OFTEN = 1000  # entries dropped, and kept, before a mean over masks is trusted


def in_rationals() -> tuple[tuple[Claim, ...], dict[str, Enclosure]]:
    r"""$X=(1,2)$, $w=(1,1)$, $y=0$, half of the entries dropped, or noise of spread $\frac1{10}$; rows on a ring."""
    X, W, Y = (fractions(np.array(v)) for v in ([[1, 2]], [1, 1], [0]))
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    dropped, noisy = dropout_loss_by_masks(X, Y, W, half), noise_loss_by_signs(X, Y, W, tenth)
    apart = lambda a, b: Enclosure.exact(abs(a - b))
    ring, rows, targets = translations((3,)), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, -1.0]]), np.array([1.0, 4.0])
    copies = moved_rows(rows, ring).reshape(-1, 3)
    whole = exact_least_squares(copies, np.concatenate([targets] * 3), Fraction(3))
    means = fractions(rows).sum(1) / 3  # of an orbit: three equal entries
    one = sum(m * Fraction(t) for m, t in zip(means, targets)) / (1 + 3 * sum(means**2))
    assert whole is not None
    claims = (
        Identity(
            "half of (1, 2) dropped: Σ over masks, less the formula", apart(dropped, dropout_loss(X, Y, W, half)), ZERO
        ),
        Identity(
            "noise ±1/10 on (1, 2): Σ over signs, less the formula", apart(noisy, noise_loss(X, Y, W, tenth**2)), ZERO
        ),
        Identity(
            "ridge on all rotations of two rows, less that on their means",
            Enclosure.exact(max(abs(w - one) for w in whole)),
            ZERO,
        ),
    )
    return claims, {
        "dropout loss of the example": Enclosure.exact(dropped),
        "noise loss of the example": Enclosure.exact(noisy),
    }


def exact_claims(X: np.ndarray, Y: np.ndarray, W: np.ndarray, spread: float, keep: float, offset: float) -> list[Claim]:
    """On the first rows and columns, in fractions: every sign and every mask."""
    few = slice(EXACT_ROWS), slice(EXACT_COLUMNS)
    x, y, w = fractions(X[few]), fractions(Y[:EXACT_ROWS]), fractions(W[:EXACT_COLUMNS])
    s, q, m = Fraction(spread), Fraction(keep), Fraction(offset)
    size = f"{x.shape[0]} rows × {x.shape[1]} entries"
    signs, masks = noise_loss_by_signs(x, y, w, s, m), dropout_loss_by_masks(x, y, w, q)
    scale = max(float(((y) ** 2).sum()), 1e-300)
    gap = lambda a, b: Enclosure.exact(abs(a - b) / Fraction(scale))
    return [
        Identity(
            f"noise m ± s on {size}: Σ over signs − formula, relative", gap(signs, noise_loss(x, y, w, s**2)), ZERO
        ),
        Identity(f"dropout on {size}: Σ over masks − formula, relative", gap(masks, dropout_loss(x, y, w, q)), ZERO),
    ]


def drawn_claims(
    X: np.ndarray, Y: np.ndarray, W: np.ndarray, spread: float, keep: float, rng: np.random.Generator, draws: int
) -> list[Claim]:
    """Means of draws; of dropout where both kinds of entries are met often enough for a mean to be trusted."""
    noisy = mean(drawn_noise(X, Y, W, spread, rng, draws), variance=noise_variance(X, Y, W, spread))
    formula = Enclosure.equal(noise_loss(X, Y, W, spread**2))
    claims: list[Claim] = [Identity("Gaussian noise: ‖Y − XW‖² + ns²‖W‖², and the mean of draws", formula, noisy)]
    if keep == 1 or X.size * draws * min(keep, 1 - keep) >= OFTEN:
        dropped, formula = mean(drawn_dropout(X, Y, W, keep, rng, draws)), Enclosure.equal(dropout_loss(X, Y, W, keep))
        claims.append(Identity("dropout: ‖Y − XW‖² + penalty, and the mean of draws", formula, dropped))
    return claims


def affordable(X: np.ndarray, draws: int) -> int:
    """Of so many draws, those that a table of this size can afford."""
    return min(draws, max(20, NUMBERS // X.size))


def group_claims(
    X: np.ndarray, Y: np.ndarray, grid: tuple[int, ...], ridge: float
) -> tuple[list[Claim], dict[str, float]]:
    """Cyclic translations: the fit to all moved rows is invariant, and is that to the means of orbits."""
    action = translations(grid)[:ORBIT] if int(np.prod(grid)) <= ORBIT else None
    if action is None:
        return [], {}
    few = max(4, 40_000 // (len(action) * X.shape[1]))
    x, y = X[:few], Y[:few].reshape(len(X[:few]), -1)
    W, V = augmented_ridge(x, y, action, ridge), ridge_on_orbits(x, y, action, ridge)
    size = max(float(np.abs(W).max()), 1e-300)
    moved, averaged = moved_rows(x, action), orbit_means(x, action)
    loss = lambda W: float(((y - moved @ W) ** 2).sum(axis=(1, 2)).mean())
    off = lambda a, b: Enclosure.equal(float(np.abs(a - b).max()) / size)
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    invariant = invariant_part(plain, action)
    claims: list[Claim] = [
        Identity(
            f"weights fitted to rows moved {len(action)} ways, less their mean over the group",
            off(W, invariant_part(W, action)),
            ZERO,
            atol=1e-8,
        ),
        Identity("weights fitted to moved rows, less those fitted to the means of orbits", off(W, V), ZERO, atol=1e-8),
        Identity(
            "mean loss of moved rows, and ‖Y − X̄W‖² + the spread within orbits",
            Enclosure.equal(loss(plain)),
            Enclosure.equal(
                float(
                    ((y - averaged @ plain) ** 2).sum() + ((moved @ plain - averaged @ plain) ** 2).sum((1, 2)).mean()
                )
            ),
            rtol=1e-8,
        ),
    ]
    return claims, {"moved rows, least squares": loss(plain), "moved rows, its invariant part": loss(invariant)}


# ---- figures --------------------------------------------------------------------------------------------------------


def ellipse(A: np.ndarray, centre: np.ndarray, through: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    r"""The curve $(w-c)^\top A(w-c)=\text{its value at the given point}$; none where it is no ellipse."""
    level = float((through - centre) @ A @ (through - centre))
    values = np.linalg.eigvalsh(A)
    if level <= 0 or values[0] <= 1e-9 * values[1]:
        return None
    t = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(t), np.sin(t)]) * np.sqrt(level)
    found = centre[:, None] + np.linalg.solve(np.linalg.cholesky(A).T, circle)
    return found[0], found[1]


def ellipses(X: np.ndarray, y: np.ndarray, variance: float, keep: float) -> Curves:
    """Two columns: the level of the squared error and of each penalty that touch at the fits."""
    X = X[:, :2]
    gram, zero = X.T @ X, np.zeros(2)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    fits = {"noise": noise_fit(X, y, variance), "dropout": dropout_fit(X, y, keep)}
    shapes = {"noise": np.eye(2), "dropout": np.diag(np.diag(gram))}
    drawn = [
        ("error at the noise fit", ellipse(gram, best, fits["noise"]), "reference"),
        ("error at the dropout fit", ellipse(gram, best, fits["dropout"]), "reference"),
        ("penalty of noise", ellipse(shapes["noise"], zero, fits["noise"]), "measured"),
        ("penalty of dropout", ellipse(shapes["dropout"], zero, fits["dropout"]), "other"),
    ]
    series = [Series(name, *curve, role) for name, curve, role in drawn if curve is not None]  # type: ignore[arg-type]
    series += [Series(f"{name} fit", [float(w[0])], [float(w[1])], mark="points") for name, w in fits.items()]
    series.append(Series("least squares", [float(best[0])], [float(best[1])], "reference", "points"))
    return Curves("where error and penalty touch", Axis("w₁"), Axis("w₂"), tuple(series))


def loss_charts(
    X: np.ndarray, Y: np.ndarray, W: np.ndarray, rng: np.random.Generator, draws: int
) -> tuple[Curves, Curves]:
    """Expected losses a row against the spread and against the share kept: formula, and means of draws."""
    n, size = len(X), max(float(X.std()), 1e-300)
    s, q = np.linspace(0, 1.5 * size, 40), np.linspace(0.3, 1, 40)
    at_s, at_q = s[4::7], q[2::7]
    few = max(20, draws // 10)
    seen_s = [mean(drawn_noise(X, Y, W, v, rng, few), 0.99) for v in at_s]
    seen_q = [mean(drawn_dropout(X, Y, W, v, rng, few), 0.99) for v in at_q]
    chart = lambda title, axis, x, formula, at, seen: Curves(
        title,
        axis,
        Axis("expected loss a row"),
        (
            Series("formula", x, np.array(formula) / n, "reference"),
            Series(
                "mean of draws",
                at,
                [e.middle / n for e in seen],
                "measured",
                "points",
                [e.lo / n for e in seen],
                [e.hi / n for e in seen],
            ),
        ),
    )
    return (
        chart("input noise", Axis("spread s"), s, [noise_loss(X, Y, W, v**2) for v in s], at_s, seen_s),
        chart("dropout", Axis("share kept q"), q, [dropout_loss(X, Y, W, v) for v in q], at_q, seen_q),
    )


# ---- evidence -------------------------------------------------------------------------------------------------------


def data_evidence(
    X: np.ndarray, y: np.ndarray, grid: tuple[int, ...], rng: np.random.Generator, **knobs: Any
) -> Evidence:
    """Rows with one target each; the weights are those of least squares with the noise's own ridge."""
    spread, keep, offset = (knobs[k] for k in ("spread", "keep", "offset"))
    draws = affordable(X, knobs["draws"])
    exact, numbers = in_rationals()
    w = noise_fit(X, y, spread**2)
    groups, seen = group_claims(X, y, grid, 1e-3 * float((X**2).sum()) / X.shape[1])
    claims = (
        *exact,
        *exact_claims(X, y, w, spread, keep, offset),
        *drawn_claims(X, y, w, spread, keep, rng, draws),
        *groups,
    )
    wide = X.shape[1] > 1
    charts = (*((ellipses(X, y, spread**2, keep),) if wide else ()), *loss_charts(X, y, w, rng, draws))
    error = lambda w: float(np.mean((y - X @ w) ** 2))
    fits = {"least squares": noise_fit(X, y, 0.0), "noise": w, "dropout": dropout_fit(X, y, keep)}
    table = Table(
        "fits", ("fit", "mean squared error", "‖w‖²"), tuple((k, error(v), float(v @ v)) for k, v in fits.items())
    )
    told = (
        f"{len(y)} rows, {X.shape[1]} columns: noise of spread {spread:g} is the ridge λ = {len(y) * spread**2:.4g}; "
    )
    told += f"keeping {keep:g} of the entries is the ridge {(1 - keep) / keep:.3g}‖X_j‖² on column j"
    return Evidence(claims, charts, numbers | seen, (table,), summary=told)


def network_evidence(found: Features, y: np.ndarray, rng: np.random.Generator, **knobs: Any) -> Evidence:
    """Dropout and noise on the last features of a network; `y` has one column an output."""
    spread, keep = knobs["spread"], knobs["keep"]
    exact, numbers = in_rationals()
    X, W, Y = found.phi, found.weight.T, y - found.bias
    draws = affordable(X, knobs["draws"])
    s = spread * max(float(X.std()), 1e-300)
    claims = (
        *exact,
        found.claim(),
        *exact_claims(X, Y, W, s, keep, knobs["offset"]),
        *drawn_claims(X, Y, W, s, keep, rng, draws),
    )
    plain, n = float(((Y - X @ W) ** 2).sum()), len(X)
    costs = (X**2).sum(0) * (W**2).sum(1) / n
    top = np.argsort(costs)[::-1][:8]
    table = Table(
        "features that dropout penalises most",
        ("feature", "‖φ_j‖²‖W_j‖²/n"),
        tuple((int(j), float(costs[j])) for j in top),
    )
    numbers |= {
        "squared loss a row": Enclosure.equal(plain / n),
        "dropout adds": Enclosure.equal((1 - keep) / keep * float(costs.sum())),
    }
    told = f"squared loss {plain / n:.4g} a row; keeping {keep:g} of {X.shape[1]} features adds "
    told += f"{(1 - keep) / keep * costs.sum():.4g}"
    return Evidence(claims, loss_charts(X, Y, W, rng, draws), numbers, (table,), summary=told)
