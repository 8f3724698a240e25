"""Peano's representation of difference quotients, against closed forms."""

from fractions import Fraction
from math import exp, expm1

import pytest

from ftheta.theorems.universality.uat_step3_monomials import peano_integral


@pytest.mark.parametrize("power", [1, 2, 5, 12])
@pytest.mark.parametrize("shift", [Fraction(1, 100), Fraction(-1, 2), Fraction(1)])
def test_the_integral_over_the_derivatives_of_exp_is_a_power_of_a_difference_quotient(power, shift):
    """The Laplace transform of the B-spline of k pieces is the k-th power of that of one piece."""
    closed = exp(0.25) * (expm1(shift) / float(shift)) ** power
    assert peano_integral("exp", Fraction(1, 4), power, shift)[0] == pytest.approx(
        closed, rel=1e-12
    )


def test_the_weight_is_a_density():
    """Without a shift the integral is the derivative at the bias: the B-spline has the integral 1."""
    assert peano_integral("tanh", Fraction(0), 3, Fraction(0))[0] == pytest.approx(-2, rel=1e-13)
