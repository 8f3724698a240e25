"""Sums of exponentials of ridges: their algebra, and the budget of both stages."""

from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from ftheta.approximation.goal import goal_of
from ftheta.approximation.ridge_exponentials import Exponentials, fit_exponentials, lattice
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
    found: Any = optimize.minimize_scalar(
        lambda t: np.exp(t) - chord(t), bounds=(b - h, b), method="bounded"
    )
    assert budgets.exp_interpolation_error(b, h).middle == pytest.approx(
        -found.fun, rel=1e-6, abs=1e-13
    )


@pytest.mark.parametrize("cells", [1, 16])
def test_the_budget_of_both_stages_holds_on_a_dense_sample(cells):
    goal = goal_of(lambda x: 1 / (1 + jnp.sum(x * x)), SQUARE)
    made = budgets.make_budget(goal, fit_exponentials(goal, lattice(2, 2, 1.0)), cells)
    x = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 2))
    exponentials = np.abs(goal.values(x) - made.sums.values(x)).max()
    network = np.abs(goal.values(x) - made.network.values(x)).max()
    assert exponentials <= made.first.value.hi and network <= made.error.hi <= made.total.lo
    assert (
        np.abs(made.sums.values(x) - made.network.values(x)).max()
        <= made.second.hi * (1 + 1e-6) + 1e-9
    )


def test_directions_along_one_axis_do_not_separate():
    assert algebra.rank(np.array([[1.0, 0.0], [2.0, 0.0]])) == 1
    assert algebra.rank(1e-200 * np.eye(2)) == 2


@given(st.data())
def test_products_of_sums_of_exponentials_are_such_sums(data):
    numbers = st.lists(st.integers(-2, 2).map(float), min_size=2, max_size=2)
    sums = []
    for _ in range(2):
        rows = data.draw(st.lists(numbers, min_size=1, max_size=3))
        sums.append(Exponentials(np.array(rows), np.arange(1.0, len(rows) + 1)))
    left, right = algebra.product_gap(sums[0], sums[1], (Fraction(1, 3), Fraction(-1, 2)))
    assert left.lo <= right.hi and right.lo <= left.hi
