r"""Tokens without layer norm: $\dot x_i=\sum_jA_{ij}x_j$ grow like $e^t$, and $z_i=e^{-t}x_i$ follow
$\dot z_i=\sum_jA_{ij}(z_j-z_i)$ with $A_{ij}\propto e^{\beta e^{2t}\langle z_i,z_j\rangle}$. Their hull can only
shrink; in one dimension almost every row of $A$ tends to a unit vector: the extreme tokens lead.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

ANGLES = np.linspace(0, 2 * np.pi, 72, endpoint=False)


def attention(z: np.ndarray, beta: float, time: float) -> np.ndarray:
    r"""The matrix $A$ of the rescaled tokens `z` (rows) at that time, with the inverse temperature `beta`."""
    scores = beta * np.exp(2 * time) * (z @ z.T)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Rescaled:
    """The tokens $z$ (times, n, d) and the inverse temperature."""

    times: np.ndarray
    z: np.ndarray
    beta: float

    def row_gaps(self) -> np.ndarray:
        """At every time, how far the rows of attention are from unit vectors, the worst row left out."""
        rows = [1 - attention(z, self.beta, t).max(1) for t, z in zip(self.times, self.z)]
        return np.array([np.sort(row)[-2] if len(row) > 1 else row[0] for row in rows])

    def leaders(self) -> np.ndarray:
        """The tokens that the rows of attention end at."""
        A = attention(self.z[-1], self.beta, float(self.times[-1]))
        return np.unique(A.argmax(1)[A.max(1) > 0.5])

    def supports(self) -> np.ndarray:
        """How far the hull reaches in some directions, at every time (rows)."""
        d = self.z.shape[2]
        U = (
            np.stack([np.cos(ANGLES), np.sin(ANGLES)])
            if d == 2
            else np.concatenate([np.eye(d), -np.eye(d)], 1)
        )
        return (self.z @ U).max(1)

    def corners(self) -> np.ndarray:
        """The tokens that reach farthest in some direction at the end, in the plane: vertices of the hull."""
        U = np.stack([np.cos(ANGLES), np.sin(ANGLES)])
        return np.unique((self.z[-1] @ U).argmax(0))

    def to_corners(self) -> np.ndarray:
        """How far every token is from the nearest vertex at the end, relative to the size of the hull."""
        z = self.z[-1]
        corners = self.z[-1][self.corners()]
        apart = np.linalg.norm(z[:, None] - corners[None], axis=2)
        return apart.min(1) / np.linalg.norm(z, axis=1).max()


def follow_rescaled(z: np.ndarray, beta: float, times: np.ndarray) -> Rescaled:
    """The rescaled tokens at increasing times from 0."""
    right = lambda t, y: (attention(y.reshape(z.shape), beta, t) @ y.reshape(z.shape)).ravel() - y
    run = solve_ivp(right, (0.0, times[-1]), z.ravel(), "RK45", times, rtol=1e-8, atol=1e-10)
    return Rescaled(times[: run.y.shape[1]], run.y.T.reshape(-1, *z.shape), beta)
