r"""Polynomials through points, in barycentric form, and how much they amplify (`trefethen2013`).

For nodes $x_0,\dots,x_n$ and $w_k=\prod_{j\ne k}(x_k-x_j)^{-1}$ the polynomial through $(x_k,y_k)$ is
$p(x)=\sum_k\frac{w_ky_k}{x-x_k}\big/\sum_k\frac{w_k}{x-x_k}$. The Lebesgue constant $\Lambda=\max_x\sum_k|\ell_k(x)|$
is the norm of $y\mapsto p$: for every continuous $f$, $\|f-p\|\le(1+\Lambda)\min_{\deg q\le n}\|f-q\|$.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from flint import arb  # type: ignore[import-untyped]

from ftheta.estimates.rational_maxima import from_roots, largest_quotient, polynomial
from ftheta.logic import Enclosure, UsageError

KINDS = ("equispaced", "Chebyshev")
EXACT = 64  # nodes for which Lebesgue constants are enclosed
BETWEEN = 64  # points between two nodes


def nodes(kind: str, n: int) -> np.ndarray:
    r"""$n+1$ nodes in $[-1,1]$, ascending: equispaced, or the roots of the Chebyshev polynomial $T_{n+1}$."""
    if kind not in KINDS:
        raise UsageError(
            "There are no such nodes.", got=kind, remedy=f"choose one of {', '.join(KINDS)}"
        )
    if kind == "equispaced":
        return np.linspace(-1, 1, n + 1) if n else np.zeros(1)
    return -np.cos((2 * np.arange(n + 1) + 1) * np.pi / (2 * n + 2))


def exact_nodes(n: int) -> list[Fraction]:
    """The equispaced ones in rationals."""
    return [Fraction(2 * k - n, max(n, 1)) for k in range(n + 1)]


@dataclass(frozen=True, eq=False)
class Interpolant:
    """The polynomial through the points (`x`, `y`); the abscissae are different."""

    x: np.ndarray
    y: np.ndarray

    @cached_property
    def weights(self) -> np.ndarray:
        """The barycentric weights, up to a common factor."""
        gaps = self.x[:, None] - self.x[None]
        np.fill_diagonal(gaps, 1.0)
        size = np.log(np.abs(gaps)).sum(1)
        return np.sign(gaps).prod(1) * np.exp(size.min() - size)

    def __call__(self, t: np.ndarray) -> np.ndarray:
        terms, at = self._terms(t)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = terms @ self.y / terms.sum(1)
        return np.where(at >= 0, self.y[at], found)

    def lebesgue(self, t: np.ndarray) -> np.ndarray:
        r"""$\sum_k|\ell_k(t)|$."""
        terms, at = self._terms(t)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(terms).sum(1) / np.abs(terms.sum(1))
        return np.where(at >= 0, 1.0, found)

    def cardinal(self, t: float) -> np.ndarray:
        r"""$(\ell_k(t))_k$ at one point that is no node."""
        terms = self.weights / (t - self.x)
        return terms / terms.sum()

    def _terms(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gaps = np.asarray(t, np.float64)[:, None] - self.x
        hit = gaps == 0
        at = np.where(hit.any(1), hit.argmax(1), -1)
        return self.weights / np.where(hit, 1.0, gaps), at


def between(x: np.ndarray, many: int = BETWEEN) -> np.ndarray:
    """Points between sorted nodes, dense towards each of them, and the nodes."""
    share = (1 - np.cos(np.linspace(0, np.pi, many + 1))) / 2
    inner = x[:-1, None] + np.diff(x)[:, None] * share[None, :-1]
    return np.append(inner.ravel(), x[-1])


def lebesgue_point(x: np.ndarray, lo: float, hi: float) -> tuple[float, float]:
    """Where the Lebesgue function of sorted nodes is largest among many points of [lo, hi], and its value there."""
    t = between(np.unique([lo, *x, hi]))
    values = Interpolant(x, np.zeros(len(x))).lebesgue(t)
    return float(t[values.argmax()]), float(values.max())


def lebesgue_constant(kind: str, n: int) -> Enclosure:
    r"""$\Lambda_n$ on $[-1,1]$, attained at the ends for Chebyshev nodes, where it is $\frac1{n+1}\sum_k\cot
    \frac{(2k+1)\pi}{4(n+1)}$, and between the first two of equispaced nodes (Tietze 1917)."""
    if kind == "Chebyshev":
        angles = [arb(2 * k + 1) / (4 * n + 4) for k in range(n + 1)]
        return Enclosure.ball(sum((a.cot_pi() for a in angles), arb(0)) / (n + 1))
    if n < 2:
        return Enclosure.exact(1)
    if n + 1 > EXACT:
        return Enclosure.at_least(lebesgue_point(nodes(kind, n), -1, 1)[1])
    # the function is largest between the first two nodes, where it is a polynomial
    at = exact_nodes(n)
    total = polynomial(0)
    for k, x in enumerate(at):
        others = at[:k] + at[k + 1 :]
        size = prod(x - y for y in others)
        sign = (-1) ** (n - (k > 0))
        total = total + from_roots(others) * polynomial(sign / abs(size))
    return largest_quotient(total, polynomial(1), at[0], at[1])
