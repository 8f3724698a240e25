r"""The singular value decomposition of data $X\in\mathbb R^{n\times d}$, and how well it resolves its first vectors.

The singular values are $\sigma_1\ge\sigma_2\ge\dots$, with $\lambda_i=\sigma_i^2$.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ftheta.shapes import Float


@dataclass(frozen=True, eq=False)
class Decomposition:
    r"""$X=U\operatorname{diag}(\sigma)V^\top$, thin: `U` is $n\times k$ and `V` is $d\times k$ for $k=\min(n,d)$."""

    X: Float[np.ndarray, "n d"]

    @cached_property
    def _svd(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.linalg.svd(self.X, full_matrices=False)

    @property
    def U(self) -> Float[np.ndarray, "n k"]:
        """The left singular vectors, as columns."""
        return self._svd[0]

    @property
    def sigma(self) -> Float[np.ndarray, "k"]:
        """The singular values, the largest first."""
        return self._svd[1]

    @property
    def V(self) -> Float[np.ndarray, "d k"]:
        """The right singular vectors, as columns."""
        return self._svd[2].T

    def truncate(self, r: int) -> Float[np.ndarray, "n d"]:
        r"""$X_r=\sum_{i\le r}\sigma_iu_iv_i^\top$."""
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


def decompose(X: Float[np.ndarray, "n d"]) -> Decomposition:
    """The decomposition of the rows of `X`; with more rows than columns, of its triangular factor, which has the same
    singular values, right singular vectors and losses."""
    X = np.asarray(X, np.float64).reshape(len(X), -1)
    return Decomposition(np.linalg.qr(X)[1] if X.shape[0] > X.shape[1] else X)
