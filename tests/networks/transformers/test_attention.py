"""Attention against loops, against torch, and against finite differences."""

import jax
import numpy as np
import pytest

from ftheta.networks.operators.attention import (
    Projections,
    attend,
    causal_attention,
    cyclic_convolution_as_attention,
    jacobian,
    self_attention,
)


def by_loops(layer: Projections, x: np.ndarray) -> np.ndarray:
    """The definition, one number at a time."""
    y = np.zeros((len(x), layer.V.shape[1]))
    for Q, K, V in zip(*layer):
        for i in range(len(x)):
            weights = [np.exp(np.dot(Q @ x[i], K @ x[j]) / np.sqrt(len(Q))) for j in range(len(x))]
            y[i] += sum(w * (V @ x[j]) for j, w in enumerate(weights)) / sum(weights)
    return y


@pytest.mark.parametrize("n, d, heads, keys", [(1, 1, 1, 1), (5, 3, 2, 2)])
def test_a_layer_is_its_definition(n, d, heads, keys):
    rng = np.random.default_rng(n)
    layer = Projections.normal(rng, heads, d, keys)
    x = rng.normal(size=(n, d))
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            jax.jit(self_attention)(layer, x), by_loops(layer, x), rtol=1e-12
        )


def test_the_jacobian_in_closed_form_is_that_of_central_differences():
    rng = np.random.default_rng(0)
    layer = Projections.normal(rng, 2, 3, 2)
    x = rng.normal(size=(4, 3))
    h = 1e-5
    closed = jacobian(layer, x)
    for k in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[k] = h
        slope = (by_loops(layer, x + step) - by_loops(layer, x - step)) / (2 * h)
        np.testing.assert_allclose(closed[:, :, k[0], k[1]], slope, atol=1e-9)


def test_masked_attention_is_that_of_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(3, 2, 6, 4))
    mask = np.tri(6, dtype=bool)
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.tensor, (q, k, v)), is_causal=True
    )
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            jax.jit(attend)(q, k, v, mask), theirs.numpy(), rtol=1e-12, atol=1e-14
        )


def test_with_a_causal_mask_the_first_token_sees_itself_alone():
    rng = np.random.default_rng(2)
    layer = Projections.normal(rng, 1, 3, 3)
    x = rng.normal(size=(5, 3))
    with jax.enable_x64(True):
        masked = np.asarray(jax.jit(causal_attention)(layer, x))
    np.testing.assert_allclose(masked[0], layer.V[0] @ x[0], rtol=1e-12)
    np.testing.assert_allclose(masked[-1], by_loops(layer, x)[-1], rtol=1e-12)


@pytest.mark.parametrize("offsets, n", [(1, 4), (3, 7)])
def test_attention_by_position_alone_is_a_convolution(offsets, n):
    rng = np.random.default_rng(n)
    kernel = rng.normal(size=(offsets, 2, 3))
    x = rng.normal(size=(n, 3))
    padded = np.zeros((n, 2, 3))
    padded[:offsets] = kernel
    # correlation theorem
    waves = np.einsum("kab,kb->ka", np.conj(np.fft.fft(padded, axis=0)), np.fft.fft(x, axis=0))
    with jax.enable_x64(True):
        found = cyclic_convolution_as_attention(kernel, x)
    np.testing.assert_allclose(found, np.fft.ifft(waves, axis=0).real, atol=1e-12)
