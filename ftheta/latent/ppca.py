r"""Probabilistic PCA: $x=\mu+Wz+\varepsilon$ with normal latents $z\in\mathbb R^q$ and noise of variance $\sigma^2$.

With eigenvalues $\lambda_1\ge\dots\ge\lambda_d$ of the covariance of the rows (divided by their number) and orthonormal
eigenvectors $u_i$, the likelihood is largest at $\sigma^2=\frac1{d-q}\sum_{i>q}\lambda_i$ and
$W=(\sqrt{\lambda_i-\sigma^2}\,u_i)_{i\le q}$.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

LARGEST = 1e100  # entry of a row whose squares and products are floats


@dataclass(frozen=True, eq=False)
class Ppca:
    r"""The fitted model: `mean` $\mu$, `directions` $u_i$ as columns, all `eigenvalues`, the `noise` variance
    $\sigma^2$; `log_likelihood` is the mean over the rows that it was fitted to, in nats."""

    mean: Float[np.ndarray, "d"]
    directions: Float[np.ndarray, "d q"]
    eigenvalues: Float[np.ndarray, "d"]
    noise: float

    @property
    def latents(self) -> int:
        """How many latents there are."""
        return self.directions.shape[1]

    @property
    def log_likelihood(self) -> float:
        r"""$-\frac12\big(d\ln2\pi+\sum_{i\le q}\ln\lambda_i+(d-q)\ln\sigma^2+d\big)$ per row."""
        d = len(self.mean)
        q = self.latents
        logs = float(np.log(self.eigenvalues[:q]).sum()) + (d - q) * np.log(self.noise)
        return -(d * np.log(2 * np.pi) + logs + d) / 2

    @property
    def loadings(self) -> Float[np.ndarray, "d q"]:
        r"""$W$, up to a rotation of the latents."""
        return self.directions * np.sqrt(
            np.maximum(self.eigenvalues[: self.latents] - self.noise, 0.0)
        )

    @property
    def divergences(self) -> Float[np.ndarray, "q"]:
        r"""$\frac12\ln\frac{\lambda_i}{\sigma^2}$: what each latent tells of a row, in nats."""
        return np.log(self.eigenvalues[: self.latents] / self.noise) / 2

    def surviving(self, beta: float = 1.0) -> int:
        r"""How many latents a linear VAE with the weight $\beta$ on its KL keeps: those with
        $\lambda_i>\beta\sigma^2$."""
        return int((self.eigenvalues[: self.latents] > beta * self.noise).sum())

    def encode(
        self, x: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, "q"]]:
        """The means of the posteriors of the latents, one row per row, and their common variances."""
        top = self.eigenvalues[: self.latents]
        return (x - self.mean) @ self.directions * (
            np.sqrt(np.maximum(top - self.noise, 0)) / top
        ), self.noise / top

    def log_density(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        r"""$\log\mathcal N(x;\mu,WW^\top+\sigma^2I)$ at the rows of `x`."""
        d = len(self.mean)
        q = self.latents
        top = self.eigenvalues[:q]
        centred = x - self.mean
        inside = centred @ self.directions
        # a difference of squares would cancel
        outside = ((centred - inside @ self.directions.T) ** 2).sum(1)
        logs = float(np.log(top).sum()) + (d - q) * np.log(self.noise)
        return -((inside**2 / top).sum(1) + outside / self.noise + logs + d * np.log(2 * np.pi)) / 2

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Float[np.ndarray, "n d"]:
        """`n` new rows."""
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(n, self.latents))
        return (
            self.mean
            + z @ self.loadings.T
            + np.sqrt(self.noise) * rng.normal(size=(n, len(self.mean)))
        )


def fit_ppca(rows: Float[np.ndarray, "n d"], latents: int) -> Ppca:
    """The model of largest likelihood with this number of latents; its noise is 0 where the rest of the data is."""
    mean = rows.mean(0)
    covariance = np.cov(rows.T, bias=True).reshape(rows.shape[1], rows.shape[1])
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1]
    values = np.maximum(values[order], 0.0)
    rest = values[latents:]
    noise = float(rest.mean()) if float(rest.sum()) > 1e-12 * float(values.sum()) else 0.0
    return Ppca(mean, vectors[:, order[:latents]], values, noise)


def ppca(data: Any, latents: int) -> Ppca:
    r"""Probabilistic PCA of the rows of `data` (an array, a `Dataset`) with this number of latents."""
    rows = np.asarray(getattr(data, "x", data))
    rows = rows.reshape(len(rows), -1) if rows.size else rows.reshape(0, 0)
    n, d = rows.shape
    if n < 2 or rows.dtype.kind not in "fiub" or not np.isfinite(rows).all():
        got = f"shape {rows.shape}, type {rows.dtype}"
        raise UsageError(
            "PPCA needs at least two rows of finite numbers.", where="ft.ppca", got=got
        )
    rows = rows.astype(np.float64)
    largest = float(np.abs(rows).max())
    if largest > LARGEST:
        got = f"entries up to {largest:.2g}"
        raise UsageError(
            "Squares of these rows are no float64 numbers.",
            where="ft.ppca",
            got=got,
            remedy="scale them",
        )
    if not 0 <= latents == int(latents) < d:
        raise UsageError(
            "PPCA has fewer latents than the rows have entries.",
            where="ft.ppca",
            got=f"{latents} latents, {d} entries",
            remedy=f"give 0 to {d - 1}",
        )
    model = fit_ppca(rows, int(latents))
    if not model.noise > 0:
        raise UsageError(
            "Beyond these latents the rows do not vary: the likelihood is infinite.",
            where="ft.ppca",
            got=f"{latents} latents, data of rank {int((model.eigenvalues > 1e-12 * model.eigenvalues[0]).sum())}",
            remedy="take fewer latents, or leave constant and dependent columns out",
        )
    return model
