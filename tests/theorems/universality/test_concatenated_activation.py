"""One neuron for every function: numbers and functions, continuity, error."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.approximation.goal import goal_of
from ftheta.theorems.universality.concatenated_activation import analytic, concatenated

from ...thoroughness import max_examples


@given(st.integers(0, 10**30))
def test_every_number_has_its_function_and_every_function_its_number(n):
    assert concatenated.member(n).index == n


def test_numbers_run_through_all_functions_once():
    """Brute force over the first lists."""
    total = concatenated.before(2, 1) + concatenated.size(2, 1)
    seen = {(u.m, u.q, u.steps) for u in map(concatenated.member, range(total))}
    assert len(seen) == total == 9 + 25 + 27  # (1, 1), (1, 2), (2, 1)


@max_examples(25)
@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_one_neuron_is_its_function(m, q, data):
    steps = data.draw(st.lists(st.integers(-q, q), min_size=m + 1, max_size=m + 1))
    u = concatenated.Member(m, q, tuple(steps))
    x = data.draw(st.fractions(0, 1, max_denominator=50))
    assert concatenated.activation(2 * u.index + x) == u(x)
    assert float(u(x)) == pytest.approx(
        np.interp(float(x), np.arange(m + 1) / m, np.array(steps) / q), abs=1e-12
    )


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


MEMBERS = st.integers(1, 6).flatmap(
    lambda m: st.tuples(st.just(m), st.integers(1, 6)).flatmap(
        lambda mq: st.builds(
            lambda steps: concatenated.Member(*mq, tuple(steps)),
            st.lists(st.integers(-mq[1], mq[1]), min_size=mq[0] + 1, max_size=mq[0] + 1),
        )
    )
)


@max_examples(25)
@given(MEMBERS)
def test_the_function_before_smoothing_rises_everywhere_and_holds_its_function(u):
    here = analytic.period(u.index)
    least, most = analytic.slopes(u)
    assert Fraction(1, 2) <= least <= most <= Fraction(3, 2)
    for k in range(2 * u.m + 1):
        x = Fraction(k, 2 * u.m)
        t = here.cells + x * here.width
        assert analytic.rise(t) == here.line(t) + here.scale * u(x)
    behind = analytic.period(here.n + 1)
    assert analytic.rise(Fraction(behind.start)) == behind.height
    assert analytic.period_at(Fraction(behind.start)).n == here.n + 1


@max_examples(10)
@given(MEMBERS, st.fractions(0, 1, max_denominator=30))
def test_three_units_are_within_their_deviation_of_any_function(u, x):
    apart = analytic.network(u, x) - analytic.as_ball(u(x))
    assert apart.abs_upper() <= analytic.deviation(u).hi
    assert analytic.deviation(u).hi <= 1 / (2 * u.q)


def test_deviations_are_those_of_kinks_that_a_bell_rounds():
    """A tent of height 2 on cells of length 24: (4/24) E(0) at its top, and half of the length away nearly none."""
    u = concatenated.Member(2, 1, (-1, 1, -1))
    top = analytic.network(u, Fraction(1, 2)) - 1
    assert float(top) == pytest.approx(-4 / 24 / np.sqrt(2 * np.pi), rel=1e-9)
    assert abs(float(analytic.network(u, Fraction(1, 4)))) < 1e-12


@pytest.mark.parametrize("place", [-300, 3, 60, 75, 100, 700, 3000])
def test_the_analytic_activation_is_the_mean_of_what_it_smooths(place):
    """Simpson's rule on the convolution, by hand; beside it that it rises, and its symmetry."""
    s = np.linspace(-9, 9, 3601)
    bell = np.exp(-(s**2) / 2) / np.sqrt(2 * np.pi)
    values = np.array([float(analytic.rise(place + Fraction(float(z)))) for z in s])
    weights = np.where(np.arange(len(s)) % 2, 4, 2) * (s[1] - s[0]) / 3
    weights[[0, -1]] /= 2
    found = analytic.activation(Fraction(place))
    assert float(found) == pytest.approx(weights @ (values * bell), abs=1e-11)
    assert analytic.activation(place + Fraction(1, 10)) > found
    assert float(analytic.activation(Fraction(-place)) + found) == pytest.approx(1, abs=1e-15)


def test_the_analytic_activation_goes_from_0_to_1():
    far = analytic.period(10**30)
    assert abs(1 - analytic.activation(Fraction(far.start))) < 1e-30
    assert 0 < analytic.activation(Fraction(-far.start)) < 1e-30
