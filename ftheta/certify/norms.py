r"""Spectral norms with error bounds: float64 computations whose rounding is bounded in advance.

Write $u=2^{-53}$ and $\gamma_k=ku/(1-ku)$. Three facts carry everything here; the first two hold for any order of
summation, with or without fused multiply-add, so for every BLAS that multiplies matrices in the conventional way:

1. a computed product satisfies $|\mathrm{fl}(XY)-XY|\le\gamma_k|X||Y|$ entry by entry ($k$ the inner dimension);
2. if the Cholesky factorisation of a symmetric $n\times n$ matrix $M$ runs to completion, then
   $\lambda_{\min}(M)\ge-\frac{\gamma_{n+1}}{1-\gamma_{n+1}}\operatorname{tr}M$ (`higham2002`, 10.3; `rump2006`);
3. a sum of $k$ non-negative floats is at most $1+2ku$ times its computed value.

Hence, with $G=\mathrm{fl}(A^\top A)$ and $\|A^\top A-G\|_2\le\gamma_m\|A\|_F^2$, a completed factorisation of
$\tau I-G$ shows $\|A\|_2^2\le\tau+\text{(the two error terms)}$, and any vector $v$ shows $\|A\|_2\ge\|Av\|/\|v\|$.
Matrices are scaled by a power of two to have their largest entry in $[\frac12,1)$, so that underflow adds less than
`TINY`.
"""

from math import inf, lcm, ldexp, nextafter, sqrt

import numpy as np
from flint import arb

from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Real

U = 2.0**-53
# far above the sum of all underflows of a scaled computation, far below its result
TINY = 2.0**-900
# steps above the estimate, in units of the error terms
SLACKS = (1 / 16, 1 / 2, 4.0, 64.0, 4096.0, 2.0**20)
LANCZOS_FROM = 128  # columns from which the largest eigenvalue alone is computed


def spectral_norm(A: Real[np.ndarray, "m n"]) -> Enclosure:
    r"""$\|A\|_2$ of a real matrix, rigorously enclosed; the relative width is about $n^2u$, $n$ the smaller side."""
    A = np.asarray(A, np.float64)
    if A.ndim != 2 or not np.isfinite(A).all():
        raise ValueError(f"A spectral norm needs a finite matrix, got shape {A.shape}.")
    if not A.any():
        return Enclosure.exact(0)
    exponent = int(np.frexp(np.abs(A).max())[1])
    scaled = np.ldexp(A, -exponent)
    scaled = scaled if A.shape[0] >= A.shape[1] else scaled.T
    gram = scaled.T @ scaled
    estimate, v = _largest(gram)
    lo = _stretch(scaled, v)
    hi = sqrt(_verify_norm(gram[None], np.array([estimate]), scaled[None]))
    return Enclosure.between(
        shift_exponent(lo, exponent, -inf), shift_exponent(nextafter(hi, inf), exponent, inf)
    )


def convolution_norm(kernel: Real[np.ndarray, "*extent s t"], grid: tuple[int, ...]) -> Enclosure:
    r"""The spectral norm of the periodic convolution with `kernel` $\psi$ (shape `(*extent, S, T)`) on a grid.

    It is $\max_\omega\|\hat\psi(\omega)\|_2$ over the frequencies of the grid, where
    $\hat\psi(\omega)=\sum_r\psi_re^{-2\pi i\langle\omega,r\rangle}$ is an $S\times T$ matrix. The roots of unity
    come from ball arithmetic.
    """
    kernel = np.asarray(kernel, np.float64)
    *extent, S, T = kernel.shape
    if len(extent) != len(grid) or not np.isfinite(kernel).all():
        raise ValueError(
            f"A kernel on the grid {grid} has {len(grid) + 2} axes of finite numbers, got {kernel.shape}."
        )
    if not kernel.any():
        return Enclosure.exact(0)
    exponent = int(np.frexp(np.abs(kernel).max())[1])
    taps = np.ldexp(kernel, -exponent).reshape(-1, S * T)
    cosine, sine = _roots(grid, tuple(extent))
    real, imaginary = ((part @ taps).reshape(-1, S, T) for part in (cosine, sine))
    # each entry of either part errs by the rounding of the roots and of the sum
    error = (gamma(len(taps)) + 8 * U) * np.abs(taps).sum(0)
    error = (
        2 * round_sum_up(sqrt(round_sum_up(float((error**2).sum()), 2 * S * T)), len(taps)) + TINY
    )
    symbols = np.block([[real, -imaginary], [imaginary, real]])
    symbols = symbols if S >= T else symbols.transpose(0, 2, 1)
    largest = np.linalg.norm(symbols, 2, axis=(-2, -1))
    gram = symbols.transpose(0, 2, 1) @ symbols
    top = int(largest.argmax())
    lo = _stretch(symbols[top], np.linalg.eigh(gram[top])[1][:, -1]) - error
    hi = sqrt(_verify_norm(gram, largest**2, symbols)) + error
    return Enclosure.between(
        shift_exponent(max(0.0, nextafter(lo, -inf)), exponent, -inf),
        shift_exponent(nextafter(hi, inf), exponent, inf),
    )


def frobenius_norm(A: Real[np.ndarray, "*shape"]) -> Enclosure:
    r"""$\|A\|_F$, rigorously enclosed."""
    scale = int(np.frexp(np.abs(A).max())[1]) if np.any(A) else 0
    value = sqrt(float((np.ldexp(np.asarray(A, np.float64), -scale) ** 2).sum()))
    spread = 2 * (A.size + 4) * U
    lo = value * (1 - spread) - TINY
    hi = value * (1 + spread) + (TINY if value else 0.0)
    return Enclosure.between(
        shift_exponent(max(0.0, lo), scale, -inf), shift_exponent(hi, scale, inf)
    )


