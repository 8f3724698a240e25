"""Sums of exponentials as an algebra that separates points: exact and in balls."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.approximation.ridge_exponentials import Exponentials
from ftheta.logic import Enclosure

BITS = 200


def rank(directions: np.ndarray) -> int:
    r"""The rank of the directions in rationals: below the dimension exactly if some $x\ne y$ share all exponentials."""
    exact = [[fmpq(*Fraction(t).as_integer_ratio()) for t in row] for row in directions.tolist()]
    return int(fmpq_mat(exact).rank())


def product_gap(
    first: Exponentials, second: Exponentials, x: Sequence[Fraction]
) -> tuple[Enclosure, Enclosure]:
    r"""The product of two sums at a point, and the sum with exponents $v_k+w_l$ there, in balls."""
    pairs = [
        ([Fraction(s) + Fraction(t) for s, t in zip(v, w)], Fraction(c) * Fraction(e))
        for v, c in zip(first.directions.tolist(), first.coefficients.tolist())
        for w, e in zip(second.directions.tolist(), second.coefficients.tolist())
    ]
    with ctx.workprec(BITS):
        sides = [_at(_exact(sums), x) for sums in (first, second)]
        return Enclosure.ball(sides[0] * sides[1]), Enclosure.ball(_at(pairs, x))


def product_example(directions: np.ndarray) -> tuple[Enclosure, Enclosure]:
    """`product_gap` of two short sums with these directions, at a point."""
    rows = directions[::5][:3], directions[1::5][:3]
    first, second = (Exponentials(v, np.array([1.0, -0.5, 0.25])[: len(v)]) for v in rows)
    return product_gap(first, second, [Fraction(2 * j - 1, 3) for j in range(directions.shape[1])])


def cosh_by_two(x: Fraction, y: Fraction) -> tuple[Enclosure, Enclosure]:
    r"""$\cosh(x+y)$ and $\frac12e^{x+y}+\frac12e^{-x-y}$, in balls."""
    half = Fraction(1, 2)
    with ctx.workprec(BITS):
        one = [([Fraction(1)] * 2, half), ([Fraction(-1)] * 2, half)]
        return Enclosure.ball(_ball(x + y).cosh()), Enclosure.ball(_at(one, (x, y)))


def _exact(sums: Exponentials) -> list[tuple[list[Fraction], Fraction]]:
    rows = zip(sums.directions.tolist(), sums.coefficients.tolist())
    return [([Fraction(t) for t in v], Fraction(c)) for v, c in rows]


def _at(terms: Sequence[tuple[list[Fraction], Fraction]], x: Sequence[Fraction]) -> arb:
    return sum(
        (_ball(c) * _ball(sum((s * t for s, t in zip(v, x)), Fraction(0))).exp() for v, c in terms),
        arb(0),
    )


def _ball(q: Fraction) -> arb:
    return arb(fmpq(q.numerator, q.denominator))
