"""The matrices of a layer come back from what it does, and networks that are no layer are told apart."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Verdict
from ftheta.networks.operators.attention import KINDS, Projections, self_attention
from ftheta.networks.transformers.heads import attention_in
from ftheta.running import run
from ftheta.subjects import Network
from ftheta.theorems.attention.attention_particle_flow import attention_particle_flow as THEOREM
from ftheta.theorems.attention.attention_particle_flow.flow import Matrices, matrix_field, tangent
from ftheta.theorems.attention.attention_particle_flow.own_layer import AttentionLayer, read_layer

N = 6
D = 3


def layer(heads: int = 2) -> Projections:
    return Projections.normal(np.random.default_rng(1), heads, D, 2)


def read(apply: Any, params: Any, shape: tuple[int, ...] = (N, D)) -> AttentionLayer | str:
    with jax.enable_x64(True):
        return read_layer(
            attention_in(apply, params, jax.ShapeDtypeStruct(shape, np.float64)), shape
        )


def test_matrices_come_back_from_a_black_box():
    params = layer()
    found = read(lambda p, x: x + self_attention(p, x), params)
    assert isinstance(found, AttentionLayer) and len(found.heads) == 2
    np.testing.assert_allclose(found.skip, np.eye(D), atol=1e-8)
    for head, Q, K, V in zip(found.heads, *params):
        np.testing.assert_allclose(head.Q, K.T @ Q / np.sqrt(2), atol=1e-8)
        np.testing.assert_allclose(head.V, V, atol=1e-8)
        np.testing.assert_allclose(head.bias, 0, atol=1e-8)


def test_the_velocities_are_those_of_the_network_itself():
    params = layer()
    x = np.random.default_rng(2).normal(size=(N, D))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found = read(self_attention, params)
    assert isinstance(found, AttentionLayer)
    with jax.enable_x64(True):
        y = np.asarray(jax.jit(self_attention)(params, x))
    np.testing.assert_allclose(
        matrix_field(1.0, "softmax", *found.heads)(x)[0], tangent(x, y), atol=1e-8
    )


def test_a_layer_of_torch_with_biases_is_read():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    class One(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64)
            torch.nn.init.normal_(self.inner.in_proj_bias)

        def forward(self, x: Any) -> Any:
            return x + self.inner(x, x, x, need_weights=False)[0]

    module = One().eval()
    net: Any = ft.load(module, torch.zeros(1, 5, 4, dtype=torch.float64))
    found = read(net.apply, net.params, net.input_shape)
    assert isinstance(found, AttentionLayer)
    Q, K, V = module.inner.in_proj_weight.detach().numpy().reshape(3, 2, 2, 4)
    b = module.inner.in_proj_bias.detach().numpy().reshape(3, 2, 2)[0]
    out = module.inner.out_proj.weight.detach().numpy().reshape(4, 2, 2).transpose(1, 0, 2)
    for h in range(2):
        np.testing.assert_allclose(found.heads[h].Q, K[h].T @ Q[h] / np.sqrt(2), atol=1e-7)
        np.testing.assert_allclose(found.heads[h].bias, K[h].T @ b[h] / np.sqrt(2), atol=1e-7)
        np.testing.assert_allclose(found.heads[h].V, out[h] @ V[h], atol=1e-7)


@pytest.mark.parametrize(
    "apply, told",
    [
        (KINDS["causal"], "mask"),
        (KINDS["linear"], "softmax"),
        (lambda p, x: self_attention(p, self_attention(p, x)), "2 attention products"),
        (lambda p, x: jnp.tanh(self_attention(p, x)), "no single layer"),
        (lambda p, x: self_attention(p, x)[:, :1], "results"),
        (lambda p, x: x, "0 attention products"),
    ],
)
def test_what_is_no_layer_is_told_apart(apply, told):
    found = read(apply, layer())
    assert isinstance(found, str) and told in found


def test_tokens_of_a_layer_are_followed_and_no_meeting_is_claimed():
    net = Network("mine", self_attention, layer(1), (N, D))
    result = run(THEOREM, net, time=2.0)
    assert result.verdict is Verdict.CONSISTENT and result.numbers["heads"].lo == 1
    assert not any("energy" in j.claim.what or "cosine" in j.claim.what for j in result.claims)
    deep = Network("deep", lambda p, x: jnp.tanh(self_attention(p, x)), layer(1), (N, D))
    assert run(THEOREM, deep).verdict is Verdict.INAPPLICABLE


def test_heads_are_summed():
    x = np.eye(3)
    one = Matrices(np.eye(3), np.eye(3), np.diag([1.0, 2.0, 3.0]))
    both = matrix_field(1.0, "softmax", one, one)
    single = matrix_field(1.0, "softmax", one)
    np.testing.assert_allclose(both(x)[0], 2 * single(x)[0])
