"""Ridge exponentials, one neuron for everything, sizes of superpositions, smoothness, Barron norms, whole chains."""

from fractions import Fraction
from math import gamma, pi, sqrt
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

import ftheta as ft
from ftheta.approximation.goal import goal_of
from ftheta.approximation.ridge_exponentials import Exponentials, fit_exponentials, lattice
from ftheta.logic import Basis, UsageError
from ftheta.networks import count
from ftheta.subjects import Spectrum, Target
from ftheta.theorems.universality.concatenated_activation import concatenated
from ftheta.theorems.universality.maiorov_pinkus_counts.sizes import Sizes, architecture, own_units
from ftheta.theorems.universality.sobolev_vs_barron import fixed_bases as bases
from ftheta.theorems.universality.sobolev_vs_barron.seminorms import enclose_seminorm, measure_seminorm
from ftheta.theorems.universality.uat_step1_ridge_exponentials import algebra, budgets

SQUARE = ([-1, -1], [1, 1])


def test_two_exponentials_are_the_hyperbolic_cosine():
    goal = goal_of(lambda x: jnp.cosh(x[0] + x[1]), SQUARE)
    made = fit_exponentials(goal, lattice(2, 1, 1.0))
    kept = {tuple(v): c for v, c in zip(made.directions.tolist(), made.coefficients) if c}
    assert set(kept) == {(1.0, 1.0), (-1.0, -1.0)}
    assert list(kept.values()) == pytest.approx([0.5, 0.5], abs=1e-6)
    left, right = algebra.cosh_by_two(Fraction(1, 3), Fraction(1, 2))
    assert left.lo <= right.hi and right.lo <= left.hi and left.width < 1e-14


@given(st.floats(-2, 2), st.floats(0.05, 2))
def test_the_error_of_chords_of_exp_is_the_largest_found(b, h):
    chord = lambda t: np.exp(b - h) + (np.exp(b) - np.exp(b - h)) / h * (t - b + h)
    found: Any = optimize.minimize_scalar(lambda t: np.exp(t) - chord(t), bounds=(b - h, b), method="bounded")
    assert budgets.exp_interpolation_error(b, h).middle == pytest.approx(-found.fun, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("cells", [1, 16])
def test_the_budget_of_both_stages_holds_on_a_dense_sample(cells):
    goal = goal_of(lambda x: 1 / (1 + jnp.sum(x * x)), SQUARE)
    made = budgets.make_budget(goal, fit_exponentials(goal, lattice(2, 2, 1.0)), cells)
    x = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 2))
    exponentials = np.abs(goal.values(x) - made.sums.values(x)).max()
    network = np.abs(goal.values(x) - made.network.values(x)).max()
    assert exponentials <= made.first.value.hi and network <= made.error.hi <= made.total.lo
    assert np.abs(made.sums.values(x) - made.network.values(x)).max() <= made.second.hi * (1 + 1e-6) + 1e-9


def test_directions_along_one_axis_do_not_separate():
    assert algebra.separation(np.array([[1.0, 0.0], [2.0, 0.0]])).hi == 0
    assert algebra.separation(np.eye(2)).lo == pytest.approx(1)


@given(st.data())
def test_products_of_sums_of_exponentials_are_such_sums(data):
    numbers = st.lists(st.integers(-2, 2).map(float), min_size=2, max_size=2)
    sums = []
    for _ in range(2):
        rows = data.draw(st.lists(numbers, min_size=1, max_size=3))
        sums.append(Exponentials(np.array(rows), np.arange(1.0, len(rows) + 1)))
    left, right = algebra.product_gap(sums[0], sums[1], (Fraction(1, 3), Fraction(-1, 2)))
    assert left.lo <= right.hi and right.lo <= left.hi


@given(st.integers(0, 10**30))
def test_every_number_has_its_function_and_every_function_its_number(n):
    assert concatenated.member(n).index == n


def test_numbers_run_through_all_functions_once():
    """Brute force over the first lists."""
    total = concatenated.before(2, 1) + concatenated.size(2, 1)
    seen = {(u.m, u.q, u.steps) for u in map(concatenated.member, range(total))}
    assert len(seen) == total == 9 + 25 + 27  # (1, 1), (1, 2), (2, 1)


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_one_neuron_is_its_function(m, q, data):
    steps = data.draw(st.lists(st.integers(-q, q), min_size=m + 1, max_size=m + 1))
    u = concatenated.Member(m, q, tuple(steps))
    x = data.draw(st.fractions(0, 1, max_denominator=50))
    assert concatenated.activation(2 * u.index + x) == u(x)
    assert float(u(x)) == pytest.approx(np.interp(float(x), np.arange(m + 1) / m, np.array(steps) / q), abs=1e-12)


