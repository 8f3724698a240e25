"""Modules of equinox and flax compute what they compute in their own hands, and stay as they are."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

import ftheta as ft
from ftheta.logic import SubjectError

RNG = np.random.default_rng(0)
KEY = jax.random.key(0)


def network(source, *example, **asked) -> ft.Network:
    found = ft.load(source, *example, **asked)
    assert isinstance(found, ft.Network)
    return found


def close(net, x, wanted):
    np.testing.assert_allclose(net(x), wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def floats(*shape):
    return jnp.asarray(RNG.normal(size=shape), jnp.float32)


# ---- equinox ---------------------------------------------------------------------------------------------------------


class Images(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    drop: eqx.nn.Dropout
    last: eqx.nn.Linear

    def __init__(self, key, mode):
        self.conv = eqx.nn.Conv2d(1, 4, 3, key=key)
        self.last = eqx.nn.Linear(4 * 36, 3, key=key)
        self.norm = eqx.nn.BatchNorm(4, "rows", mode=mode)
        self.drop = eqx.nn.Dropout(0.5)

    def __call__(self, x, state, *, key):
        one, _ = jax.random.split(key)
        x, state = self.norm(self.conv(x), state)
        return self.last(self.drop(jax.nn.relu(x), key=one).ravel()), state


@pytest.mark.parametrize("mode", ["batch", "ema"])
def test_batch_normalisation_with_its_state_and_dropout_with_a_key(mode):
    module, state = eqx.nn.make_with_state(Images)(KEY, mode)
    call = lambda x, state: module(x, state, key=KEY)
    state = jax.vmap(call, in_axes=(0, None), out_axes=(0, None), axis_name="rows")(
        floats(16, 1, 8, 8), state
    )[1]
    net = network((module, state), (1, 8, 8))
    x = floats(1, 8, 8)
    close(net, x, eqx.nn.inference_mode(module)(x, state, key=KEY)[0])
    assert net.name == "Images" and net.parameters == 40 + 8 + 435 and not module.drop.inference


class Tokens(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norm: eqx.nn.LayerNorm

    def __call__(self, x, key=None):
        return jax.vmap(self.norm)(x + self.attention(x, x, x, key=key))


def test_attention_and_layer_normalisation():
    module = Tokens(eqx.nn.MultiheadAttention(2, 8, dropout_p=0.3, key=KEY), eqx.nn.LayerNorm(8))
    x = floats(5, 8)
    close(network(module, (5, 8)), x, eqx.nn.inference_mode(module)(x))


class Noisy(eqx.Module):
    weight: jax.Array

    def __call__(self, x, key):
        return self.weight * x + jax.random.normal(key, x.shape)


def test_a_random_module_is_refused():
    with pytest.raises(SubjectError, match="random"):
        network(Noisy(jnp.ones(3)), (3,))


@pytest.mark.parametrize(
    "function, word",
    [
        (jax.nn.relu, "relu"),
        (jnp.tanh, "tanh"),
        (jax.nn.leaky_relu, "leaky-relu"),
        (partial(jax.nn.gelu, approximate=False), "gelu"),
        (jax.nn.gelu, None),
        (partial(jax.nn.leaky_relu, negative_slope=0.2), None),
    ],
)
def test_a_sequence_of_dense_layers_is_a_list_of_layers_if_its_activations_are_known(
    function, word
):
    parts = [
        eqx.nn.Linear(3, 8, key=KEY),
        eqx.nn.Lambda(function),
        eqx.nn.Dropout(0.5),
        eqx.nn.Linear(8, 2, key=KEY),
    ]
    net = network(eqx.nn.Sequential(parts), (3,))
    x = floats(3)
    close(net, x, parts[3](function(parts[0](x))))
    assert (None if net.description is None else net.description.layers[0].activation) == word


def test_a_module_without_a_size_asks_for_an_example():
    with pytest.raises(SubjectError, match=r"ftheta\.load\(module, example\)"):
        network(eqx.nn.Sequential([]))


# ---- flax ------------------------------------------------------------------------------------------------------------


class Pictures(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 4, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.last = nnx.Linear(4 * 49, 3, rngs=rngs)

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), strides=(2, 2))
        return self.last(self.drop(x.reshape(x.shape[0], -1)))


def test_a_module_of_flax_is_read_in_evaluation_and_stays_in_training():
    module = Pictures(nnx.Rngs(0))
    for _ in range(3):
        module(floats(8, 14, 14, 1))
    before = jax.tree.map(np.asarray, nnx.state(module, (nnx.Param, nnx.BatchStat)))
    net = network(module, (1, 14, 14, 1))
    x = floats(14, 14, 1)
    found = net(x)
    assert not module.drop.deterministic and not module.norm.use_running_average
    jax.tree.map(
        np.testing.assert_array_equal, before, nnx.state(module, (nnx.Param, nnx.BatchStat))
    )
    module.eval()
    np.testing.assert_allclose(found, module(x[None])[0], rtol=1e-5, atol=1e-5)
    assert net.input_shape == (14, 14, 1) and net.output_shape == (3,)
    assert sorted(net.params) == [
        "conv.bias",
        "conv.kernel",
        "last.bias",
        "last.kernel",
        "norm.bias",
        "norm.scale",
    ]


def test_a_module_that_takes_batches_says_so_when_it_is_given_one_input():
    with pytest.raises(SubjectError, match=r"\(1, 14, 14, 1\)"):
        network(Pictures(nnx.Rngs(0)), (14, 14, 1))


@pytest.mark.parametrize("shape", [(3,), (1, 3)])
def test_a_sequence_of_flax_is_a_list_of_layers(shape):
    parts = [nnx.Linear(3, 8, rngs=nnx.Rngs(0)), nnx.silu, nnx.Linear(8, 2, rngs=nnx.Rngs(1))]
    module = nnx.Sequential(*parts)
    x = floats(3)
    net = network(module, shape)
    close(net, x, module(x))
    assert net.description is not None and net.description.widths == (3, 8, 2)
    assert net.description.layers[0].activation == "silu"


def test_the_size_of_one_dense_layer_is_known():
    assert network(nnx.Linear(3, 8, rngs=nnx.Rngs(0))).description is not None
    assert network(eqx.nn.Linear(3, 8, key=KEY)).description is not None


def test_a_module_of_linen_is_a_function_of_its_parameters():
    module = linen.Dense(4)
    params = module.init(KEY, jnp.zeros(3))
    x = floats(3)
    close(network(lambda x: module.apply(params, x), (3,)), x, module.apply(params, x))
