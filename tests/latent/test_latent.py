"""Latent variables: PPCA against scikit-learn, bounds of the likelihood against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import ftheta as ft
from ftheta.latent.bounds import gaussian_divergence
from ftheta.latent.ppca import Ppca
from ftheta.logic import UsageError

from ..thoroughness import max_examples

DIGITS = load_digits().data


def test_the_likelihood_of_the_digits_is_the_known_one():
    model = ft.ppca(DIGITS, 10)
    assert model.noise == pytest.approx(5.824351319, rel=1e-9)
    assert model.log_likelihood == pytest.approx(-159.993731201, rel=1e-11)


def test_the_likelihood_agrees_with_scikit_learn_which_divides_by_one_less():
    model = ft.ppca(DIGITS, 10)
    peer = PCA(10, svd_solver="full").fit(DIGITS)
    assert peer.score(DIGITS) == pytest.approx(-159.993736158, rel=1e-9)
    factor = len(DIGITS) / (len(DIGITS) - 1)
    assert peer.noise_variance_ == pytest.approx(model.noise * factor, rel=1e-9)
    assert np.allclose(np.abs(peer.components_), np.abs(model.directions.T), atol=1e-6)


@max_examples(20)
@given(st.integers(0, 1000), st.integers(2, 6), st.integers(0, 4))
def test_the_log_density_is_that_of_the_gaussian_with_the_covariance_of_the_model(seed, d, q):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, d)) @ rng.normal(size=(d, d))
    model = ft.ppca(rows, min(q, d - 1))
    W = model.loadings
    peer = stats.multivariate_normal(model.mean, W @ W.T + model.noise * np.eye(d))
    assert np.allclose(model.log_density(rows), peer.logpdf(rows), rtol=1e-7, atol=1e-7)
    assert model.log_density(rows).mean() == pytest.approx(model.log_likelihood, rel=1e-7)


def test_samples_have_the_covariance_of_the_model():
    model = ft.ppca(DIGITS[:, 10:14], 2)
    made = model.sample(20_000)
    expected = model.loadings @ model.loadings.T + model.noise * np.eye(4)
    assert np.allclose(np.cov(made.T), expected, atol=0.1 * np.abs(expected).max())


def test_what_has_no_likelihood_is_refused():
    with pytest.raises(UsageError, match="likelihood is infinite"):
        ft.ppca(np.array([[0.0, 0], [1, 2], [2, 4]]), 1)
    with pytest.raises(UsageError, match="fewer latents"):
        ft.ppca(DIGITS, 64)
    with pytest.raises(UsageError, match="at least two rows"):
        ft.ppca(np.zeros((0, 3)), 1)


def test_the_elbo_and_the_importance_bound_of_a_gaussian_are_the_known_ones():
    one = ft.elbo(lambda z: z, [0.0], [0.0], 1.0, draws=20_000)
    two = ft.elbo(lambda z: z, [0.0], [0.0], 1.0, importance=2, draws=20_000)
    assert -1.418938533 in one and -1.317303888 in two
    exact = ft.elbo(lambda z: z, [0.0], [0.0], np.sqrt(0.5), draws=10)
    assert exact.middle == pytest.approx(-1.265512123, rel=1e-9)


def test_the_divergence_of_gaussians():
    assert gaussian_divergence(np.array([1.0]), np.array([2.0])) == pytest.approx(
        1.3068528194, rel=1e-9
    )


def test_a_decoder_of_another_size_is_refused():
    with pytest.raises(UsageError, match="one row of the size of x"):
        ft.elbo(lambda z: z, [0.0, 1.0], [0.0], 1.0)


@pytest.mark.parametrize(
    "x, mean, deviation, noise",
    [
        ([np.nan], [0.0], 1.0, 1.0),
        ([0.0], [np.inf], 1.0, 1.0),
        ([0.0], [0.0], [1.0, 2.0], 1.0),
        ([1e200], [0.0], 1.0, 1.0),
    ],
)
def test_bad_input_of_the_elbo_is_told(x, mean, deviation, noise):
    with pytest.raises(UsageError):
        ft.elbo(lambda z: z, x, mean, deviation, noise=noise)


@pytest.mark.parametrize(
    "rows, latents, words",
    [([["a"]] * 3, 0, "finite"), (DIGITS, 1.5, "latents"), (1e200 * DIGITS, 2, "scale")],
)
def test_bad_input_of_ppca_is_told(rows, latents, words):
    with pytest.raises(UsageError, match=words):
        ft.ppca(rows, latents)


def test_the_density_of_a_row_far_along_a_direction_keeps_its_digits():
    """Along u the row is one deviation of 10⁷ away, across it exactly 2 deviations of 1."""
    u, v = np.array([np.cos(1.0), np.sin(1.0)]), np.array([-np.sin(1.0), np.cos(1.0)])
    model = Ppca(np.zeros(2), u[:, None], np.array([1e14, 1.0]), 1.0)
    row = 1e7 * u + 2 * v
    expected = -(1 + 4 + np.log(1e14) + 2 * np.log(2 * np.pi)) / 2
    assert model.log_density(row[None])[0] == pytest.approx(expected, rel=1e-9)
