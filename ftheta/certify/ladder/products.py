r"""Products of norms: as they are, after the best rescaling of the neurons, and pair by pair (SeqLip).

Between two inputs $\Delta h_i=D_i\Delta z_i$ with $|D_i|\le c_i$, entry by entry. Positive diagonal matrices commute
with $D_i$, so $\prod_i\|S_iW_iS_{i-1}^{-1}\|$ with $S_0=S_{L+1}=1$ is a bound for every choice of them: the network
with rescaled neurons. In the norm $\infty$ the best choice is known (Perron): it gives
$\||W_{L+1}|c_L\cdots c_1|W_1|\|$.
"""

from collections.abc import Sequence
from math import inf, nextafter

import numpy as np
from scipy.optimize import minimize

from ftheta.shapes import Float

from ..norms import U, frobenius_norm, spectral_norm, sum_norm
from ..semidefinite import bound_slope, top_eigenpairs
from .chains import Ranges

Array = np.ndarray
KEPT = 6  # singular values that the search looks at
POWER = 40.0
# logarithm of the largest scale: neurons that do not count would be scaled without end
WIDEST = 60.0
STEEPEST = 2.0**300  # entries whose squares, scaled, are floats
LEAST = 2.0**-1022  # more than one product loses to underflow


def steepest_slopes(ranges: Ranges) -> list[Float[np.ndarray, "_n"]]:
    """$c_i$: the largest absolute slope of every neuron."""
    return [np.maximum(np.abs(low), np.abs(high)) for low, high in ranges]


def _slopes_applied(weights: Sequence[Array], ranges: Ranges) -> tuple[list[Array], list[float]]:
    """$C_iW_i$, and a bound of the Frobenius norm of what rounding has changed each of them by."""
    found = []
    errors = []
    for W, c in zip(weights, [*steepest_slopes(ranges), np.ones(len(weights[-1]))]):
        found.append(c[:, None] * W)
        exact = np.isin(c, (0.0, 1.0)).all()
        errors.append(0.0 if exact else 2 * U * frobenius_norm(found[-1]).hi + 2.0**-1000)
    return found, errors


def _norm(A: Array, norm: float) -> float:
    return spectral_norm(A).hi if norm == 2 else sum_norm(A, norm)


def product_of_norms(
    weights: Sequence[Float[np.ndarray, "_m _n"]], ranges: Ranges, norm: float
) -> float:
    r"""$\prod_i\|C_iW_i\|$, rounded up."""
    total = 1.0
    for A, error in zip(*_slopes_applied(weights, ranges)):
        spread = 1.0 if norm == 2 else max(A.shape) ** 0.5
        total = nextafter(total * nextafter(_norm(A, norm) + spread * error, inf), inf)
    return total


def absolute_product(
    weights: Sequence[Float[np.ndarray, "_m _n"]], ranges: Ranges
) -> list[Float[np.ndarray, "_m"]]:
    r"""Bounds of $\sum_k|\partial z_{ij}/\partial x_k|$ for every neuron $j$ of every layer $i$, the outputs last:
    $|W_i|c_{i-1}|W_{i-1}|\cdots|W_1|1$, rounded up, and 0 where nothing is summed. The largest entry of the last bounds
    $\|J\|_\infty$."""
    found = []
    v = np.ones(weights[0].shape[1])
    for W, c in zip(weights, [*steepest_slopes(ranges), np.ones(len(weights[-1]))]):
        total = (np.abs(W) @ v) * (1 + 2 * (W.shape[1] + 6) * U) + W.shape[1] * LEAST
        has_terms = (W != 0) @ (v > 0).astype(np.float64) > 0
        found.append(np.where(has_terms, np.nextafter(total, inf), 0.0))
        v = np.where((c > 0) & has_terms, c * found[-1] + LEAST, 0.0)
    return found


