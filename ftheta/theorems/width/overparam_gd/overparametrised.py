r"""Gradient descent on wide networks $f(x)=\frac1{\sqrt m}\sum_ra_r\,\mathrm{ReLU}(w_r\cdot x)$, $a_r=\pm1$.

Only $w$ is trained, on $\frac12\|u-y\|^2$ with $u_i=f(x_i)$; inputs have norm 1. The outputs follow
$\dot u=H(u)(y-u)$, where $H$ tends to $H^\infty_{ij}=\langle x_i,x_j\rangle\frac{\pi-\varphi_{ij}}{2\pi}$.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb

from ftheta.estimates import worst_ratio
from ftheta.kernels.angles import arc_cosine_of_gap, gap_of_inputs
from ftheta.logic import Enclosure, Witness

LARGE = 1e100  # residuals are cut here: descent diverges


def limit_gram(X: np.ndarray) -> np.ndarray:
    r"""$H^\infty$ of the rows of `X`, which have norm 1."""
    cosine = np.clip(X @ X.T, -1.0, 1.0)
    np.fill_diagonal(cosine, 1.0)
    ones = np.ones(len(X))
    gap = gap_of_inputs(X, X, ones, ones, cosine)
    np.fill_diagonal(gap, 0.0)
    return cosine * arc_cosine_of_gap(gap, cosine >= 0).k0 / 2


def smallest_eigenvalue(X: np.ndarray) -> float:
    r"""$\lambda_0=\lambda_{\min}(H^\infty)$."""
    return float(np.linalg.eigvalsh(limit_gram(X))[0])


def find_degenerate(X: np.ndarray, least: float) -> Witness:
    r"""A vector whose Rayleigh quotient with $H^\infty$ is below `least`, in balls; rows are taken at length 1."""
    v = [arb(float(c)) for c in np.linalg.eigh(limit_gram(X))[1][:, 0]]
    rows = [[arb(float(c)) for c in row] for row in X]
    product = lambda a, b: sum((s * t for s, t in zip(a, b)), arb(0))
    total = arb(0)
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            alike = np.array_equal(X[i], X[j])
            cosine = (
                arb(1)
                if alike
                else (product(a, b) / (product(a, a) * product(b, b)).sqrt()).max(-1).min(1)
            )
            total += v[i] * v[j] * cosine * (arb.pi() - cosine.acos()) / (2 * arb.pi())
    quotient = Enclosure.ball(total / product(v, v))
    return Witness(
        {"inputs": float(len(X))}, Enclosure.exact(least), quotient, "a Rayleigh quotient in balls"
    )


def at_angle(degrees: float) -> float:
    r"""$\lambda_0$ of two unit inputs at that angle."""
    phi = np.deg2rad(degrees)
    return smallest_eigenvalue(np.array([[1.0, 0.0], [np.cos(phi), np.sin(phi)]]))


@dataclass(frozen=True, eq=False)
class Descents:
    """`residuals[s, k]` = ‖u_k − y‖² and `moved[s, k]` = max_r ‖w_r(k) − w_r(0)‖ of several networks."""

    X: np.ndarray
    width: int
    step: float
    least: float
    residuals: np.ndarray
    moved: np.ndarray

    @cached_property
    def steps(self) -> np.ndarray:
        """$0,1,\\dots,K$."""
        return np.arange(self.residuals.shape[1])

    @property
    def decay(self) -> np.ndarray:
        r"""$(1-\eta\lambda_0/2)^k$."""
        return (1 - self.step * max(self.least, 0.0) / 2) ** self.steps

    @property
    def excess(self) -> np.ndarray:
        """The largest ratio of the residual to its bound, network by network."""
        return np.array([worst_ratio(row, self.decay * row[0]) for row in self.residuals])

    def radius(self) -> np.ndarray:
        r"""$\frac{4\sqrt n\|u_0-y\|}{\sqrt m\lambda_0}$: how far a neuron can move, network by network."""
        far = 4 * np.sqrt(len(self.X) * self.residuals[:, 0] / self.width)
        return far / self.least if self.least > 0 else np.full(len(far), np.inf)

    def observed_rate(self) -> float:
        r"""$-\frac1K\ln(\|u_K-y\|^2/\|u_0-y\|^2)$, the median over the networks."""
        ends = np.maximum(self.residuals[:, -1] / self.residuals[:, 0], 1e-300)
        return float(np.median(-np.log(ends) / max(1, len(self.steps) - 1)))


def descend(
    X: np.ndarray,
    y: np.ndarray,
    width: int,
    step: float,
    steps: int,
    draws: int,
    rng: np.random.Generator,
) -> Descents:
    r"""Gradient descent of `draws` networks with $w_r\sim\mathcal N(0,I)$; inputs `X` of norm 1, `step` $\eta$."""
    start = rng.normal(size=(draws, width, X.shape[1]))
    a = rng.choice([-1.0, 1.0], (draws, width, 1)) / np.sqrt(width)
    W = start.copy()
    residuals = np.empty((draws, steps + 1))
    moved = np.zeros((draws, steps + 1))
    for k in range(steps + 1):
        before = W @ X.T
        gap = (a * np.maximum(before, 0)).sum(1) - y
        residuals[:, k] = np.minimum((gap**2).sum(1), LARGE)
        moved[:, k] = np.sqrt(((W - start) ** 2).sum(2).max(1))
        W -= step * ((a * (before > 0)) * np.clip(gap, -1e40, 1e40)[:, None, :]) @ X
    return Descents(X, width, step, smallest_eigenvalue(X), residuals, moved)
