"""Exact transport against brute force in rationals, linear programming, and what is known of plans and potentials."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist

import ftheta as ft
from ftheta.logic.enclosure import Basis
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.transport import network
from tests.thoroughness import max_examples
from trials.transport import TRIALS

ties = st.integers(0, 3).map(float)
forbidden = st.sampled_from([0.0, 1.0, 2.5, 1e32])
near_one = st.integers(0, 3).map(lambda k: 1 + k * 2.0**-52)
huge = st.integers(0, 3).map(lambda k: 2.0**53 + 2 * k)
SMALL_PROBLEMS = TRIALS[0]
COSTS = st.sampled_from([ties, forbidden, near_one, huge])


def brute_force(C: np.ndarray, units_x: list[int], units_y: list[int]) -> Fraction:
    """Whole masses are split into units, and all assignments of units are tried: one of them is optimal."""
    rows = [i for i, count in enumerate(units_x) for _ in range(count)]
    columns = [j for j, count in enumerate(units_y) for _ in range(count)]
    exact = [[Fraction(float(c)) for c in row] for row in C]
    orders = set(permutations(columns))
    return min(
        sum((exact[i][j] for i, j in zip(rows, order)), Fraction(0)) for order in orders
    ) / len(rows)


@st.composite
def small_problems(draw):
    """Whole weights, some of them zero, with the same sum of at most five."""
    total = draw(st.integers(1, 5))
    sides = []
    for _ in range(2):
        cuts = sorted(draw(st.lists(st.integers(0, total), min_size=0, max_size=4)))
        sides.append(np.diff([0, *cuts, total]).tolist())
    entries = draw(COSTS)
    n, m = len(sides[0]), len(sides[1])
    C = np.array(draw(st.lists(entries, min_size=n * m, max_size=n * m))).reshape(n, m)
    return C, sides[0], sides[1]


@max_examples(150)
@given(small_problems())
def test_small_problems_are_solved_exactly(problem):
    C, a, b = problem
    best = brute_force(C, a, b)
    found = ft.transport(np.arange(len(a)), np.arange(len(b)), a, b, cost=C)
    assert found.exact() == best * sum(a)
    assert found.value.lo <= best * sum(a) <= found.value.hi
    assert found.value.basis is Basis.EXACT
    assert found.value.width <= 1e-9 * max(
        abs(found.value.middle), 1e-3 * C[C < 1e30].max(initial=1.0)
    )


@max_examples(60)
@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from(["sqeuclidean", "cityblock"]),
    st.integers(0, 10**6),
)
def test_duplicated_points_are_solved_exactly(n, d, cost, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 3, (2, n, d)).astype(float)
    C = cdist(x, y, cost)
    found = ft.transport(x, y, cost=cost)
    assert found.exact() == brute_force(C, [1] * n, [1] * n)
    assert found.exact() in found.value


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_ten_thousand_small_problems_are_solved_exactly():
    faults = [SMALL_PROBLEMS.case(1, number) for number in range(10_000)]
    assert [fault for fault in faults if fault is not None] == []


@pytest.mark.parametrize("cost", ["sqeuclidean", "euclidean", "cityblock"])
@pytest.mark.parametrize("d", [1, 2, 20])
def test_assignments_agree_with_scipy(cost, d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(60, d))
    y = rng.normal(size=(60, d)) + 1
    C = cdist(x, y, cost)
    best = C[linear_sum_assignment(C)].mean()
    found = ft.transport(x, y, cost=cost)
    assert found.value.middle == pytest.approx(best, rel=1e-12)
    assert found.gap < 1e-12
    assert (found.f[:, None] + found.g - C).max() < 1e-12 * C.max()


def test_weights_agree_with_linear_programming():
    rng = np.random.default_rng(3)
    n, m = 12, 9
    C = rng.random((n, m))
    a, b = rng.random(n), rng.random(m)
    a, b = a / a.sum(), b / b.sum()
    sums = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    best = linprog(C.ravel(), A_eq=sums, b_eq=np.concatenate([a, b]))
    found = ft.transport(np.zeros(n), np.zeros(m), a, b, cost=C)
    assert found.value.middle == pytest.approx(best.fun, rel=1e-9)
    plan = found.plan.dense()
    np.testing.assert_allclose(plan.sum(1), a, atol=1e-15)
    np.testing.assert_allclose(plan.sum(0), b, atol=1e-15)


def test_groups_and_passes_give_the_same_plan_as_all_arcs(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 2))
    y = rng.normal(size=(130, 2)) * [1, 3] + 2
    plain = ft.transport(x, y)
    monkeypatch.setattr(network, "FEW", 20)
    monkeypatch.setattr(network, "FIRST", 2)
    monkeypatch.setattr(network, "MORE", 1)
    grouped = ft.transport(x, y)
    assert grouped.value.middle == pytest.approx(plain.value.middle, rel=1e-13)
    assert max(plain.gap, grouped.gap) < 1e-12


def test_arcs_are_dropped_and_the_search_goes_on(monkeypatch):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 80, 3))
    best = ft.transport(x, y)
    monkeypatch.setattr(network, "FIRST", 1)
    monkeypatch.setattr(network, "MORE", 5)
    assert ft.transport(x, y).value.middle == pytest.approx(best.value.middle, rel=1e-13)


def test_forbidden_pairs_stay_empty_where_that_is_possible():
    C = np.full((6, 6), 1e32)
    C[np.arange(6), (np.arange(6) + 1) % 6] = 57.543 / 6
    C[0, 0] = 1.0
    found = ft.transport(np.zeros(6), np.zeros(6), cost=C)
    assert found.value.middle == pytest.approx(57.543 / 6, rel=1e-12)


def test_digits_of_scikit_learn_have_a_rational_distance():
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    found = ft.transport(pixels[labels == 3], pixels[labels == 8])
    assert Fraction(7470403, 5307) in found.value
    assert found.gap < 1e-13


def test_the_map_and_the_path_move_translates():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 2))
    y = x + np.array([3.0, -1.0])
    found = ft.transport(x, y)
    np.testing.assert_allclose(found.map, y, atol=1e-12)
    halfway, masses = found.path(0.5)
    order = np.lexsort(halfway.T)
    middle = x + np.array([1.5, -0.5])
    np.testing.assert_allclose(halfway[order], middle[np.lexsort(middle.T)], atol=1e-12)
    assert masses.sum() == pytest.approx(1)


@max_examples(50)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_potentials_of_the_line_are_feasible_and_tight(n, m, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-4, 4, n).astype(float), rng.integers(-4, 4, m).astype(float)
    found = ft.transport(x, y)
    slack = (x[:, None] - y) ** 2 - found.f[:, None] - found.g
    assert slack.min() >= -1e-9
    assert found.f.mean() + found.g.mean() == pytest.approx(found.value.middle, abs=1e-9)


def test_masses_other_than_one_scale_the_cost():
    once = ft.transport([0.0, 1.0], [2.0, 4.0], [1, 3], [2, 2]).value.middle
    assert ft.transport(
        [0.0, 1.0], [2.0, 4.0], [0.25, 0.75], [0.5, 0.5]
    ).value.middle == pytest.approx(once / 4)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([], [1.0]), SubjectError, "no points"),
        (([1.0, np.nan], [1.0]), SubjectError, "finite"),
        (([1.0], [1.0], [-1.0], [1.0]), SubjectError, "not negative"),
        (([1.0], [1.0], [1.0], [1.25]), SubjectError, "a difference of 0.25"),
        (([1.0], [1.0], [0.0], [1.0]), SubjectError, "All weights are zero"),
        (([1.0], [1.0], [1.0, 2.0], None), SubjectError, "one weight per point"),
        (([[1.0, 2.0]], [1.0]), SubjectError, "different dimensions"),
        (([1.0], [1.0], None, None, "sqeuclidian"), UsageError, "did you mean sqeuclidean"),
        (([1.0], [1.0], None, None, [[1.0, 2.0]]), SubjectError, "matrix of costs"),
        (([1.0], [1.0], None, None, [[-1.0]]), SubjectError, "not negative"),
        (([1.0], [1.0], None, None, "sqeuclidean", 0.0), UsageError, "positive"),
        (([1.0], [1.0], None, None, "sqeuclidean", 1e-40), UsageError, "at least 1e-30"),
        (([1e200], [-1e200]), SubjectError, "too large"),
        ((["a"], [1.0]), SubjectError, "real numbers"),
        (([1.0], [1.0], None, None, [["a"]]), SubjectError, "real numbers"),
        (([1.0, 2.0], [1.0, 2.0], [1e308, 1e308], [1e308, 1e308]), SubjectError, "too large"),
    ],
)
def test_bad_input_is_told(arguments, error, words):
    with pytest.raises(error, match=words):
        ft.transport(*arguments)


def test_memory_that_does_not_suffice_is_told(monkeypatch):
    monkeypatch.setattr("ftheta.transport.problems.available_memory", lambda: 1000.0)
    with pytest.raises(UsageError, match="more memory"):
        ft.transport(np.arange(10.0), np.arange(10.0), epsilon=1.0)


@pytest.mark.parametrize("seed", range(8))
def test_clusters_far_apart_whose_masses_differ_have_a_whole_plan(seed):
    """The cheapest pairs of each point stay within its cluster; some mass has to leave it all the same."""
    rng = np.random.default_rng(seed)
    centres = 1e4 * rng.normal(size=(2, 2))
    x, y = (centres[rng.integers(0, 2, 38)] + 1e-3 * rng.normal(size=(38, 2)) for _ in range(2))
    found = ft.transport(x, y)
    assert found.plan.masses.sum() == pytest.approx(1, abs=1e-14)
    costs = cdist(x, y, "sqeuclidean")
    assert found.value.middle == pytest.approx(costs[linear_sum_assignment(costs)].mean(), rel=1e-9)
