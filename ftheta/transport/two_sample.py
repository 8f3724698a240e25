r"""Are two samples of one law? Kernel and energy statistics with permutation $p$-values that are valid at every size.

With weights $w=\frac1n$ on the first sample and $-\frac1m$ on the second, $w^\top Kw$ is the squared maximum mean
discrepancy of a kernel $K$ (`gretton2012`) and, for $K=-|x-y|$, the energy distance (`szekely2013`). If all rows are
exchangeable, the statistic is one of $1+B$ exchangeable ones, so $p=\frac{1+\#\{T_b\ge T\}}{1+B}$ is at most $\alpha$
with probability at most $\alpha$. All permutations are one matrix product with blocks of rows of $K$, which is never
held as a whole."""

from dataclasses import dataclass
from itertools import combinations
from math import comb, log, sqrt
from typing import Literal, TypeAlias

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float

from .problems import Array

Statistic: TypeAlias = Literal["gaussian", "linear", "energy"]
BLOCK = 1 << 21  # entries of the kernel that are held at once
MEDIAN_ROWS = 1000
NEAR = 1e-6  # squares below this share of the sizes that cancel in them have lost digits


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """The `statistic` $w^\\top Kw$, those of the permutations (`null`), and the `p_value`; `exact` where all
    assignments of the rows to the two samples were counted."""

    statistic: float
    null: Array
    p_value: float
    exact: bool
    bandwidth: float


def permutation_test(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "m d"],
    kernel: Statistic = "gaussian",
    *,
    bandwidth: float | None = None,
    permutations: int = 1000,
    rng: np.random.Generator | None = None,
) -> PermutationTest:
    r"""Test whether the rows of `x` and `y` have one law.

    The `bandwidth` $h$ of the Gaussian kernel $e^{-|x-y|^2/2h^2}$ is the median distance of the pooled rows if not
    given, which no permutation changes. All assignments are counted where they are no more than the `permutations`.
    """
    pooled = np.concatenate([x, y])
    n = len(x)
    h = (
        median_distance(pooled)
        if bandwidth is None and kernel == "gaussian"
        else (bandwidth or 1.0)
    )
    weights, exact = draw_assignments(n, len(y), permutations, rng or np.random.default_rng(0))
    values, size = _statistics(pooled, weights, kernel, h)
    if not np.isfinite(values).all():
        raise SubjectError(
            "Squares of these distances are no float64 numbers.",
            got=f"entries up to {np.abs(pooled).max():.2g}, bandwidth {h:.2g}",
            remedy="scale all rows alike",
        )
    observed = float(values[0])
    # equal up to rounding counts as equal
    reaches = values >= observed - 64 * np.finfo(float).eps * size
    null = values if exact else values[1:]
    p = reaches.sum() / len(values)
    return PermutationTest(observed, null, float(p), exact, h)


def draw_assignments(
    n: int, m: int, permutations: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "rows count"], bool]:
    r"""Weights $\frac1n$ and $-\frac1m$ on the pooled rows, one column for each permutation after that of the samples
    at hand; and whether these are all assignments there are."""
    exact = 0 < comb(n + m, n) <= permutations + 1
    return (
        _all_assignments(n, m) if exact else _random_assignments(n, m, permutations, rng)
    ), exact


def _all_assignments(n: int, m: int) -> Array:
    """One column for each choice of the first sample; the first is the one at hand."""
    weights = np.full((n + m, comb(n + m, n)), -1 / m)
    for k, chosen in enumerate(combinations(range(n + m), n)):
        weights[list(chosen), k] = 1 / n
    return weights


def _random_assignments(n: int, m: int, count: int, rng: np.random.Generator) -> Array:
    weights = np.empty((n + m, count + 1))
    first = np.concatenate([np.full(n, 1 / n), np.full(m, -1 / m)])
    weights[:, 0] = first
    weights[:, 1:] = rng.permuted(np.tile(first[:, None], count), axis=0)
    return weights


