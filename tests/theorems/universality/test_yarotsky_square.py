"""Polynomials read off functions, and the exact errors of their networks."""

from fractions import Fraction

import jax.numpy as jnp
import pytest

from ftheta.relu.line.sawtooth import polynomial, square
from ftheta.theorems.universality.yarotsky_square import error_within_bound
from ftheta.theorems.universality.yarotsky_square.polynomials import (
    SQUARE,
    Polynomial,
    follow,
    largest_error,
    read_polynomial,
    realise,
)

ZERO = Fraction(0)
ONE = Fraction(1)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_the_error_of_the_square_is_exactly_a_power_of_four(m):
    error, at = largest_error(realise(square(m)), SQUARE, ZERO, ONE)
    assert error.lo == error.hi == 4.0 ** -(m + 1)
    assert abs(realise(square(m))(at) - at * at) == Fraction(1, 4 ** (m + 1))


def test_the_square_at_three_tenths_is_one_tenth_on_two_levels():
    assert realise(square(2))(Fraction(3, 10)) == Fraction(1, 10)


def test_the_pieces_of_a_network_are_the_network():
    made = polynomial([1, -2, 0, 3], 3).network
    f = realise(made)
    for k in range(-8, 9):
        assert f(Fraction(k, 7)) == made([Fraction(k, 7)])[0]


@pytest.mark.parametrize(
    "f, coefficients",
    [
        (lambda x: x * x, (0, 0, 1)),
        (lambda x: 1 - 2 * x + x**3 / 4, (1, -2, 0, Fraction(1, 4))),
        (lambda x: -(x - 1) * (x + 1), (1, 0, -1)),
        (lambda x: 3.0, (3,)),
    ],
)
def test_a_polynomial_is_read_off_its_function(f, coefficients):
    found = read_polynomial(f, -1.0, 1.0)
    assert isinstance(found, Polynomial) and found.coefficients == coefficients


@pytest.mark.parametrize(
    "f",
    [
        jnp.abs,
        jnp.exp,
        lambda x: 1 / x,
        lambda x: x**40,
        lambda x: x if x > 0 else -x,
        lambda x: 1 if x == 0 else x,
    ],
)
def test_a_function_that_is_no_polynomial_is_refused_with_a_reason(f):
    assert isinstance(read_polynomial(f, -1.0, 1.0), str)


@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: x**3 - x, lambda x: 2 * x + 1])
def test_the_error_of_a_polynomial_network_is_within_its_proved_bound(f):
    made = follow(f, -1.0, 0.5, 4)
    claim = error_within_bound(made)
    assert claim.left.hi <= claim.right.hi
    assert claim.judge().verdict == "proved"
