r"""Smoothing an activation and writing the result as a network of the activation itself.

With a kernel $\psi\ge0$ of mass 1 on $[-\varepsilon,\varepsilon]$ let $\sigma=\varrho*\psi$. Cut the support into $M$
cells of width $\Delta=2\varepsilon/M$ with centres $y_j$ and masses $w_j=\int_{\text{cell}}\psi$. The network

$$\sigma_M(x)=\sum_jw_j\,\varrho(x-y_j),\qquad|\sigma-\sigma_M|\le\tfrac\Delta2\,\mathrm{Lip}(\varrho)$$

has $M$ neurons. For the box $\psi=\frac1{2\varepsilon}$ and ReLU, $\sigma(x)=\frac{(x+\varepsilon)^2}{4\varepsilon}$ on
$[-\varepsilon,\varepsilon]$, and the sum is exact where $x$ is an end of a cell.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.approximation.suprema import Scalar, ranges, without_jumps
from ftheta.logic import Enclosure
from ftheta.networks import ACTIVATIONS

FINE = 64  # cells of the reference in one cell of the network
POINTS = 401


def bump(t: np.ndarray) -> np.ndarray:
    r"""$e^{-1/(1-t^2)}$ for $|t|<1$, smooth and zero outside."""
    inside = np.abs(t) < 1
    return np.where(inside, np.exp(-1 / np.where(inside, 1 - t * t, 1.0)), 0.0)


def masses(kernel: str, cells: int) -> np.ndarray:
    """The share of the kernel's mass in each of equal cells of its support."""
    if kernel == "box":
        return np.full(cells, 1 / cells)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(-1, 1, cells + 1)
    t = (edges[:-1, None] + edges[1:, None]) / 2 + nodes / cells
    found = bump(t) @ weights
    return found / found.sum()


@dataclass(frozen=True, eq=False)
class Smoothed:
    r"""$x\mapsto\sum_jw_j\,\varrho(x-y_j)$, with the Lipschitz constant of $\varrho$ where it is evaluated."""

    rho: Scalar
    width: float
    kernel: str
    neurons: int
    steepest: float

    @property
    def shifts(self) -> np.ndarray:
        """The centres $y_j$ of the cells."""
        return self.width * (2 * np.arange(self.neurons) + 1 - self.neurons) / self.neurons

    def __call__(self, x: Any) -> Any:
        return jnp.sum(masses(self.kernel, self.neurons) * jax.vmap(self.rho)(x - self.shifts))

    def on(self, x: np.ndarray) -> np.ndarray:
        """Its values at points."""
        grid = (x[:, None] - self.shifts).reshape(-1, 1)
        box = ranges(self.rho, grid, grid)
        return ((box.lo + box.hi) / 2).reshape(len(x), -1) @ masses(self.kernel, self.neurons)

    def bound(self) -> float:
        r"""$\frac\Delta2\mathrm{Lip}(\varrho)$."""
        return self.steepest * self.width / self.neurons


def steepest_on(rho: Scalar, lo: float, hi: float, cells: int = 2048) -> float:
    """A proved Lipschitz constant on [lo, hi]; infinite for a function that may jump."""
    known = next((a for a in ACTIVATIONS.values() if a.function is rho), None)
    lipschitz = known is not None and np.isfinite(known.lipschitz.hi)
    if not lipschitz and not without_jumps(rho, 1):
        return float("inf")
    edges = np.linspace(lo, hi, cells + 1)[:, None]
    slope = ranges(jax.grad(rho), edges[:-1], edges[1:])
    return float(max(np.abs(slope.lo).max(), np.abs(slope.hi).max()))


def smooth(rho: Scalar, lo: float, hi: float, width: float, kernel: str, neurons: int) -> Smoothed:
    """The network of $\\varrho$ on [lo, hi] for a kernel of half-width `width`."""
    return Smoothed(rho, width, kernel, neurons, steepest_on(rho, lo - width, hi + width))


@dataclass(frozen=True, eq=False)
class Errors:
    """A network, a much finer one that stands for the smoothed activation, and errors for fewer neurons."""

    made: Smoothed
    x: np.ndarray
    values: np.ndarray
    truth: np.ndarray
    doubt: float
    counts: tuple[int, ...]
    errors: tuple[float, ...]

    @property
    def met(self) -> float:
        """The largest distance from the finer network on the grid."""
        return float(np.abs(self.values - self.truth).max())

    @property
    def error(self) -> Enclosure:
        """What the largest error is at least, the doubt about the finer network taken off."""
        return Enclosure.at_least(max(0.0, self.met - self.doubt), samples=len(self.x))


def measure_errors(made: Smoothed, lo: float, hi: float) -> Errors:
    """On a grid of [lo, hi], for this number of neurons and for fewer."""
    x = np.linspace(lo, hi, POINTS)
    fine = Smoothed(made.rho, made.width, made.kernel, made.neurons * FINE, made.steepest)
    truth = np.concatenate([fine.on(part) for part in np.array_split(x, 20)])
    counts = tuple(sorted({max(1, made.neurons >> k) for k in range(6)}))
    ladder = [Smoothed(made.rho, made.width, made.kernel, n, made.steepest).on(x) for n in counts]
    errors = tuple(float(np.abs(values - truth).max()) for values in ladder)
    return Errors(made, x, ladder[-1], truth, fine.bound(), counts, errors)


def rectified_box(width: Fraction, x: Fraction) -> Fraction:
    r"""ReLU smoothed by the box of half-width $\varepsilon$: $(x+\varepsilon)^2/4\varepsilon$ between the two rays."""
    return Fraction(0) if x <= -width else x if x >= width else (x + width) ** 2 / (4 * width)


def rectified_network(width: Fraction, cells: int, x: Fraction) -> Fraction:
    """The network of the box and ReLU, in rational arithmetic."""
    shifts = (width * Fraction(2 * j + 1 - cells, cells) for j in range(cells))
    return sum((max(x - y, Fraction(0)) for y in shifts), Fraction(0)) / cells


def exact_at_ends(width: Fraction, cells: int) -> Fraction:
    """The largest difference of the two at the ends of the cells: zero, as a line is its value at the middle."""
    ends = [width * Fraction(2 * j - cells, cells) for j in range(cells + 1)]
    return max(abs(rectified_box(width, x) - rectified_network(width, cells, x)) for x in ends)
