r"""The Sobolev seminorm $\|\nabla f\|_{L^2}$ from samples, and enclosed.

$\int|\omega|^2|\hat f|^2d\omega=(2\pi)^{-d}\|\nabla f\|_{L^2}^2$ for $f=\int e^{i\langle\omega,x\rangle}\hat f$; from
Fourier coefficients $c_k$ of samples on a box it is $|\text{box}|\sum_k|\omega_k|^2|c_k|^2$.
"""

from dataclasses import dataclass
from math import pi

import jax
import numpy as np

from ftheta.approximation.fourier import Spectral
from ftheta.approximation.goal import Goal
from ftheta.approximation.suprema import grid, ranges, without_jumps
from ftheta.logic import Basis, Enclosure

SETTLED = 1e-3  # share of the sum between half the largest frequency and the largest
STENCILS = {4: (2 / 3, -1 / 12), 6: (3 / 4, -3 / 20, 1 / 60)}  # weights of f(x + kh) − f(x − kh)
CELLS = 4096  # on which the slopes are enclosed


@dataclass(frozen=True, eq=False)
class Seminorm:
    r"""$\|\nabla f\|^2$ over a box from samples: by Fourier coefficients, and by differences of two orders."""

    dimension: int
    by_fourier: float
    below_half: float
    fourth: float
    sixth: float
    spectral: Spectral

    @property
    def is_settled(self) -> bool:
        """Whether the highest frequencies no longer matter."""
        return self.by_fourier - self.below_half <= SETTLED * self.by_fourier

    @property
    def by_differences(self) -> Enclosure:
        """The sixth order, with what it gains on the fourth as its error."""
        gap = abs(self.sixth - self.fourth)
        return Enclosure.between(max(0.0, self.sixth - gap), self.sixth + gap, Basis.FLOAT)

    @property
    def other_convention(self) -> float:
        r"""$\int|\omega|^2|\hat f|^2$ with $\hat f=\int fe^{-i\langle\omega,x\rangle}dx$: $(2\pi)^d$ times as large."""
        return self.by_fourier * (2 * pi) ** self.dimension


def measure_seminorm(goal: Goal, points: int) -> Seminorm:
    """From `points` samples per side."""
    d = goal.dimension
    sides = [np.linspace(a, b, points, endpoint=False) for a, b in zip(goal.lo, goal.hi)]
    rows = np.stack([x.ravel() for x in np.meshgrid(*sides, indexing="ij")], 1)
    values = goal.values(rows).reshape((points,) * d)
    volume = float(np.prod(2 * goal.halves))
    spectral = Spectral.of(values, goal.lo, goal.hi)
    squares = spectral.terms**2  # |ω|²|c|²
    half = np.searchsorted(spectral.frequencies, spectral.frequencies[-1] / 2, "right")
    steps = 2 * goal.halves / points
    fourth, sixth = (
        volume
        * sum(
            float((_differentiate(values, axis, steps[axis], order) ** 2).mean())
            for axis in range(d)
        )
        for order in STENCILS
    )
    whole = volume * float(squares.sum())
    return Seminorm(d, whole, volume * float(squares[:half].sum()), fourth, sixth, spectral)


def _differentiate(values: np.ndarray, axis: int, step: float, order: int) -> np.ndarray:
    """The derivative along an axis of a periodic function."""
    ahead = (
        w * (np.roll(values, -k, axis) - np.roll(values, k, axis))
        for k, w in enumerate(STENCILS[order], 1)
    )
    return sum(ahead, np.zeros_like(values)) / step


def enclose_seminorm(goal: Goal) -> Enclosure:
    r"""$\int_{\text{box}}|\nabla f|^2$ from enclosures of the slopes on cells.

    Nothing is known of it (all numbers) where the program of f may jump.
    """
    if not without_jumps(goal.f, goal.dimension):
        return Enclosure()
    a, b = grid(np.asarray(goal.lo, np.float64), np.asarray(goal.hi, np.float64), CELLS)
    slopes = ranges(jax.grad(goal.f), a, b)
    low = slopes.lo.reshape(a.shape)
    high = slopes.hi.reshape(a.shape)
    least = np.maximum(0.0, np.maximum(low, -high))
    most = np.maximum(np.abs(low), np.abs(high))
    volume = np.prod(b - a, axis=1)
    rounding = 1e-9  # far more than a sum of so many terms can lose in float64
    below = float(volume @ (least**2).sum(1)) * (1 - rounding)
    above = float(volume @ (most**2).sum(1)) * (1 + rounding)
    return Enclosure.between(below, above) if np.isfinite(above) else Enclosure(below)
