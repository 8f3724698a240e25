"""The last layer of a network refitted by ridge regression on its own features: a linear probe."""

from dataclasses import dataclass

import numpy as np

from ftheta.shapes import Float


@dataclass(frozen=True, eq=False)
class Probe:
    r"""Ridge regression on features with an offset: predictions, and those with each row left out."""

    weight: Float[np.ndarray, "k p"]
    bias: Float[np.ndarray, "k"]
    fitted: Float[np.ndarray, "n k"]
    left_out: Float[np.ndarray, "n k"]
    ridge: float

    def objective(self, phi: Float[np.ndarray, "n p"], y: Float[np.ndarray, "n k"]) -> float:
        """What the probe minimises, at its own weights."""
        return ridge_objective(phi, y, self.weight, self.bias, self.ridge)


def linear_probe(phi: Float[np.ndarray, "n p"], y: Float[np.ndarray, "n k"], ridge: float) -> Probe:
    r"""$\min_{W,b}\sum_i\|W\varphi_i+b-y_i\|^2+\lambda\|W\|^2$; the offset is free.

    Rows left out by the shortcut $y_i-\hat y_{-i}=(y_i-\hat y_i)/(1-h_{ii})$.
    """
    centre = phi.mean(0)
    mean = y.mean(0)
    A = phi - centre
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > s.max(initial=0.0) * max(A.shape) * np.finfo(float).eps
    U = U[:, kept]
    s = s[kept]
    Vt = Vt[kept]
    weight = (Vt.T * (s / (s**2 + ridge))) @ (U.T @ (y - mean))
    leverage = (U**2) @ (s**2 / (s**2 + ridge)) + 1 / len(phi)
    fitted = A @ weight + mean
    left = y - (y - fitted) / np.maximum(1 - leverage, 1e-300)[:, None]
    return Probe(weight.T, mean - centre @ weight, fitted, left, ridge)


def ridge_objective(
    phi: Float[np.ndarray, "n p"],
    y: Float[np.ndarray, "n k"],
    weight: Float[np.ndarray, "k p"],
    bias: Float[np.ndarray, "k"],
    ridge: float,
) -> float:
    r"""$\sum_i\|W\varphi_i+b-y_i\|^2+\lambda\|W\|^2$ with $\lambda$ = `ridge`."""
    return float(np.sum((phi @ weight.T + bias - y) ** 2) + ridge * np.sum(weight**2))
