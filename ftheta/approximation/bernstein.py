r"""Bernstein's polynomials: Weierstrass' theorem with its construction, its rate, and what Stone's version needs.

$B_nf(x)=\sum_kf(\tfrac kn)\binom nkx^k(1-x)^{n-k}$ on $[0,1]$, moved to $[a,b]$. On a cell of centre $m$ and
half-width $r$ the error $e=B_nf-f$ obeys

$$|e(x)|\le|e(m)|+r\sup_{\text{cell}}|B_n'(m)-f'|+\tfrac{r^2}2n(n-1)\max_k|\Delta^2f(\tfrac kn)|$$

(all lengths in units of $b-a$); where $f$ may jump or is steep, its range on the cell takes the place of $f'$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf
from typing import Any

import jax
import numpy as np
from flint import fmpq, fmpq_poly  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.witness import Witness
from ftheta.shapes import Float

from .suprema import (
    Bounds,
    CellBounds,
    Oscillation,
    Scalar,
    Supremum,
    ranges,
    supremum,
    without_jumps,
)

UNIT = 2.0**-52
LARGEST = 1 << 30  # degree tried


def bernstein(
    values: Float[np.ndarray, "n"], x: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """The polynomial with these Bernstein coefficients at points of [0, 1], by de Casteljau's scheme."""
    state = np.repeat(values[:, None], len(x), axis=1)
    while len(state) > 1:
        state = (1 - x) * state[:-1] + x * state[1:]
    return state[0]


def exact_bernstein(values: Sequence[Fraction], x: Fraction) -> Fraction:
    """The same in rational arithmetic, from the definition."""
    n = len(values) - 1
    return sum(
        (v * comb(n, k) * x**k * (1 - x) ** (n - k) for k, v in enumerate(values)), Fraction(0)
    )


def square_excess(n: int) -> fmpq_poly:
    r"""$B_n(x^2)-x^2$ as a polynomial with rational coefficients."""
    x = fmpq_poly([0, 1])
    one = fmpq_poly([1])
    terms = (fmpq(k * k * comb(n, k), n * n) * x**k * (one - x) ** (n - k) for k in range(n + 1))
    return sum(terms, fmpq_poly([0])) - x * x


def square_identity(n: int) -> tuple[Fraction, Fraction]:
    r"""The sum of the absolute coefficients of $B_n(x^2)-x^2-\frac{x(1-x)}n$; and $B_n(x^2)-x^2$ at $\frac12$."""
    excess = square_excess(n)
    gap = (excess - fmpq_poly([0, 1, -1]) / n).coeffs()
    return sum((abs(rational(c)) for c in gap), Fraction(0)), rational(excess(fmpq(1, 2)))


def vee_at_half(n: int) -> Fraction:
    r"""$B_n|x-\frac12|$ at $\frac12$."""
    return exact_bernstein(
        [abs(Fraction(k, n) - Fraction(1, 2)) for k in range(n + 1)], Fraction(1, 2)
    )


