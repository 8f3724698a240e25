"""Shapes that move, as rows in the order of time, and what linear codes lose on them."""

import numpy as np

from ftheta.certify.low_rank import decompose
from ftheta.theorems.snapshots import snapshots

DATA = ("travelling pulse", "circling pulse", "circling step", "standing wave")


def moving_shapes(kind: str, n: int, d: int) -> np.ndarray:
    """Rows in the order of time; circling ones have as many pixels as rows."""
    if kind == "circling step":  # the ring is half full
        return np.array([np.roll(np.arange(n) < n // 2, k) for k in range(n)], float)
    if kind == "standing wave":  # one shape in changing parts: a line
        return np.cos(np.linspace(0, 6, n))[:, None] * np.sin(np.linspace(0, np.pi, d))[None]
    return snapshots(kind, n, d)


def fourier_tail(X: np.ndarray, r: int) -> float | None:
    r"""The tail of rows that are all rotations of the first: $\sigma_i^2=|\hat u_k|^2$. None where they are not."""
    if X.shape[0] != X.shape[1] or not all(
        np.array_equal(np.roll(X[0], k), row) for k, row in enumerate(X)
    ):
        return None
    # the mean is the wave of frequency 0
    squares = np.sort(np.abs(np.fft.fft(X[0])[1:]) ** 2)[::-1]
    return float(squares[r:].sum() / max(float(squares.sum()), 1e-300))


def whole_share(X: np.ndarray, r: int) -> float:
    """The tail of all rows about their mean, as a share of the whole."""
    sigma = decompose(X - X.mean(0)).sigma
    return float((sigma[r:] ** 2).sum() / max(float((sigma**2).sum()), 1e-300))
