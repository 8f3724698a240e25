r"""Thousands of tokens on the sphere: $\dot x_i=P_{x_i}^\perp\frac1{Z_i}\sum_je^{\beta\langle Qx_i,Kx_j\rangle}Vx_j$.

The sum over pairs is taken block by block, so that no $n\times n$ matrix is ever stored; with $Q=K=I$ each pair of
blocks is computed once for both. There, with $V=I$, the energy $E=\frac1{2n^2}\sum_{ij}\frac{e^{\beta\langle
x_i,x_j\rangle}-1}\beta$ grows: $\dot E=\frac1{n^2}\sum_iz_i|\dot x_i|^2$ with $z_i=\sum_je^{\beta\langle
x_i,x_j\rangle}$ (SA) or $z_i=n$ (USA).
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.integrate import solve_ivp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ftheta.particles.tokens.clouds import unit
from ftheta.particles.tokens.sphere import UNNORMALISED

BLOCK = 128  # tokens whose pairs with all others are looked at together
TOGETHER = 16  # blocks in one call
LARGE = 5e7  # multiplications from which on the blocks are shared among threads
ALIKE = 0.01  # tokens with a cosine above 1 minus this are neighbours; clusters are connected neighbours
WORK = 3e11  # multiplications that one simulation may take
Field = Callable[[np.ndarray], tuple[np.ndarray, float]]


@dataclass(frozen=True, eq=False)
class Matrices:
    """One head: what makes queries, keys and values of tokens (d,), each of shape (·, d), the values (d, d).

    The `bias` is added to the queries.
    """

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    bias: np.ndarray | float = 0.0


def pulls(x: np.ndarray, beta: float, block: int = 0) -> tuple[np.ndarray, np.ndarray]:
    r"""$\sum_jw_{ij}x_j$ and $\sum_jw_{ij}$ of unit tokens, $w_{ij}=e^{\beta(\langle x_i,x_j\rangle-1)}$."""
    n, d = x.shape
    size = block or _block_size(d)
    rows = -(-n // size) * size  # tokens beyond the last have no weight
    keys = np.zeros((rows, d + 1), x.dtype)
    keys[:n, :d] = x
    keys[:n, d] = 1
    queries = np.zeros((rows, d + 1), x.dtype)
    queries[:n, :d] = beta * x
    queries[:n, d] = -beta
    K = keys.reshape(-1, size, d + 1)
    Q = queries.reshape(-1, size, d + 1)

    def add_rows(first: int, workers: int) -> np.ndarray:
        """What every so many rows of blocks, from the first on, give to all tokens."""
        total = np.zeros_like(K)
        for a in range(first, len(K), workers):
            for b in range(a, len(K), TOGETHER):
                j = slice(b, b + TOGETHER)
                weights = Q[a] @ K[j].transpose(0, 2, 1)
                np.exp(weights, out=weights)
                total[a] += (weights @ K[j]).sum(0)
                later = int(b == a)  # a block with itself counts once
                total[j][later:] += weights[later:].transpose(0, 2, 1) @ K[a]
        return total

    workers = min(os.cpu_count() or 1, 8) if n * n * d > LARGE else 1
    if workers == 1:
        total = add_rows(0, 1)
    else:
        with ThreadPoolExecutor(workers) as pool:
            total = sum(pool.map(lambda k: add_rows(k, workers), range(workers)), np.zeros_like(K))
    total = total.reshape(-1, d + 1)[:n]
    return total[:, :-1], total[:, -1]


def _block_size(dimension: int) -> int:
    """Tokens in a block: its pairs stay in the cache, and each product stays on one thread (a handful of small
    products, each split over all threads, costs several times as much on a busy machine)."""
    return min(160, max(32, int((260_000 / (dimension + 1)) ** 0.5)))


def general_pulls(
    x: np.ndarray, beta: float, by: Matrices, block: int = BLOCK
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""$\sum_jw_{ij}Vx_j$, $\sum_jw_{ij}$, $m_i=\max_js_{ij}$; $w=e^{s-m}$, $s_{ij}=\beta\langle Qx_i+b,Kx_j\rangle$"""
    queries = beta * (x @ by.Q.T + by.bias)
    keys = x @ by.K.T
    values = x @ by.V.T
    pull = np.empty_like(values)
    total = np.empty(len(x))
    most = np.empty(len(x))
    for a in range(0, len(x), block):
        i = slice(a, a + block)
        scores = queries[i] @ keys.T
        most[i] = scores.max(1)
        np.exp(scores - most[i, None], out=scores)
        pull[i] = scores @ values
        total[i] = scores.sum(1)
    return pull, total, most


