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
