r"""What fixed bases leave of waves, beside networks that choose their neurons.

If $P$ projects on an $n$-dimensional subspace of $\mathbb R^{2n}$ then $\sum_i\|e_i-Pe_i\|^2=2n-
\mathrm{tr}P=n$: one of $2n$ orthonormal vectors is left at squared distance at least $\frac12$. This gives Barron's
$\sup_{C_f\le C}\mathrm{dist}\ge\kappa\frac Cdn^{-1/d}$, $\kappa=\frac1{8\pi e^{\pi-1}}$, for every fixed subspace of
$L^2([0,1]^d)$. Means over $m^d$ cubes: with $h=\frac1m$ the wave $\cos\langle a,x\rangle$ has squared distance
$\|f\|^2-\prod_j\mathrm{sinc}^2(\tfrac{a_jh}2)\,\mathrm{mean}_i\cos^2\langle a,c_i\rangle$ from them, $c_i$ the centres.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import e, pi, prod, sin, sqrt

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.approximation.barron import Problem, SampledBall

KAPPA = 1 / (8 * pi * e ** (pi - 1))
CUBES = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # a side
NEURONS = (8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class Leftover:
    """Of a subspace of dimension n: the sum of the squared distances of 2n unit vectors, and the largest."""

    total: Fraction
    largest: Fraction


def leftover(rng: np.random.Generator, n: int) -> Leftover:
    """A random subspace spanned by whole numbers, projected on in rational arithmetic."""
    while True:
        A = fmpq_mat([[fmpq(int(t)) for t in row] for row in rng.integers(-3, 4, size=(2 * n, n))])
        if A.rank() == n:
            break
    P = A * (A.transpose() * A).inv() * A.transpose()
    left = [1 - Fraction(int(P[i, i].p), int(P[i, i].q)) for i in range(2 * n)]
    return Leftover(sum(left, Fraction(0)), max(left))


def distance_from_cubes(a: Sequence[float], m: int) -> float:
    r"""The $L^2([0,1]^d)$ distance of $\cos\langle a,x\rangle$ from functions that are constant on $m^d$ cubes."""
    shrink = prod(_sinc(t / (2 * m)) ** 2 for t in a)
    return sqrt(max(0.0, _mean_square(a, None) - shrink * _mean_square(a, m)))


def _mean_square(a: Sequence[float], m: int | None) -> float:
    r"""The mean of $\cos^2\langle a,x\rangle$ over the cube, or over the centres of $m^d$ cubes."""
    turn = 1.0 + 0j
    for t in a:
        centres = None if m is None else (np.arange(m) + 0.5) / m
        turn *= np.exp(1j * t) * _sinc(t) if centres is None else np.exp(2j * t * centres).mean()
    return float((1 + turn.real) / 2)


def _sinc(x: float) -> float:
    return sin(x) / x if x else 1.0


def wave(d: int) -> np.ndarray:
    """The frequency of the example: the same size 2π in every dimension, along the diagonal."""
    return np.full(d, 2 * pi / sqrt(d))


def worst_wave(d: int, m: int) -> float:
    r"""The largest distance of waves $\frac1{|\omega|}\cos\langle\omega,x\rangle$ along an axis from $m^d$ cubes."""
    return max(
        distance_from_cubes([2 * pi * k] + [0.0] * (d - 1), m) / (2 * pi * k) for k in range(1, m)
    )


def subspace_bound(d: int, n: int) -> float:
    r"""$\frac\kappa dn^{-1/d}$."""
    return KAPPA / d * n ** (-1 / d)


@dataclass(frozen=True, eq=False)
class Contest:
    """Errors for one dimension: means over cubes (exact formulas) and drawn networks (root mean squares)."""

    d: int
    cubes: tuple[float, ...]
    networks: tuple[float, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of cubes."""
        return tuple(m**self.d for m in CUBES)


def compare(rng: np.random.Generator, d: int, seeds: int, points: int = 128) -> Contest:
    """The wave of dimension d by means over cubes, and by `seeds` networks of each size, at random points."""
    a = wave(d)
    ball = SampledBall(np.full(d, 0.5), sqrt(d) / 2, rng.uniform(size=(points, d)))
    sample = lambda rng, n: (np.tile(a, (n, 1)), np.zeros(n))
    problem = Problem.on(lambda rows: np.cos(rows @ a), sample, float(np.linalg.norm(a)), ball)
    networks = tuple(sqrt(float(problem.errors(rng, n, seeds).mean())) for n in NEURONS)
    return Contest(d, tuple(distance_from_cubes(a.tolist(), m) for m in CUBES), networks)
