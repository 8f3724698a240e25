"""A linear model on rows: least squares, the maximum-likelihood estimate, and gradients."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ftheta.logic import Enclosure
from ftheta.risks.bayes import ConditionalLaw
from ftheta.risks.linear import exact_least_squares, least_squares

from .likelihoods import gaussian_nll


@dataclass(frozen=True, eq=False)
class Regression:
    r"""Rows `x` with targets `y` (one column each), and $g_\theta(x)=\theta x$."""

    x: np.ndarray
    y: np.ndarray

    def residuals(self, theta: np.ndarray) -> np.ndarray:
        r"""$y-\theta x$, one row each."""
        return self.y - self.x @ theta

    @cached_property
    def best(self) -> np.ndarray:
        """Least squares: rounded from rationals where they are few, else the minimum-norm solution."""
        exact = exact_least_squares(self.x, self.y[:, 0]) if self.y.shape[1] == 1 else None
        return least_squares(self.x, self.y) if exact is None else np.array(exact, float)[:, None]

    @property
    def largest_residual(self) -> float:
        """Relative to the largest target."""
        return float(np.abs(self.residuals(self.best)).max() / max(np.abs(self.y).max(), 1e-300))

    def maximum_likelihood(self, noise: str) -> np.ndarray:
        """The maximum-likelihood parameters; those of Laplace noise for a constant model alone: the median."""
        if noise == "Gaussian":
            return self.best
        median = ConditionalLaw.of(self.y[:, 0]).median[0] if (self.x == self.x[0]).all() else None
        theta = self.best.copy()
        if median is not None:
            theta[:] = 0.0
            theta[0] = float(median) / self.x[0, 0]
        return theta


def gradient_gap(model: Regression, sigma: float, rng: np.random.Generator) -> float:
    """Central differences of the log-likelihood against the gradient of the sum of squares over 2σ²."""
    theta = rng.normal(size=model.best.shape)
    direct = -model.x.T @ model.residuals(theta) / sigma**2
    step = 1e-4 * max(1.0, sigma)
    slopes = np.zeros_like(theta)
    for i in np.ndindex(theta.shape):
        bump = np.zeros_like(theta)
        bump[i] = step
        ends = [gaussian_nll(model.residuals(theta + s * bump), sigma) for s in (1, -1)]
        slopes[i] = (ends[0] - ends[1]) / (2 * step)
    size = np.abs(model.x).T @ np.abs(model.residuals(theta)) / sigma**2  # before cancellation
    return float(np.abs(slopes - direct).max() / max(size.max(), 1e-300))


def stationarity(model: Regression, theta: np.ndarray) -> Enclosure:
    """The gradient of the SSE at θ relative to its size before cancellation; exactly 0 if the solution is rational."""
    exact = exact_least_squares(model.x, model.y[:, 0]) if model.y.shape[1] == 1 else None
    if exact is not None and np.array_equal(np.array(exact, float), theta[:, 0]):
        rows = [[Fraction(v) for v in row] for row in model.x.tolist()]
        left = [
            Fraction(y) - sum((a * t for a, t in zip(row, exact)), Fraction(0))
            for row, y in zip(rows, model.y[:, 0].tolist())
        ]
        slopes = [
            sum((row[j] * r for row, r in zip(rows, left)), Fraction(0)) for j in range(len(exact))
        ]
        return Enclosure.exact(max(map(abs, slopes)))
    residuals = model.residuals(theta)
    size = max(
        float((np.abs(model.x).T @ (np.abs(model.y) + np.abs(model.x) @ np.abs(theta))).max()),
        1e-300,
    )
    return Enclosure.equal(float(np.abs(model.x.T @ residuals).max()) / size)
