r"""Ridge functions $\sigma(\langle x,w_s\rangle+b_s)$: drawn one after the other, and sums of them for $x^2$."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import jax.numpy as jnp
import numpy as np

from ftheta.networks.activations import activation
from ftheta.relu.line.cpa1d import PiecewiseAffine, affine, combination, relu

STEEPNESS = 3.0
BLOCK = 256


@dataclass(frozen=True, eq=False)
class Ridges:
    """Directions $w_s$ (one per row) and offsets $b_s$."""

    directions: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets)

    def __call__(self, x: np.ndarray, word: str) -> np.ndarray:
        """One column per term, one row per point."""
        # JAX compiles one program a shape
        inner = np.zeros((len(x), -(-len(self) // BLOCK) * BLOCK))
        inner[:, : len(self)] = x @ self.directions.T + self.offsets
        return np.asarray(activation(word).function(jnp.asarray(inner)))[:, : len(self)]

    def begins(self, other: "Ridges") -> bool:
        """Whether these are the first terms of the other, bit for bit."""
        p = len(self)
        same = np.array_equal(self.directions, other.directions[:p])
        return p <= len(other) and same and np.array_equal(self.offsets, other.offsets[:p])


Draw = Callable[[int], Ridges]


def draw_ridges(rng: np.random.Generator, terms: int, dimension: int) -> Ridges:
    r"""Gaussian directions and creases through uniform points of $[-1,1]^d$. The numbers of a term are drawn together,
    so that from the same seed fewer terms are the first of more."""
    from scipy.special import ndtri  # here, because it is slow to import

    u = rng.random((terms, 2 * dimension))
    w = STEEPNESS * ndtri(np.clip(u[:, :dimension], 1e-12, 1 - 1e-12))
    return Ridges(w, -np.sum(w * (2 * u[:, dimension:] - 1), axis=1))


def rescale_to_cube(x: np.ndarray) -> np.ndarray:
    r"""The points moved and stretched into $[-1,1]^d$."""
    lo = x.min(axis=0)
    hi = x.max(axis=0)
    return (2 * x - lo - hi) / np.where(hi > lo, hi - lo, 1.0)


def largest_change_across(ridges: Ridges) -> Fraction:
    r"""Along $v=w_{j+1}e_j-w_je_{j+1}$ (a basis where no $w_j=0$), $\langle w,v\rangle=0$: every term, in rationals."""
    worst = Fraction(0)
    for row in ridges.directions.tolist():
        w = [Fraction(t) for t in row]
        for j, (a, b) in enumerate(pairwise(w)):
            v = {j: b, j + 1: -a}
            worst = max(worst, abs(sum((w[k] * v[k] for k in v), Fraction(0))))
    return worst


def square_interpolant(cells: int) -> PiecewiseAffine:
    r"""$\frac1nr(x)+\frac2n\sum_{0<s<n}r(x-\frac sn)$, which is $x^2$ at the points $\frac sn$ of $[0,1]$."""
    n = Fraction(cells)
    return combination([((2 if s else 1) / n, relu(affine(1, -s / n))) for s in range(cells)])
