r"""Which activations make one hidden layer dense: floors for polynomials, fits of $|x|$ for the others, jumps.

**Floor.** No polynomial of degree $n$ comes closer to $|x|$ on $[-1,1]$ than
$\frac{|\sum_iw_ix_i|}{\sum_i|w_i|}$, $w_i=\prod_{j\ne i}(x_i^2-x_j^2)^{-1}$, for any $\lfloor n/2\rfloor+2$ points
$0\le x_i\le1$: the weights annihilate all even polynomials of that degree, and an even function is approximated best
by even ones. Computed in rationals; $\frac18$ for $n=2$.

**Fit.** Neurons $\varrho(wx+b)$ with weights drawn at random and the best output layer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import cos, pi, prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic import Axis, Curves, Series

from .suprema import Scalar, Supremum, bounds_of, ranges, supremum

WIDTHS = (2, 4, 8, 16, 32, 64)
GRID = 513
CUT = 1e-7  # singular values below this share are dropped: the weights stay moderate
BISECTIONS = 40


def polynomial_floor(degree: int) -> Fraction:
    r"""A lower bound of $\min_p\sup_{[-1,1]}|p(x)-|x||$ over the polynomials of that degree, exactly."""
    m = degree // 2
    points = [Fraction((1 - cos(i * pi / (m + 1))) / 2).limit_denominator(1 << 20) for i in range(m + 2)]
    squares = [x * x for x in points]
    weights = [
        1 / prod((s - t for j, t in enumerate(squares) if j != i), start=Fraction(1)) for i, s in enumerate(squares)
    ]
    zero = Fraction(0)
    return abs(sum((w * x for w, x in zip(weights, points)), zero)) / sum((abs(w) for w in weights), zero)


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
        return self.constant + jnp.sum(self.outer * jax.vmap(self.rho)(self.weights * x + self.biases))

    def supremum(self, budget: int = 40_000) -> Supremum:
        """The largest error on [−1, 1], proved from both sides."""
        return supremum(bounds_of(lambda x: jnp.abs(x) - self(x), 1), [-1.0], [1.0], relative=0.2, budget=budget)


def fitted(rho: Scalar, rng: np.random.Generator, width: int) -> Fit:
    """The best output layer for `width` neurons with random weights, in the least-squares sense on a grid."""
    x = np.linspace(-1, 1, GRID)
    weights = rng.uniform(1, 4, width) * rng.choice([-1.0, 1.0], width)
    biases = -weights * rng.uniform(-1, 1, width)
    inner = np.outer(x, weights) + biases
    box = ranges(rho, inner.reshape(-1, 1), inner.reshape(-1, 1))
    features = np.column_stack([np.ones(GRID), ((box.lo + box.hi) / 2).reshape(inner.shape)])
    v = np.linalg.lstsq(features, np.abs(x), rcond=CUT)[0]
    return Fit(rho, float(v[0]), v[1:], weights, biases, float(np.abs(features @ v - np.abs(x)).max()))


def best_of(rho: Scalar, rng: np.random.Generator, width: int, tries: int = 4) -> Fit:
    return min((fitted(rho, rng, width) for _ in range(tries)), key=lambda fit: fit.error)


def jumps(rho: Scalar, lo: float, hi: float, points: int = 4097) -> list[tuple[float, float]]:
    """Places and heights of jumps: where a step between neighbours stays when the gap is halved again and again."""
    x = np.linspace(lo, hi, points)
    value = lambda t: ranges(rho, np.atleast_1d(t)[:, None], np.atleast_1d(t)[:, None]).lo
    y = value(x)
    steps = np.abs(np.diff(y))
    large = np.flatnonzero(steps > 16 * np.median(steps) + 1e-9)
    some = large[np.argsort(-steps[large])][:16]
    a, b, fa, fb = x[some], x[some + 1], y[some], y[some + 1]
    for _ in range(BISECTIONS if len(some) else 0):  # all places at once: a program is traced anew at every call
        m = (a + b) / 2
        fm = value(m)
        left = np.abs(fm - fa) > np.abs(fb - fm)
        a, b, fa, fb = np.where(left, a, m), np.where(left, m, b), np.where(left, fa, fm), np.where(left, fm, fb)
    real = np.abs(fb - fa) > steps[some] / 2
    return sorted(zip(b[real].tolist(), (fb - fa)[real].tolist()))


def chart(fits: Mapping[str, Sequence[float]], degree: int) -> Curves:
    """The error of |x| against width for several activations, and the floor of polynomials."""
    floor = float(polynomial_floor(degree))
    series = [Series(name, WIDTHS, np.maximum(errors, 1e-16), "measured") for name, errors in fits.items()]
    below = Series(f"floor of degree {degree}", WIDTHS, [floor] * len(WIDTHS), "bound")
    return Curves("fits of |x| by one hidden layer", Axis("neurons", "log"), Axis("sup error", "log"), (*series, below))


def ladder(rho: Scalar, rng: np.random.Generator) -> list[float]:
    """The least error met up to each width."""
    return np.minimum.accumulate([best_of(rho, rng, width).error for width in WIDTHS]).tolist()


def affine_on_two_points(values: tuple[Fraction, Fraction]) -> Fraction:
    """What the identity activation leaves on K = {0, 1}: nothing, the line through both values."""
    slope, start = values[1] - values[0], values[0]
    return max(abs(start - values[0]), abs(start + slope - values[1]))
