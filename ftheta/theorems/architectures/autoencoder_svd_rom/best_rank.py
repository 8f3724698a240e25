r"""Best approximation of a matrix by one of rank $r$: its loss, a bound from below, and rivals.

The loss of a projection $Q$ of rank $r$ is $\|X-XQ\|_F^2=\operatorname{tr}G-\operatorname{tr}QG$ with $G=X^\top X$.
"""

import numpy as np

from ftheta.certify.low_rank import Decomposition


def loss(X: np.ndarray, basis: np.ndarray) -> float:
    r"""$\|X-XQQ^\top\|_F^2$ for a `basis` $Q$ with orthonormal columns, from the residual itself."""
    return float(((X - (X @ basis) @ basis.T) ** 2).sum())


def exact_loss(X: np.ndarray, basis: np.ndarray) -> int:
    """The same for whole numbers, without rounding."""
    whole, Q = (np.array([[int(v) for v in row] for row in A.tolist()], object) for A in (X, basis))
    return int(((whole - whole @ Q @ Q.T) ** 2).sum())


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


def competitors(
    found: Decomposition, r: int, rng: np.random.Generator, count: int
) -> list[np.ndarray]:
    """Other matrices of rank r: projections onto random subspaces, the first ones pulled towards the best."""
    X = found.X
    d = found.X.shape[1]
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
