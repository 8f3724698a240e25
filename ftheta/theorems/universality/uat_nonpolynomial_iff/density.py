r"""Which activations make one hidden layer dense: a floor for polynomials, fits of $|x|$ for the others.

**Floor.** No polynomial of degree $n$ comes closer to $|x|$ on $[-1,1]$ than
$\frac{|\sum_iw_ix_i|}{\sum_i|w_i|}$, $w_i=\prod_{j\ne i}(x_i^2-x_j^2)^{-1}$, for any $\lfloor n/2\rfloor+2$ points
$0\le x_i\le1$: the weights annihilate all even polynomials of that degree, and an even function is approximated best
by even ones. Computed in rationals; $\frac18$ for $n=2$.

**Fit.** Neurons $\varrho(wx+b)$ with weights drawn at random and the best output layer.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import cos, pi, prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.approximation.suprema import Scalar, Supremum, bounds_of, ranges, supremum

GRID = 513
CUT = 1e-7  # singular values below this share are dropped: the weights stay moderate


def polynomial_floor(degree: int) -> Fraction:
    r"""A lower bound of $\min_p\sup_{[-1,1]}|p(x)-|x||$ over the polynomials of that degree, exactly."""
    m = degree // 2
    points = [
        Fraction((1 - cos(i * pi / (m + 1))) / 2).limit_denominator(1 << 20) for i in range(m + 2)
    ]
    squares = [x * x for x in points]
    weights = [
        1 / prod((s - t for j, t in enumerate(squares) if j != i), start=Fraction(1))
        for i, s in enumerate(squares)
    ]
    zero = Fraction(0)
    return abs(sum((w * x for w, x in zip(weights, points)), zero)) / sum(
        (abs(w) for w in weights), zero
    )


@dataclass(frozen=True, eq=False)
class Fit:
    r"""$x\mapsto c+\sum_iv_i\varrho(w_ix+b_i)$, fitted to $|x|$ on a grid of $[-1,1]$; `error` is the largest there."""

    rho: Scalar
    constant: float
    outer: np.ndarray
    weights: np.ndarray
    biases: np.ndarray
    error: float

    def __call__(self, x: Any) -> Any:
        return self.constant + jnp.sum(
            self.outer * jax.vmap(self.rho)(self.weights * x + self.biases)
        )

    def supremum(self, budget: int = 40_000) -> Supremum:
        """The largest error on [−1, 1], proved from both sides."""
        return supremum(
            bounds_of(lambda x: jnp.abs(x) - self(x), 1), [-1.0], [1.0], relative=0.2, budget=budget
        )


def fit_absolute_value(rho: Scalar, rng: np.random.Generator, width: int, tries: int) -> list[Fit]:
    """The best output layer in the least-squares sense on a grid, for each of `tries` draws of the inner weights."""
    x = np.linspace(-1, 1, GRID)
    drawn = [_draw_neurons(rng, width) for _ in range(tries)]
    inner = np.stack([np.outer(x, weights) + biases for weights, biases in drawn])
    box = ranges(rho, inner.reshape(-1, 1), inner.reshape(-1, 1))  # followed once for all draws
    fits = []
    for (weights, biases), values in zip(drawn, ((box.lo + box.hi) / 2).reshape(inner.shape)):
        features = np.column_stack([np.ones(GRID), values])
        v = np.linalg.lstsq(features, np.abs(x), rcond=CUT)[0]
        error = float(np.abs(features @ v - np.abs(x)).max())
        fits.append(Fit(rho, float(v[0]), v[1:], weights, biases, error))
    return fits


def _draw_neurons(rng: np.random.Generator, width: int) -> tuple[np.ndarray, np.ndarray]:
    weights = rng.uniform(1, 4, width) * rng.choice([-1.0, 1.0], width)
    return weights, -weights * rng.uniform(-1, 1, width)


def best_fit(rho: Scalar, rng: np.random.Generator, width: int, tries: int = 4) -> Fit:
    """The fit of least error among `tries` draws of the inner weights."""
    return min(fit_absolute_value(rho, rng, width, tries), key=lambda fit: fit.error)


def affine_on_two_points(values: tuple[Fraction, Fraction]) -> Fraction:
    """What the identity activation leaves on K = {0, 1}: nothing, the line through both values."""
    slope = values[1] - values[0]
    start = values[0]
    return max(abs(start - values[0]), abs(start + slope - values[1]))
