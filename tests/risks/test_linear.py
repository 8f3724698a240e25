"""Least squares, logistic regression and separability against scikit-learn, exact linear programs and each other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from ftheta.risks.linear import (
    condition,
    exact_least_squares,
    logistic_gradient,
    logistic_hessian,
    logistic_regression,
    logistic_value,
    squared_hessian,
)
from ftheta.risks.separation import Separation, _by_simplex, combination, products, separation

from ..thoroughness import max_examples

X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
Y = np.array([1.0, 2.0, 3.0])
small = arrays(float, st.tuples(st.integers(1, 10), st.integers(1, 3)), elements=st.integers(-2, 2))


def test_least_squares_of_the_catalogue():
    assert exact_least_squares(X, Y) == (Fraction(13, 9), Fraction(10, 9))
    assert exact_least_squares(X, Y, 1) == (1, 1)
    assert exact_least_squares(np.ones((3, 2)), Y) is None


def test_exact_least_squares_is_scikit_learns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4))
    y = rng.normal(size=40)
    plain = exact_least_squares(x, y)
    ridge = exact_least_squares(x, y, 0.75)
    assert plain is not None and ridge is not None
    assert np.allclose(
        np.array(plain, float), LinearRegression(fit_intercept=False).fit(x, y).coef_, rtol=1e-12
    )
    assert np.allclose(
        np.array(ridge, float), Ridge(0.75, fit_intercept=False).fit(x, y).coef_, rtol=1e-10
    )


def overlapping(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(150, 3))
    return x, np.where(x @ [1.0, -1.0, 0.5] + rng.logistic(size=150) > 0, 1.0, -1.0)


@pytest.mark.parametrize("gamma", [0.0, 0.01])
def test_logistic_regression_is_scikit_learns(gamma):
    x, y = overlapping(np.random.default_rng(1))
    fit = logistic_regression(y[:, None] * x, gamma)
    C = np.inf if gamma == 0 else 1 / (2 * gamma * len(x))  # scikit-learn: ½‖w‖² + C Σ ℓ
    peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(x, y)
    assert (
        np.allclose(fit.theta, peer.coef_[0], rtol=1e-5) and fit.gradient < 1e-10 and fit.steps < 20
    )


def test_derivatives_are_differences_and_the_hessian_is_bounded():
    rng = np.random.default_rng(2)
    x, y = overlapping(rng)
    z = y[:, None] * x
    theta = rng.normal(size=3)
    h = 1e-5
    numerical = [
        (logistic_value(z, theta + h * e) - logistic_value(z, theta - h * e)) / (2 * h)
        for e in np.eye(3)
    ]
    assert np.allclose(logistic_gradient(z, theta), numerical, atol=1e-8)
    slope = [
        (logistic_gradient(z, theta + h * e) - logistic_gradient(z, theta - h * e)) / (2 * h)
        for e in np.eye(3)
    ]
    assert np.allclose(logistic_hessian(x, theta), slope, atol=1e-8)
    bound = x.T @ x / (4 * len(x))
    assert np.linalg.eigvalsh(bound - logistic_hessian(x, theta))[0] > 0
    assert np.array_equal(logistic_hessian(x, np.zeros(3)), bound) or np.allclose(
        logistic_hessian(x, np.zeros(3)), bound
    )
    assert np.allclose(squared_hessian(x), 2 * x.T @ x / len(x))
    assert np.isfinite(logistic_hessian(1e3 * x, theta)).all() and np.isfinite(
        logistic_value(1e3 * z, theta)
    )


def test_conditioning_is_that_of_the_gram_matrix():
    x = np.random.default_rng(3).normal(size=(20, 4))
    assert condition(x) == pytest.approx(np.linalg.cond(x.T @ x), rel=1e-9)
    assert condition(np.ones((5, 2))) == np.inf == condition(np.ones((1, 2)))


def holds(z: np.ndarray, found: Separation) -> bool:
    if found.direction is not None:
        margins = products(z, found.direction)
        return min(margins) >= 0 < max(margins) and (found.kind == "separable") == (
            min(margins) > 0
        )
    return (
        found.multipliers is not None
        and min(found.multipliers) > 0
        and not any(combination(z, found.multipliers))
    )


@max_examples(150)
@given(small)
def test_every_answer_has_a_certificate_and_is_that_of_the_exact_simplex(z):
    found = separation(z)
    exact = _by_simplex(z)
    assert holds(z, found)
    assert exact is not None and (exact.kind == "overlapping") == (found.kind == "overlapping")


def test_separable_weakly_separable_and_overlapping_rows_are_told_apart():
    assert separation(np.array([[1.0, 1.0], [2.0, 0.5]])).kind == "separable"
    weak = separation(np.array([[1.0, 0.0], [-1.0, 0.0], [0.3, 2.0]]))
    assert weak.kind == "weakly separable" and weak.has_minimiser is False
    assert separation(np.array([[1.0], [-0.1]])).has_minimiser is True
    assert separation(np.random.default_rng(0).normal(size=(100, 40))).kind in (
        "undecided",
        "separable",
    )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_certificates_of_larger_rows_hold_exactly_at_any_scale(scale):
    rng = np.random.default_rng(4)
    x, y = overlapping(rng)
    z = y[:, None] * x * scale * np.array([1.0, 1e3, 1e-3])
    found = separation(z)
    assert found.kind == "overlapping" and holds(z, found)
    easy = np.abs(z) * np.array([1.0, 0.0, 0.0]) + z * np.array([0.0, 1.0, 1.0])
    assert separation(easy).kind == "separable" and holds(easy, separation(easy))


def test_newton_runs_away_exactly_where_there_is_no_minimiser():
    rng = np.random.default_rng(5)
    for _ in range(20):
        z = rng.integers(-2, 3, (8, 2)).astype(float)
        found = separation(z)
        fit = logistic_regression(z)
        if found.kind == "overlapping":
            assert fit.gradient < 1e-9
        else:
            ahead = fit.theta + np.array(found.direction, float)
            assert logistic_value(z, ahead) < logistic_value(z, fit.theta)
