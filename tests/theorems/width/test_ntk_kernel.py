"""Closed-form kernels of wide ReLU networks, and the tests of Gaussian weights."""

from math import cos, pi

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from ftheta.catalogue import theorem
from ftheta.kernels.angles import arc_cosine
from ftheta.logic import Verdict
from ftheta.networks import Dense, Description, random_mlp
from ftheta.running import run
from ftheta.subjects import Family, Network
from ftheta.theorems.width.ntk_kernel.relu import (
    WideLimit,
    gaussian_p_value,
    he_network,
    he_params,
    kernel_flow,
    rescale,
    sign_params,
    two_layer,
)

from ...thoroughness import max_examples

angles = st.floats(0.0, pi)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@max_examples(20)
@given(angles)
def test_the_arc_cosine_kernels_are_gaussian_expectations(phi):
    # a planar Gaussian is a uniform direction times a length with E r² = 2
    direction = (np.arange(200_000) + 0.5) * 2 * pi / 200_000
    u = np.cos(direction)
    v = np.cos(direction - phi)
    k0, k1 = arc_cosine(np.cos(phi))
    assert np.mean((u > 0) & (v > 0)) == pytest.approx(k0 / 2, abs=2e-5)
    assert 2 * np.mean(np.maximum(u, 0) * np.maximum(v, 0)) == pytest.approx(k1 / 2, abs=1e-7)


def test_the_two_layer_kernels_at_sixty_degrees():
    nngp, derivative, ntk = two_layer(pi / 3)
    assert nngp == pytest.approx((np.sqrt(3) / 2 + pi / 3) / (2 * pi), rel=1e-14)
    assert derivative == pytest.approx(1 / 3, rel=1e-14)
    assert ntk == pytest.approx(nngp + 1 / 6, rel=1e-14)


@given(angles)
def test_two_layers_are_half_of_one_hidden_layer_in_he_scaling(phi):
    X = np.array([[1.0, 0.0], [cos(phi), np.sin(phi)]])
    nngp, ntk = WideLimit((1.0,)).kernels(X)
    assert 2 * two_layer(phi)[0] == pytest.approx(nngp[0, 1], abs=1e-14)
    assert 2 * two_layer(phi)[2] == pytest.approx(ntk[0, 1], abs=1e-14)


@pytest.mark.parametrize(
    ("layers", "expected"), [(1, 0.3183098862), (2, 0.6857086363), (3, 1.0603881068)]
)
def test_deep_kernels_of_orthogonal_inputs(layers, expected):
    nngp, ntk = WideLimit((1.0,) * layers).kernels(np.eye(2))
    assert ntk[0, 1] == pytest.approx(expected, abs=5e-11)
    assert np.diag(ntk).tolist() == [layers + 1] * 2
    assert np.diag(nngp).tolist() == [1.0] * 2


@given(st.integers(0, 1000), st.integers(1, 5))
def test_kernels_are_homogeneous_and_positive(seed, layers):
    X = np.random.default_rng(seed).normal(size=(5, 3))
    limit = WideLimit((1.0,) * layers)
    nngp, ntk = limit.kernels(X)
    for K in (nngp, ntk, ntk - nngp):
        assert np.linalg.eigvalsh(K)[0] > -1e-6 * np.abs(K).max()
    np.testing.assert_allclose(limit.kernels(3 * X)[1], 9 * ntk, rtol=1e-6)


@given(st.integers(0, 1000), st.floats(0, 20))
def test_the_kernel_flow_is_the_matrix_exponential(seed, t):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 6))
    y = rng.normal(size=4)
    K = A @ A.T
    np.testing.assert_allclose(kernel_flow(K, y, t), y - linalg.expm(-t * K) @ y, atol=1e-9)


def test_the_kernel_flow_of_the_textbook():
    flow = kernel_flow(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, 0.0]), 1.0)
    np.testing.assert_allclose(flow, [0.791166745, 0.159046186], atol=5e-10)


def test_dividing_by_the_standard_deviations_leaves_the_function_alone():
    description = random_mlp(np.random.default_rng(0), (3, 16, 16, 2))
    found = rescale(description)
    assert found is not None
    apply, params, limit = found
    x = np.random.default_rng(1).normal(size=3)
    np.testing.assert_allclose(
        apply(params, x), description.apply(description.params, x), rtol=1e-12
    )
    assert all(np.mean(W**2) == pytest.approx(1) for W in params)
    assert len(limit.gains) == 2 and all(0.5 < gain < 2 for gain in limit.gains)


def test_other_networks_have_no_closed_form():
    W = np.ones((2, 2))
    b = np.zeros(2)
    assert rescale(Description((Dense(W, b, "tanh"), Dense(W, b)))) is None
    assert rescale(Description((Dense(W, b + 1, "relu"), Dense(W, b)))) is None
    assert rescale(Description((Dense(W, b),))) is None


def test_gaussian_weights_pass_at_many_seeds():
    values = [
        gaussian_p_value(he_params(np.random.default_rng(s), 2, 64, 2))[0] for s in range(200)
    ]
    assert min(values) > 1e-4


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda W, rng: W + 0.3, "mean"),
        (lambda W, rng: rng.uniform(-1, 1, W.shape), "tails"),
        (
            lambda W, rng: W + 0.25 * np.outer(np.ones(len(W)), np.resize([1.0, -1.0], W.shape[1])),
            "singular",
        ),
    ],
)
def test_weights_that_are_not_gaussian_or_not_independent_are_told_apart(spoil, where):
    rng = np.random.default_rng(0)
    p, found = gaussian_p_value([spoil(rng.normal(size=(100, 100)), rng)])
    assert p < 1e-6 and where in found


def test_the_sign_weights_have_the_first_moments_of_gaussians():
    W, a = sign_params(64, 1)
    assert np.abs(W.mean(0)).max() == 0 and a.mean() == 0
    np.testing.assert_array_equal(W.T @ W / 64, np.eye(2))
    assert gaussian_p_value([W, a])[0] < 1e-6


def test_a_family_that_draws_nothing_is_not_random():
    """One draw differs from the mean: that refutes nothing."""
    fixed = lambda m, rng: Network(
        f"{m}", he_network, he_params(np.random.default_rng(3), 2, m, 1), (2,)
    )
    family = Family("a fixed seed", fixed, WideLimit((1.0,)), (32, 64, 128))
    found = run(theorem("ntk-kernel"), family, draws=16)
    assert found.verdict is Verdict.INAPPLICABLE
