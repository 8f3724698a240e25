"""What kernel ridge regression is compared with: a fit without row i, and functions with more centres."""

import numpy as np

from ftheta.kernels.reproducing import Kernel, KernelRidge, kernel_ridge


def left_out_by_fitting(
    X: np.ndarray, y: np.ndarray, kernel: Kernel, ridge: float, rows: int = 12
) -> np.ndarray:
    """Residuals of the first rows, each under a fit to all the others: the slow way."""
    found = []
    for i in range(min(rows, len(X))):
        keep = np.arange(len(X)) != i
        found.append(y[i] - kernel_ridge(X[keep], y[keep], kernel, ridge).predict(X[i : i + 1])[0])
    return np.array(found)


def objective(fitted: np.ndarray, y: np.ndarray, norm: float, ridge: float) -> float:
    r"""$\frac1n\big(\sum_i(f(x_i)-y_i)^2+\lambda\|f\|^2\big)$ with $f(x_i)$ = `fitted` and $\|f\|^2$ = `norm`."""
    return (float(np.sum((fitted - y) ** 2)) + ridge * norm) / len(y)


def rival_gap(
    fit: KernelRidge, y: np.ndarray, ridge: float, rng: np.random.Generator, rivals: int
) -> float:
    r"""The least objective of `rivals` random functions $\sum_{i\le n+4}\beta_ik(c_i,\cdot)$, whose centres are the
    rows and four other points, minus that of the solution: not below 0."""
    X = fit.X
    kernel = fit.kernel
    least = objective(fit.fitted, y, float(np.sum(fit.alpha * fit.fitted)), ridge)
    gaps = []
    for _ in range(rivals):
        extra = X[rng.integers(len(X), size=4)] + rng.normal(size=(4, X.shape[1])) * (
            X.std() + 1e-3
        )
        centres = np.vstack([X, extra])
        alpha = np.concatenate([fit.alpha, np.zeros((4, *y.shape[1:]))])
        alpha = alpha + rng.normal(size=alpha.shape) * 10 ** rng.uniform(-3, 0) * (
            np.abs(fit.alpha).max() + 1e-3
        )
        K = kernel.of(centres, centres)
        values = K @ alpha
        gaps.append(objective(values[: len(X)], y, float(np.sum(alpha * values)), ridge) - least)
    return min(gaps)
