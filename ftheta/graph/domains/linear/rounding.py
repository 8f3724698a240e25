r"""Sums weighed by coefficients, and what their rounding can amount to.

A bound has the form $\langle A,v\rangle+c-e$ with float64 coefficients $A$, an offset $c$ and an error $e\ge0$ that
pays for every rounding on the way: if a computed coefficient differs from the exact one by $\delta$, then
$\langle\delta,v\rangle\ge-\langle|\delta|,M\rangle$ for values $|v|\le M$. So one number for each functional is carried
beside the coefficients, not an interval for each of them, and it costs one product with a vector a node. Sums are
bounded by $\gamma_k=ku/(1-ku)$ times the sum of magnitudes, which holds in any order of summation
(`interval/rounding.py`).

Errors themselves are sums of non-negative numbers. They are computed with plain arithmetic, and `pay` enlarges the
total by a share that is far above what its own rounding can be.
"""

import numpy as np

from ftheta.graph.domains.interval.rounding import HALF_ULP, SMALLEST_NORMAL, gamma
from ftheta.shapes import Float

OWN_ROUNDING = 2.0**-20
"""A sum of fewer than 2³⁰ non-negative terms has a smaller relative error."""

UNDERFLOW = 2.0**-960
"""More than 2³⁰ products of non-negative numbers can lose by underflow."""


def pay(error: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """A bound of the exact sum of non-negative terms that was computed as `error`; NaN says nothing."""
    return np.where(np.isnan(error), np.inf, error * (1 + OWN_ROUNDING) + UNDERFLOW)


def rows(
    A: Float[np.ndarray, "boxes functionals *shape"],
) -> Float[np.ndarray, "boxes functionals entries"]:
    """Coefficients (boxes, functionals, *shape) as (boxes, functionals, entries)."""
    return A.reshape(*A.shape[:2], -1)


def weigh(
    A: Float[np.ndarray, "#boxes functionals *shape"], weights: Float[np.ndarray, "#boxes *shape"]
) -> Float[np.ndarray, "#boxes functionals"]:
    """Σ A·w over the entries, for coefficients (B, S, *shape) ≥ 0 or ≤ 0 and weights (B or 1, *shape).

    Where a weight is infinite or NaN, a coefficient of 0 makes nothing of it, and any other makes the sum infinite.
    """
    flat = rows(A)
    column = weights.reshape(weights.shape[0], -1, 1)
    finite = np.isfinite(column)
    if finite.all():
        return (flat @ column)[..., 0]
    total = (flat @ np.where(finite, column, 0.0))[..., 0]
    hit = ((flat != 0).astype(np.float64) @ (~finite).astype(np.float64))[..., 0] > 0
    return np.where(hit, np.inf, total)


def sum_doubt(entries: int) -> float:
    """The relative error of a sum of so many products, and of one more addition."""
    return gamma(entries + 2)


def lost_to_underflow(
    terms: int, magnitude: Float[np.ndarray, "boxes *shape"]
) -> Float[np.ndarray, "boxes"]:
    """What `terms` underflowing products in each coefficient can amount to, for values of that magnitude: (B,).

    Values without a bound are left out: the error that is weighed by |A| is infinite for them unless A is 0, and then
    nothing underflows.
    """
    finite = np.where(np.isfinite(magnitude), magnitude, 0.0)
    return 2 * terms * SMALLEST_NORMAL * finite.reshape(len(magnitude), -1).sum(1)


def least_over(
    A: Float[np.ndarray, "#boxes functionals *shape"],
    lo: Float[np.ndarray, "#boxes *shape"],
    hi: Float[np.ndarray, "#boxes *shape"],
) -> tuple[Float[np.ndarray, "#boxes functionals"], Float[np.ndarray, "#boxes functionals"]]:
    """A lower bound of Σ A·v over lo ≤ v ≤ hi, as a float (B, S) and the error to take off."""
    plus = np.maximum(A, 0.0)
    minus = np.minimum(A, 0.0)
    magnitude = np.maximum(np.abs(lo), np.abs(hi))
    down = weigh(plus, -lo)  # +∞ where nothing is known
    up = weigh(minus, -hi)
    entries = int(np.prod(A.shape[2:], dtype=np.int64))
    error = sum_doubt(entries) * weigh(plus - minus, magnitude) + 2 * entries * SMALLEST_NORMAL
    return -(down + up), error


def add_rounded(
    total: Float[np.ndarray, "*#shape"],
    more: Float[np.ndarray, "*#shape"],
    error: Float[np.ndarray, "*#shape"],
) -> tuple[Float[np.ndarray, "*#shape"], Float[np.ndarray, "*#shape"]]:
    """total + more, and the error with the rounding of this sum."""
    result = total + more
    return result, error + HALF_ULP * np.abs(result)
