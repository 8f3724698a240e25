"""Bounds of an optimal cost: each end by itself against the optimum in rationals, and no contradiction is hidden."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.theorems.generative import transport_1d
from ftheta.transport import certificate, sinkhorn
from ftheta.transport.certificate import bound_above, bound_below, join_bounds, transform
from ftheta.transport.problems import read_problem
from ftheta.transport.rationals import solve_in_rationals
from tests.thoroughness import max_examples

SCALES = st.sampled_from([1e-160, 1.0, 1e8])  # of squares that underflow, and far from the origin
SHIFTS = st.sampled_from([0.0, 1e6])


def make_pair(seed: int, scale: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return scale * (rng.normal(size=(5, 2)) + shift), scale * (rng.normal(size=(4, 2)) + shift)


@max_examples(30)
@given(st.integers(0, 10**6), SCALES, SHIFTS)
def test_each_end_bounds_the_rational_optimum_by_itself(seed, scale, shift):
    x, y = make_pair(seed, scale, shift)
    problem = read_problem(x, y)
    optimum = solve_in_rationals(problem, []).value
    rng = np.random.default_rng(seed)
    for f in (np.zeros(5), float(optimum) * rng.normal(size=5), ft.transport(x, y).f):
        assert Fraction(bound_below(problem, f, transform(problem, f))) <= optimum
    rows, columns = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    independent = np.full(20, 1 / 20)
    assert optimum <= Fraction(bound_above(problem, rows, columns, independent, 0.0))


@max_examples(25)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 3, 16, 17, 24]),
    st.sampled_from(["sqeuclidean", "euclidean", "cityblock"]),
    SCALES,
    SHIFTS,
)
def test_transforms_are_feasible_in_rationals_and_tight(seed, d, cost, scale, shift):
    rng = np.random.default_rng(seed)
    x = scale * (rng.normal(size=(5, d)) + shift)
    y = scale * (rng.normal(size=(6, d)) + shift)
    problem = read_problem(x, y, cost=cost)
    f = rng.normal(size=5) * problem.largest_cost * rng.choice([1e-6, 1.0, 1e6])
    g = transform(problem, f)
    exact = [[exact_distance(s, t, cost) for t in y] for s in x]
    for j, below in enumerate(g):
        gaps = [least_gap(exact[i][j], Fraction(f[i]) + Fraction(below), cost) for i in range(5)]
        assert min(gaps) >= 0
        slack = 1e-13 * (problem.largest_cost + abs(f).max()) * (1 + shift) + 1e-160
        nearest = [least_gap(exact[i][j], Fraction(f[i] + below + slack), cost) for i in range(5)]
        assert min(nearest) <= 0


@pytest.mark.parametrize("d", [2, 24])
def test_every_rounding_of_a_transform_is_paid_for(d, monkeypatch):
    """Without potentials costs round, and where a potential is a column of costs all its differences nearly vanish."""
    monkeypatch.setattr("ftheta.transport.problems.FEW_PAIRS", 0)  # as for many points
    rng = np.random.default_rng(d)
    # two clusters far apart: products of coordinates cancel in the squares of each
    far = 1e4 * rng.choice([-1.0, 1.0], size=(52, 1))
    points = rng.normal(size=(52, d)) + far
    problem = read_problem(points[:12], points[12:])
    exact = [[problem.exact_cost(i, j) for j in range(40)] for i in range(12)]
    column = np.array([float(row[0]) for row in exact])
    apart = np.where(
        column < 1e6, column + 1e-9 * rng.normal(size=12), 0.0
    )  # less than a table tells apart
    for f in (np.zeros(12), column, column * 1e3, 3 * rng.normal(size=12), apart):
        g = transform(problem, f)
        for j, below in enumerate(g):
            assert Fraction(below) <= min(exact[i][j] - Fraction(f[i]) for i in range(12))


def exact_distance(s: np.ndarray, t: np.ndarray, cost: str) -> Fraction:
    """The cost in rationals; of Euclidean distances the square."""
    steps = [Fraction(float(p)) - Fraction(float(q)) for p, q in zip(s, t)]
    return sum((abs(v) if cost == "cityblock" else v * v) for v in steps)


def least_gap(exact: Fraction, below: Fraction, cost: str) -> Fraction:
    """Positive where `below` is below the cost."""
    if cost != "euclidean":
        return exact - below
    return exact - below * below if below > 0 else Fraction(1)


@pytest.mark.parametrize("step", [1e-163, 1.6e-162, 2.3e-162, 1e-155])
def test_distances_whose_squares_underflow_are_enclosed(step):
    """Along a coordinate axis the Euclidean distance is the step itself."""
    x, y = np.zeros((2, 2)), np.array([[step, 0.0], [step, 0.0]])
    assert (
        ft.transport(x, y, cost="euclidean").value.lo
        <= step
        <= ft.transport(x, y, cost="euclidean").value.hi
    )
    assert Fraction(step) in ft.transport(x, y, cost="euclidean", epsilon=1e-3).cost


@max_examples(20)
@given(st.integers(0, 10**6), st.sampled_from([1e-12, 1.0, 1e8]), SHIFTS, st.floats(0.05, 5))
def test_the_cost_that_a_penalty_leads_to_encloses_the_rational_optimum(
    seed, scale, shift, epsilon
):
    x, y = make_pair(seed, scale, shift)
    problem = read_problem(x, y)
    found = sinkhorn.solve_entropic(problem, epsilon * problem.largest_cost)
    assert solve_in_rationals(problem, []).value in found.cost


def test_the_cost_of_a_plan_is_summed_with_outward_rounding():
    rng = np.random.default_rng(0)
    C = rng.random((30, 40))
    plan = rng.random((30, 40))
    plan /= plan.sum()
    problem = read_problem(np.zeros(30), np.zeros(40), plan.sum(1), plan.sum(0), cost=C)
    cost = sum(
        (Fraction(c) * Fraction(p) for c, p in zip(C.ravel().tolist(), plan.ravel().tolist())),
        Fraction(0),
    )
    above = sinkhorn.enclose_cost(problem, C, plan, np.zeros(30)).hi
    assert cost <= Fraction(above)
    assert above <= float(cost) * (1 + 1e-13)


@pytest.mark.parametrize(("below", "above"), [(1.0, 0.999), (0.0, -1e-300), (0.0, np.nan)])
def test_bounds_that_contradict_one_another_are_an_error(below, above):
    with pytest.raises(ArithmeticError, match="contradict"):
        join_bounds(below, above)


def test_a_bound_below_zero_is_cut_and_nothing_else():
    assert (join_bounds(-1.0, 2.0).lo, join_bounds(-1.0, 2.0).hi) == (0.0, 2.0)
    assert (join_bounds(2.0, 2.0).lo, join_bounds(2.0, 2.0).hi) == (2.0, 2.0)


def test_an_unsound_bound_is_not_hidden(monkeypatch):
    x, y = np.random.default_rng(0).normal(size=(2, 50, 2))
    s, t = x[:, 0], y[:, 0]
    sound = bound_below
    monkeypatch.setattr(sinkhorn, "bound_below", lambda *given: 2 * sound(*given))
    with pytest.raises(ArithmeticError):
        ft.transport(x, y, epsilon=0.01)
    monkeypatch.setattr(transport_1d, "bound_below", lambda *given: 1.001 * sound(*given))
    with pytest.raises(ArithmeticError):
        ft.check("transport-1d", kind="uniform")
    assert ft.transport(s, t).value.lo > 0  # on the line sorting is optimal: no bound is asked for
    monkeypatch.setattr(certificate, "bound_below", lambda *given: 1.001 * sound(*given))
    with pytest.raises(ArithmeticError):
        ft.transport(x, y)
