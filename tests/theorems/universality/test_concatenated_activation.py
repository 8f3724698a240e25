"""One neuron for every function: numbers and functions, continuity, error."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.approximation.goal import goal_of
from ftheta.theorems.universality.concatenated_activation import concatenated

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
