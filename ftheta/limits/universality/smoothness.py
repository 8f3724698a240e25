r"""Smoothness against dimension: Sobolev seminorms, and fixed bases beside networks that choose their neurons.

**Seminorm.** $\int|\omega|^2|\hat f|^2d\omega=(2\pi)^{-d}\|\nabla f\|_{L^2}^2$ for $f=\int e^{i\langle\omega,x\rangle}
\hat f$; from Fourier coefficients $c_k$ of samples on a box it is $|\text{box}|\sum_k|\omega_k|^2|c_k|^2$.

**Fixed bases.** If $P$ projects on an $n$-dimensional subspace of $\mathbb R^{2n}$ then $\sum_i\|e_i-Pe_i\|^2=2n-
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

from ftheta.estimates import fit_rate
from ftheta.logic import Axis, Basis, Curves, Enclosure, Rate, Series

from ..barron import Ball, Problem
from .approximation.goal import Goal
from .fourier import Spectral

KAPPA = 1 / (8 * pi * e ** (pi - 1))
CUBES = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # a side
NEURONS = (8, 16, 32, 64, 128, 256)
SETTLED = 1e-3
STENCILS = {4: (2 / 3, -1 / 12), 6: (3 / 4, -3 / 20, 1 / 60)}  # weights of f(x + kh) − f(x − kh)


@dataclass(frozen=True, eq=False)
class Seminorm:
    r"""$\|\nabla f\|^2$ over a box from samples: by Fourier coefficients, and by differences of two orders."""

    dimension: int
    by_fourier: float
    below_half: float
    fourth: float
    sixth: float
    spectral: Spectral

    @property
    def settled(self) -> bool:
        return self.by_fourier - self.below_half <= SETTLED * self.by_fourier

    @property
    def by_differences(self) -> Enclosure:
        """The sixth order, with what it gains on the fourth as its error."""
        gap = abs(self.sixth - self.fourth)
        return Enclosure.between(max(0.0, self.sixth - gap), self.sixth + gap, Basis.FLOAT)

    @property
    def other_convention(self) -> float:
        r"""$\int|\omega|^2|\hat f|^2$ with $\hat f=\int fe^{-i\langle\omega,x\rangle}dx$: $(2\pi)^d$ times as large."""
        return self.by_fourier * (2 * pi) ** self.dimension


def seminorm(goal: Goal, points: int) -> Seminorm:
    """From `points` samples a side."""
    d = goal.dimension
    sides = [np.linspace(a, b, points, endpoint=False) for a, b in zip(goal.lo, goal.hi)]
    rows = np.stack([x.ravel() for x in np.meshgrid(*sides, indexing="ij")], 1)
    values = goal.values(rows).reshape((points,) * d)
    volume = float(np.prod(2 * goal.halves))
    spectral = Spectral.of(values, goal.lo, goal.hi)
    squares = spectral.terms**2  # |ω|²|c|²
    half = np.searchsorted(spectral.frequencies, spectral.frequencies[-1] / 2, "right")
    steps = 2 * goal.halves / points
    fourth, sixth = (
        volume * sum(float((_difference(values, axis, steps[axis], order) ** 2).mean()) for axis in range(d))
        for order in STENCILS
    )
    whole = volume * float(squares.sum())
    return Seminorm(d, whole, volume * float(squares[:half].sum()), fourth, sixth, spectral)


def _difference(values: np.ndarray, axis: int, step: float, order: int) -> np.ndarray:
    """The derivative along an axis of a periodic function."""
    ahead = (w * (np.roll(values, -k, axis) - np.roll(values, k, axis)) for k, w in enumerate(STENCILS[order], 1))
    return sum(ahead, np.zeros_like(values)) / step


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
    return max(distance_from_cubes([2 * pi * k] + [0.0] * (d - 1), m) / (2 * pi * k) for k in range(1, m))


def subspace_bound(d: int, n: int) -> float:
    r"""$\frac\kappa dn^{-1/d}$."""
    return KAPPA / d * n ** (-1 / d)


@dataclass(frozen=True, eq=False)
class Race:
    """Errors for one dimension: means over cubes (exact formulas) and drawn networks (root mean squares)."""

    d: int
    cubes: tuple[float, ...]
    networks: tuple[float, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(m**self.d for m in CUBES)

    def rates(self) -> tuple[Rate, Rate]:
        cut = 4  # the first cubes are as long as the wave
        counts, errors = self.counts[cut:], self.cubes[cut:]
        fixed = fit_rate(np.array(counts, float), np.array(errors))
        drawn = fit_rate(np.array(NEURONS, float), np.array(self.networks))
        return (
            Rate(f"means over n cubes, d = {self.d}", 1 / self.d, fixed, counts, errors, slack=0.05, sharp=True),
            Rate(f"network of n neurons, d = {self.d}", 0.5, drawn, NEURONS, self.networks, slack=0.15, sharp=True),
        )


def race(rng: np.random.Generator, d: int, seeds: int, points: int = 128) -> Race:
    a = wave(d)
    ball = Ball(np.full(d, 0.5), sqrt(d) / 2, rng.uniform(size=(points, d)))
    sample = lambda rng, n: (np.tile(a, (n, 1)), np.zeros(n))
    problem = Problem.on(lambda rows: np.cos(rows @ a), sample, float(np.linalg.norm(a)), ball)
    networks = tuple(sqrt(float(problem.errors(rng, n, seeds).mean())) for n in NEURONS)
    return Race(d, tuple(distance_from_cubes(a.tolist(), m) for m in CUBES), networks)


def charts(races: Sequence[Race]) -> tuple[Curves, Curves]:
    """The same wave on grids that are fixed, and by neurons that are chosen for it."""
    kept = [[(n, error) for n, error in zip(r.counts, r.cubes) if n <= 1e6] for r in races]
    cubes = [
        Series(f"d = {r.d}", [n for n, _ in pairs], [error for _, error in pairs]) for r, pairs in zip(races, kept)
    ]
    networks = [Series(f"d = {r.d}", NEURONS, r.networks) for r in races]
    return (
        Curves(
            "a wave of Barron norm 2π, constant on n cubes",
            Axis("cubes n", "log"),
            Axis("L² error", "log"),
            tuple(cubes),
        ),
        Curves("the same wave by n neurons", Axis("neurons n", "log"), Axis("L² error", "log"), tuple(networks)),
    )


def spectrum_chart(found: Seminorm, name: str) -> Curves:
    r"""What is known of both norms up to a frequency."""
    s = found.spectral
    cuts = np.geomspace(max(s.cut / 1000, 0.05), s.cut, 60)
    squares = np.concatenate([[0.0], np.cumsum(s.terms**2)])
    whole = max(float(squares[-1]), 1e-300)
    part = [float(squares[np.searchsorted(s.frequencies, c, "right")]) / whole for c in cuts]
    total = max(s.up_to(s.cut), 1e-300)
    series = (
        Series("‖∇f‖² up to Λ", cuts, part),
        Series("Barron norm up to Λ", cuts, [s.up_to(float(c)) / total for c in cuts], "other"),
    )
    return Curves(f"{name}: shares of both norms", Axis("Λ", "log"), Axis("share"), series)