def sum_norm(A: Real[np.ndarray, "m n"], norm: float) -> float:
    r"""$\|A\|_\infty$, the largest sum of a row's absolute values, or $\|A\|_1$, that of a column's, rounded up."""
    axis = 0 if norm == 1 else 1
    largest = float(np.abs(A).sum(axis=axis).max(initial=0.0))
    return nextafter(round_sum_up(largest, A.shape[axis]), inf) if largest else 0.0


def largest_norm(stack: Real[np.ndarray, "k m n"]) -> float:
    r"""An upper bound of $\max_i\|A_i\|_2$ for matrices of entries of moderate size."""
    tall = stack if stack.shape[1] >= stack.shape[2] else stack.transpose(0, 2, 1)
    gram = tall.transpose(0, 2, 1) @ tall
    estimates = np.linalg.eigvalsh(gram)[:, -1]
    return nextafter(sqrt(_verify_norm(gram, estimates, tall)), inf)


def gamma(k: int) -> float:
    r"""$\gamma_k$, rounded up."""
    return nextafter(k * U / (1 - 2 * k * U), inf)


def round_sum_up(x: float, operations: int) -> float:
    """An upper bound of a sum of non-negative terms that was computed as `x` in that many operations."""
    return x * (1 + 2 * (operations + 4) * U)


def shift_exponent(x: float, exponent: int, towards: float) -> float:
    """`x · 2^exponent`, rounded towards the given infinity where it leaves the range of floats."""
    try:
        y = ldexp(x, exponent)
    except OverflowError:
        return inf if towards > 0 else np.finfo(float).max
    return y if abs(y) > 2.0**-1000 or x == 0 else max(0.0, nextafter(y, towards))


def _largest(gram: np.ndarray) -> tuple[float, np.ndarray]:
    """An approximate top eigenpair; nothing below relies on its accuracy."""
    n = len(gram)
    if n >= LANCZOS_FROM:
        from scipy.sparse.linalg import ArpackError, eigsh

        try:
            values, vectors = eigsh(
                gram, k=1, v0=np.random.default_rng(n).normal(size=n), maxiter=20 * n
            )
            return float(values[0]), vectors[:, 0]
        except ArpackError:
            pass
    values, vectors = np.linalg.eigh(gram)
    return float(values[-1]), vectors[:, -1]


def _stretch(A: np.ndarray, v: np.ndarray) -> float:
    r"""A lower bound of $\|Av\|/\|v\|$."""
    m, n = A.shape
    size = round_sum_up(float(np.linalg.norm(v)), n)
    image = float(np.linalg.norm(A @ v)) * (1 - 2 * (m + 4) * U)
    error = gamma(n + 1) * round_sum_up(float(np.linalg.norm(A)), A.size) * size
    return max(0.0, (image - error - TINY) / size * (1 - 8 * U))


def _verify_norm(gram: np.ndarray, estimates: np.ndarray, factors: np.ndarray) -> float:
    r"""An upper bound of $\max_i\|A_i\|_2^2$ for a stack of `factors` $A_i$ with computed `gram` $A_i^\top A_i$."""
    m, n = factors.shape[1:]
    frobenius = round_sum_up(float((factors**2).sum(axis=(1, 2)).max()), 2 * m * n)
    product = gamma(m) * frobenius
    guess = float(estimates.max())
    identity = np.eye(n)
    for slack in SLACKS:
        tau = guess * (1 + slack * n * gamma(n + 2) + 4 * U) + slack * product + TINY
        shifted = tau * identity - gram
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            continue
        # and τ − g_ii is rounded
        trace = round_sum_up(float(np.trace(shifted, axis1=1, axis2=2).max()), n) + 4 * n * U * tau
        factorisation = gamma(n + 2) * trace + 4 * U * tau
        return round_sum_up(tau + factorisation + product, 8) + TINY
    return frobenius  # never reached with a usable estimate; always a bound


def is_semidefinite(M: np.ndarray, error: float) -> bool:
    r"""Whether a completed factorisation of $M-sI$ shows that every symmetric matrix within `error` of $M$, in the
    spectral norm, is positive semidefinite: $s$ is twice the error and all that the factorisation rounds."""
    n = len(M)
    trace = round_sum_up(float(np.abs(np.diag(M)).sum()), n)
    shifted = M.copy()
    shifted[np.diag_indices(n)] -= 2 * (gamma(n + 2) * trace + error) + 2.0**-500
    if not np.isfinite(shifted).all():
        return False
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def _roots(grid: tuple[int, ...], extent: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    r"""$\cos$ and $\sin$ of $-2\pi\langle\omega,r\rangle$ by frequency (rows) and tap (columns), within $8u$."""
    order = lcm(*grid)
    frequencies = np.stack(
        np.meshgrid(*(np.arange(M) * (order // M) for M in grid), indexing="ij"), -1
    )
    taps = np.stack(np.meshgrid(*(np.arange(k) for k in extent), indexing="ij"), -1)
    turns = -(frequencies.reshape(-1, len(grid)) @ taps.reshape(-1, len(grid)).T) % order
    angles = [arb(2 * j) / order for j in range(order)]
    cosine, sine = (
        np.array([float(part(a).mid()) for a in angles]) for part in (arb.cos_pi, arb.sin_pi)
    )
    return cosine[turns], sine[turns]
