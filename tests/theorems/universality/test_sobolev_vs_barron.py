"""Smoothness and parameters: seminorms, fixed bases, functions that parameters do not see, shared weights."""

from fractions import Fraction
from math import pi, prod, sqrt

import jax.numpy as jnp
import numpy as np
import pytest
from flint import ctx  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from ftheta.approximation.goal import goal_of
from ftheta.logic import Basis
from ftheta.theorems.universality.sobolev_vs_barron import fixed_bases as bases
from ftheta.theorems.universality.sobolev_vs_barron import sobolev
from ftheta.theorems.universality.sobolev_vs_barron.seminorms import (
    enclose_seminorm,
    measure_seminorm,
)

from ...thoroughness import max_examples


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


@max_examples(8)
@given(st.lists(st.fractions(-3, 3, max_denominator=8), min_size=2, max_size=4), st.integers(1, 2))
def test_a_network_on_a_grid_of_weights_is_its_polynomial_up_to_its_step(coefficients, d):
    net = sobolev.GridNetwork.of(coefficients, d)
    assert net.neurons == len(coefficients) ** d
    for x in ((Fraction(1, 3), Fraction(-2, 7)), (Fraction(1), Fraction(1, 2))):
        truth = prod(
            (sum(c * t**k for k, c in enumerate(coefficients)) for t in x[:d]), start=Fraction(1)
        )
        with ctx.workprec(300):
            # difference quotients
            assert float(abs(net(x[:d]) - sobolev.ball(truth))) < 1000 * net.step


@pytest.mark.parametrize("s", [1, 2, 3])
def test_the_errors_of_networks_are_those_of_the_polynomials(s):
    found = sobolev.measure_errors(s, 1)
    for n, error in [
        pair for pair in zip(found.neurons, found.errors) if pair[0] < 18
    ]:  # powers cancel in floats
        x = np.linspace(-1, 1, 20_001)
        p = np.polynomial.Polynomial([float(c) for c in sobolev.chebyshev(s, n - 1)])
        dense = np.abs(p(x) - np.sign(x) ** (s + 1) * np.abs(x) ** s).max()
        assert 0.3 * dense <= error <= dense * (1 + 1e-3) + 1e-5


def test_the_seminorm_of_a_gaussian():
    found = measure_seminorm(goal_of(lambda x: jnp.exp(-x * x / 2), (-12, 12)), 512)
    assert found.by_fourier == pytest.approx(sqrt(pi) / 2, rel=1e-9) and found.is_settled
    assert found.other_convention == pytest.approx(pi**1.5, rel=1e-9)
    assert found.by_fourier in found.by_differences and found.by_differences.width < 1e-3
    box = measure_seminorm(goal_of(lambda x: jnp.where(jnp.abs(x) < 1, 1.0, 0.0), (-8, 8)), 512)
    assert not box.is_settled


def test_the_seminorm_is_enclosed_where_the_function_cannot_jump():
    around = enclose_seminorm(goal_of(lambda x: jnp.exp(-x * x / 2), (-12, 12)))
    assert around.lo < sqrt(pi) / 2 < around.hi < 1.05 * around.lo and around.basis is Basis.EXACT
    plane = enclose_seminorm(goal_of(lambda x: x[0] * x[1], ([0, 0], [1, 2])))
    assert plane.lo < (2 + 8) / 3 < plane.hi
    jump = enclose_seminorm(goal_of(lambda x: jnp.where(jnp.abs(x) < 1, 1.0, 0.0), (-8, 8)))
    assert jump.lo == -jump.hi == -np.inf


def test_the_seminorm_in_the_plane_is_that_of_quadrature():
    f = lambda x, y: np.exp(-(x * x + 2 * y * y))
    slope = lambda y, x: (4 * x * x + 16 * y * y) * f(x, y) ** 2
    expected = integrate.dblquad(slope, -6, 6, -6, 6)[0]
    goal = goal_of(lambda x: jnp.exp(-(x[0] ** 2 + 2 * x[1] ** 2)), ([-6, -6], [6, 6]))
    assert measure_seminorm(goal, 128).by_fourier == pytest.approx(expected, rel=1e-7)


@given(st.integers(1, 6), st.integers(0, 1000))
def test_a_subspace_of_half_the_dimension_leaves_a_vector_at_a_distance(n, seed):
    left = bases.leftover(np.random.default_rng(seed), n)
    assert left.total == n and left.largest >= Fraction(1, 2)


@pytest.mark.parametrize("a, m", [([2 * pi], 2), ([2 * pi, 1.0], 3), ([3.0, -1.0], 4)])
def test_the_distance_from_cubes_is_that_of_brute_force(a, m):
    fine = 60 * m
    d = len(a)
    side = (np.arange(fine) + 0.5) / fine
    x = np.stack([t.ravel() for t in np.meshgrid(*[side] * d, indexing="ij")], 1)
    f = np.cos(x @ np.array(a))
    cell = np.ravel_multi_index(tuple((x * m).astype(int).T), (m,) * d)
    means = np.bincount(cell, f) / np.bincount(cell)
    assert bases.distance_from_cubes(a, m) == pytest.approx(
        sqrt(((f - means[cell]) ** 2).mean()), rel=2e-3
    )


def test_the_bound_for_subspaces_is_below_a_wave():
    for d in (1, 2, 5):
        for m in (4, 8):
            assert bases.subspace_bound(d, m**d) < bases.worst_wave(d, m)
