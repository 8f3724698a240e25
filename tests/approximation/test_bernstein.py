"""Proved suprema, moduli of continuity and Bernstein's polynomials."""

from fractions import Fraction
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.approximation import bernstein as b
from ftheta.approximation.suprema import Oscillation, bounds_of, supremum, without_jumps
from ftheta.logic import SubjectError

from ..thoroughness import max_examples

FUNCTIONS = {
    "wave": (jnp.sin, np.sin, -1.0, 4.0),
    "vee": (jnp.abs, np.abs, -1.0, 2.0),
    "rectifier": (jax.nn.relu, lambda x: np.maximum(x, 0), -3.0, 1.0),
    "root": (lambda x: jnp.sqrt(jnp.abs(x)), lambda x: np.sqrt(np.abs(x)), -1.0, 0.5),
    "step": (
        lambda x: jnp.where(x > 0.3, 1.0, 0.0),
        lambda x: np.where(x > 0.3, 1.0, 0.0),
        0.0,
        1.0,
    ),
}
each = pytest.mark.parametrize("f, plain, lo, hi", FUNCTIONS.values(), ids=FUNCTIONS.keys())


@each
def test_the_supremum_is_never_below_a_dense_search_and_its_lower_end_is_met(f, plain, lo, hi):
    found = supremum(bounds_of(f, 1), [lo], [hi])
    dense = np.abs(plain(np.linspace(lo, hi, 100_001))).max()
    assert dense <= found.value.hi * (1 + 1e-12)
    assert found.value.lo == pytest.approx(abs(plain(np.array(found.at[0]))), rel=1e-9)
    assert found.value.hi <= found.value.lo * 1.01


def test_the_supremum_in_two_variables_is_that_of_the_closed_form():
    found = supremum(bounds_of(lambda x: jnp.sin(x[0]) * x[1], 2), [0, 0], [2, 3], relative=0.02)
    assert found.value.lo <= 3.0 <= found.value.hi <= 3.1


def test_a_program_that_may_jump_is_not_given_a_slope():
    jumpy = (
        lambda x: jnp.floor(x),
        lambda x: jnp.where(x > 0, x, 0.0),
        jnp.sign,
        lambda x: x * (x > 0.5),
    )
    assert not any(without_jumps(f, 1) for f in jumpy)
    assert all(
        without_jumps(f, 1)
        for f in (jnp.tanh, jnp.abs, jax.nn.relu, jax.nn.softplus, jax.nn.sigmoid)
    )


def test_a_derivative_that_its_author_made_up_is_not_trusted():
    liar = jax.custom_jvp(lambda x: 5 * x)
    liar.defjvp(lambda x, dx: (5 * x[0], 0.0 * dx[0]))
    assert not without_jumps(liar, 1)
    assert supremum(bounds_of(liar, 1), [0.0], [1.0], budget=4000).value.hi >= 5


@pytest.mark.parametrize("box", [([0.0], [np.inf]), ([1.0], [0.0]), ([0.0], [np.nan])])
def test_an_unbounded_or_empty_box_is_refused(box):
    with pytest.raises(SubjectError, match="bounded box"):
        supremum(bounds_of(jnp.sin, 1), *box)


def test_a_function_that_cannot_be_traced_is_refused_with_a_remedy():
    with pytest.raises(SubjectError, match=r"jax\.numpy"):
        without_jumps(lambda x: float(x), 1)


@each
def test_the_modulus_of_continuity_contains_that_of_a_dense_grid(f, plain, lo, hi):
    spread = Oscillation.of(f, lo, hi)
    x = np.linspace(lo, hi, 2001)
    for distance in (0.05, 0.3):
        k = int(distance / (x[1] - x[0]) + 1e-9)
        y = plain(x)
        dense = max(float(np.abs(y[j:] - y[: len(y) - j]).max()) for j in range(1, k + 1))
        found = spread.modulus(distance)
        assert dense <= found.hi + 1e-12 and found.lo <= dense + 0.03


def test_the_modulus_of_the_identity_is_the_distance():
    found = Oscillation.of(lambda x: x, 0.0, 1.0).modulus(0.25)
    assert found.lo <= 0.25 <= found.hi and found.width < 1e-3


@given(st.integers(1, 25), st.fractions(0, 1, max_denominator=50))
def test_the_scheme_agrees_with_the_definition(n, x):
    values = [Fraction((7 * k) % 11 - 5, 4) for k in range(n + 1)]
    scheme = b.bernstein(np.array([float(v) for v in values]), np.array([float(x)]))[0]
    assert scheme == pytest.approx(float(b.exact_bernstein(values, x)), abs=1e-12)


@given(st.integers(1, 30))
def test_the_excess_of_the_square_and_the_vee(n):
    gap, half = b.square_identity(n)
    assert gap == 0 and half == Fraction(1, 4 * n)
    if n % 2 == 0:  # the mean absolute deviation of the binomial law, in closed form
        assert b.vee_at_half(n) == Fraction(comb(n, n // 2), 2 ** (n + 1))
    assert b.vee_at_half(10) == Fraction(252, 2048)


@max_examples(8)
@given(st.integers(1, 60))
def test_the_error_of_the_square_is_a_quarter_of_one_over_n(n):
    found = b.Approximant.of(jnp.square, 0.0, 1.0, n).error().value
    assert found.lo <= 1 / (4 * n) * (1 + 1e-9) and 1 / (4 * n) <= found.hi <= 1.01 / (4 * n)


@each
def test_the_error_encloses_a_dense_search(f, plain, lo, hi):
    made = b.Approximant.of(f, lo, hi, 12)
    x = np.linspace(lo, hi, 5001)
    assert np.abs(made(x) - plain(x)).max() <= made.error().value.hi * (1 + 1e-9)


def test_a_jump_leaves_every_degree_above_its_half():
    assert b.degree_for(Oscillation.of(FUNCTIONS["step"][0], 0.0, 1.0), 1.0, 0.5) is None
    # 3/2 n^−½ ≤ 0.1 from n = 225
    assert b.degree_for(Oscillation.of(lambda x: x, 0.0, 1.0), 1.0, 0.1) == 256


def test_pairs_that_generators_do_not_separate_are_found_and_bound_the_distance():
    even = [lambda x: 1.0, lambda x: x * x]
    pairs = b.find_unseparated(even, -1.0, 1.0, 65)
    assert pairs and all(x == -y for x, y in pairs)
    assert b.distance_below(lambda x: x, pairs) == pytest.approx(1.0)
    assert b.find_unseparated([lambda x: x], -1.0, 1.0, 65) == [(0.0, 0.0)]
    assert b.distance_below(lambda x: x + 3.0, [(0.0, 0.0)]) == pytest.approx(3.0)
    assert (
        b.find_unseparated([lambda x: 1.0, lambda x: x], -1.0, 1.0, 65) == []
        and b.distance_below(jnp.sin, []) == 0
    )
