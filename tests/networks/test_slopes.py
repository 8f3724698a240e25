"""What is proved of activations: slopes and differences."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Basis
from ftheta.networks import ACTIVATIONS
from ftheta.networks.sheets import THRESHOLD, sheet
from ftheta.networks.slopes import (
    CURVATURES,
    SLOPES,
    VALUES,
    Enclosure,
    differences_of,
    rational_difference,
    slope_at,
    steepest_slope,
)

each_name = pytest.mark.parametrize("name", sorted(ACTIVATIONS))
POINTS = np.concatenate([np.linspace(-12, 12, 193) + 1e-3, [-0.25, 0.5, 2.0]])


@each_name
def test_the_balls_enclose_what_jax_computes(name):
    from flint import arb  # type: ignore[import-untyped]

    with jax.enable_x64(True):
        for x in POINTS:
            expected = float(ACTIVATIONS[name].function(jnp.float64(x)))
            assert float(VALUES[name](arb(float(x)))) == pytest.approx(
                expected, rel=1e-9, abs=1e-12
            )
            slope = float(jax.grad(ACTIVATIONS[name].function)(float(x)))
            assert slope_at(name, float(x)).middle == pytest.approx(slope, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", sorted(CURVATURES))
@given(st.floats(-15, 15))
def test_curvatures_are_the_derivatives_of_slopes(name, x):
    from flint import arb  # type: ignore[import-untyped]

    h = 1e-5
    numeric = (float(SLOPES[name](arb(x + h))) - float(SLOPES[name](arb(x - h)))) / (2 * h)
    assert float(CURVATURES[name](arb(x))) == pytest.approx(numeric, abs=1e-7)


@each_name
def test_the_steepest_slope_is_the_closed_form_and_no_sampled_secant_exceeds_it(name):
    found = steepest_slope(name)
    closed = ACTIVATIONS[name].lipschitz
    assert max(found.lo, closed.lo) <= min(found.hi, closed.hi)
    if closed.hi < np.inf:
        assert found.hi - found.lo <= 1.1e-10
        with jax.enable_x64(True):
            x = np.linspace(-20, 20, 20_001)
            y = np.asarray(jax.vmap(ACTIVATIONS[name].function)(jnp.asarray(x)))
        assert np.abs(np.diff(y) / np.diff(x)).max() <= found.hi + 1e-9


@pytest.mark.parametrize("name", [n for n, a in ACTIVATIONS.items() if a.degree is None])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 7, 12, 31, 100])
def test_an_activation_that_is_no_polynomial_has_a_difference_of_every_order(name, order):
    assert (
        differences_of(ACTIVATIONS[name], ACTIVATIONS[name].function, order, -8, 8).size.lo
        > THRESHOLD
    )


@pytest.mark.parametrize(
    "name, degree", [(n, a.degree) for n, a in ACTIVATIONS.items() if a.degree is not None]
)
def test_a_polynomial_activation_has_vanishing_differences_above_its_degree_and_none_below(
    name, degree
):
    for order in range(1, 9):
        found = differences_of(ACTIVATIONS[name], ACTIVATIONS[name].function, order, -8, 8)
        assert (found.size.hi == 0) == (order > degree)
        assert (rational_difference(name, found) == 0) == (order > degree)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=5), st.integers(1, 7))
def test_differences_in_float64_tell_a_polynomial_by_its_degree(coefficients, order):
    while coefficients and coefficients[-1] == 0:
        coefficients = coefficients[:-1]
    with jax.enable_x64(True):
        found = differences_of(
            None, lambda x: jnp.polyval(jnp.array(coefficients[::-1] or [0.0]), x), order, -1.0, 2.0
        )
    assert found.size.basis is Basis.FLOAT
    if order >= len(coefficients):
        assert found.size.hi < THRESHOLD
    else:
        assert found.size.lo > THRESHOLD


def test_differences_of_a_function_that_overflows_are_unknown():
    with jax.enable_x64(True):
        found = differences_of(None, jnp.exp, 4, 0.0, 4000.0)
    assert (found.size.lo, found.size.hi) == (0.0, 1.0)


def test_the_sheet_of_a_function_without_a_name_claims_no_more_than_was_sampled():
    with jax.enable_x64(True):
        found = sheet("sine", jnp.sin, -3.0, 3.0, 5, 0.0)
    assert found.known is None and found.lipschitz.samples and found.lipschitz.hi == np.inf
    assert 0.99 < found.lipschitz.lo <= 1
    assert found.density == "dense unless a polynomial of degree > 5"
    assert not found.polynomial and found.witness is None


def test_the_sheet_of_a_cubic_without_a_name_is_undecided_and_that_of_the_square_degenerate():
    with jax.enable_x64(True):
        assert sheet("cubic", lambda x: x**3, -3.0, 3.0, 5, 0.0).density.startswith("undecided")
        square = sheet("square", ACTIVATIONS["square"].function, -3.0, 3.0, 5, 0.0)
        homogeneous = [
            n for n, a in ACTIVATIONS.items() if sheet(n, a.function, -3.0, 3.0, 2, 0.0).homogeneous
        ]
    assert square.density == "degenerate (degree 2)"
    assert square.witness is not None and square.witness.right == Enclosure.exact(Fraction(0))
    assert homogeneous == [n for n, a in ACTIVATIONS.items() if a.homogeneous]
