r"""Rademacher complexity $\hat{\mathfrak R}=\frac1n\mathbb E\sup_h\sum_i\varepsilon_ih(x_i)$ of linear functions in a
ball.

For $h(x)=\langle w,x\rangle$, $\|w\|\le B$ it is $\frac Bn\mathbb E\|\sum_i\varepsilon_ix_i\|$: between
$\frac1{\sqrt2}$ times (Khintchine and Kahane, `latala1994`) and once $\frac Bn\sqrt{\sum\|x_i\|^2}\le\frac{BR}{\sqrt
n}$, where $R=\max\|x_i\|$. Equality on the right holds for orthogonal rows of one length.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import Enclosure, UsageError

ENUMERATED = 16  # rows whose 2^(n−1) signs are all tried
NUMBERS = 4_000_000  # held at once


@dataclass(frozen=True)
class LinearBall:
    """`complexity` (exact up to rounding, or a Monte-Carlo mean), and the closed forms around it."""

    complexity: Enclosure
    at_least: float
    at_most: float
    by_radius: float


def linear_ball(
    x: np.ndarray, norm: float, rng: np.random.Generator, draws: int = 4000
) -> LinearBall:
    r"""The complexity of $\{\langle w,\cdot\rangle:\|w\|\le\text{norm}\}$ on the rows of `x`, by `draws` sign vectors;
    for few rows by all of them."""
    n = len(x)
    if not norm >= 0 or not n:
        raise UsageError(
            "A ball has a radius ≥ 0 and the sample has rows.", got=f"radius {norm}, {n} rows"
        )
    closed = norm * sqrt(float((x**2).sum())) / n
    widest = norm * float(np.linalg.norm(x, axis=1).max()) / sqrt(n)
    if n <= ENUMERATED:
        # up to a common sign
        signs = np.where((np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1, 1.0, -1.0)
        found = Enclosure.equal(norm * float(np.linalg.norm(signs @ x, axis=1).mean()) / n)
    else:
        block = max(1, NUMBERS // n)
        sizes = [min(block, draws - done) for done in range(0, draws, block)]
        lengths = [np.linalg.norm(rng.choice((-1.0, 1.0), (size, n)) @ x, axis=1) for size in sizes]
        # no choice of signs gives more
        longest = float(np.linalg.norm(x, axis=1).sum()) * (1 + 1e-9)
        found = mean(norm * np.concatenate(lengths) / n, within=(0.0, norm * longest / n))
    return LinearBall(found, closed / sqrt(2), closed, widest)
