r"""Lipschitz constants by semidefinite programming (LipSDP), as a smooth problem whose every point is a bound.

Let $f=W_{L+1}\sigma W_L\cdots\sigma W_1$ up to biases, with activations whose slopes lie in $[0,1]$. Between two inputs
the states differ by $\Delta h_i=D_iW_i\Delta h_{i-1}$ with diagonal $0\le D_i\le1$, so that for every diagonal
$T_i\ge0$: $\langle\Delta h_i,T_i(W_i\Delta h_{i-1}-\Delta h_i)\rangle\ge0$. Adding these up, $\|\Delta f\|^2\le
\rho\|\Delta x\|^2$ follows if the block-tridiagonal matrix
$$M(\rho,T)=\begin{pmatrix}\rho I&-W_1^\top T_1\\-T_1W_1&2T_1&-W_2^\top T_2\\&-T_2W_2&\ddots\\
&&&2T_L-W_{L+1}^\top W_{L+1}\end{pmatrix}$$
is positive semidefinite. Eliminated from the end, with $Q_L=W_{L+1}^\top W_{L+1}$ and $S_i=2T_i-Q_i$, it says
$Q_{i-1}=W_i^\top T_iS_i^{-1}T_iW_i$ and $\rho\ge\lambda_{\max}(Q_0)$. With
$T_i=c\,\lambda_{\max}(E^{-1/2}Q_iE^{-1/2})\,E$, $E=\mathrm{diag}(e^z)$, $c>\frac12$, every $S_i$ is positive definite,
so that $\lambda_{\max}(Q_0)$ is minimised without constraints. The best point is then proved: `verify_multipliers`
shows $M\succeq0$ by one Cholesky factorisation with error terms (`norms.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nextafter, sqrt

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular
from scipy.optimize import minimize

from ftheta.shapes import Float, Real

from .norms import U, gamma, is_semidefinite, round_sum_up, shift_exponent, spectral_norm

Array = np.ndarray

POWER = 100.0
"""Exponent of the mean that stands for the largest eigenvalue."""

STEPS = ((400, 300), (1000, 60), (2000, 25), (inf, 8))
"""Up to so many neurons, so many steps."""

KEPT = 8  # eigenvalues of the mean, where there are many: others are smaller by far
MANY = 96  # rows from which the largest eigenvalues alone are computed

LOST = 2.0**-1000
"""More than all that a bound can change by where entries of matrices of norm 1 change by the smallest float."""

HALF = -0.4328
"""log(1 + e^HALF) = ½: the multipliers begin at c = 1."""

SLACKS = tuple(10.0**k for k in range(-11, 3))
"""Relative excess of ρ over its estimate, tried until the factorisation runs through."""


@dataclass(frozen=True, eq=False)
class SlopeCertificate:
    r"""`bound` $\ge\mathrm{Lip}(f)$, proved by the diagonals `multipliers` of $T_1,\dots,T_L$ (none: by the norm of one
    matrix)."""

    bound: float
    multipliers: tuple[Float[np.ndarray, "_n"], ...]


def bound_slope(
    weights: Sequence[Real[np.ndarray, "_m _n"]], *, steps: int | None = None
) -> SlopeCertificate:
    """A Lipschitz constant in the Euclidean norm of a chain of matrices with activations of slopes in [0, 1] between
    them. The minimisation takes at most so many steps; by default fewer for larger chains."""
    chain = [np.asarray(W, np.float64) for W in weights]
    if len(chain) == 1 or not all(W.any() for W in chain):
        return SlopeCertificate(spectral_norm(chain[0]).hi if len(chain) == 1 else 0.0, ())
    scaled, exponent = scale_chain(chain)
    neurons = sum(len(W) for W in chain[:-1])
    multipliers = _minimise(
        scaled, next(k for most, k in STEPS if neurons <= most) if steps is None else steps
    )
    if not multipliers:
        return SlopeCertificate(inf, ())
    return SlopeCertificate(
        scale_back(verify_multipliers(scaled, multipliers), exponent), multipliers
    )


def verify_certificate(
    weights: Sequence[Real[np.ndarray, "_m _n"]], multipliers: Sequence[Float[np.ndarray, "_n"]]
) -> float:
    """The bound that the multipliers of a `SlopeCertificate` prove for these matrices, computed again."""
    scaled, exponent = scale_chain([np.asarray(W, np.float64) for W in weights])
    return scale_back(verify_multipliers(scaled, multipliers), exponent)


def scale_chain(
    chain: Sequence[Float[np.ndarray, "_m _n"]],
) -> tuple[list[Float[np.ndarray, "_m _n"]], int]:
    """Every matrix times a power of two that brings its norm to between ½ and 1, and the power that the bound is to be
    multiplied with. Digits are lost only where an entry becomes less than the smallest normal float: `LOST` pays."""
    powers = [_exponent_of_norm(W) for W in chain]
    return [np.ldexp(W, -k) for W, k in zip(chain, powers)], sum(powers)


def _exponent_of_norm(W: Array) -> int:
    """The least $k$ with a computed norm below $2^k$; the square of an entry neither overflows nor vanishes."""
    largest = int(np.frexp(np.abs(W).max())[1])
    return largest + int(np.frexp(np.linalg.norm(np.ldexp(W, -largest), 2))[1])


def scale_back(bound: float, exponent: int) -> float:
    r"""An upper bound of $2^{\text{exponent}}\,\text{bound}$ of what was scaled down, with what underflow lost."""
    return shift_exponent(nextafter(bound + LOST, inf), exponent, inf)


# ---- the proof -------------------------------------------------------------------------------------------------------


def verify_multipliers(
    weights: Sequence[Float[np.ndarray, "_m _n"]], multipliers: Sequence[Float[np.ndarray, "_n"]]
) -> float:
    r"""$\sqrt\rho$ for a $\rho$ with $M(\rho,T)\succeq0$, proved with outward rounding; ∞ if none is found."""
    estimate = _estimate(weights, multipliers)
    if not np.isfinite(estimate):
        return inf
    for slack in SLACKS:
        rho = estimate * (1 + slack)
        if is_certified(weights, multipliers, rho):
            return nextafter(sqrt(rho), inf) * (1 + 4 * U)
    return inf


def is_certified(
    weights: Sequence[Float[np.ndarray, "_m _n"]],
    multipliers: Sequence[Float[np.ndarray, "_n"]],
    rho: float,
) -> bool:
    r"""Whether a Cholesky factorisation shows $M(\rho,T)\succeq0$, all rounding paid for.

    Rows and columns are scaled by powers of two, which changes neither the sign of an eigenvalue nor any digit.
    """
    sizes = [weights[0].shape[1], *(len(t) for t in multipliers)]
    ends = np.cumsum([0, *sizes])
    diagonal = np.concatenate([np.full(sizes[0], rho), *(2 * t for t in multipliers)])
    if not (np.all(diagonal > 2.0**-900) and np.all(diagonal < 2.0**900)):
        return False
    d = np.exp2(-np.round(np.log2(diagonal) / 2))
    n = len(d)
    M = np.diag(diagonal * d * d)
    for i, (W, t) in enumerate(zip(weights, multipliers)):
        rows = slice(ends[i + 1], ends[i + 2])
        columns = slice(ends[i], ends[i + 1])
        M[rows, columns] = -(t * d[rows])[:, None] * (W * d[columns])
    last = slice(ends[-2], ends[-1])
    outer = weights[-1] * d[last]
    M[last, last] -= outer.T @ outer
    M = np.tril(M)
    M = M + np.tril(M, -1).T
    size = round_sum_up(float(np.linalg.norm(M)), n * n)
    product = gamma(len(outer) + 1) * round_sum_up(float((outer**2).sum()), outer.size)
    return is_semidefinite(M, 4 * U * size + product)


def _estimate(weights: Sequence[Array], multipliers: Sequence[Array]) -> float:
    """The least ρ for these multipliers, in plain floats."""
    Q = weights[-1].T @ weights[-1]
    for W, t in zip(reversed(weights[:-1]), reversed(multipliers)):
        B = t[:, None] * W
        try:
            factor = cholesky(2 * np.diag(t) - Q, lower=True)
        except np.linalg.LinAlgError:
            return inf
        Q = B.T @ cho_solve((factor, True), B)
    return float(
        eigh((Q + Q.T) / 2, eigvals_only=True, subset_by_index=(len(Q) - 1, len(Q) - 1))[0]
    )


# ---- the search ------------------------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def _minimise(weights: Sequence[Array], steps: int) -> tuple[Array, ...]:
    """The best multipliers found, none where floats are too coarse for a search; nothing here needs rigour."""
    problem = _Problem(_without_kernel(weights))
    options = {"maxiter": steps, "maxcor": 20, "ftol": 1e-10}
    minimize(problem, problem.start(), args=(POWER,), jac=True, method="L-BFGS-B", options=options)
    return problem.best


def top_eigenpairs(
    A: Float[np.ndarray, "n n"], count: int
) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "n k"]]:
    """The largest eigenvalues of a symmetric matrix, increasing, and their vectors, approximately."""
    n = len(A)
    if n >= MANY and count < n:
        from scipy.sparse.linalg import ArpackError, eigsh

        try:
            start = np.random.default_rng(n).normal(size=n)
            basis = min(n, 2 * count + 20)
            values, vectors = eigsh(A, k=count, which="LA", v0=start, ncv=basis, tol=1e-8)  # type: ignore[arg-type]
            order = np.argsort(values)
            return values[order], vectors[:, order]
        except ArpackError:
            pass
    return eigh(A, subset_by_index=(n - min(n, count), n - 1))


def _without_kernel(weights: Sequence[Array]) -> list[Array]:
    """The same constants with fewer inputs and outputs: of the first and the last matrix, singular values count."""
    chain = list(weights)
    if chain[0].shape[1] > chain[0].shape[0]:
        left, values, _ = np.linalg.svd(chain[0], full_matrices=False)
        chain[0] = left * values
    if chain[-1].shape[0] > chain[-1].shape[1]:
        _, values, right = np.linalg.svd(chain[-1], full_matrices=False)
        chain[-1] = values[:, None] * right
    return chain


@dataclass(eq=False)
class _Layer:
    """What one step of the elimination leaves for the way back."""

    W: Array
    t: Array
    c: float
    top: float
    vector: Array  # E^(−1/2) times the eigenvector of the largest eigenvalue, and the eigenvector itself
    unit: Array
    L: Array  # the Cholesky factor of S, and what it makes of TW
    Y: Array


class _Problem:
    r"""The logarithm of a mean of the eigenvalues of $Q_0$, with its gradient in $z$ and $c$."""

    def __init__(self, weights: Sequence[Array]) -> None:
        self.weights = weights
        self.sizes = [len(W) for W in weights[:-1]]
        self.best: tuple[Array, ...] = ()
        self._least = inf

    def start(self) -> Array:
        return np.concatenate([np.zeros(sum(self.sizes)), np.full(len(self.sizes), HALF)])

    def __call__(self, p: Array, power: float) -> tuple[float, Array]:
        depth = len(self.sizes)
        z = np.split(p[:-depth], np.cumsum(self.sizes)[:-1])
        w = p[-depth:]
        layers: list[_Layer] = []
        Q = self.weights[-1].T @ self.weights[-1]
        for W, centred, raw in zip(
            reversed(self.weights[:-1]), map(_centre, reversed(z)), reversed(w)
        ):
            try:
                layer, Q = _eliminate(W, Q, centred, 0.5 + float(np.logaddexp(0.0, raw)))
            except (np.linalg.LinAlgError, ValueError):  # no factor, or entries that are no numbers
                return 1e10, np.zeros_like(p)
            layers.append(layer)
        layers.reverse()
        values, vectors = top_eigenpairs(Q, KEPT if len(Q) >= MANY else len(Q))
        values = np.maximum(values, 1e-300)
        if values[-1] < self._least:
            self._least = float(values[-1])
            self.best = tuple(layer.t for layer in layers)
        weights = (values / values[-1]) ** power
        mean = float(np.log(values[-1]) + np.log(weights.sum()) / power)
        return mean, self._gradient(layers, vectors, weights / weights.sum() / values, w)

    def _gradient(self, layers: Sequence[_Layer], P: Array, g: Array, w: Array) -> Array:
        r"""The gradient by $Q_{i-1}$ is $P\operatorname{diag}(g)P^\top$ of low rank, all the way."""
        parts = []
        slopes = []
        for layer, raw in zip(layers, w):
            ZP = solve_triangular(layer.L, layer.Y @ P, lower=True, trans=1, check_finite=False)
            by_t = 2 * ((ZP * (layer.W @ P)) @ g) - 2 * (ZP**2 @ g)
            by_z = by_t * layer.t
            by_top = float(by_z.sum()) / layer.top
            P = np.column_stack([ZP, layer.vector])
            g = np.append(g, by_top)
            parts.append(_centre(by_z - by_top * layer.top * layer.unit**2))
            slopes.append(float(by_z.sum()) / layer.c / (1 + np.exp(-raw)))
        return np.concatenate([*parts, slopes])


def _centre(z: Array) -> Array:
    return z - z.mean()


def _eliminate(W: Array, Q: Array, z: Array, c: float) -> tuple[_Layer, Array]:
    h = np.exp(-z / 2)
    values, vectors = top_eigenpairs(h[:, None] * Q * h, 1)
    top = max(float(values[0]), 1e-300)
    unit = vectors[:, 0]
    t = c * top * np.exp(z)
    B = t[:, None] * W
    L = cholesky(2 * np.diag(t) - Q, lower=True, check_finite=False)
    Y = solve_triangular(L, B, lower=True, check_finite=False)
    return _Layer(W, t, c, top, h * unit, unit, L, Y), Y.T @ Y