@dataclass(frozen=True, eq=False)
class Approximant:
    r"""$B_nf$ on [lo, hi] with coefficients in float64, each within `slip` of the value of f at its node."""

    f: Scalar
    lo: float
    hi: float
    values: Float[np.ndarray, "n"]
    slip: float

    @classmethod
    def of(cls, f: Scalar, lo: float, hi: float, n: int) -> "Approximant":
        t = np.linspace(lo, hi, n + 1)
        rounding = 4 * UNIT * max(abs(lo), abs(hi), hi - lo)  # of the nodes
        near = [np.clip(side, lo, hi)[:, None] for side in (t - rounding, t + rounding)]
        box = ranges(f, *near)
        values = (box.lo + box.hi) / 2
        return cls(f, lo, hi, values, float(np.nextafter((box.hi - box.lo).max(), np.inf)))

    @property
    def n(self) -> int:
        """The degree."""
        return len(self.values) - 1

    def __call__(self, x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        return bernstein(self.values, (x - self.lo) / (self.hi - self.lo))

    def bounds(self) -> Bounds:
        """Bounds of the error on cells, for `supremum`."""
        n = self.n
        width = self.hi - self.lo
        rise = n * np.diff(self.values) / width
        bend = (n - 1) * float(np.abs(np.diff(rise)).max(initial=0.0)) / width * (1 + 8 * UNIT)
        # of the scheme, and of the nodes
        rounding = 4 * (n + 2) * UNIT * float(np.abs(self.values).max()) + self.slip
        slope_rounding = 4 * (n + 2) * UNIT * float(np.abs(rise).max(initial=0.0))
        smooth = without_jumps(self.f, 1)

        def bounds(a: np.ndarray, b: np.ndarray) -> CellBounds:
            m = (a + b) / 2
            r = np.nextafter(np.maximum(b - m, m - a), np.inf)[:, 0]
            t = np.clip((m[:, 0] - self.lo) / width, 0.0, 1.0)
            here = ranges(self.f, m, m)
            value = bernstein(self.values, t)
            slope = bernstein(rise, t)
            off = rounding + 4 * UNIT * np.abs(slope) * width  # t is rounded, too
            least = np.maximum(0.0, np.maximum(value - here.hi, here.lo - value) - off)
            at_centre = np.maximum(np.abs(value - here.lo), np.abs(value - here.hi)) + off
            cell = ranges(self.f, a, b)
            off_range = np.maximum(np.abs(cell.hi - value), np.abs(value - cell.lo)) + off
            upper = off_range + r * (np.abs(slope) + slope_rounding) + r * r / 2 * bend
            if smooth:
                steep = ranges(jax.grad(self.f), a, b)
                gap = (
                    np.maximum(np.abs(steep.hi - slope), np.abs(slope - steep.lo)) + slope_rounding
                )
                # the slope may be infinite, or no number
                upper = np.fmin(upper, at_centre + r * gap + r * r / 2 * bend)
            return CellBounds(least * (1 - 4 * UNIT), upper * (1 + 8 * UNIT))

        return bounds

    def error(self) -> Supremum:
        r"""$\sup|B_nf-f|$ on [lo, hi], proved from both sides."""
        return supremum(self.bounds(), [self.lo], [self.hi], budget=20_000)


def popoviciu(spread: Oscillation, width: float, n: int) -> Enclosure:
    r"""$\frac32\,\omega_f\big((b-a)n^{-1/2}\big)$."""
    return spread.modulus(width / n**0.5) * 1.5


def degree_for(spread: Oscillation, width: float, eps: float) -> int | None:
    """A power of two for which the bound is below `eps`, or None if a jump keeps it above."""
    n = 1
    while n < LARGEST:
        if popoviciu(spread, width, n).hi <= eps:
            return n
        n *= 2
    return None


def find_unseparated(
    generators: Sequence[Callable[[Any], Any]], lo: float, hi: float, points: int
) -> list[tuple[float, float]]:
    """Pairs of points at which all generators agree (mirror images, and neighbours on a grid), and zeros (x, x).

    Neighbours agree in float64 also where a generator saturates: they count only where they surely agree."""
    x = np.linspace(lo, hi, points)
    rows = np.array([[float(g(t)) for t in x] for g in generators])
    zeros = [(float(x[i]), float(x[i])) for i in np.flatnonzero((rows == 0).all(0))]
    order = np.lexsort(rows)
    same = (np.diff(rows[:, order], axis=1) == 0).all(0)
    found = list(zip(order[:-1][same].tolist(), order[1:][same].tolist()))
    apart = [(float(x[i]), float(x[j])) for i, j in found if abs(i - j) > 1]
    beside = [(float(x[i]), float(x[j])) for i, j in found if abs(i - j) == 1]
    return zeros + apart + keep_surely_unseparated(generators, beside)


def keep_surely_unseparated(
    generators: Sequence[Callable[[Any], Any]], pairs: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Those of the pairs at which all generators are known exactly, and agree (vanish, of a zero)."""

    def exactly(g: Callable[[Any], Any], t: float) -> Fraction | None:
        try:
            return Fraction(g(Fraction(t)))
        except (TypeError, ValueError, ArithmeticError):
            return _without_rounding(g, t)

    def sure(s: float, t: float) -> bool:
        values = [(exactly(g, s), exactly(g, t)) for g in generators]
        return all(a is not None and a == b and (s != t or a == 0) for a, b in values)

    return [(s, t) for s, t in pairs if sure(s, t)]


def _without_rounding(g: Callable[[Any], Any], t: float) -> Fraction | None:
    """The value of a program whose enclosure at a point is a point; None where it rounds or cannot be followed."""
    at = np.array([[t]])
    try:
        box = ranges(g, at, at)
    except SubjectError:
        return None
    exact = box.lo.shape == (1,) and box.lo[0] == box.hi[0]
    return Fraction(float(box.lo[0])) if exact else None


def too_far(
    f: Scalar,
    generators: Sequence[Callable[[Any], Any]],
    pairs: Sequence[tuple[float, float]],
    bound: Enclosure,
) -> Witness:
    """The distance of f from the algebra, by pairs that it surely does not separate, against a bound of it."""
    surely = distance_below(f, keep_surely_unseparated(generators, pairs))
    return Witness(
        {"pairs": float(len(pairs))}, Enclosure.between(surely, inf), bound, "f in intervals"
    )


def distance_below(f: Scalar, pairs: Sequence[tuple[float, float]]) -> float:
    r"""How far f is from all functions that agree on each pair: $\frac12|f(x)-f(y)|$, or $|f(x)|$ at a common zero."""
    if not pairs:
        return 0.0
    x, y = (ranges(f, column[:, None], column[:, None]) for column in np.array(pairs).T)
    single = np.array([s == t for s, t in pairs])
    apart = np.maximum(x.lo - y.hi, y.lo - x.hi) / 2
    return max(0.0, float(np.where(single, np.maximum(x.lo, -x.hi), apart).max()))


def rational(q: fmpq) -> Fraction:
    """A rational of FLINT as one of Python."""
    return Fraction(int(q.p), int(q.q))
