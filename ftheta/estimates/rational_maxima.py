r"""The largest $|N/D|$ of two polynomials on an interval, enclosed: at the ends and where $N'D-ND'=0$.

The roots are isolated by Arb; polynomials have rational coefficients, so that nothing is left out.
"""

from fractions import Fraction
from typing import Any

from flint import acb, arb, ctx, fmpq, fmpq_poly  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Enclosure

BITS = 640  # Horner's scheme loses as many as the coefficients have: 130 at degree 64


def largest_quotient(numerator: Any, denominator: Any, lo: Fraction, hi: Fraction) -> Enclosure:
    r"""$\max_{[\text{lo},\text{hi}]}|N/D|$ for rational polynomials, the second without a root in the interval."""
    slope = numerator.derivative() * denominator - numerator * denominator.derivative()
    with ctx.workprec(BITS):
        ends = [arb(fmpq(t.numerator, t.denominator)) for t in (lo, hi)]
        inner = (
            []
            if slope.degree() < 1
            else [t for t in _real_roots(slope) if not (t < ends[0] or t > ends[1])]
        )
        values = [abs(_at(numerator, t) / _at(denominator, t)) for t in (*ends, *inner)]
        top = values[0]
        for value in values[1:]:
            top = top.max(value)
        return Enclosure.ball(top)


def polynomial(*coefficients: Fraction | int) -> Any:
    """Rational coefficients, from the constant on."""
    return fmpq_poly([fmpq(Fraction(c).numerator, Fraction(c).denominator) for c in coefficients])


def from_roots(roots: list[Fraction]) -> Any:
    r"""$\prod_k(t-r_k)$."""
    product = polynomial(1)
    for r in roots:
        product = product * polynomial(-r, 1)
    return product


def _real_roots(p: Any) -> list[Any]:
    """Roots of an integer multiple; those of real polynomials that are real have no imaginary part at all."""
    return [acb(r).real for r, _ in p.numer().complex_roots() if acb(r).imag == 0]


def _at(p: Any, t: Any) -> Any:
    total = arb(0)
    for c in reversed(p.coeffs()):
        total = total * t + arb(c)
    return total
