r"""Runge's function $f(x)=\frac1{1+ax^2}$ on $[-1,1]$ and everything about its interpolation, in closed form.

Its poles are $\pm i/\sqrt a$, on the ellipse with foci $\pm1$ and sum of semi-axes $\rho=\frac{1+\sqrt{1+a}}{\sqrt a}$.
For nodes symmetric about 0, $1-(1+ax^2)p(x)$ vanishes at the nodes and is 1 at the poles, so that with $s=x^2$, the
squares $s_k$ of the positive nodes, and $\varepsilon=1$ if 0 is a node, else 0,
$$f(x)-p(x)=\frac{(-as)^{\varepsilon}}{1+as}\prod_k\frac{s_k-s}{s_k+1/a}.$$
The best polynomials are known too (Chebyshev): $E_n=\frac a{2(a+1)}\rho^{-2\lfloor n/2\rfloor}$.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import atan, exp, log, log1p, sqrt
from typing import Any

import numpy as np
from flint import arb, fmpq, fmpq_poly  # type: ignore[import-untyped]

from ftheta.estimates.rational_maxima import from_roots, largest_quotient, polynomial
from ftheta.logic import Enclosure

from .nodes import exact_nodes, nodes


@dataclass(frozen=True)
class Runge:
    """`a` is 25 in Runge's example."""

    a: float = 25.0

    def __call__(self, x: Any) -> Any:
        return 1 / (1 + self.a * x * x)

    @property
    def rho(self) -> Any:
        """The ball of the rate at which the best polynomials improve."""
        return (1 + arb(1 + self.a).sqrt()) / arb(self.a).sqrt()

    def best_error(self, n: int) -> Any:
        r"""The ball of $E_n=\min_{\deg q\le n}\|f-q\|$."""
        a = arb(self.a)
        return a / (2 * (a + 1)) / self.rho ** (n // 2 * 2)

    def error(self, kind: str, n: int) -> Enclosure:
        r"""$\max_{[-1,1]}|f-p|$ for the polynomial $p$ of degree $n$ through $n+1$ nodes."""
        a = Fraction(self.a)
        has_zero = n % 2 == 0
        product = _squares(kind, n)
        above = product * polynomial(*([0, a] if has_zero else [1]))
        scale = abs(product(fmpq(-a.denominator, a.numerator)))
        return largest_quotient(above, polynomial(1, a) * scale, Fraction(0), Fraction(1))

    def errors_at(self, kind: str, n: int, x: np.ndarray) -> np.ndarray:
        """f − p at points, in float64: a product without cancellation, however large the degree."""
        squares = nodes(kind, n)[(n + 2) // 2 :] ** 2
        s = np.asarray(x)[:, None] ** 2
        first = -self.a * s[:, 0] if n % 2 == 0 else 1.0
        return first / (1 + self.a * s[:, 0]) * ((squares - s) / (squares + 1 / self.a)).prod(1)

    @property
    def growth(self) -> float:
        r"""$\lim\|f-p_n\|^{1/n}$ for equispaced nodes: $\exp(U(1)-U(i/\sqrt a))$, $U(z)=\frac12\int_{-1}^1\ln|z-t|dt$.

        Above 1 the polynomials diverge: for $a>3.63$."""
        pole = 1 / sqrt(self.a)
        return exp(log(2) - (log1p(pole**2) + 2 * pole * atan(1 / pole)) / 2)

    def on_ellipse(self, ellipse: float) -> tuple[bool, Any]:
        r"""Whether $f$ is analytic inside the ellipse with sum of semi-axes `ellipse`, and the ball of $\max|f|$ on it.

        $z^2$ runs on an ellipse with foci 0 and 1; of its points the left end is nearest to $-1/a$, inside or outside.
        """
        half = (arb(ellipse) - 1 / arb(ellipse)) / 2
        inside = 1 - self.a * half**2
        return bool(inside > 0), 1 / abs(inside)

    def bent_line_error(self, n: int) -> Enclosure:
        r"""$\max|f-s|$ for the broken line $s$ through $n+1$ equispaced points, which is a network of ReLUs.

        On $[u,v]$: $f-s=(x-u)(x-v)f[u,v,x]$ with $f[u,v,x]=a\,f(u)f(v)f(x)(a(uv+ux+vx)-1)$.
        """
        at = exact_nodes(n)
        a = Fraction(self.a)
        found = []
        for u, v in pairwise(
            at[: n // 2 + 2] if n > 1 else at
        ):  # the other half is its mirror image
            scale = a / (1 + a * u * u) / (1 + a * v * v)
            above = from_roots([u, v]) * polynomial(scale * (a * u * v - 1), scale * a * (u + v))
            found.append(largest_quotient(above, polynomial(1, 0, a), u, v))
        return Enclosure.between(max(e.lo for e in found), max(e.hi for e in found))


def _squares(kind: str, n: int) -> Any:
    r"""A multiple of $\prod_k(s-s_k)$ over the squares of the positive nodes; for Chebyshev nodes $T_{n+1}$ without a
    factor $x$, read as a polynomial of $s=x^2$."""
    if kind == "equispaced":
        return from_roots([x * x for x in exact_nodes(n) if x > 0])
    before = polynomial(1)
    last = polynomial(0, 1)
    for _ in range(n):
        before, last = last, 2 * polynomial(0, 1) * last - before
    return fmpq_poly(last.coeffs()[(n + 1) % 2 :: 2])