@given(st.integers(0, 200), st.sampled_from([Fraction(1, 10**9), Fraction(1, 10**6)]))
def test_the_activation_is_continuous(n, gap):
    for t in (Fraction(n), Fraction(n) + Fraction(1, 3)):
        assert abs(concatenated.activation(t + gap) - concatenated.activation(t)) <= 200 * gap


def test_a_neuron_is_within_its_bound_of_a_function():
    goal = goal_of(lambda x: jnp.sin(9 * x), (0, 1))
    for m, q in ((3, 2), (20, 5), (40, 40)):
        u = concatenated.member_for(goal, m, q)
        bound = concatenated.bound_for(goal, m, q)
        x = np.linspace(0, 1, 5001)
        dense = np.abs(np.sin(9 * x) - np.interp(x, np.arange(m + 1) / m, u.nodal)).max()
        error = concatenated.error_of(goal, u, bound.hi)
        assert dense <= error.hi <= bound.lo and error.lo <= dense * 1.001


def test_digits_grow_as_the_catalogue_says():
    m = 24
    q = 16
    top = concatenated.Member(m, q, (q,) * (m + 1)).index
    assert (m + 1) * np.log2(2 * q + 1) == pytest.approx(top.bit_length(), abs=40)
    assert concatenated.size(m, q).bit_length() == int((m + 1) * np.log2(2 * q + 1)) + 1


@pytest.mark.parametrize("d, connections, neurons, printed", [(1, 39, 12, 27), (2, 117, 21, 180), (3, 237, 30, 567)])
def test_counts_of_maiorov_and_pinkus(d, connections, neurons, printed):
    rng = np.random.default_rng(0)
    found = count(architecture(rng, d))
    other = count(own_units(rng, d))
    sizes = Sizes(d)
    assert (found.connections, found.neurons) == (connections, neurons) == (sizes.connections, sizes.neurons)
    assert sizes.input_weights == printed
    assert (other.connections, other.neurons) == (sizes.own_connections, sizes.own_neurons)


def test_the_seminorm_of_a_gaussian():
    found = measure_seminorm(goal_of(lambda x: jnp.exp(-x * x / 2), (-12, 12)), 512)
    assert found.by_fourier == pytest.approx(sqrt(pi) / 2, rel=1e-9) and found.settled
    assert found.other_convention == pytest.approx(pi**1.5, rel=1e-9)
    assert found.by_fourier in found.by_differences and found.by_differences.width < 1e-3
    box = measure_seminorm(goal_of(lambda x: jnp.where(jnp.abs(x) < 1, 1.0, 0.0), (-8, 8)), 512)
    assert not box.settled


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
    assert bases.distance_from_cubes(a, m) == pytest.approx(sqrt(((f - means[cell]) ** 2).mean()), rel=2e-3)


def test_the_bound_for_subspaces_is_below_a_wave():
    for d in (1, 2, 5):
        for m in (4, 8):
            assert bases.subspace_bound(d, m**d) < bases.worst_wave(d, m)


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_the_norm_of_a_gaussian_in_closed_form(d):
    found = ft.barron_norm("gaussian", dimension=d)
    assert float(found) == pytest.approx(sqrt(2) * gamma((d + 1) / 2) / gamma(d / 2), rel=1e-14)
    assert found.value.basis is Basis.EXACT


def test_norms_from_samples_spectra_and_expressions():
    line = ft.barron_norm(lambda x: jnp.exp(-x * x / 2), (-12, 12))
    assert line.settled and float(line) == pytest.approx(sqrt(2 / pi), rel=1e-4)
    assert line.value.basis is Basis.SAMPLED and line.chart().kind == "curves"
    plane = ft.barron_norm("exp(-(x*x + y*y)/2)", (-9, 9), points=128)
    assert float(plane) == pytest.approx(1.2533141, rel=2e-3)
    waves = Target(
        "waves", jnp.cos, (-pi,), (pi,), spectrum=Spectrum.cosines(np.array([[3.0], [1.0]]), np.ones(2), np.zeros(2))
    )
    assert float(ft.barron_norm(waves)) == pytest.approx(4.0) and "spectrum" in str(ft.barron_norm(waves))
    x = np.linspace(0, 2 * pi, 64, endpoint=False)
    assert float(ft.barron_norm(np.cos(5 * x), (0, 2 * pi))) == pytest.approx(5.0)


def test_norms_that_have_no_end_are_said_to_grow():
    hat = ft.barron_norm(lambda x: jnp.maximum(1 - jnp.abs(x), 0.0), (-8, 8))
    assert not hat.settled and hat.value.hi == np.inf and "may be infinite" in str(hat)
    assert float(ft.barron_norm("hat")) == np.inf
    with pytest.raises(UsageError, match="three variables"):
        ft.barron_norm(lambda x: jnp.sum(x), ([0] * 4, [1] * 4))
