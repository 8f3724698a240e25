"""What theorems on samples take for shown: diameters of rows, constants of networks, sizes that overflow."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.catalogue import theorem
from ftheta.logic import Basis, Status, Verdict
from ftheta.networks import Dense, Description
from ftheta.running import assess, run
from ftheta.subjects import Dataset, Network
from ftheta.theorems.generative.wasserstein_sampling import farthest_apart
from ftheta.theorems.samples import make_pair
from ftheta.transport.line import exact_line_cost, line_cost
from tests.thoroughness import max_examples


def test_rows_that_are_farther_apart_than_the_diameter_are_told_so():
    """No column is wider than 1, but the diagonal of the cube is."""
    x = np.repeat([[0.0] * 50, [1.0] * 50], 8, axis=0)
    found = run(theorem("wasserstein-sampling"), Dataset("two corners", x), diameter=1.0)
    assert found.verdict is Verdict.INAPPLICABLE


def test_a_diameter_that_the_rows_have_is_shown_by_all_pairs():
    x = np.random.default_rng(0).normal(size=(40, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)  # a sphere of diameter 2 in a box of diagonal 2√3
    found = run(theorem("wasserstein-sampling"), Dataset("sphere", x), diameter=2.001)
    assert found.verdict is not Verdict.INAPPLICABLE
    assert all(check.finding.status is Status.PROVED for check in found.checks)


@max_examples(20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_the_largest_distance_of_two_rows_lies_in_its_enclosure(seed, d):
    x = np.random.default_rng(seed).normal(size=(6, d)) * 10.0 ** np.random.default_rng(
        seed
    ).integers(-5, 6)
    rows = [[Fraction(v) for v in row] for row in x.tolist()]
    square = max(sum((a - b) ** 2 for a, b in zip(p, q)) for p in rows for q in rows)
    found = farthest_apart(x)
    assert Fraction(found.lo) ** 2 <= square <= Fraction(found.hi) ** 2


def test_gradients_that_were_looked_at_are_no_bound_of_the_lipschitz_constant():
    found = run(theorem("modes-need-steepness"), breaker=True, force=True)
    assert found.numbers["L"].basis is Basis.SAMPLED and "largest gradient found" in found.summary


def test_a_constant_critic_sees_nothing_of_the_distance():
    net = Network.described(Description((Dense(np.zeros((1, 2)), np.ones(1), "identity"),)))
    rng = np.random.default_rng(0)
    data = Dataset(
        "two",
        np.concatenate([rng.normal(size=(5, 2)), 1 + rng.normal(size=(5, 2))]),
        np.repeat([0, 1], 5),
    )
    subject = net.with_data(data)
    assert assess(theorem("wgan-critic"), subject).applies
    assert run(theorem("wgan-critic"), subject).verdict.holds


@pytest.mark.parametrize(
    "x, y, p",
    [
        ([1e200], [-1e200], 2),
        ([1e308], [-1e308], 1),
        ([1e308] * 3, [0.0] * 3, 1),
        ([1e-160], [0.0], 2),
    ],
)
def test_costs_beyond_the_floats_are_enclosed_all_the_same(x, y, p):
    found = line_cost(np.array(x), np.array(y), p=p)
    cost = exact_line_cost(x, y, p=p)
    assert Fraction(found.lo) <= cost
    assert found.hi == np.inf or cost <= Fraction(found.hi)


@pytest.mark.parametrize(
    "x, y, p",
    [
        (
            np.array([-100], np.int8),
            np.array([100, 100], np.int8),
            1,
        ),  # the difference wraps around in eight bits
        (np.array([1, 1], np.float32) * np.float32(1e-30), np.ones(3, np.float32), 1),
        (
            np.array([-1e200, 1e200]),
            np.repeat([-1e200, 1e200], 2),
            2,
        ),  # the cost is zero, the square of the range is not
        (
            np.array([0.0]),
            np.array([1.6e-162]),
            2,
        ),  # the square is rounded up to the least positive number
    ],
)
def test_line_costs_are_those_of_the_real_numbers(x, y, p):
    found = line_cost(x, y, p=p)
    assert exact_line_cost(x.tolist(), y.tolist(), p=p) in found


SAME = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize(
    "x, y",
    [
        (SAME, SAME[::-1]),
        (np.ones((4, 2)), np.ones((5, 2))),
        (1e6 * SAME, 1e6 * SAME[::-1]),
        (1e8 + SAME, 1e8 + SAME),
    ],
    ids=["equal", "one point", "large", "far from the origin"],
)
def test_samples_that_cost_nothing_to_move_do_not_refute_duality(x, y):
    found = run(theorem("kantorovich-duality"), make_pair("no cost", x, y))
    assert found.verdict is Verdict.CERTIFIED


def test_a_column_that_never_changes_is_compared_too():
    rows = np.stack([np.arange(5.0), np.ones(5)], 1)
    assert run(
        theorem("transport-1d"),
        make_pair("constant column", rows, rows + np.array([0.5, 0.0])),
        power=2.0,
    ).verdict.holds


def test_the_plan_beside_sorting_is_one_of_all_rows():
    """The first thousand rows of both samples agree, the others do not."""
    x = np.repeat([0.0, 100.0], [1000, 3001])
    y = np.repeat([0.0, 300.0], [1000, 2003])
    found = run(theorem("transport-1d"), make_pair("rows in order", x, y), power=3.0)
    assert not any(judged.judgement.contradicted for judged in found.claims)
    assert found.verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("name", ["bures-and-fid", "gan-and-transport"])
@pytest.mark.parametrize(
    "x", [np.arange(20.0)[:, None], SAME, 1e6 * SAME], ids=["line", "plane", "large"]
)
def test_one_sample_in_two_orders_contradicts_nothing(name, x):
    found = run(theorem(name), make_pair("one sample", x, x[::-1]))
    assert found.verdict is Verdict.CERTIFIED


def test_clouds_that_mirror_one_another_have_a_rectified_flow():
    """Their correlations cancel in Σ₀/α + Σ₁/β."""
    x = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, -1.0], [2.5, 0.5]])
    found = run(theorem("straight-is-not-optimal"), make_pair("mirrored", x, x * [1, -1]))
    assert found.verdict.holds


def test_a_statistic_of_large_rows_is_zero_up_to_rounding():
    found = run(
        theorem("mmd-test"), make_pair("one sample", 1e6 * SAME, 1e6 * SAME[::-1]), kernel="energy"
    )
    assert not any(judged.judgement.contradicted for judged in found.claims)


def test_rows_that_are_all_alike_are_at_no_distance():
    assert run(
        theorem("wasserstein-sampling"), Dataset("one point", np.ones((20, 2)))
    ).verdict.holds
