r"""Deep wide networks, all layers trained: $h_\ell=\mathrm{ReLU}\big(\sqrt{2/d_{\ell-1}}\,W_\ell h_{\ell-1}\big)$ from
$h_0=x$, a linear layer of the same form at the end, every weight standard normal at first.

Du, Lee, Li, Wang and Zhai, and Allen-Zhu, Li and Song: if no two inputs are parallel and the width is a large
polynomial, gradient descent on $\frac12\|u-y\|^2$ converges to 0 at a linear rate with high probability. Watched here:
$\|u_k-y\|^2\le(1-\frac{\eta\lambda}2)^k\|u_0-y\|^2$, $\lambda$ the least eigenvalue of the tangent kernel at infinite
width.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.kernels.wide.closed_forms import closed_form, fully_connected
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Examples, Series

DEPTHS = (1, 2, 3)  # hidden layers
WIDTH = 256
STEPS = 150
DIVERGED = 1e12  # times the first residual: descent is given up


@dataclass(frozen=True, eq=False)
class DeepDescent:
    """`residuals[k]` = ‖u_k − y‖² of one network; the step, the `least` eigenvalue of its limit kernel, and how far its
    weights `moved` in all, as a share of their norm at first."""

    depth: int
    step: float
    least: float
    residuals: np.ndarray
    moved: float

    @property
    def promised(self) -> np.ndarray:
        r"""$(1-\eta\lambda/2)^k\|u_0-y\|^2$."""
        return (1 - self.step * self.least / 2) ** np.arange(STEPS + 1) * self.residuals[0]


def limit_eigenvalues(X: np.ndarray, depth: int) -> np.ndarray:
    """Of the tangent kernel at infinite width of the network above, on the rows of `X`; the least first."""
    return np.linalg.eigvalsh(closed_form(fully_connected("relu", depth, weight=2.0), X).ntk)


def descend_deep(
    X: np.ndarray, y: np.ndarray, depth: int, rng: np.random.Generator, width: int = WIDTH
) -> DeepDescent:
    r"""Gradient descent with the step $1/\lambda_{\max}$ of the limit kernel."""
    eigen = limit_eigenvalues(X, depth)
    step = 1 / float(eigen[-1])
    weights = [rng.normal(size=(n, m)) for m, n in pairwise([X.shape[1], *[width] * depth, 1])]
    start = list(weights)
    residuals = np.full(STEPS + 1, np.inf)
    for k in range(STEPS + 1):
        gap, gradients = gap_and_gradients(weights, X, y)
        residuals[k] = gap @ gap
        if residuals[k] > DIVERGED * residuals[0]:
            break
        weights = [weight - step * slope for weight, slope in zip(weights, gradients)]
    moved = _norm([now - then for now, then in zip(weights, start)]) / _norm(start)
    return DeepDescent(depth, step, max(0.0, float(eigen[0])), residuals, moved)


def gap_and_gradients(
    weights: list[np.ndarray], X: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    r"""$u-y$, and the gradient of $\frac12\|u-y\|^2$ with respect to every matrix."""
    scales = [sqrt(2 / weight.shape[1]) for weight in weights]
    states = [X]
    for weight, scale in zip(weights[:-1], scales):
        states.append(np.maximum(scale * states[-1] @ weight.T, 0))
    gap = scales[-1] * (states[-1] @ weights[-1].T)[:, 0] - y
    gradients = []
    adjoint = gap[:, None]
    for weight, scale, state in zip(reversed(weights), reversed(scales), reversed(states)):
        gradients.append(scale * adjoint.T @ state)
        adjoint = scale * (adjoint @ weight) * (state > 0)
    return gap, gradients[::-1]


def show_deep_networks(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Examples:
    """One network of each depth on the rows of the subject."""
    found = [descend_deep(X, y, depth, rng) for depth in DEPTHS]
    excess = largest([_excess(each) for each in found])
    what = (
        f"deep networks of width {WIDTH}, all layers trained: ‖u_k − y‖² / ((1 − ηλ/2)^k ‖u₀ − y‖²)"
    )
    claim = AtMost(what, Enclosure.measured(excess, samples=len(found)), Enclosure.exact(1))
    numbers = {f"λ, hidden layers: {each.depth}": each.least for each in found}
    numbers |= {f"relative movement, hidden layers: {each.depth}": each.moved for each in found}
    return Examples((claim,), (_draw_residuals(found),), numbers=numbers)


def _draw_residuals(found: list[DeepDescent]) -> Curves:
    k = np.arange(STEPS + 1)
    share = lambda values: np.maximum(values / values[0], 1e-30)
    series = [Series(f"hidden layers: {each.depth}", k, share(each.residuals)) for each in found]
    series += [
        Series(f"promised, {each.depth}", k, share(each.promised), "bound") for each in found
    ]
    axis = Axis("‖u_k − y‖² / ‖u₀ − y‖²", "log")
    return Curves("deep networks, all layers trained", Axis("step k"), axis, tuple(series))


def _norm(matrices: list[np.ndarray]) -> float:
    return sqrt(sum(float((matrix**2).sum()) for matrix in matrices))


def _excess(found: DeepDescent) -> float:
    """The largest quotient of residual and promise after the start; what is below 10⁻²⁰ of the start is rounding."""
    rounding = 1e-20 * float(found.residuals[0])
    return worst_ratio(found.residuals[1:], found.promised[1:], rounding)
