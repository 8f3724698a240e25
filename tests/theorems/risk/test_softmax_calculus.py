"""Softmax against scipy and exact arithmetic; calibration against scikit-learn."""

import jax
import numpy as np
import pytest
from scipy import special
from sklearn.calibration import calibration_curve

from ftheta.logic import UsageError
from ftheta.risks.softmax import (
    half_gap,
    jacobian,
    jacobian_norm,
    log_sum_exp,
    softmax,
    variance_gap,
)
from ftheta.theorems.risk.softmax_calculus.at_logits import (
    derivative_errors,
    shift_error,
    stability,
)
from ftheta.theorems.risk.softmax_calculus.calibration import calibration
from ftheta.theorems.risk.softmax_calculus.simplex import simplex_grid, simplex_points

Z = np.random.default_rng(0).normal(size=(40, 5)) * 3


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def test_values_are_those_of_scipy_also_where_exp_overflows():
    for z in (Z, 1e4 * Z, np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]])):
        assert np.allclose(softmax(z), special.softmax(z, axis=1), rtol=1e-12, atol=1e-300)
        assert np.allclose(log_sum_exp(z), np.asarray(special.logsumexp(z, axis=1)), rtol=1e-14)
        lse, p, least = stability(z)
        assert lse.hi < 1e-15 and p.hi < 1e-15 and least.hi < 0


def test_polynomial_identities_have_no_coefficient_left():
    assert [variance_gap(k) for k in range(1, 6)] == [0] * 5 and half_gap() == 0


def test_the_jacobian_is_positive_with_the_constants_as_kernel_and_norm_at_most_a_half():
    p = special.softmax(Z, axis=1)
    J = jacobian(p)
    values = np.linalg.eigvalsh(J)
    assert (
        np.allclose(J.sum(-1), 0, atol=1e-15)
        and (values[:, 0] > -1e-15).all()
        and (values[:, 1] > 0).all()
    )
    assert (jacobian_norm(p) <= 0.5 + 1e-15).all() and jacobian_norm(
        np.array([0.5, 0.5, 0.0])
    ) == pytest.approx(0.5)
    assert np.allclose(J, jax.vmap(jax.jacobian(softmax))(Z), atol=1e-14)
    assert max(derivative_errors(Z).values()) < 1e-8
    assert shift_error(Z, 100.0) < 1e-14


def test_simplex_coordinates_go_there_and_back():
    p, inside = simplex_grid(31)
    assert np.allclose(p.sum(-1), 1) and 0.45 < inside.mean() < 0.55
    at = simplex_points(p[inside])
    x = (np.arange(31) + 0.5) / 31
    grid = np.stack(np.meshgrid(x, x * np.sqrt(3) / 2), -1)
    assert np.allclose(at, grid[inside])


@pytest.mark.parametrize("bins", [5, 10])
def test_the_calibration_curve_is_that_of_scikit_learn(bins):
    rng = np.random.default_rng(1)
    p = rng.uniform(size=700)
    y = rng.random(700) < p**2
    found = calibration(p, y.astype(int), bins)
    right, sure = calibration_curve(y, p, n_bins=bins)
    assert np.allclose([b.accuracy for b in found.bins], right) and np.allclose(
        [b.confidence for b in found.bins], sure
    )
    counts = np.array([b.rows for b in found.bins])
    assert found.expected_error == pytest.approx(np.sum(counts * np.abs(right - sure)) / 700)
    assert all(b.accuracy in b.frequency for b in found.bins) and counts.sum() == 700


def test_calibrated_classes_are_not_accused_and_overconfident_ones_are():
    rng = np.random.default_rng(2)
    z = rng.normal(size=(4000, 3)) * 2
    labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)
    assert calibration(special.softmax(z, axis=1), labels).outside <= 2  # of ten at 95%
    sure = calibration(special.softmax(4 * z, axis=1), labels)
    assert (
        sure.outside >= 4
        and sure.expected_error > 0.1
        and sure.largest_error >= sure.expected_error
    )


def test_numbers_that_are_no_probabilities_are_refused():
    with pytest.raises(UsageError, match="between 0 and 1"):
        calibration(np.array([1.2]), np.array([1]))
    with pytest.raises(UsageError, match="at least one bin"):
        calibration(np.array([0.2]), np.array([1]), 0)
