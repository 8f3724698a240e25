"""Likelihoods against scipy.stats."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax

from ftheta.logic import UsageError
from ftheta.risks.outputs import Outputs
from ftheta.theorems.risk.mle_interpretations import evidence_of_predictions
from ftheta.theorems.risk.mle_interpretations.likelihoods import (
    categorical_gap,
    categorical_nll,
    gaussian_gap,
    gaussian_nll,
    laplace_nll,
    likelihood,
    profile_gain,
    profile_scale,
    profile_sigma,
)
from ftheta.theorems.risk.mle_interpretations.regression import Regression, gradient_gap

RESIDUALS = np.array([1.0, -2.0, 0.5])


def test_the_value_of_the_catalogue():
    assert gaussian_nll(RESIDUALS, 2.0) == pytest.approx(
        1.5 * np.log(8 * np.pi) + 5.25 / 8, rel=1e-15
    )
    assert gaussian_nll(RESIDUALS, 2.0) == pytest.approx(5.4925071, abs=5e-8)


@pytest.mark.parametrize("scale", [0.05, 0.7, 2.0, 50.0])
def test_likelihoods_are_those_of_scipy(scale):
    r = np.random.default_rng(0).normal(size=(20, 3))
    assert gaussian_nll(r, scale) == pytest.approx(
        -stats.norm.logpdf(r, scale=scale).sum(), rel=1e-12
    )
    assert laplace_nll(r, scale) == pytest.approx(
        -stats.laplace.logpdf(r, scale=scale).sum(), rel=1e-12
    )
    assert abs(gaussian_gap(r.ravel().tolist(), scale).middle) < 1e-60


def test_likeliest_scales_are_those_that_scipy_fits():
    r = np.random.default_rng(1).laplace(size=400)
    assert profile_sigma(r) == pytest.approx(stats.norm.fit(r, floc=0)[1], rel=1e-12)
    assert profile_scale(r) == pytest.approx(stats.laplace.fit(r, floc=0)[1], rel=1e-12)


def test_the_profile_gain_is_its_closed_form_and_negative_without_residuals():
    for f in (0.3, 0.9, 1.5, 4.0):
        found = profile_gain(RESIDUALS.tolist(), f)
        assert (
            found.middle == pytest.approx(1.5 * (np.log(f**2) + 1 / f**2 - 1), rel=1e-12)
            and found.lo > 0
        )
    assert profile_gain([0.0, 0.0], 0.5).hi < 0


def test_the_cross_entropy_is_the_categorical_likelihood():
    rng = np.random.default_rng(2)
    g = rng.normal(size=(30, 5)) * 4
    k = rng.integers(0, 5, 30)
    assert categorical_nll(g, k) == pytest.approx(
        -log_softmax(g, axis=1)[np.arange(30), k].sum(), rel=1e-12
    )
    assert categorical_nll(g * 1e4, k) == pytest.approx(
        -log_softmax(g * 1e4, axis=1)[np.arange(30), k].sum(), rel=1e-12
    )
    assert abs(categorical_gap(g, k).middle) < 1e-60
    fit = likelihood(g, k, "categorical")
    assert fit.bits == pytest.approx(fit.nll / 30 / np.log(2)) and fit.scale is None


def test_fits_report_noise_nll_and_bits():
    rng = np.random.default_rng(3)
    y = rng.normal(size=(50, 2))
    fit = likelihood(np.zeros((50, 2)), y)
    assert fit.scale == pytest.approx(np.sqrt(np.mean(y**2))) and fit.numbers == 100
    assert fit.nll == pytest.approx(-stats.norm.logpdf(y, scale=fit.scale).sum())
    assert likelihood(y, y).nll == -np.inf
    with pytest.raises(UsageError, match="positive"):
        gaussian_nll(y, 0.0)


def test_the_gradient_of_the_likelihood_is_that_of_the_squares():
    rng = np.random.default_rng(4)
    model = Regression(rng.normal(size=(40, 3)), rng.normal(size=(40, 2)))
    assert gradient_gap(model, 0.7, rng) < 1e-8


def test_evidence_of_real_and_class_outputs():
    rng = np.random.default_rng(5)
    real = evidence_of_predictions(
        Outputs(rng.normal(size=(20, 1)), rng.normal(size=(20, 1)), "squared")
    )
    kinds = evidence_of_predictions(
        Outputs(rng.normal(size=(20, 3)), rng.integers(0, 3, (20, 1)), "cross-entropy")
    )
    assert {"σ̂", "b̂", "bits per row"} <= set(real.numbers) and "NLL per row" in kinds.numbers