def _statistics(pooled: Array, weights: Array, kernel: Statistic, h: float) -> tuple[Array, float]:
    """$w^\\top Kw$ of every column of weights, and the largest entry of K."""
    step = max(1, BLOCK // len(pooled))
    total = np.zeros(weights.shape[1])
    size = 0.0
    for start in range(0, len(pooled), step):
        rows = slice(start, start + step)
        block = kernel_block(pooled[rows], pooled, kernel, h)
        size = max(size, float(np.abs(block).max()))
        total += np.einsum("kb,kb->b", weights[rows], block @ weights)
    return total, size


def kernel_block(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"], kernel: Statistic, h: float
) -> Float[np.ndarray, "n m"]:
    r"""$e^{-|x-y|^2/2h^2}$, $\langle x,y\rangle$ or $-|x-y|$ for all pairs."""
    if kernel == "linear":
        return x @ y.T
    squares = (x - y.T) ** 2 if x.shape[1] == 1 else _square_distances(x, y)
    if kernel == "energy":
        return -np.sqrt(squares)
    squares *= -1 / (2 * h**2)
    return np.exp(squares, out=squares)


def _square_distances(x: Array, y: Array) -> Array:
    """By one product of matrices about a common centre; pairs that are near to one another, in which it cancels, again
    from their differences."""
    centre = y.mean(0)
    left, right = x - centre, y - centre
    sizes = np.einsum("nd,nd->n", left, left)[:, None] + np.einsum("nd,nd->n", right, right)
    squares = sizes - 2 * (left @ right.T)
    sizes *= NEAR
    for i, near in enumerate(squares < sizes):
        columns = np.flatnonzero(near)
        squares[i, columns] = ((x[i] - y[columns]) ** 2).sum(1)
    return np.maximum(squares, 0.0, out=squares)


def median_distance(pooled: Float[np.ndarray, "n d"]) -> float:
    """The median distance of two different rows, of at most the first thousand in sorted order; 1 if that is 0."""
    some = pooled
    if (
        len(pooled) > MEDIAN_ROWS
    ):  # rows chosen by their values alone: the choice does not depend on their order
        order = np.lexsort(pooled.T[::-1])
        some = pooled[order[np.linspace(0, len(pooled) - 1, MEDIAN_ROWS).astype(int)]]
    distances = -kernel_block(some, some, "energy", 1.0)[np.triu_indices(len(some), 1)]
    return float(np.median(distances)) or 1.0 if distances.size else 1.0


def unbiased_statistic(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "m d"],
    kernel: Statistic = "gaussian",
    bandwidth: float = 1.0,
) -> float:
    r"""The unbiased estimate of $\mathrm{MMD}^2$: means over pairs of different rows."""
    within_x = kernel_block(x, x, kernel, bandwidth)
    within_y = kernel_block(y, y, kernel, bandwidth)
    across = kernel_block(x, y, kernel, bandwidth)
    mean_x = (within_x.sum() - np.trace(within_x)) / (len(x) * (len(x) - 1))
    mean_y = (within_y.sum() - np.trace(within_y)) / (len(y) * (len(y) - 1))
    return float(mean_x + mean_y - 2 * across.mean())


def deviation_threshold(m: int, alpha: float, largest: float = 1.0) -> float:
    r"""$\sqrt{2K/m}(1+\sqrt{2\ln\frac1\alpha})$: two samples of one law, $m$ rows each, have a biased $\mathrm{MMD}$
    above this with probability at most $\alpha$, for kernels $0\le k\le K$ (`gretton2012`, corollary 9)."""
    return sqrt(2 * largest / m) * (1 + sqrt(2 * log(1 / alpha)))


def deviation_radius(n: int, m: int, risk: float, largest: float = 1.0) -> float:
    r"""$2(\sqrt{K/n}+\sqrt{K/m})+\sqrt{2K\frac{n+m}{nm}\ln\frac2\delta}$: how far the biased $\mathrm{MMD}$ of
    samples is from that of the laws, except with probability $\delta$ (`gretton2012`, theorem 7)."""
    bias = 2 * (sqrt(largest / n) + sqrt(largest / m))
    return bias + sqrt(2 * largest * (n + m) / (n * m) * log(2 / risk))
