"""Transport on the line against SciPy, closed forms and brute force in rationals."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from ftheta.transport.line import exact_line_cost, line_cost, monotone_plan
from tests.thoroughness import max_examples

numbers = st.integers(-5, 5).map(float) | st.floats(-1e3, 1e3, allow_subnormal=False)
weights = st.integers(0, 4)


def test_the_textbook_values_hold_exactly():
    x = [0, 1, 3]
    y = [Fraction(1, 2), 2]
    costs = [exact_line_cost(x, y, [2, 1, 1], [2, 1], p) for p in (1, 2, 3)]
    assert costs == [Fraction(2, 3), Fraction(1, 2), Fraction(5, 12)]


@max_examples(100)
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.tuples(*(st.lists(numbers, min_size=n, max_size=n),) * 2)
    ),
    st.integers(1, 3),
)
def test_sorting_is_the_best_of_all_assignments(pair, p):
    x, y = ([Fraction(v) for v in side] for side in pair)
    best = min(sum(abs(s - t) ** p for s, t in zip(x, order)) for order in permutations(y)) / len(x)
    assert exact_line_cost(x, y, p=p) == best


@max_examples(100)
@given(st.data(), st.integers(1, 3))
def test_the_enclosure_contains_the_rational_value(data, p):
    sides = []
    for _ in range(2):
        n = data.draw(st.integers(1, 6))
        some = st.lists(weights, min_size=n, max_size=n).filter(any)
        sides.append(
            (data.draw(st.lists(numbers, min_size=n, max_size=n)), data.draw(st.none() | some))
        )
    (x, a), (y, b) = sides
    array = lambda values: None if values is None else np.array(values, float)
    found = line_cost(np.array(x), np.array(y), array(a), array(b), p=p)
    assert exact_line_cost(x, y, a, b, p) in found


def test_a_million_numbers_agree_with_scipy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30_000)
    y = rng.exponential(size=20_001)
    assert line_cost(x, y).middle == pytest.approx(wasserstein_distance(x, y), rel=1e-12)
    w = rng.random(len(x))
    assert line_cost(x, y, w, None).middle == pytest.approx(
        wasserstein_distance(x, y, w), rel=1e-10
    )


def test_the_plan_has_the_marginals():
    rng = np.random.default_rng(1)
    a = rng.random(7)
    rows, columns, masses = monotone_plan(rng.normal(size=7), rng.normal(size=5), a, None)
    np.testing.assert_allclose(np.bincount(rows, masses, 7), a / a.sum(), atol=1e-14)
    np.testing.assert_allclose(np.bincount(columns, masses, 5), np.full(5, 0.2), atol=1e-14)


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.floats(-5, 5))
def test_a_shift_moves_a_sample_by_its_length(values, shift):
    x = np.array(values)
    assert line_cost(x, np.random.default_rng(0).permutation(x + shift)).middle == pytest.approx(
        abs(shift), abs=1e-9
    )
