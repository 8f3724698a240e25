r"""What the residuals of a regression tell: tests and intervals that hold at any number of rows, whatever the noise.

A permutation test counts the rows as they are among the permutations, so that $P(p\le\alpha)\le\alpha$ for every
$\alpha$ if the hypothesis holds.
"""

from dataclasses import dataclass

import numpy as np

from ftheta.lazy import special
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.shapes import Float

PERMUTATIONS = 999


def median_interval(values: Float[np.ndarray, "n"], confidence: float) -> Enclosure:
    r"""An interval for the median of the law of independent draws, by order statistics.

    $[x_{(k)},x_{(n+1-k)}]$ with the largest $k$ for which $2\,P(\mathrm{Bin}(n,\tfrac12)<k)\le1-\text{confidence}$; the
    whole line where there is none.
    """
    n = len(values)
    # that fewer than k draws lie on one side, for k = 1 … n
    sides = 2 * special.bdtr(np.arange(n), n, 0.5)
    k = int((sides <= 1 - confidence).sum())
    if k == 0:
        return Enclosure(-np.inf, np.inf, Basis.SAMPLED, n, confidence)
    ordered = np.sort(values)
    return Enclosure(float(ordered[k - 1]), float(ordered[n - k]), Basis.SAMPLED, n, confidence)


def sign_test(values: Float[np.ndarray, "n"]) -> float:
    """The two-sided p-value of the exact test that positive and negative values are equally likely; zeros are left
    out."""
    above = int((values > 0).sum())
    below = int((values < 0).sum())
    if above == below:
        return 1.0
    return min(1.0, 2 * float(special.bdtr(min(above, below), above + below, 0.5)))


@dataclass(frozen=True, slots=True)
class DependenceTest:
    """The rank correlation that is largest in size, with its sign, and the `p` value of independence."""

    correlation: float
    p: float
    permutations: int


def dependence_test(
    values: Float[np.ndarray, "n"],
    covariates: Float[np.ndarray, "n m"],
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> DependenceTest:
    """A permutation test that the values are independent of the covariates, by Spearman's rank correlation with each of
    them, of which the largest counts."""
    ranks = _centre_ranks(values[:, None])[:, 0]
    others = _centre_ranks(covariates)
    order = np.stack(
        [np.arange(len(values)), *(rng.permutation(len(values)) for _ in range(permutations))]
    )
    found = ranks[order] @ others
    largest = np.abs(found).max(1)
    beaten = int((largest[1:] >= largest[0] - 1e-12).sum())
    chosen = int(np.abs(found[0]).argmax())
    return DependenceTest(float(found[0, chosen]), (1 + beaten) / (permutations + 1), permutations)


def _centre_ranks(columns: np.ndarray) -> np.ndarray:
    """Ranks, the same for ties, with mean 0 and norm 1; zeros where all are equal."""
    found = np.empty(columns.shape)
    for j, column in enumerate(columns.T):
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        middles = ends - (counts - 1) / 2
        found[:, j] = middles[place.ravel()] - (len(column) + 1) / 2
    norms = np.linalg.norm(found, axis=0)
    return found / np.where(norms > 0, norms, 1.0)


def conformal_radius(scores: Float[np.ndarray, "n"], level: float) -> float:
    r"""The $\lceil(n+1)\,\text{level}\rceil$-th smallest score (`lei2018`): the score of a new row is no larger with
    probability `level` at least, if it is exchangeable with these; infinite where there are too few."""
    k = int(np.ceil((len(scores) + 1) * level - 1e-9))
    return float(np.sort(scores)[k - 1]) if k <= len(scores) else np.inf
