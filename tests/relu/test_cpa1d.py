"""Exact piecewise-affine functions on the line."""

from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError
from ftheta.networks import Dense, Description
from ftheta.relu.line.cpa1d import (
    PiecewiseAffine,
    absolute,
    affine,
    combination,
    compose,
    exact_form,
    exact_value,
    from_breaks,
    realisation,
    relu,
)
from ftheta.relu.line.hat import DEEP, HAT, shallow
from ftheta.theorems.piecewise.hat_function import (
    PRINTED,
    RAMP,
    far_field_rank,
    iterate_hat,
    two_neuron_rank,
)

numbers = st.fractions(min_value=-4, max_value=4, max_denominator=8)
weights = st.integers(-8, 8).map(lambda k: k / 4)


@st.composite
def functions(draw) -> PiecewiseAffine:
    breaks = sorted(draw(st.sets(numbers, min_size=1, max_size=5)))
    heights = draw(st.lists(numbers, min_size=len(breaks), max_size=len(breaks)))
    left = draw(numbers)
    right = draw(numbers)

    def g(x: Fraction) -> Fraction:
        if x <= breaks[0]:
            return heights[0] + left * (x - breaks[0])
        for a, b, fa, fb in zip(breaks, breaks[1:], heights, heights[1:]):
            if x <= b:
                return fa + (fb - fa) * (x - a) / (b - a)
        return heights[-1] + right * (x - breaks[-1])

    return from_breaks(breaks, g)


@st.composite
def networks(draw) -> Description:
    widths = [1, *draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)), 1]
    layers = []
    for m, n in pairwise(widths):
        W = draw(st.lists(st.lists(weights, min_size=m, max_size=m), min_size=n, max_size=n))
        b = draw(st.lists(weights, min_size=n, max_size=n))
        layers.append(Dense(np.array(W), np.array(b), "relu"))
    last = layers[-1]
    return Description((*layers[:-1], Dense(last.weight, last.bias)))


@given(networks(), numbers)
def test_the_realisation_agrees_with_the_network_evaluated_neuron_by_neuron(net, x):
    assert realisation(net)(x) == exact_value(net, x)


@given(networks(), st.floats(-10, 10))
def test_the_realisation_agrees_with_the_float_evaluation(net, x):
    expected = float(net.apply(net.params, np.array([x]))[0])  # type: ignore[arg-type]
    assert float(realisation(net)(Fraction(x))) == pytest.approx(expected, rel=1e-4, abs=1e-4)


@given(functions())
def test_no_kink_is_idle_and_the_values_lie_on_the_pieces(f):
    assert all(before != after for before, after in zip(f.slopes, f.slopes[1:]))
    for t, value in zip(f.kinks, f.values):
        assert f(t) == value
        assert f(t - Fraction(1, 10**9)) + f.slopes[f.kinks.index(t)] * Fraction(1, 10**9) == value


@given(functions(), functions(), numbers)
def test_sums_differences_and_compositions_are_pointwise(f, g, x):
    assert (f + g)(x) == f(x) + g(x)
    assert (f - g)(x) == f(x) - g(x)
    assert compose(f, g)(x) == f(g(x))
    assert combination(((3, f), (-2, g)), 5)(x) == 3 * f(x) - 2 * g(x) + 5


@given(functions(), numbers)
def test_relu_and_absolute_value_are_pointwise(f, x):
    assert relu(f)(x) == max(0, f(x))
    assert absolute(f)(x) == abs(f(x))


@given(functions(), functions())
def test_two_records_are_equal_exactly_when_the_functions_are(f, g):
    assert f + g == g + f
    assert (f == g) == ((f - g).largest[1] == 0)
    assert f + affine(0, 1) != f


@given(functions(), numbers)
def test_the_largest_value_is_attained_or_the_function_is_unbounded(f, x):
    at, size = f.largest
    assert abs(f(x)) <= size
    assert abs(f(at)) == size if size < inf else f(at) != 0


@given(functions(), numbers)
def test_the_function_vanishes_outside_its_support_and_its_mass_is_the_area(f, x):
    left, right = f.support
    if x < left or x > right:
        assert f(x) == 0
    bump = HAT if f(0) == 0 else combination(((f(0), HAT),))
    grid = np.linspace(-1, 1, 2001)
    area = np.trapezoid([abs(float(bump(Fraction(t)))) for t in grid], grid)
    assert float(bump.mass) == pytest.approx(area, rel=1e-5)


def test_a_function_that_does_not_vanish_far_out_has_infinite_mass():
    assert affine(0, 1).mass == PRINTED.mass == (HAT + affine(1)).mass == inf
    assert affine(0).mass == 0


def test_the_hat_has_three_kinks_mass_one_and_support_from_minus_one_to_one():
    assert HAT.jumps == {-1: 1, 0: -2, 1: 1}
    assert HAT.mass == 1
    assert HAT.support == (-1, 1)


@given(st.integers(1, 60))
def test_every_splitting_of_the_shallow_network_is_the_hat(copies):
    assert realisation(shallow(copies)) == HAT


def test_the_deep_network_is_the_hat_and_one_rounding_error_is_seen():
    assert realisation(DEEP) == HAT
    assert realisation(shallow(1, 2.0**-53)) != HAT


def test_iterates_of_the_hat_alternate_between_the_ramp_and_the_hat():
    assert [iterate_hat(k) == (HAT if k % 2 else RAMP) for k in range(1, 8)] == [True] * 7
    assert all(RAMP(x) == min(abs(x), 1) for x in (Fraction(k, 7) for k in range(-21, 22)))


def test_the_printed_formula_is_one_at_two():
    assert (PRINTED(2), HAT(2)) == (1, 0)
    assert all(PRINTED(x) == abs(1 - abs(x)) for x in (Fraction(k, 5) for k in range(-20, 21)))


def test_two_neurons_vanish_far_out_only_together_with_everything_and_three_need_not():
    assert two_neuron_rank() == 3
    assert far_field_rank((1, 1, 1)) < 4
    assert far_field_rank((1,)) == far_field_rank((-1,)) == 2


@given(
    st.tuples(weights, weights), st.tuples(weights, weights), st.tuples(weights, weights), weights
)
def test_no_network_of_two_neurons_is_compactly_supported_unless_it_is_zero(
    inner, bias, outer, constant
):
    net = Description(
        (
            Dense(np.array(inner)[:, None], np.array(bias), "relu"),
            Dense(np.array([outer]), [constant]),
        )
    )  # type: ignore[arg-type]
    f = realisation(net)
    assert f == affine(0) or f.mass == inf


def test_networks_without_an_exact_form_say_why():
    wide = Description((Dense(np.ones((1, 2)), np.zeros(1)),))
    smooth = Description((Dense(np.ones((1, 1)), np.zeros(1), "tanh"),))
    assert exact_form(None) == "a function whose layers are not known"
    assert exact_form(wide) == "2 inputs, 1 outputs"
    assert "tanh" in str(exact_form(smooth))
    with pytest.raises(SubjectError, match="too many pieces"):
        from_breaks(
            range(30_000),
            lambda x: (x % 2) if x.denominator == 1 and 0 <= x < 30_000 else Fraction(0),
        )
