r"""Gradient descent on a quadratic, mode by mode, and the step of a loss against its curvature.

On $F(\theta)=\frac12(\theta-\theta^*)^\top H(\theta-\theta^*)$ the error in an eigenvector of value $\lambda$ is
multiplied by $1-\tau\lambda$ in each step.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ftheta.certify.norms import frobenius_norm, spectral_norm
from ftheta.estimates import worst_ratio
from ftheta.logic import Enclosure
from ftheta.spectra.lanczos import Extremes, extremes
from ftheta.spectra.objective import Objective

FAR = 1e100  # beyond it a path is not followed
SWEEP = np.geomspace(0.1, 12, 17)  # τλ_max of a sweep


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The Hessian `H` of a quadratic and the error θ₀ − θ* at the start."""

    H: np.ndarray
    error: np.ndarray

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """The eigenvalues, lowest first, and the error in each eigenvector."""
        values, vectors = np.linalg.eigh(self.H)
        return values, vectors.T @ self.error

    @property
    def mu(self) -> float:
        """The least eigenvalue."""
        return float(self.modes[0][0])

    @property
    def L(self) -> float:
        """The largest eigenvalue."""
        return float(self.modes[0][-1])

    @property
    def best(self) -> float:
        r"""$\frac2{\mu+L}$."""
        return 2 / (self.mu + self.L)

    def factor(self, tau: float) -> float:
        r"""$\max_\lambda|1-\tau\lambda|$."""
        return float(np.abs(1 - tau * self.modes[0]).max())

    def path(self, tau: float | None, steps: int) -> np.ndarray:
        r"""Errors $e_0,\dots,e_K$, by products with $H$; without a step the exact line search."""
        errors = [self.error]
        for _ in range(steps):
            g = self.H @ errors[-1]
            bend = float(g @ self.H @ g)
            t = tau if tau is not None else float(g @ g) / bend if bend > 0 else 0.0
            errors.append(errors[-1] - t * g)
            if not np.abs(errors[-1]).max() < FAR:
                break
        return np.array(errors)

    def step_bound(self, tau: float) -> Enclosure:
        r"""$\|I-\tau H\|_2\|e_0\|$: how far one step can leave the iterate, rounded outward."""
        n = len(self.H)
        rounding = 4 * n * np.finfo(float).eps * (1 + tau * float(np.abs(self.H).max()))
        norm = spectral_norm(np.eye(n) - tau * self.H) + Enclosure.between(-rounding, rounding)
        return norm * frobenius_norm(self.error[None])

    def energy_ratios(self, steps: int) -> np.ndarray:
        """F of an iterate over F of the one before, by exact line search; 10⁻²⁰ of the first are granted."""
        path = self.path(None, steps)
        energy = np.einsum("ki,ij,kj->k", path, self.H, path)
        room = 1e-20 * energy[0] * (energy[0] > 0)
        return np.array([worst_ratio(after, before, room) for before, after in pairwise(energy)])

    def worst_start(self) -> np.ndarray:
        """Kantorovich's inequality is attained at this sum of the two extreme eigenvectors."""
        values, vectors = np.linalg.eigh(self.H)
        return vectors[:, 0] / values[0] + vectors[:, -1] / values[-1]

    def fit_factor(self, tau: float, path: np.ndarray) -> float | None:
        """The factor a step of the mode that decays least, from the part of the path that is above rounding."""
        values, vectors = np.linalg.eigh(self.H)
        worst = int(np.argmax(np.abs(1 - tau * values)))
        amplitude = np.abs(path @ vectors[:, worst])
        kept = amplitude > 1e-9 * amplitude[0]
        last = int(np.argmin(kept)) - 1 if not kept.all() else len(kept) - 1
        return (
            float((amplitude[last] / amplitude[0]) ** (1 / last))
            if last > 0 and amplitude[0] > 0
            else None
        )


@dataclass(frozen=True, eq=False)
class Sweep:
    r"""A loss trained by gradient descent with steps below and above $2/\lambda_{\max}$ of its Hessian at the start."""

    ends: Extremes
    scales: np.ndarray
    first: float
    losses: np.ndarray
    modes: np.ndarray  # ‖v − τHv‖ of the top eigenvector, for each step

    @property
    def top(self) -> float:
        r"""$\lambda_{\max}$."""
        return self.ends.range[1]

    @property
    def largest_good(self) -> float:
        """The largest τλ_max of the sweep after which the loss had fallen."""
        good = self.scales[np.isfinite(self.losses) & (self.losses < self.first)]
        return float(good.max(initial=0.0))


def sweep_steps(objective: Objective, steps: int, rng: np.random.Generator) -> Sweep:
    """Descend from the parameters of the network with each step of the sweep."""
    ends = extremes(objective.hessian(), 1, "largest", tol=1e-6, products=200, rng=rng)
    top = ends.range[1]
    vector = ends.largest.vectors[:, 0]
    image = objective.hessian().product(vector)
    losses = np.array([_train(objective, scale / top, steps) for scale in SWEEP])
    modes = np.array([np.linalg.norm(vector - scale / top * image) for scale in SWEEP])
    return Sweep(ends, SWEEP, objective.value(), losses, modes)


def _train(objective: Objective, tau: float, steps: int) -> float:
    row = objective.start
    for _ in range(steps):
        row = row - tau * objective.gradient(row)
        if not np.abs(row).max() < FAR:
            return float("inf")
    return objective.value(row)
