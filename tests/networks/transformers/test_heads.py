"""Attention is found in networks written in several ways, with the weights that they really use."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.networks.operators.attention import KINDS, Projections
from ftheta.networks.transformers.heads import attention_in

N = 6
D = 8


def found_in(apply: Any, params: Any, shape: tuple[int, ...] = (N, D)) -> Any:
    with jax.enable_x64(True):
        return attention_in(apply, params, jax.ShapeDtypeStruct(shape, np.float64))


def tokens(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, D))


def layer(heads: int = 2) -> Projections:
    return Projections.normal(np.random.default_rng(1), heads, D, 3)


def test_the_heads_of_a_layer_are_one_product_with_their_weights():
    params = layer()
    x = tokens()
    attention = found_in(KINDS["softmax"], params)
    assert len(attention.heads) == 1 and attention.softmax
    ((A, v, y),) = attention.at(x)
    assert A.shape == (2, N, N) and v.shape == (2, N, D) and y.shape == (2, N, D)
    scores = np.exp((x @ params.Q[0].T) @ (x @ params.K[0].T).T / np.sqrt(3))
    np.testing.assert_allclose(A[0], scores / scores.sum(1, keepdims=True), rtol=1e-10)
    np.testing.assert_allclose(v[1], x @ params.V[1].T, rtol=1e-12)
    np.testing.assert_allclose(y, A @ v, rtol=1e-12)


def test_the_weights_lie_in_narrow_intervals():
    attention = found_in(KINDS["causal"], layer())
    x = tokens(3)
    for product, (A, _, _) in enumerate(attention.at(x)):
        ends = attention.enclosed_weights(x, product)
        assert ends is not None
        assert (ends[0] - 1e-15 <= A).all() and (ends[1] + 1e-15 >= A).all()
        assert (ends[1] - ends[0] < 1e-11).all()


def test_a_mask_shows_as_weights_that_are_zero():
    ((A, _, _),) = found_in(KINDS["causal"], layer()).at(tokens())
    assert (A[:, np.triu_indices(N, 1)[0], np.triu_indices(N, 1)[1]] == 0).all()


def test_attention_without_softmax_is_found_and_told_apart():
    attention = found_in(KINDS["linear"], layer())
    assert len(attention.heads) == 1 and not attention.softmax


def test_two_layers_have_two_products_in_order():
    params = (layer(), layer(4))
    f = lambda p, x: x + KINDS["softmax"](p[1], x + KINDS["softmax"](p[0], x))
    attention = found_in(f, params)
    assert [A.shape for A, _, _ in attention.at(tokens())] == [(2, N, N), (4, N, N)]


def test_a_loop_over_layers_is_written_out():
    stack = Projections(*(np.stack([m] * 3) for m in layer()))
    f = lambda p, x: jax.lax.scan(lambda x, q: (x + KINDS["softmax"](q, x), None), x, p)[0]
    assert len(found_in(f, stack).heads) == 3


def test_a_network_without_attention_has_no_heads():
    W = np.random.default_rng(0).normal(size=(D, D))
    assert not found_in(lambda p, x: jax.nn.softmax(jnp.tanh(x @ p), -1) @ p, W).heads


def test_a_product_of_features_is_not_taken_for_attention():
    assert not found_in(lambda p, x: (x * p).T @ jnp.tanh(x), np.ones(D)).heads


def test_attention_of_jax_and_of_equinox_is_found():
    eqx = pytest.importorskip("equinox")
    module = eqx.nn.MultiheadAttention(4, D, key=jax.random.PRNGKey(0))
    arrays, rest = eqx.partition(module, eqx.is_array)
    attention = found_in(lambda p, x: eqx.combine(p, rest)(x, x, x), arrays)
    assert attention.softmax and [A.shape for A, _, _ in attention.at(tokens())] == [(4, N, N)]
    np.testing.assert_allclose(attention.at(tokens())[0][0].sum(-1), 1, rtol=1e-6)
    split = lambda x: x.reshape(N, 2, D // 2)
    of_jax = found_in(
        lambda p, x: jax.nn.dot_product_attention(split(x * p), split(x), split(x)), np.ones(D)
    )
    assert of_jax.softmax and of_jax.at(tokens())[0][0].shape == (2, N, N)


def test_attention_of_an_imported_torch_encoder_is_found_with_its_weights():
    torch = pytest.importorskip("torch")
    import ftheta as ft

    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(D, 2, batch_first=True, dtype=torch.float64).eval()

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, x: Any) -> Any:
            return self.inner(x, x, x, need_weights=False)[0]

    net: Any = ft.load(Layer().eval(), torch.zeros(1, N, D, dtype=torch.float64))
    attention = found_in(net.apply, net.params, net.input_shape)
    x = tokens()
    _, weights = module(*[torch.tensor(x)[None]] * 3, average_attn_weights=False)
    assert attention.softmax
    found = attention.at(x.reshape(net.input_shape))[0][0]
    np.testing.assert_allclose(found, weights[0].detach().numpy(), rtol=1e-9)
