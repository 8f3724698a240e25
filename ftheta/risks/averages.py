r"""What noise, dropout and augmentation minimise on average, for models linear in what is disturbed.

With rows $x_i$, weights $W\in\mathbb R^{d\times K}$ and the squared loss summed over rows and outputs:

- noise of mean 0 and variance $s^2$ on every entry: $\|Y-XW\|^2+ns^2\|W\|^2$, a ridge $\lambda=ns^2$;
- inverted dropout, every entry kept with probability $q$ and divided by $q$:
  $\|Y-XW\|^2+\frac{1-q}q\sum_j\|X_j\|^2\|W_j\|^2$, a ridge in units of the columns;
- a group that moves the entries of a row: the ridge fit to all moved rows is invariant, and is the fit to the means of
  their orbits.

The first two are also summed up over every mask or sign. Arrays of fractions stay fractions.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.groups import reynolds
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Int, Real, Shaped

MOST = 14  # entries of a row whose masks are listed


def fractions(array: Real[np.ndarray, "*shape"]) -> Shaped[np.ndarray, "*shape"]:
    """The same numbers, exactly."""
    found = np.array([Fraction(v) for v in np.ravel(array).tolist()], dtype=object)
    return found.reshape(np.shape(array))


def noise_loss(
    X: Shaped[np.ndarray, "n d"],
    Y: Shaped[np.ndarray, "n *k"],
    W: Shaped[np.ndarray, "d *k"],
    variance: Any,
) -> Any:
    r"""$\|Y-XW\|^2+ns^2\|W\|^2$."""
    return ((Y - X @ W) ** 2).sum() + len(X) * variance * (W**2).sum()


def dropout_loss(
    X: Shaped[np.ndarray, "n d"],
    Y: Shaped[np.ndarray, "n *k"],
    W: Shaped[np.ndarray, "d *k"],
    keep: Any,
) -> Any:
    r"""$\|Y-XW\|^2+\frac{1-q}q\sum_j\|X_j\|^2\|W_j\|^2$."""
    columns = (X**2).sum(0)
    weights = (W**2).reshape(X.shape[1], -1).sum(1)
    return ((Y - X @ W) ** 2).sum() + (1 - keep) / keep * (columns * weights).sum()


def _list_masks(d: int) -> np.ndarray:
    if d > MOST:
        raise UsageError(
            "There are too many masks to list.",
            got=f"{d} entries per row",
            remedy=f"at most {MOST}; draw them",
        )
    return (np.arange(2**d)[:, None] >> np.arange(d)) & 1


def dropout_loss_by_masks(
    X: Shaped[np.ndarray, "n d"],
    Y: Shaped[np.ndarray, "n *k"],
    W: Shaped[np.ndarray, "d *k"],
    keep: Any,
) -> Any:
    """The expected loss under dropout, summed over all $2^d$ masks of a row."""
    W = W.reshape(X.shape[1], -1)
    Y = Y.reshape(len(X), -1)
    total = 0 * keep
    for mask in _list_masks(X.shape[1]):
        kept = int(mask.sum())
        chance = keep**kept * (1 - keep) ** (len(mask) - kept)
        total = total + chance * ((Y - (X * mask) @ W / keep) ** 2).sum()
    return total


def noise_loss_by_signs(
    X: Shaped[np.ndarray, "n d"],
    Y: Shaped[np.ndarray, "n *k"],
    W: Shaped[np.ndarray, "d *k"],
    spread: Any,
    offset: Any = 0,
) -> Any:
    r"""The expected loss when every entry is moved by $m\pm s$ at random, summed over all $2^d$ signs of a row; $m$ is
    the `offset`. For $m=0$ the noise has mean 0 and variance $s^2$."""
    W = W.reshape(X.shape[1], -1)
    Y = Y.reshape(len(X), -1)
    signs = 2 * _list_masks(X.shape[1]) - 1
    return sum(((Y - (X + offset + spread * sign) @ W) ** 2).sum() for sign in signs) / len(signs)


def draw_noise_losses(
    X: Real[np.ndarray, "n d"],
    Y: Real[np.ndarray, "n *k"],
    W: Real[np.ndarray, "d *k"],
    spread: float,
    rng: np.random.Generator,
    draws: int,
) -> Float[np.ndarray, "draws"]:
    r"""Losses $\|Y-\tilde XW\|^2$ under Gaussian noise of standard deviation `spread` on every entry, one per draw."""
    return np.array(
        [((Y - (X + spread * rng.normal(size=X.shape)) @ W) ** 2).sum() for _ in range(draws)]
    )


def noise_variance(
    X: Real[np.ndarray, "n d"],
    Y: Real[np.ndarray, "n *k"],
    W: Real[np.ndarray, "d *k"],
    spread: float,
) -> float:
    r"""The variance of these losses, $2n\|\Sigma\|_F^2+4\sum_ir_i^\top\Sigma r_i$ with $\Sigma=s^2W^\top W$, residuals
    $r_i$."""
    columns = W.reshape(X.shape[1], -1)
    residuals = Y.reshape(len(X), -1) - X @ columns
    covariance = spread**2 * columns.T @ columns
    return float(
        2 * len(X) * (covariance**2).sum() + 4 * ((residuals @ covariance) * residuals).sum()
    )


def draw_dropout_losses(
    X: Real[np.ndarray, "n d"],
    Y: Real[np.ndarray, "n *k"],
    W: Real[np.ndarray, "d *k"],
    keep: float,
    rng: np.random.Generator,
    draws: int,
) -> Float[np.ndarray, "draws"]:
    r"""Losses $\|Y-\tilde XW\|^2$ where entries are kept with probability `keep`, one per draw."""
    return np.array(
        [((Y - X * (rng.random(X.shape) < keep) @ W / keep) ** 2).sum() for _ in range(draws)]
    )


def noise_fit(
    X: Real[np.ndarray, "n d"], Y: Real[np.ndarray, "n *k"], variance: float
) -> Float[np.ndarray, "d *k"]:
    r"""What training with input noise tends to: $(X^\top X+ns^2I)^{-1}X^\top Y$."""
    return _solve_ridge(X, Y, np.full(X.shape[1], len(X) * variance))


def dropout_fit(
    X: Real[np.ndarray, "n d"], Y: Real[np.ndarray, "n *k"], keep: float
) -> Float[np.ndarray, "d *k"]:
    r"""What training with dropout tends to: $\big(X^\top X+\frac{1-q}q\mathrm{diag}(X^\top X)\big)^{-1}X^\top Y$."""
    return _solve_ridge(X, Y, (1 - keep) / keep * (X**2).sum(0))


def _solve_ridge(X: np.ndarray, Y: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    rows = np.vstack([X, np.diag(np.sqrt(ridges))])
    return np.linalg.lstsq(
        rows, np.concatenate([Y, np.zeros((len(ridges), *Y.shape[1:]))]), rcond=None
    )[0]


# ---- groups ---------------------------------------------------------------------------------------------------------


def moved_rows(
    X: Shaped[np.ndarray, "n d"], action: Int[np.ndarray, "g d"]
) -> Shaped[np.ndarray, "g n d"]:
    """Every row moved by every element of a group that permutes the entries, shape (|G|, n, d)."""
    return np.stack([X[:, np.argsort(g)] for g in action])


def orbit_means(
    X: Shaped[np.ndarray, "n d"], action: Int[np.ndarray, "g d"]
) -> Shaped[np.ndarray, "n d"]:
    """Every row replaced by the mean over its orbit: the Reynolds projection onto invariant rows."""
    return moved_rows(X, action).mean(0)


def invariant_part(
    W: Float[np.ndarray, "d *k"], action: Int[np.ndarray, "g d"]
) -> Float[np.ndarray, "d *k"]:
    """The projection of weights (d, K) onto those that do not change with the group."""
    alone = np.zeros((len(action), W.shape[1]), int) + np.arange(W.shape[1])
    return reynolds(W, alone, action)


def augmented_ridge(
    X: Float[np.ndarray, "n d"],
    Y: Float[np.ndarray, "n *k"],
    action: Int[np.ndarray, "g d"],
    ridge: float,
) -> Float[np.ndarray, "d *k"]:
    r"""$\min_W\frac1{|G|}\sum_g\|Y-(gX)W\|^2+\lambda\|W\|^2$ by fitting to all $|G|n$ moved rows."""
    rows = moved_rows(X, action).reshape(-1, X.shape[1])
    return _solve_ridge(
        rows, np.concatenate([Y] * len(action)), np.full(X.shape[1], ridge * len(action))
    )


def ridge_on_orbits(
    X: Float[np.ndarray, "n d"],
    Y: Float[np.ndarray, "n *k"],
    action: Int[np.ndarray, "g d"],
    ridge: float,
) -> Float[np.ndarray, "d *k"]:
    r"""The same by fitting to the $n$ means of orbits."""
    return _solve_ridge(orbit_means(X, action), Y, np.full(X.shape[1], ridge))
