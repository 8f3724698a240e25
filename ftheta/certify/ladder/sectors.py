r"""LipSDP where every neuron has its own range of slopes: on a box most neurons are on, off, or nearly straight.

Between two inputs $\Delta h_i=D_i\Delta z_i$ with $a_i\le D_i\le a_i+r_i$, so $\Delta h_i=a_i\Delta z_i+r_ie_i$ with
$e_i=E_i\Delta z_i$, $0\le E_i\le1$. Neurons with $r=0$ are linear and disappear: what is left are the inputs and the
$e$ of all others, with $\Delta z_i=Z_i(\Delta x,e_1,\dots,e_{i-1})$ and $\Delta f=F(\Delta x,e)$. For diagonal
$T_i\ge0$, $\langle e_i,T_i(\Delta z_i-e_i)\rangle\ge0$, so that $\|\Delta f\|^2\le\langle\Delta x,\rho\Delta x\rangle$
(with a diagonal $\rho$) follows if
$$M=\rho_x-F^\top F+\sum_i\bigl(2T_{e_i}-T_iZ_i-Z_i^\top T_i\bigr)\succeq0.$$
Eliminating $e_L,\dots,e_1$ leaves $V_0(T)$ on the inputs, and $\rho\ge\lambda_{\max}(V_0)$; with
$T_i=c\,\lambda_{\max}(E^{-1/2}V_{ii}E^{-1/2})E$ this is a smooth problem without constraints, as in `semidefinite.py`.
`verify_sectors` proves the best point by one Cholesky factorisation with error terms, those of $Z$ and $F$ included.

In the norm $\infty$, $|\Delta f_j|^2\le\langle\Delta x,\rho\Delta x\rangle\le\operatorname{tr}\rho$ for
$\|\Delta x\|_\infty\le1$, one output $j$ at a time: the least trace is searched for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nextafter, sqrt

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh
from scipy.optimize import minimize

from ftheta.shapes import Float

from ..norms import U, gamma, is_semidefinite, round_sum_up, spectral_norm

Array = np.ndarray
POWER = 100.0  # exponent of the mean that stands for the largest eigenvalue
HALF = -0.4328  # log(1 + e^HALF) = ½
FAINT = 1e-9  # of the trace: what neurons that do not count are taken to count
SLACKS = tuple(10.0**k for k in range(-11, 3))
LOST = 2.0**-1000


@dataclass(frozen=True, eq=False)
class SectorCertificate:
    r"""`bound` $\ge\|J\|$ for all Jacobians with slopes in the ranges, proved by the diagonals `multipliers` of the
    $T_i$ and, in the norm $\infty$, by the `weights` $\rho$ up to a factor (None: $\rho$ is a multiple of 1)."""

    bound: float
    multipliers: tuple[Float[np.ndarray, "_n"], ...]
    weights: Float[np.ndarray, "d"] | None = None


@dataclass(frozen=True, eq=False)
class System:
    """What is left of a chain whose linear neurons have disappeared: `rows[i]` is $Z_i$, `out` is $F$, and `errors` and
    `out_error` bound the Frobenius norms of what rounding has changed them by."""

    inputs: int
    rows: tuple[Float[np.ndarray, "_n _before"], ...]
    errors: tuple[float, ...]
    out: Float[np.ndarray, "m _before"]
    out_error: float

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(Z) for Z in self.rows)


def reduce_chain(
    weights: Sequence[Float[np.ndarray, "_m _n"]],
    ranges: Sequence[tuple[Float[np.ndarray, "_n"], Float[np.ndarray, "_n"]]],
) -> System:
    """The system of the matrices of a chain and the ranges of slopes between them."""
    h = np.eye(weights[0].shape[1])
    error = 0.0
    rows = []
    errors = []
    for k, W in enumerate(weights):
        if k == 0:
            z = np.array(W, np.float64)
            error = 0.0
        else:
            product = gamma(W.shape[1] + 1) * _size(W) * _size(h) + LOST
            z = W @ h
            error = round_sum_up(_size(W) * error + product, 4)
        if k == len(weights) - 1:
            return System(weights[0].shape[1], tuple(rows), tuple(errors), z, error)
        low, high = ranges[k]
        r = np.where(high > low, np.nextafter(high - low, inf), 0.0)
        r = np.where((low == 0) & (high == 1), 1.0, r)
        moving = np.flatnonzero(r > 0)
        rows.append(z[moving])
        errors.append(error)
        straight = low[:, None] * z
        widened = np.zeros((len(z), len(moving)))
        widened[moving, np.arange(len(moving))] = r[moving]
        rounded = 0.0 if np.isin(low, (0.0, 1.0)).all() else 2 * U * _size(straight) + LOST
        error = round_sum_up(float(np.abs(low).max(initial=0.0)) * error + rounded, 4)
        h = np.hstack([straight, widened])
    raise ValueError("A chain has at least one matrix.")


def _size(A: Array) -> float:
    """The Frobenius norm, rounded up."""
    return round_sum_up(float(np.linalg.norm(A)), A.size) + LOST


def bound_sectors(system: System, *, steps: int, norm: float = 2) -> SectorCertificate:
    r"""A bound of $\|J\|_2$, or of $\|J\|_\infty$ for a system of one output, proved."""
    if not sum(system.sizes):
        return SectorCertificate(_norm_of_matrix(system, norm), ())
    system = compress_inputs(system) if norm == 2 else system
    multipliers, weights = _Problem(system, trace=norm != 2).minimise(steps)
    if not multipliers:
        return SectorCertificate(inf, ())
    weights = None if norm == 2 else weights
    return SectorCertificate(verify_sectors(system, multipliers, weights), multipliers, weights)


def compress_inputs(system: System) -> System:
    r"""A system with fewer inputs, whose 2-norms are no smaller: of the inputs only $y=Sx$ counts, where the rows of
    $S$ are those of all $Z_i$ and of $F$. With $LL^\top\succeq SS^\top$, every $Sx$ is some $Lw$ with $\|w\|\le\|x\|$.

    $L$ is the computed Cholesky factor of the computed $SS^\top$ plus a multiple of 1 that exceeds all errors.
    """
    d = system.inputs
    parts = [*(Z[:, :d] for Z in system.rows), system.out[:, :d]]
    S = np.vstack(parts)
    n = len(S)
    if n >= d:
        return system
    size = _size(S)
    wrong = sum(system.errors) + system.out_error
    error = (gamma(d + 1) * size + 2 * wrong) * size + wrong**2
    shift = 4 * (error + gamma(n + 2) * size**2) + LOST
    try:
        L = np.linalg.cholesky(S @ S.T + shift * np.eye(n))
    except np.linalg.LinAlgError:
        return system
    blocks = np.split(L, np.cumsum([len(part) for part in parts])[:-1])
    *rows, out = (np.hstack([B, A[:, d:]]) for B, A in zip(blocks, (*system.rows, system.out)))
    return System(n, tuple(rows), system.errors, out, system.out_error)


def _norm_of_matrix(system: System, norm: float) -> float:
    if norm == 2:
        return round_sum_up(spectral_norm(system.out).hi + system.out_error, 2)
    sums = np.abs(system.out).sum(1).max(initial=0.0)
    columns = system.out.shape[1]
    return round_sum_up(float(sums) + sqrt(columns) * system.out_error, columns)


# ---- the proof -------------------------------------------------------------------------------------------------------


def verify_sectors(
    system: System,
    multipliers: Sequence[Float[np.ndarray, "_n"]],
    weights: Float[np.ndarray, "d"] | None = None,
) -> float:
    """The bound that the multipliers prove: the root of ρ, or of the trace of `weights` times ρ; ∞ if none is found."""
    estimate = _estimate(system, multipliers, weights)
    if not np.isfinite(estimate):
        return inf
    # where nothing depends on the inputs it would be 0
    estimate = max(estimate, FAINT**2 * _size(system.out) ** 2)
    for slack in SLACKS:
        rho = estimate * (1 + slack)
        if is_positive(system, multipliers, rho if weights is None else rho * weights):
            total = (
                rho if weights is None else round_sum_up(float((rho * weights).sum()), len(weights))
            )
            return nextafter(sqrt(total), inf) * (1 + 4 * U)
    return inf


def is_positive(
    system: System,
    multipliers: Sequence[Float[np.ndarray, "_n"]],
    rho: float | Float[np.ndarray, "d"],
) -> bool:
    r"""Whether a Cholesky factorisation shows $M\succeq0$, all rounding paid for."""
    d = system.inputs
    diagonal = np.concatenate([np.broadcast_to(rho, d), *(2 * t for t in multipliers)])
    if not (np.all(diagonal > 2.0**-900) and np.all(diagonal < 2.0**900)):
        return False
    scale = np.exp2(-np.round(np.log2(diagonal) / 2))
    M = np.diag(diagonal * scale * scale)
    error = 0.0
    place = d
    for Z, t, wrong in zip(system.rows, multipliers, system.errors):
        rows = slice(place, place + len(t))
        before = Z.shape[1]
        factor = t * scale[rows]
        M[rows, :before] -= factor[:, None] * (Z * scale[:before])
        reach = float(factor.max(initial=0.0)) * float(scale[:before].max())
        error += 2 * reach * wrong
        place += len(t)
    M = np.tril(M)
    M = M + np.tril(M, -1).T
    outer = system.out * scale
    outer_error = system.out_error * float(scale.max())
    M -= outer.T @ outer
    outer_size = _size(outer)
    error += (gamma(len(outer) + 1) * outer_size + 2 * outer_error) * outer_size + outer_error**2
    size = _size(M) + outer_size**2
    M = (M + M.T) / 2
    return is_semidefinite(M, 8 * U * size + error)


def _estimate(system: System, multipliers: Sequence[Array], weights: Array | None) -> float:
    V = system.out.T @ system.out
    for Z, t in zip(reversed(system.rows), reversed(multipliers)):
        if not len(t):
            continue
        r = Z.shape[1]
        B = t[:, None] * Z + V[r:, :r]
        try:
            factor = cholesky(2 * np.diag(t) - V[r:, r:], lower=True)
        except np.linalg.LinAlgError:
            return inf
        V = V[:r, :r] + B.T @ cho_solve((factor, True), B)
    if weights is not None:
        half = 1 / np.sqrt(weights)
        V = half[:, None] * V * half
    return float(
        eigh((V + V.T) / 2, eigvals_only=True, subset_by_index=(len(V) - 1, len(V) - 1))[0]
    )


# ---- the search ------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Step:
    """What one elimination leaves for the way back."""

    Z: Array
    Y: Array
    t: Array
    c: float
    top: float
    vector: Array
    unit: Array


class _Problem:
    """The logarithm of a mean of the eigenvalues of $V_0$ (times the trace of ρ, where that is asked for), with its
    gradient."""

    def __init__(self, system: System, *, trace: bool) -> None:
        self.system = system
        self.trace = trace
        self.sizes = [n for n in system.sizes if n]
        self.best: tuple[Array, ...] = ()
        self.best_weights = np.ones(system.inputs)
        self._least = inf

    @np.errstate(all="ignore")
    def minimise(self, steps: int) -> tuple[tuple[Array, ...], Array]:
        p = np.concatenate(
            [
                np.zeros(sum(self.sizes)),
                np.full(len(self.sizes), HALF),
                np.zeros(self.system.inputs * self.trace),
            ]
        )
        options = {"maxiter": max(1, steps), "maxcor": 20, "ftol": 1e-10}
        minimize(self, p, args=(POWER,), jac=True, method="L-BFGS-B", options=options)
        return self.best, self.best_weights

    def __call__(self, p: Array, power: float) -> tuple[float, Array]:
        neurons = sum(self.sizes)
        depth = len(self.sizes)
        z = np.split(p[:neurons], np.cumsum(self.sizes)[:-1])
        raw = p[neurons : neurons + depth]
        free = p[neurons + depth :]
        V = self.system.out.T @ self.system.out
        steps: list[_Step] = []
        rows = [Z for Z in self.system.rows if len(Z)]
        for k in reversed(range(depth)):
            try:
                step, V = _eliminate(
                    rows[k], V, _centre(z[k]), 0.5 + float(np.logaddexp(0.0, raw[k]))
                )
            except (np.linalg.LinAlgError, ValueError):  # no factor, or entries that are no numbers
                return 1e10, np.zeros_like(p)
            steps.append(step)
        weights = np.exp(free - free.mean()) if self.trace else np.ones(len(V))
        half = 1 / np.sqrt(weights)
        values, vectors = np.linalg.eigh(half[:, None] * V * half)
        values = np.maximum(values, 1e-300)
        total = float(weights.sum()) if self.trace else 1.0
        if values[-1] * total < self._least:
            self._least = float(values[-1]) * total
            self.best = self._spread(steps)
            self.best_weights = weights
        share = (values / values[-1]) ** power
        mean = float(np.log(values[-1]) + np.log(share.sum()) / power + np.log(total))
        inner = (vectors * (share / share.sum() / values)) @ vectors.T
        by_free = np.zeros(0)
        if self.trace:
            scaled = half[:, None] * V * half
            by_free = _centre(weights / total - (inner * scaled).sum(1))
        return mean, np.concatenate(
            [*self._gradient(steps, half[:, None] * inner * half, raw), by_free]
        )

    def _spread(self, steps: Sequence[_Step]) -> tuple[Array, ...]:
        found = iter([step.t for step in reversed(steps)])
        return tuple(next(found) if n else np.zeros(0) for n in self.system.sizes)

    def _gradient(self, steps: Sequence[_Step], G: Array, raw: Array) -> list[Array]:
        parts = []
        slopes = []
        for step, w in zip(reversed(steps), raw):
            YG = step.Y @ G
            YGY = YG @ step.Y.T
            by_t = 2 * (YG * step.Z).sum(1) - 2 * np.diag(YGY)
            by_z = by_t * step.t
            by_top = float(by_z.sum()) / step.top
            corner = YGY + by_top * np.outer(step.vector, step.vector)
            G = np.block([[G, YG.T], [YG, corner]])
            parts.append(_centre(by_z - by_top * step.top * step.unit**2))
            slopes.append(float(by_z.sum()) / step.c / (1 + np.exp(-w)))
        return [*parts, np.array(slopes)]


def _centre(z: Array) -> Array:
    return z - z.mean()


def _eliminate(Z: Array, V: Array, z: Array, c: float) -> tuple[_Step, Array]:
    r = Z.shape[1]
    D = V[r:, r:]
    h = np.exp(-z / 2)
    values, vectors = eigh(h[:, None] * D * h, subset_by_index=(len(D) - 1, len(D) - 1))
    top = max(float(values[0]), FAINT * float(np.trace(V)), 1e-100)
    unit = vectors[:, 0]
    t = c * top * np.exp(z)
    B = t[:, None] * Z + V[r:, :r]
    Y = cho_solve((cholesky(2 * np.diag(t) - D, lower=True), True), B)
    rest = V[:r, :r] + B.T @ Y
    return _Step(Z, Y, t, c, top, h * unit, unit), (rest + rest.T) / 2
