r"""Best approximation of a matrix by one of rank $r$: attained, certified from below, and where it is not unique.

For $X\in\mathbb R^{n\times d}$ with singular values $\sigma_1\ge\sigma_2\ge\dots$ and $\lambda_i=\sigma_i^2$, the loss
of a projection $Q$ of rank $r$ is $\|X-XQ\|_F^2=\operatorname{tr}G-\operatorname{tr}QG$ with $G=X^\top X$.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ftheta.logic import AtMost, Basis, Claim, Enclosure, Identity, Witness

TIE = 1e-8  # gaps below this are not resolved from ties in float64


@dataclass(frozen=True, eq=False)
class Decomposition:
    r"""$X=U\operatorname{diag}(\sigma)V^\top$, thin: `U` is $n\times k$ and `V` is $d\times k$ for $k=\min(n,d)$."""

    X: np.ndarray

    @cached_property
    def _svd(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.linalg.svd(self.X, full_matrices=False)

    @property
    def U(self) -> np.ndarray:
        return self._svd[0]

    @property
    def sigma(self) -> np.ndarray:
        return self._svd[1]

    @property
    def V(self) -> np.ndarray:
        return self._svd[2].T

    def truncated(self, r: int) -> np.ndarray:
        return (self.U[:, :r] * self.sigma[:r]) @ self.V[:, :r].T

    def tail(self, r: int) -> float:
        r"""$\sum_{i>r}\sigma_i^2$."""
        return float((self.sigma[r:] ** 2).sum())

    def resolution(self, r: int) -> float:
        r"""$(\lambda_r-\lambda_{r+1})/(\sigma_r\sigma_1)$: how well $X$ determines the span of $v_1,\dots,v_r$."""
        s = np.append(self.sigma, 0.0) / (self.sigma[0] or 1.0)
        return float((s[r - 1] ** 2 - s[r] ** 2) / s[r - 1]) if s[r - 1] > 0 else 0.0

    @property
    def squares_fit(self) -> bool:
        """Whether squares of the singular values neither overflow nor vanish."""
        return bool(self.sigma[0] == 0 or 1e-140 < self.sigma[0] < 1e140)


def decompose(X: np.ndarray) -> Decomposition:
    """The decomposition of the rows of `X`; with more rows than columns, of its triangular factor, which has the same
    singular values, right singular vectors and losses."""
    X = np.asarray(X, np.float64).reshape(len(X), -1)
    return Decomposition(np.linalg.qr(X)[1] if X.shape[0] > X.shape[1] else X)


def loss(X: np.ndarray, basis: np.ndarray) -> float:
    r"""$\|X-XQQ^\top\|_F^2$ for a `basis` $Q$ with orthonormal columns, from the residual itself."""
    return float(((X - (X @ basis) @ basis.T) ** 2).sum())


def dual_bound(X: np.ndarray, r: int) -> float:
    r"""A lower bound of $\|X-B\|_F^2$ over all $B$ of rank at most $r$, by a dual certificate.

    For $0\preceq Q\preceq I$, $\operatorname{tr}Q=r$, and any $\mu\ge0$, $Z\succeq0$, $Z\succeq G-\mu I$:
    $\operatorname{tr}QG\le r\mu+\operatorname{tr}Z$. Any $\mu$ and $Z$ give a bound; here $\mu$ lies between
    $\lambda_r$ and $\lambda_{r+1}$ and $Z=(G-\mu I)_+$, whose feasibility is measured and whatever is missing added.
    """
    G = X.T @ X if X.shape[0] >= X.shape[1] else X @ X.T
    values, vectors = np.linalg.eigh(G)
    above = np.append(values[::-1], 0.0)
    mu = max(0.0, (above[r - 1] + above[r]) / 2)
    Z = (vectors * np.maximum(values - mu, 0.0)) @ vectors.T
    excess = np.linalg.eigvalsh(Z - G + mu * np.eye(len(G)))[0], np.linalg.eigvalsh(Z)[0]
    missing = max(0.0, -min(excess))
    return float(np.trace(G) - np.trace(Z) - len(G) * missing - r * mu)


def sine(P: np.ndarray, Q: np.ndarray) -> float:
    """The sine of the largest principal angle between two subspaces with orthonormal bases of one size."""
    return float(min(1.0, np.linalg.norm(Q - P @ (P.T @ Q), 2)))


def competitors(found: Decomposition, r: int, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Other matrices of rank r: projections onto random subspaces, the first ones pulled towards the best."""
    X, d = found.X, found.X.shape[1]
    rivals = []
    for k in range(count):
        Q = rng.normal(size=(d, r))
        for _ in range(k % 4):
            Q = X.T @ (X @ np.linalg.qr(Q)[0])
        Q = np.linalg.qr(Q)[0]
        rivals.append((X @ Q) @ Q.T)
    return rivals


def weyl_excess(found: Decomposition, r: int, rivals: list[np.ndarray]) -> tuple[float, float]:
    r"""$\max_{B,i}\big(\sigma_{i+r}(X)-\sigma_i(X-B)\big)$ over rivals $B$ of rank $r$, and the least $\|X-B\|_F$."""
    spectra = np.array([np.linalg.svd(found.X - B, compute_uv=False) for B in rivals])
    shifted = np.append(found.sigma[r:], np.zeros(r))
    return float((shifted - spectra).max()), float(np.sqrt((spectra**2).sum(1).min()))


def second_minimiser(found: Decomposition, r: int) -> Witness | None:
    r"""Where $\sigma_r=\sigma_{r+1}$: $v_1,\dots,v_{r-1},v_{r+1}$ loses as little as $v_1,\dots,v_r$, at a right angle.

    The losses and the angle are evaluated from the two bases; integer data with unit vectors make that exact.
    """
    if found.resolution(r) > TIE:
        return None
    first, second = found.V[:, :r], np.delete(found.V[:, : r + 1], r - 1, axis=1)
    losses = loss(found.X, first), loss(found.X, second)
    whole = all(np.array_equal(A, np.round(A)) for A in (found.X, first, second))
    apart = sine(first, second)
    angle = Enclosure.between(apart, apart, Basis.EXACT if whole else Basis.FLOAT)
    how = f"two subspaces of loss {losses[0]:.12g} and {losses[1]:.12g}, " + ("in integers" if whole else "in float64")
    return Witness({"first": f"v_1 … v_{r}", "second": f"v_{r} replaced by v_{r + 1}"}, angle, Enclosure.exact(0), how)


def eckart_young(found: Decomposition, r: int, excess: float, rivals: int) -> tuple[Claim, ...]:
    """The truncation attains the tail of the singular values, and no matrix of rank `r` does better.

    `excess` is the Weyl excess that was measured over so many rivals.
    """
    equal, size = Enclosure.equal, float((found.sigma**2).sum())
    spectral = float(np.linalg.norm(found.X - found.truncated(r), 2))
    reached, tail, bound = loss(found.X, found.V[:, :r]), found.tail(r), dual_bound(found.X, r)
    over = f"largest σ_(i+r)(X) − σ_i(X − B) over {rivals} matrices B of rank r"
    return (
        Identity("‖X − X_r‖_F² and the tail Σσᵢ²", equal(reached), equal(tail), atol=1e-12 * size),
        Identity("‖X − X_r‖₂ and σ_(r+1)", equal(spectral), equal(float(found.sigma[r])), atol=1e-13 * size**0.5),
        AtMost("‖X − X_r‖_F², with a dual bound for all rank r", equal(reached), equal(bound), atol=1e-11 * size),
        AtMost(over, equal(excess), Enclosure.exact(0), atol=1e-13 * size**0.5),
    )
