"""Empirical tangent kernels against a second implementation and against the limit."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.estimates import mean
from ftheta.logic import SubjectError, Verdict
from ftheta.networks import Description, random_mlp
from ftheta.theorems.width.ntk_kernel import claims_about_mean, evidence_of_network
from ftheta.theorems.width.ntk_kernel.relu import (
    WideLimit,
    he_network,
    he_params,
    kernel_flow,
    sign_params,
)
from ftheta.theorems.width.ntk_kernel.tangent import (
    affordable,
    empirical_ntk,
    fan,
    kernel_drift,
    measure_kernels,
    tangent_features,
    train_linear_model,
)

from ...thoroughness import max_examples


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


class Member:
    """What a study asks of a network."""

    apply = staticmethod(he_network)
    input_shape = (2,)

    def __init__(self, params):
        self.params = params


def layerwise_ntk(params, X):
    """The kernel as a sum over layers of (inputs' Gram matrix) × (adjoints' Gram matrix), by hand."""
    inputs = []
    scales = []
    patterns = []
    h = X
    for W in params[:-1]:
        before = h @ W.T
        inputs.append(h)
        scales.append(np.sqrt(2 / len(W)))
        patterns.append(before > 0)
        h = scales[-1] * np.maximum(before, 0)
    kernel = h @ h.T
    adjoint = np.tile(params[-1], (len(X), 1))
    for k in reversed(range(len(inputs))):
        adjoint = scales[k] * patterns[k] * adjoint
        kernel = kernel + (inputs[k] @ inputs[k].T) * (adjoint @ adjoint.T)
        adjoint = adjoint @ params[k]
    return kernel


@max_examples(15)
@given(st.integers(0, 1000), st.integers(1, 3))
def test_contracting_jacobians_gives_the_layerwise_sum(seed, layers):
    rng = np.random.default_rng(seed)
    params = he_params(rng, 3, 5, layers)
    X = rng.normal(size=(4, 3))
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            empirical_ntk(he_network, params, X), layerwise_ntk(params, X), rtol=1e-10
        )


def test_the_kernel_of_several_outputs_is_their_average():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 1, 3))
    X = rng.normal(size=(4, 3))
    linear = lambda p, x: p @ x
    both = empirical_ntk(linear, np.concatenate([one, two]), X)
    np.testing.assert_allclose(both, X @ X.T, rtol=1e-12)


def test_arrays_traced_before_in_single_precision_do_no_harm():
    params = he_params(np.random.default_rng(0), 2, 4, 1)
    with jax.enable_x64(False):
        jax.eval_shape(lambda x: he_network(params, x), jax.ShapeDtypeStruct((2,), np.float32))
    assert empirical_ntk(he_network, params, np.eye(2)).dtype == np.float64


def test_the_features_have_the_kernel_as_their_gram_matrix():
    params = he_params(np.random.default_rng(0), 2, 6, 2)
    X = fan(1.0, 2)
    J = tangent_features(he_network, params, X)
    np.testing.assert_allclose(
        J @ J.T, empirical_ntk(he_network, params, X), rtol=1e-10, atol=1e-12
    )


@max_examples(10)
@given(st.integers(0, 1000), st.floats(0, 3))
def test_train_linear_model_follows_the_kernel_flow(seed, t):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3, 7))
    y = rng.normal(size=3)
    np.testing.assert_allclose(train_linear_model(J, y, t), kernel_flow(J @ J.T, y, t), atol=1e-8)


def test_the_diagonal_has_its_limit_as_mean_at_every_width():
    rng = np.random.default_rng(0)
    x = np.array([[0.6, 0.8]])
    values = [layerwise_ntk(he_params(rng, 2, 8, 3), x)[0, 0] for _ in range(4000)]
    assert 4.0 in mean(np.array(values))


def test_training_moves_the_kernel_of_a_wide_network_less():
    X = fan(1.0, 2)
    y = np.cos(3 * np.arctan2(X[:, 1], X[:, 0]))
    moved = {
        m: np.mean(
            [
                kernel_drift(he_network, he_params(np.random.default_rng(s), 2, m, 1), X, y)
                for s in range(6)
            ]
        )
        for m in (16, 256)
    }
    assert 0 < moved[256] < moved[16] / 2  # a rate of m^(-1/2) alone would give a quarter


def test_gaussian_networks_agree_with_the_limit_and_sign_networks_do_not():
    rng = np.random.default_rng(0)
    limit = WideLimit((1.0,))
    gaussian = measure_kernels(
        lambda m, r: Member(he_params(r, 2, m, 1)), (16, 64, 256), limit, 1.0, 32, rng
    )
    signs = measure_kernels(
        lambda m, r: Member(sign_params(m, 1)), (16, 64, 256), limit, 1.0, 16, rng
    )
    assert gaussian.random and not signs.random
    assert all(claim.judge().verdict.holds for claim in claims_about_mean(gaussian))
    assert claims_about_mean(signs)[0].judge().verdict is Verdict.REFUTED


def test_opposite_inputs_are_not_refuted_by_rounding():
    limit = WideLimit((1.0,))
    seen = measure_kernels(
        lambda m, r: Member(he_params(r, 2, m, 1)),
        (8, 16, 32),
        limit,
        np.pi,
        16,
        np.random.default_rng(0),
    )
    assert all(claim.judge().verdict.holds for claim in claims_about_mean(seen))


def test_a_family_without_its_limit_is_refused():
    with pytest.raises(SubjectError, match="limit"):
        measure_kernels(
            lambda m, r: Member(sign_params(m, 1)),
            (4, 8, 16),
            None,
            1.0,
            8,
            np.random.default_rng(0),
        )  # type: ignore[arg-type]


def test_a_wide_random_network_is_near_its_limit_and_one_of_equal_neurons_is_not():
    X = np.random.default_rng(1).normal(size=(6, 3))
    wide = random_mlp(np.random.default_rng(0), (3, 512, 1))
    hidden, head = wide.layers
    equal = Description((replace(hidden, weight=np.tile(hidden.weight[:1], (512, 1))), head))
    found = [
        evidence_of_network(net.apply, net.params, X, net).claims[0].judge().verdict
        for net in (wide, equal)
    ]
    assert found == [Verdict.CONSISTENT, Verdict.INCONCLUSIVE]


def test_memory_decides_how_many_draws_are_afforded():
    assert affordable(10, 100) == 100
    assert affordable(10**9, 100) == 2
    assert affordable(0, 7) == 7