def rescaled_product(
    weights: Sequence[Float[np.ndarray, "_m _n"]], ranges: Ranges, steps: int
) -> tuple[float, tuple[Float[np.ndarray, "_m"], ...]]:
    r"""$\prod_i\|S_iC_iW_iS_{i-1}^{-1}\|_2$ for good diagonals $S_1,\dots,S_L$, and these."""
    matrices, _ = _slopes_applied(weights, ranges)
    sizes = [len(A) for A in matrices[:-1]]

    def split(p: Array) -> list[Array]:
        inner = np.split(p, np.cumsum(sizes)[:-1])
        return [np.ones(matrices[0].shape[1]), *map(np.exp, inner), np.ones(len(matrices[-1]))]

    def logarithm(p: Array) -> tuple[float, Array]:
        S = split(p)
        value = 0.0
        slopes = [np.zeros(len(s)) for s in S]
        for k, A in enumerate(matrices):
            size, left, right = _mean_of_top(S[k + 1][:, None] * A / S[k])
            value += size
            slopes[k + 1] += left
            slopes[k] -= right
        return value, np.concatenate(slopes[1:-1])

    start = np.zeros(sum(sizes))
    if max(float(np.abs(A).max()) for A in matrices) > STEEPEST:
        scales = tuple(np.ones(n) for n in sizes)
        return verify_scales(weights, ranges, scales), scales
    options = {"maxiter": steps, "maxcor": 20}
    ends = [(-WIDEST, WIDEST)] * len(start)
    found = minimize(logarithm, start, jac=True, method="L-BFGS-B", bounds=ends, options=options).x
    return verify_scales(weights, ranges, tuple(split(found)[1:-1])), tuple(split(found)[1:-1])


def verify_scales(
    weights: Sequence[Float[np.ndarray, "_m _n"]],
    ranges: Ranges,
    scales: Sequence[Float[np.ndarray, "_m"]],
) -> float:
    """The product of norms that these diagonals prove."""
    matrices, errors = _slopes_applied(weights, ranges)
    S = [np.ones(matrices[0].shape[1]), *scales, np.ones(len(matrices[-1]))]
    total = 1.0
    for k, (A, error) in enumerate(zip(matrices, errors)):
        scaled = S[k + 1][:, None] * A / S[k]
        most = float(S[k + 1].max() / S[k].min()) * 1.001
        wrong = 8 * U * frobenius_norm(scaled).hi + most * error + 2.0**-900
        total = nextafter(total * nextafter(spectral_norm(scaled).hi + wrong, inf), inf)
    return total


@np.errstate(all="ignore")
def _mean_of_top(A: Array) -> tuple[float, Array, Array]:
    """The logarithm of a mean of the largest singular values, and its derivatives by the logarithms of the scales of
    rows and of columns (with the sign of the latter changed)."""
    wide = A.shape[0] <= A.shape[1]
    gram = A @ A.T if wide else A.T @ A
    values, vectors = top_eigenpairs(gram, min(KEPT, len(gram)))
    values = np.maximum(values, 1e-300)
    share = (values / values[-1]) ** POWER
    weights = share / share.sum()
    mean = 0.5 * float(np.log(values[-1]) + np.log(share.sum()) / POWER)
    others = (A.T @ vectors if wide else A @ vectors) / np.sqrt(values)
    left, right = (vectors, others) if wide else (others, vectors)
    return mean, np.nan_to_num(left**2 @ weights), np.nan_to_num(right**2 @ weights)


def pairwise_product(
    weights: Sequence[Float[np.ndarray, "_m _n"]], slopes: float, steps: int
) -> float:
    r"""SeqLip: with $W_i\approx F_iG_i$ from a singular value decomposition, each inner matrix shared among its two
    neighbours, $\prod_i\max_{0\le D\le1}\|G_{i+1}DF_i\|_2$, every factor bounded by a semidefinite program; `slopes` is
    the product of the constants of the activations. The errors of the decomposition are paid for."""
    halves = [_halves(W) for W in weights[1:-1]]
    rights = [*(G for _, G in halves), weights[-1]]
    lefts = [weights[0], *(F for F, _ in halves)]
    total = 1.0
    for left, right in zip(lefts, rights):
        total = nextafter(total * bound_slope([left, right], steps=steps).bound, inf)
    norms = [spectral_norm(W).hi for W in weights]
    wrong = [0.0, *(_defect(W, F, G) for W, (F, G) in zip(weights[1:-1], halves)), 0.0]
    for k, delta in enumerate(wrong):
        others = np.prod([n + w for j, (n, w) in enumerate(zip(norms, wrong)) if j != k])
        total = nextafter(
            total + nextafter(delta * float(others) * (1 + (64 + 4 * len(norms)) * U), inf), inf
        )
    return nextafter(total * slopes, inf)


def _halves(W: Array) -> tuple[Array, Array]:
    left, values, right = np.linalg.svd(W, full_matrices=False)
    root = np.sqrt(values)
    return left * root, root[:, None] * right


def _defect(W: Array, F: Array, G: Array) -> float:
    r"""A bound of $\|W-FG\|_F$."""
    rounding = (F.shape[1] + 4) * 2 * U * frobenius_norm(F).hi * frobenius_norm(G).hi
    return nextafter(
        frobenius_norm(W - F @ G).hi * (1 + 4 * U) + rounding + 2 * U * frobenius_norm(W).hi, inf
    )
