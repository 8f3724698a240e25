"""The linear autoencoder: training by least squares in turn, and its saddles."""

from dataclasses import dataclass

import numpy as np

from ftheta.certify.low_rank import Decomposition

from .best_rank import loss


@dataclass(frozen=True, eq=False)
class Trained:
    """A linear autoencoder: orthonormal `basis` of the code, `losses` after every sweep, whether it `settled`."""

    basis: np.ndarray
    losses: np.ndarray
    settled: bool


def train(
    X: np.ndarray, r: int, rng: np.random.Generator, sweeps: int, still: float = 1e-13
) -> Trained:
    r"""Fit encoder $E$ and decoder $D$ of $\|X-XED\|_F^2$ by least squares in turn, from a random decoder.

    The best code for a decoder with orthonormal rows $Q^\top$ is $XQ$; the best decoder for that code spans
    $X^\top XQ$. It has `settled` when a sweep turns the code's subspace by less than `still`.
    """
    Q = np.linalg.qr(rng.normal(size=(X.shape[1], r)))[0]
    losses = []
    total = float((X**2).sum())
    for _ in range(sweeps):
        code = np.linalg.qr(X @ Q)[0]
        decoder = code.T @ X
        losses.append(max(0.0, total - float((decoder**2).sum())))
        new = np.linalg.qr(decoder.T)[0]
        # not less than the sine of the largest angle
        turned = float(np.linalg.norm(new - Q @ (Q.T @ new)))
        Q = new
        if turned <= still:
            break
    return Trained(Q, np.array(losses), turned <= still)


def critical_gradient(X: np.ndarray, basis: np.ndarray) -> float:
    r"""$\|\nabla\|X-XED\|_F^2\|$ at the encoder $E=Q$ and decoder $D=Q^\top$: zero at every eigen-subspace of $G$."""
    pull = -2 * X.T @ (X - (X @ basis) @ basis.T)
    return float(np.hypot(np.linalg.norm(pull @ basis), np.linalg.norm(basis.T @ pull)))


def way_down(found: Decomposition, r: int) -> tuple[float, float]:
    r"""From the critical subspace $v_1,\dots,v_{r-1},v_{r+1}$, turn $v_{r+1}$ towards $v_r$ with sine $\frac35$.

    Returns the drop of the loss, measured, and $\frac9{25}(\lambda_r-\lambda_{r+1})$.
    """
    V = found.V
    saddle = np.delete(V[:, : r + 1], r - 1, axis=1)
    turned = saddle.copy()
    turned[:, -1] = (4 * V[:, r] + 3 * V[:, r - 1]) / 5
    drop = loss(found.X, saddle) - loss(found.X, turned)
    return drop, float(9 * (found.sigma[r - 1] ** 2 - found.sigma[r] ** 2) / 25)
