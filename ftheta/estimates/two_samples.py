"""Whether two samples come from one law: a test whose level is exact."""

from dataclasses import dataclass

import numpy as np

from ftheta.shapes import Float

PERMUTATIONS = 999


@dataclass(frozen=True, slots=True)
class TwoSampleTest:
    """The `statistic` of two samples, and its `p` value: the share of permutations at which it is no smaller."""

    statistic: float
    p: float
    permutations: int


def energy_test(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "m d"],
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> TwoSampleTest:
    r"""A permutation test with the energy distance (`szekely2013`).

    $E=2\,\overline{\|x_i-y_j\|}-\overline{\|x_i-x_j\|}-\overline{\|y_i-y_j\|}$ with means over all pairs. If all $n+m$
    rows are exchangeable, $P(p\le\alpha)\le\alpha$ for every $\alpha$, whatever the law: the rows as they are count as
    one of the permutations.
    """
    rows, size = _standardise(np.concatenate([x, y]))
    n = len(x)
    m = len(y)
    apart = _distances(rows)
    weights = np.zeros((n + m, permutations + 1))
    weights[:n, 0] = 1
    for k in range(1, permutations + 1):
        weights[rng.permutation(n + m)[:n], k] = 1
    found = _energies(apart, weights, n, m)
    slack = 1e-12 * apart.mean() + 1e-300  # ties count against the first
    beaten = int((found[1:] >= found[0] - slack).sum())
    return TwoSampleTest(size * float(found[0]), (1 + beaten) / (permutations + 1), permutations)


def _standardise(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """The rows about 0, of size 1 at most, and what they were divided by: no permutation changes that, and squares
    neither overflow nor cancel."""
    if not np.isfinite(rows).all():
        raise ValueError("A test of two samples needs finite rows.")
    largest = float(np.abs(rows).max(initial=0.0)) or 1.0
    centred = rows / largest
    centred -= centred.mean(0)
    widest = float(np.abs(centred).max(initial=0.0)) or 1.0
    return centred / widest, largest * widest


def _energies(apart: np.ndarray, weights: np.ndarray, n: int, m: int) -> np.ndarray:
    """The statistic of each column of `weights`, which marks the rows of the first sample by 1."""
    sums = apart @ weights
    inner = (weights * sums).sum(0)
    of_first = weights.T @ apart.sum(1)
    between = of_first - inner
    outer = apart.sum() - inner - 2 * between
    return 2 * between / (n * m) - inner / n**2 - outer / m**2


def _distances(rows: np.ndarray) -> np.ndarray:
    squares = (rows**2).sum(1)
    gaps = squares[:, None] + squares[None, :] - 2 * rows @ rows.T
    return np.sqrt(np.maximum(gaps, 0.0))
