"""Which functions are chains of dense layers, whatever they are written in."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.networks import ACTIVATIONS
from ftheta.networks.dense_chains import SPELLINGS, read_dense_chain
from ftheta.networks.description import Description
from ftheta.networks.scaling import ScaledLayers

RNG = np.random.default_rng(0)
W, b, V = RNG.normal(size=(4, 3)), RNG.normal(size=4), RNG.normal(size=(2, 4))
X = RNG.normal(size=3)
WAYS = [(word, known.function) for word, known in ACTIVATIONS.items() if word != "identity"]
WAYS += [(word, function) for word, functions in SPELLINGS.items() for function in functions]


@pytest.mark.parametrize("word, function", WAYS)
def test_every_spelling_of_an_activation_is_recognised_and_computes_it(word, function):
    found = read_dense_chain(
        lambda p, x: p["V"] @ function(p["W"] @ x + p["b"]), {"W": W, "b": b, "V": V}, (3,)
    )
    assert isinstance(found, Description) and [y.activation for y in found.layers] == [
        word,
        "identity",
    ]
    assert [y.has_bias for y in found.layers] == [True, False]
    assert np.array_equal(found.layers[0].weight, W) and np.array_equal(found.layers[0].bias, b)
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            found(10 * X), V @ function(jnp.asarray(W @ (10 * X) + b)), atol=1e-8
        )


def test_a_function_is_a_list_of_layers_with_what_it_closes_over_as_its_parameters():
    net = ft.Network.of(lambda x: jnp.tanh(x @ W.T - b) @ V.T, (3,))
    assert net.description is not None and net.parameters == W.size + b.size + V.size
    np.testing.assert_allclose(net(X), np.tanh(X @ W.T - b) @ V.T, rtol=1e-12)


def test_axes_of_length_one_and_the_order_of_factors_do_not_matter():
    column = lambda x: jnp.squeeze((W @ x.reshape(3, 1, 1).transpose(0, 2, 1)[:, 0]).T)
    net = ft.Network.of(column, (3,))
    assert net.description is not None and np.array_equal(net.description.layers[0].weight, W)
    image = lambda x: jnp.einsum("hw,whk->k", x, RNG_TENSOR)
    found = read_dense_chain(lambda p, x: image(x), (), (2, 3))
    assert isinstance(found, Description)
    x = RNG.normal(size=(2, 3))
    np.testing.assert_allclose(found(x.ravel()), np.einsum("hw,whk->k", x, RNG_TENSOR), rtol=1e-12)


RNG_TENSOR = RNG.normal(size=(3, 2, 4))


def test_constants_before_the_first_layer_are_a_scaling_and_parameters_are_not():
    mean, spread = RNG.normal(size=3), np.array([2.0, 4.0, 0.5])
    scaled = lambda p, x: p["W"] @ ((x - p.get("mean", mean)) / spread) + p["b"]
    found = read_dense_chain(scaled, {"W": W, "b": b}, (3,))
    assert isinstance(found, ScaledLayers) and [word for word, _ in found.scaling.steps] == [
        "sub",
        "div",
    ]
    assert np.array_equal(found.layers.layers[0].weight, W)
    assert read_dense_chain(scaled, {"W": W, "b": b, "mean": mean}, (3,)) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x: V @ jax.nn.gelu(W @ x),  # an approximation of it
        lambda x: V @ jnp.maximum(W @ x, 0.1),
        lambda x: W @ x + x[0],
        lambda x: (W @ x) * (W @ x + 1),
        lambda x: 2 * (W @ x),
        lambda x: W @ (x * x),
        lambda x: jnp.stack([x, x]) @ W.T,
        lambda x: x + 1.0,
        lambda x: (W @ x).astype(int).astype(float),
        lambda x: V @ jnp.flip(W @ x),
    ],
)
def test_other_functions_are_none(function):
    assert read_dense_chain(lambda p, x: function(x), (), (3,)) is None


class Tied(eqx.Module):
    weight: jax.Array

    def __call__(self, x):
        return self.weight @ jnp.tanh(self.weight @ x)


class Half(eqx.Module):
    weight: jax.Array
    unused: jax.Array

    def __call__(self, x):
        return jnp.tanh(self.weight @ x)


@pytest.mark.parametrize(
    "made", [Tied(jnp.asarray(W @ W.T)), Half(jnp.asarray(W @ W.T), jnp.ones(4))]
)
def test_a_module_keeps_parameters_that_a_list_of_layers_would_lose_or_double(made):
    net = ft.Network.of(made, (4,))
    assert net.description is None and net.parameters == sum(
        leaf.size for leaf in jax.tree.leaves(made)
    )
