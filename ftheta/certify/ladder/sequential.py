r"""Multipliers layer by layer, in closed form (in the manner of ECLipsE): no search, a bound in milliseconds.

Eliminated from the end, as in `semidefinite.py`, layer $i$ sees $Q_i$ and may take any $T_i$ with $2T_i\succ Q_i$. Two
choices need no program: $\lambda_{\max}(Q_i)\,1$, and the sums of the rows of $|Q_i|$ (Gershgorin). The one that leaves
the smaller $Q_{i-1}$ is taken.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_solve, cholesky

from ftheta.shapes import Float

from ..semidefinite import top_eigenpairs


def sequential_multipliers(
    weights: Sequence[Float[np.ndarray, "_m _n"]],
) -> tuple[Float[np.ndarray, "_n"], ...]:
    """The diagonals of $T_1,\\dots,T_L$."""
    Q = weights[-1].T @ weights[-1]
    found = []
    for W in reversed(weights[:-1]):
        top = float(top_eigenpairs(Q, 1)[0][-1])
        floor = 1e-12 * max(top, 1e-300)
        candidates = (np.full(len(Q), max(top, floor)), np.abs(Q).sum(1) + floor)
        eliminated = [_eliminate(W, Q, t) for t in candidates]
        best = min((0, 1), key=lambda k: float(top_eigenpairs(eliminated[k], 1)[0][-1]))
        found.append(candidates[best])
        Q = eliminated[best]
    return tuple(reversed(found))


def _eliminate(W: np.ndarray, Q: np.ndarray, t: np.ndarray) -> np.ndarray:
    B = t[:, None] * W
    below = B.T @ cho_solve((cholesky(2 * np.diag(t) - Q, lower=True), True), B)
    return (below + below.T) / 2
