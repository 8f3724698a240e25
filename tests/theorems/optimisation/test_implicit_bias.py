"""What training prefers among many solutions: projections, margins, and the potential of the diagonal network."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from sklearn.svm import SVC

from ftheta.logic import Basis
from ftheta.theorems.optimisation.implicit_bias import measure_bias
from ftheta.theorems.optimisation.implicit_bias.hyperbolic import Program, potential
from ftheta.theorems.optimisation.implicit_bias.rows import LabelledRows, projection
from ftheta.training.margins import (
    direction_error,
    enclosed_margin,
    logistic_flow,
    max_margin,
    separates,
)

from ...thoroughness import max_examples


def test_the_projections_of_the_textbook_are_exact():
    x = np.array([[1.0, 1.0]])
    y = np.array([2.0])
    assert projection(x, y, np.zeros(2)) == ([Fraction(1), Fraction(1)], 0)
    assert projection(x, y, np.array([1.0, 0.0])) == ([Fraction(3, 2), Fraction(1, 2)], 0)


@given(st.integers(0, 10_000))
@max_examples(20)
def test_the_projection_is_that_of_the_pseudo_inverse(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 6))
    y = rng.normal(size=3)
    start = rng.normal(size=6)
    exact = projection(x, y, start)
    assert exact is not None and exact[1] == 0
    assert np.allclose([float(v) for v in exact[0]], start + np.linalg.pinv(x) @ (y - x @ start))


def test_rows_that_depend_have_no_exact_projection():
    assert projection(np.ones((2, 2)), np.array([2.0, 3.0]), np.zeros(2)) is None


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 25))
@max_examples(40)
def test_rows_are_separable_exactly_when_linear_programming_says_so(seed, d, n):
    z = np.random.default_rng(seed).normal(size=(n, d))
    feasible = (
        linprog(np.zeros(d), A_ub=-z, b_ub=-np.ones(n), bounds=(None, None), method="highs").status
        == 0
    )
    found = max_margin(z)
    assert (found is not None) == feasible
    if found is not None:
        assert separates(z, found.w)
        assert found.margin.basis is Basis.EXACT and found.margin.width < 1e-7 * found.margin.hi


def test_the_margin_is_that_of_a_support_vector_machine():
    rng = np.random.default_rng(0)
    labels = np.repeat([1.0, -1.0], 12)
    x = rng.uniform(-1, 1, (24, 3)) + labels[:, None] * np.array([1.5, 0.5, 0.0])
    z = labels[:, None] * x
    found = max_margin(z)
    assert found is not None
    # rows z and −z with labels ±1 force the offset of the peer to 0
    peer = SVC(kernel="linear", C=1e8, tol=1e-10).fit(np.vstack([z, -z]), np.repeat([1, -1], 24))
    assert peer.intercept_[0] == pytest.approx(0, abs=1e-6)
    assert np.allclose(found.w, peer.coef_[0], rtol=1e-4)
    assert 1 / np.linalg.norm(peer.coef_[0]) == pytest.approx(found.margin.middle, rel=1e-5)


def test_the_margin_of_two_axes_is_known():
    found = max_margin(np.eye(2))
    assert found is not None and np.allclose(found.w, 1) and 2**-0.5 in found.margin
    assert (
        max_margin(np.array([[1.0, 0.0], [-1.0, 0.0]])) is None
        and max_margin(np.zeros((2, 2))) is None
    )


@given(st.integers(0, 10_000))
@max_examples(30)
def test_any_vector_and_any_multipliers_enclose_the_margin(seed):
    rng = np.random.default_rng(seed)
    z = rng.uniform(0.1, 1, (6, 3))
    best = max_margin(z)
    w = rng.uniform(0.1, 1, 3)
    u = rng.uniform(0, 1, 6)
    assert best is not None
    around = enclosed_margin(z, w, u)
    assert around.lo <= best.margin.hi and best.margin.lo <= around.hi


def test_logistic_flow_agrees_with_descent_in_small_steps():
    z = np.random.default_rng(1).uniform(0.1, 1, (5, 2))
    theta = np.zeros(2)
    tau = 1e-3
    for _ in range(20_000):
        theta = theta + tau * (z / (1 + np.exp(z @ theta))[:, None]).mean(0)
    _, path = logistic_flow(z, float(np.log1p(20.0)))
    assert np.allclose(path[-1], theta, rtol=1e-3)


def test_the_direction_error_falls_like_one_over_the_logarithm():
    z = np.random.default_rng(2).normal(size=(3, 6))
    best = max_margin(z)
    assert best is not None
    s, path = logistic_flow(z, 2000.0)
    scaled = direction_error(path, best.direction) * s
    assert scaled[-1] == pytest.approx(scaled[-10], rel=0.05) and scaled[-1] > 0.01


def test_the_potential_has_its_derivative_and_its_two_limits():
    z = np.linspace(-5, 5, 41)
    slope = (potential(z + 1e-6) - potential(z - 1e-6)) / 2e-6
    assert np.allclose(slope, np.arcsinh(z / 2), atol=1e-8) and potential(np.zeros(1))[0] == 0
    assert potential(np.array([1e-3]))[0] == pytest.approx(1e-6 / 4, rel=1e-5)  # ℓ₂
    # ℓ₁, but for a logarithm
    assert potential(np.array([1e9]))[0] / (1e9 * np.log(1e9)) == pytest.approx(1, rel=0.06)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 2.0])
def test_program_training_and_a_general_solver_find_the_same_point(alpha):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3, 6))
    program = Program(X, X @ np.array([1.0, -1.5, 0, 0, 0, 0]))
    own = program.solutions(np.array([alpha]))[0]
    trained = program.train(alpha)
    assert trained is not None and np.allclose(trained, own, atol=1e-7)
    constraint = {"type": "eq", "fun": lambda b: X @ b - program.y, "jac": lambda b: X}
    value = lambda b: program.value(b, alpha)
    slope = lambda b: np.arcsinh(b / (2 * alpha**2))
    options = {"maxiter": 500, "ftol": 1e-14}
    peer = minimize(
        value,
        program.least_norm(),
        jac=slope,
        constraints=constraint,
        method="SLSQP",
        options=options,
    )
    assert value(own) <= value(peer.x) + 1e-9 and np.allclose(peer.x, own, atol=1e-4)


def test_one_equation_with_two_weights_goes_from_sparse_to_least_norm():
    program = Program(np.array([[1.0, 2.0]]), np.array([2.0]))
    small, large = program.solutions(np.array([1e-6, 100.0]))
    assert np.allclose(program.least_sum(), [0, 1]) and np.allclose(
        program.least_norm(), [0.4, 0.8]
    )
    assert np.allclose(small, [0, 1], atol=1e-5) and np.allclose(large, [0.4, 0.8], atol=1e-6)


def test_separable_rows_without_full_rank_are_judged_by_their_margin_alone():
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], 10)
    found = measure_bias(
        LabelledRows(rng.uniform(-1, 1, (20, 2)) + 3 * (2 * y - 1)[:, None], y), 0.0, 0.1, 200
    )
    assert (
        "margin" in found.numbers and "least ‖β‖₁" not in found.numbers and len(found.charts) == 1
    )
