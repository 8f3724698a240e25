"""Smoothness and parameters: functions that parameters do not see, and networks that share their weights."""

from fractions import Fraction
from math import pi, prod

import numpy as np
import pytest
from flint import ctx  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from ftheta.theorems.universality.sobolev_vs_barron import sobolev


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(1, 20))
def test_some_function_of_slope_one_is_unseen_and_not_smaller_than_the_bound(seed, n, d):
    found = sobolev.find_unseen(np.random.default_rng(seed), n, d)
    assert found.parameters == 0
    side = 1 / (2 * found.size)
    assert side**d > n and found.size >= n ** (-1 / d) / 4  # there are n + 1 cubes of that size


@given(st.sampled_from([4, 6, 10]))
def test_the_polynomials_of_the_absolute_value_are_its_chebyshev_series(m):
    x = np.linspace(-1, 1, 41)
    series = np.zeros(m + 1)
    series[0] = 2 / pi
    for k in range(1, m // 2 + 1):
        series[2 * k] = 4 / pi * (-1) ** (k + 1) / (4 * k * k - 1)
    powers = np.polynomial.Polynomial([float(c) for c in sobolev.chebyshev(1, m)])
    assert np.abs(powers(x) - np.polynomial.chebyshev.chebval(x, series)).max() < 1e-7


@settings(max_examples=8, deadline=None)
@given(st.lists(st.fractions(-3, 3, max_denominator=8), min_size=2, max_size=4), st.integers(1, 2))
def test_a_network_on_a_grid_of_weights_is_its_polynomial_up_to_its_step(coefficients, d):
    net = sobolev.GridNetwork.of(coefficients, d)
    assert net.neurons == len(coefficients) ** d
    for x in ((Fraction(1, 3), Fraction(-2, 7)), (Fraction(1), Fraction(1, 2))):
        truth = prod((sum(c * t**k for k, c in enumerate(coefficients)) for t in x[:d]), start=Fraction(1))
        with ctx.workprec(300):
            assert float(abs(net(x[:d]) - sobolev.ball(truth))) < 1000 * net.step  # difference quotients


@pytest.mark.parametrize("s", [1, 2, 3])
def test_the_errors_of_networks_are_those_of_the_polynomials(s):
    found = sobolev.measure_errors(s, 1)
    for n, error in [pair for pair in zip(found.neurons, found.errors) if pair[0] < 18]:  # powers cancel in floats
        x = np.linspace(-1, 1, 20_001)
        p = np.polynomial.Polynomial([float(c) for c in sobolev.chebyshev(s, n - 1)])
        dense = np.abs(p(x) - np.sign(x) ** (s + 1) * np.abs(x) ** s).max()
        assert 0.3 * dense <= error <= dense * (1 + 1e-3) + 1e-5
