r"""Kolmogorov's superpositions for $d=2$, with the inner function of Sprecher and Köppen, step by step.

$$f(x)=\sum_{q=0}^4g_q(\xi(\tfrac56x+qa)),\qquad\xi(x)=\psi(x_1)+\lambda\psi(x_2),$$

in base $\gamma=6$ with $a=\frac1{\gamma(\gamma-1)}$, $\beta(k)=2^k-1$, $\lambda=\sum_k\gamma^{-\beta(k)}$. The inner
function is the same for every $f$: $\psi_1(i/\gamma)=i/\gamma$ and, from numbers of $k-1$ digits to those of $k$,

$$\psi_k(D+j\gamma^{-k})=\psi_{k-1}(D)+j\gamma^{-\beta(k)}\ (j<\gamma-1),\qquad
\psi_k(D+(\gamma-1)\gamma^{-k})=\tfrac12\big(\psi_k(D+(\gamma-2)\gamma^{-k})+\psi_{k-1}(D+\gamma^{1-k})\big).$$

It hardly rises on $[D,D+\frac{\gamma-2}{\gamma-1}\gamma^{-k}]$, so squares of that size go to disjoint intervals, of
which the number $\xi$ alone tells the square. Of five shifts by $a$ at most one for each coordinate leaves the squares.
An outer step puts $\frac15e$ on these intervals and lines between them: three of five terms are right, and what is left
of $e$ is at most $\frac45+\frac35\varepsilon$ of it, $\varepsilon\|e\|$ its oscillation on a square.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

BASE = 6
SHIFTS = 5
STEP = Fraction(1, BASE * (BASE - 1))
SHRINK = Fraction(5, 6)  # all shifts stay below 1
DIGITS = 6  # of an argument; a seventh would add 6⁻¹²⁷
SIDE = 151  # points per side at which errors are looked for


def exponent(k: int) -> int:
    r"""$\beta(k)$."""
    return 2**k - 1


@lru_cache(8)
def inner_values(k: int) -> tuple[Fraction, ...]:
    """ψ at 0, 6⁻ᵏ, 2·6⁻ᵏ, …, 1."""
    if k == 1:
        return tuple(Fraction(i, BASE) for i in range(BASE + 1))
    before = inner_values(k - 1)
    found = []
    rise = Fraction(1, BASE ** exponent(k))
    for here, there in pairwise(before):
        plain = [here + j * rise for j in range(BASE - 1)]
        found += [*plain, (plain[-1] + there) / 2]
    return (*found, Fraction(1))


def slope(terms: int = 5) -> Fraction:
    """λ, its series cut after so many terms."""
    return sum((Fraction(1, BASE ** exponent(k)) for k in range(1, terms + 1)), Fraction(0))


def overlaps(k: int) -> int:
    """How many of the intervals of the squares of rank k reach the next one: none, in exact arithmetic."""
    values = inner_values(k)[:-1]
    lam = slope()
    scale = 2**k * BASE ** (exponent(k) + exponent(5))  # all become whole numbers
    starts = sorted(int((u + lam * v) * scale) for u in values for v in values)
    tail = Fraction(1, BASE ** (exponent(6) - 1))  # more than all that was cut from λ
    rest = (
        Fraction(BASE - 2, BASE ** exponent(k + 1)) * (1 + Fraction(1, BASE**3)) * (1 + lam) + tail
    ) * scale
    return sum(b - a <= rest for a, b in pairwise(starts))


def fewest_good(k: int) -> int:
    """For the worst point the number of shifts for which it is in a square; the offsets of one axis decide."""
    turn = BASE**k * STEP  # of a cell, in cells: its fraction is 1/5 for every k
    width = Fraction(BASE - 2, BASE - 1)
    corners = [(width - q * turn) % 1 for q in range(SHIFTS)] + [
        (-q * turn) % 1 for q in range(SHIFTS)
    ]
    places = [*sorted(set(corners)), Fraction(1)]
    between = [(u + v) / 2 for u, v in pairwise(places)]
    bad = max(sum((u + q * turn) % 1 > width for q in range(SHIFTS)) for u in [*places, *between])
    return SHIFTS - 2 * bad


def inner(x: np.ndarray) -> np.ndarray:
    """ψ at numbers in [0, 1), digit by digit: the value here and at the next number of as many digits."""
    rest = x * BASE
    digit = np.floor(rest)
    here = digit / BASE
    there = (digit + 1) / BASE
    rest = rest - digit
    for k in range(2, DIGITS + 1):
        rest = rest * BASE
        digit = np.minimum(np.floor(rest), BASE - 1)
        rise = float(BASE) ** -exponent(k)
        turn = (here + (BASE - 2) * rise + there) / 2
        low = here + digit * rise
        high = here + (digit + 1) * rise
        last = digit == BASE - 1
        before = digit == BASE - 2
        here = np.where(last, turn, low)
        there = np.where(last, there, np.where(before, turn, high))
        rest = rest - digit
    return here


@dataclass(frozen=True, eq=False)
class Outer:
    """One step: the five functions of ξ as values on `starts` and `ends` of intervals, with lines between them."""

    knots: np.ndarray
    values: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros(len(x))
        for q in range(SHIFTS):
            moved = float(SHRINK) * x + q * float(STEP)
            y = inner(moved[:, 0]) + float(slope()) * inner(moved[:, 1])
            total += np.interp(y, self.knots, self.values[q])
        return total


def outer_step(error: "Remainder", k: int) -> Outer:
    """A fifth of what is left, at the centre of each square of rank k, for each of the shifts."""
    digits = np.arange(BASE**k)
    u, v = (g.ravel() for g in np.meshgrid(digits, digits, indexing="ij"))
    psi = np.array([float(t) for t in inner_values(k)])
    starts = psi[u] + float(slope()) * psi[v]
    order = np.argsort(starts)
    length = (BASE - 2) * float(BASE) ** -exponent(k + 1) * (1 + float(slope()))
    knots = np.stack([starts[order], starts[order] + length], 1).ravel()
    corner = np.stack([u, v], 1)[order] / BASE**k + 0.4 / BASE**k  # half of 4/5 of a cell
    places = [np.clip((corner - q * float(STEP)) / float(SHRINK), 0, 1) for q in range(SHIFTS)]
    values = [np.repeat(error(x), 2) / SHIFTS for x in places]
    return Outer(knots, np.array(values))


@dataclass(frozen=True, eq=False)
class Remainder:
    """The product of two variables minus the steps so far."""

    steps: tuple[Outer, ...] = ()

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return x[:, 0] * x[:, 1] - sum((step(x) for step in self.steps), np.zeros(len(x)))

    def largest(self) -> float:
        """The largest size met on a grid."""
        t = (np.arange(SIDE) + 0.5) / SIDE
        return float(np.abs(self(np.stack([g.ravel() for g in np.meshgrid(t, t)], 1))).max())


@dataclass(frozen=True, eq=False)
class Superposition:
    """Largest errors met before and after each step, for the product of two variables."""

    ranks: tuple[int, ...]
    errors: tuple[float, ...]


@lru_cache(4)
def superposition(ranks: tuple[int, ...] = (2, 3)) -> Superposition:
    """Outer steps of these ranks for the product of two variables."""
    left = Remainder()
    errors = [1.0]
    for k in ranks:
        left = Remainder((*left.steps, outer_step(left, k)))
        errors.append(left.largest())
    return Superposition(ranks, tuple(errors))
