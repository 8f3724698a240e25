"""Entropic transport against closed forms, a plain iteration, and the exact optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

import ftheta as ft
from ftheta.transport.gaussian import entropic_covariance, entropic_gaussian_cost
from ftheta.transport.problems import read_problem
from ftheta.transport.sinkhorn import debias, round_plan, solve_entropic
from tests.thoroughness import max_examples


def test_two_points_have_a_closed_form():
    found = ft.transport([0, 1], [0, 1], [0.3, 0.7], [0.6, 0.4], cost=[[0, 1], [1, 0]], epsilon=0.5)
    assert found.value.middle == pytest.approx(0.393940459, abs=1e-9)
    assert found.plan.dense()[0, 0] == pytest.approx(0.293122448, abs=1e-6)


@max_examples(10)
@given(st.integers(0, 10**6), st.floats(0.1, 5))
def test_enclosures_contain_both_optima(seed, epsilon):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(8, 2)), rng.normal(size=(6, 2)) + 1
    a, b = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(6))
    found = ft.transport(x, y, a, b, epsilon=epsilon)
    exact = ft.transport(x, y, a, b).value
    assert found.cost.lo <= exact.hi and exact.lo <= found.cost.hi
    entropy = min(-(a * np.log(a)).sum(), -(b * np.log(b)).sum())
    assert (
        exact.lo - 1e-9 <= found.value.hi and found.value.lo <= exact.hi + epsilon * entropy + 1e-9
    )
    # a second implementation: plain iteration in the logarithmic domain
    C = ((x[:, None] - y) ** 2).sum(-1)
    g = np.zeros(6)
    dual, before = -1e300, -np.inf
    while dual - before > 1e-14 * abs(dual):  # it rises with every step
        f = -epsilon * np.log(np.exp((g - C) / epsilon) @ b)
        g = -epsilon * np.log(np.exp((f - C.T) / epsilon) @ a)
        dual, before = a @ f + b @ g, dual
    assert found.value.lo <= dual * (1 + 1e-9) + 1e-9
    assert dual <= found.value.hi + 1e-4 * epsilon


def test_small_epsilon_neither_overflows_nor_lies():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 40, 2))
    found = solve_entropic(read_problem(x, y), 1e-4, most=300)
    exact = ft.transport(x, y).value
    assert found.cost.lo <= exact.hi and exact.lo <= found.cost.hi
    assert found.cost.width < 0.05 * exact.middle


def test_gaussians_on_a_grid_have_the_closed_form():
    z = np.linspace(-7, 7, 201)
    a = np.exp(-(z**2) / 2)
    w = np.linspace(-13, 15, 201)
    b = np.exp(-((w - 1) ** 2) / 8)
    found = ft.transport(z, w, a / a.sum(), b / b.sum(), epsilon=0.5)
    assert found.value.middle == pytest.approx(entropic_gaussian_cost(1, 2, 1, 0.5), rel=1e-5)
    assert entropic_gaussian_cost(1, 2, 1, 0.5) == pytest.approx(2.777670345, abs=1e-9)
    plan = found.plan.dense()
    assert z @ plan @ w - (z @ plan.sum(1)) * (plan.sum(0) @ w) == pytest.approx(
        entropic_covariance(1, 2, 0.5), rel=1e-4
    )


@pytest.mark.parametrize("epsilon", [2.0, 0.3, 0.05])
def test_a_far_point_whose_kernel_underflows_does_not_spoil_the_enclosure(epsilon):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(12, 2)), rng.normal(size=(9, 2))
    y[0] = 40.0
    a, b = np.full(12, 1 / 12), np.full(9, 1 / 9)
    C = ((x[:, None] - y) ** 2).sum(-1)
    assert not np.exp(-(C - C.min(1, keepdims=True)) / epsilon).astype(np.float32).all(0).all()
    g = np.zeros(9)
    for _ in range(3000):
        f = -epsilon * logsumexp((g - C) / epsilon, axis=1, b=b)
        g = -epsilon * logsumexp((f - C.T) / epsilon, axis=1, b=a)
    dual = float(a @ f + b @ g)  # of a feasible pair: no more than the optimum
    found = ft.transport(x, y, epsilon=epsilon).value
    assert dual <= found.hi + 1e-9 * dual
    exact = ft.transport(x, y).value
    assert exact.lo <= found.hi and found.lo <= exact.hi + epsilon * np.log(9)
    assert found.width <= 1e-4 * dual


def test_the_divergence_of_a_set_from_itself_is_zero():
    x = np.random.default_rng(0).normal(size=(30, 2))
    value = ft.transport(x, x, epsilon=0.3).value
    assert 0 in debias(value, value, value)


@max_examples(50)
@given(st.integers(0, 10**6))
def test_rounded_plans_have_the_marginals(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3))
    plan = round_plan(rng.random((4, 3)) / 12, a, b).plan
    np.testing.assert_allclose(plan.sum(1), a, atol=1e-14)
    np.testing.assert_allclose(plan.sum(0), b, atol=1e-14)
    assert plan.min() >= 0