def tangent(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    r"""The parts $v_i-\langle v_i,x_i\rangle x_i$ of the vectors `v` that are tangent to the sphere at `x` (rows)."""
    return v - (v * x).sum(1, keepdims=True) * x


def sphere_field(beta: float, kind: str, attraction: float = 1.0) -> Field:
    r"""Velocities at unit tokens for $Q=K=I$, $V=vI$, and $\frac1{n^2}\sum_iz_i|\dot x_i|^2$: at $V=I$, $\dot E$."""

    def field(x: np.ndarray) -> tuple[np.ndarray, float]:
        pull, total = pulls(x, beta)
        n = len(x)
        scale = np.exp(beta)
        z = np.full(n, float(n)) if kind == UNNORMALISED else scale * total
        v = tangent(x, attraction * scale * pull / z[:, None])
        return v, float(z @ (v * v).sum(1)) / n**2

    return field


def matrix_field(beta: float, kind: str, *heads: Matrices) -> Field:
    """Velocities at unit tokens for any matrices, the heads summed; no energy is known to grow."""

    def of(x: np.ndarray, by: Matrices) -> np.ndarray:
        pull, total, most = general_pulls(x, beta, by)
        weight = np.exp(most) / len(x) if kind == UNNORMALISED else 1 / total
        return pull * weight[:, None]

    return lambda x: (tangent(x, sum((of(x, by) for by in heads), np.zeros_like(x))), np.nan)


def energy(x: np.ndarray, beta: float) -> float:
    r"""$\frac1{2n^2}\sum_{ij}\frac{e^{\beta\langle x_i,x_j\rangle}-1}\beta$; at $\beta=0$ half the mean cosine."""
    if beta > 0.01:  # below, 1 would be taken from nearly 1
        return float(np.exp(beta) * pulls(x, beta)[1].mean() / len(x) - 1) / (2 * beta)
    cosines = (x[a : a + BLOCK] @ x.T for a in range(0, len(x), BLOCK))
    return sum(float((np.expm1(beta * c) / beta if beta else c).sum()) for c in cosines) / (
        2 * len(x) ** 2
    )


@dataclass(frozen=True, eq=False)
class Course:
    """Tokens (times, n, d) along the flow and the energy gained according to the velocities, at the times reached."""

    times: np.ndarray
    states: np.ndarray
    gained: np.ndarray

    @cached_property
    def units(self) -> np.ndarray:
        """The tokens with the rounding of the integrator taken off their norms."""
        return self.states / np.linalg.norm(self.states, axis=2, keepdims=True)

    @cached_property
    def spreads(self) -> np.ndarray:
        r"""$1-\min_{ij}\langle x_i,x_j\rangle$ at every time."""
        return np.array([1 - _least_cosine(x) for x in self.units])

    @cached_property
    def clusters(self) -> np.ndarray:
        """How many clusters there are at every time."""
        return np.array([cluster_labels(x)[0] for x in self.units])

    def energies(self, beta: float) -> np.ndarray:
        """The energy at every time, for the inverse temperature `beta`."""
        return np.array([energy(x, beta) for x in self.states])

    def plateau(self) -> tuple[int, float]:
        """The number of clusters, more than one, that stood for the longest time, and for how long."""
        longest: dict[int, float] = {}
        for count, lasts in zip(self.clusters[:-1], np.diff(self.times)):
            longest[int(count)] = longest.get(int(count), 0.0) + float(lasts)
        several = {
            count: lasts for count, lasts in longest.items() if 1 < count < self.states.shape[1]
        }
        return max(several.items(), key=lambda item: item[1], default=(1, 0.0))

    def decay(self) -> np.ndarray:
        """The rate at which the spread falls between times, where it is small and not yet rounding."""
        s = self.spreads
        t = self.times
        ok = (s[:-1] < 1e-2) & (s[1:] > 1e-9)
        return -np.diff(np.log(np.maximum(s, 1e-300)))[ok] / np.diff(t)[ok]


def follow(x: np.ndarray, field: Field, times: np.ndarray, rtol: float = 1e-8) -> Course:
    """The tokens at increasing times from 0 (Dormand–Prince, order 8), as far as the budget of work goes."""
    n, d = x.shape
    budget = iter(range(max(200, int(WORK / (4 * n * n * (d + 8))))))

    def right(_: float, y: np.ndarray) -> np.ndarray:
        if next(budget, None) is None:
            return np.full(y.shape, np.nan)
        velocity, gain = field(unit(y[:-1].reshape(n, d)))
        return np.append(velocity.ravel(), gain if np.isfinite(gain) else 0.0)

    start = np.append(x.ravel(), 0.0)
    run = solve_ivp(right, (0.0, times[-1]), start, "DOP853", times, rtol=rtol, atol=rtol * 1e-2)
    rows = np.reshape(run.y, (len(start), -1)).T
    return Course(times[: len(rows)], rows[:, :-1].reshape(-1, n, d), rows[:, -1])


@dataclass(frozen=True, eq=False)
class TokenFlow:
    r"""Unit tokens `x` under attention until the time `until`.

    `beta` is the inverse temperature, `kind` softmax or unnormalised. Without `heads`, $Q=K=I$ and $V=vI$ with
    $v$ = `attraction`; with them, `beta` multiplies the scores of the heads.
    """

    x: np.ndarray
    beta: float
    kind: str
    until: float
    attraction: float = 1.0
    heads: tuple[Matrices, ...] = ()

    @property
    def field(self) -> Field:
        if self.heads:
            return matrix_field(self.beta, self.kind, *self.heads)
        return sphere_field(self.beta, self.kind, self.attraction)

    @cached_property
    def course(self) -> Course:
        T = self.until
        frames = 41 if len(self.x) < 300 else 16
        times = np.unique(
            np.concatenate([np.linspace(0, T, frames), np.geomspace(T / 1000, T, frames)])
        )
        return follow(self.x, self.field, times)

    @cached_property
    def energies(self) -> np.ndarray:
        return self.course.energies(self.beta)

    @cached_property
    def at_one(self) -> np.ndarray:
        """The tokens at time 1."""
        return follow(self.x, self.field, np.array([1.0])).states[-1]

    def layer_errors(self, depths: Sequence[int]) -> list[float]:
        """How far K layers with steps 1/K, for every depth K, are from the flow at time 1: the largest entry."""
        ends = (apply_layers(self.x, self.field, np.full(K, 1 / K)) for K in depths)
        return [float(np.abs(end - self.at_one).max()) for end in ends]


def apply_layers(x: np.ndarray, field: Field, steps: np.ndarray) -> np.ndarray:
    """Attention layers with these steps, each followed by layer norm (onto the sphere)."""
    for step in steps:
        x = unit(x + step * field(x)[0])
    return x


def cluster_labels(
    x: np.ndarray, alike: float = ALIKE, block: int = 1024
) -> tuple[int, np.ndarray]:
    """How many connected sets of tokens with cosines above 1 − `alike` there are, and which each token is in."""
    rows = []
    columns = []
    for a in range(0, len(x), block):
        i, j = np.nonzero(x[a : a + block] @ x.T > 1 - alike)
        rows.append(i + a)
        columns.append(j)
    i = np.concatenate(rows)
    j = np.concatenate(columns)
    count, labels = connected_components(
        csr_array((np.ones(len(i), bool), (i, j)), (len(x), len(x))), directed=False
    )
    return int(count), labels


def _least_cosine(x: np.ndarray, block: int = 1024) -> float:
    return min(float((x[a : a + block] @ x.T).min()) for a in range(0, len(x), block))
