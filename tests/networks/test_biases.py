"""Layers without a bias: the zero of their description is no parameter, and the function is the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.auditing.facts.counting import counts
from ftheta.logic import Enclosure, Status
from ftheta.networks.biases import PartlyBiased
from ftheta.networks.description import Dense, Description
from ftheta.networks.scaling import ScaledLayers, Scaling
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import describes_this_function


def layers(rng: np.random.Generator) -> Description:
    return Description(
        (
            Dense(rng.normal(size=(5, 3)), np.zeros(5), "tanh", has_bias=False),
            Dense(rng.normal(size=(4, 5)), rng.normal(size=4), "relu"),
            Dense(rng.normal(size=(2, 4)), np.zeros(2), has_bias=False),
        )
    )


@pytest.fixture(params=("plain", "scaled"))
def made(request: pytest.FixtureRequest, rng: np.random.Generator) -> Description | ScaledLayers:
    chain = layers(rng)
    if request.param == "plain":
        return chain
    return ScaledLayers(
        Scaling((("sub", rng.normal(size=3)), ("div", np.array([2.0, 0.5, 4.0])))), chain
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_parameters_are_weights_and_the_biases_that_there_are(made):
    net = Network.described(made)
    assert net.parameters == 5 * 3 + (4 * 5 + 4) + 2 * 4
    assert isinstance(net.apply.__self__, PartlyBiased)


def test_the_function_is_that_of_the_layers_with_zero_biases(made, rng):
    net = Network.described(made)
    for x in rng.normal(size=(10, 3)):
        with jax.enable_x64(True):
            expected = made.apply(made.params, jnp.asarray(x))
        np.testing.assert_array_equal(net(x), expected)
        np.testing.assert_array_equal(net.with_zero_biases()(x), expected)
    assert net.with_zero_biases().parameters == net.parameters + 5 + 2


def test_behind_the_scaling_the_parameters_stay_those_of_the_network(made, rng):
    net = Network.described(made).with_data(
        Dataset("rows", rng.normal(size=(6, 3)), rng.integers(0, 2, 6))
    )
    inner = net.behind_scaling()
    assert inner.parameters == net.parameters
    assert net.data is not None and inner.data is not None
    for x, scaled in zip(net.data.x, inner.data.x):
        np.testing.assert_allclose(inner(scaled), net(x), rtol=1e-12)


@pytest.mark.parametrize("suffix", (".onnx", ".npz"))
def test_files_keep_layers_without_a_bias(tmp_path, suffix, rng):
    net = Network.described(layers(rng))
    ft.save(net, tmp_path / f"net{suffix}")
    back = ft.load(tmp_path / f"net{suffix}")
    assert isinstance(back, Network)
    assert back.parameters == net.parameters
    x = rng.normal(size=3)
    np.testing.assert_allclose(back(x), net(x), rtol=1e-12)


def test_an_equinox_module_without_biases_keeps_its_parameters_and_is_a_list_of_layers():
    eqx = pytest.importorskip("equinox")
    module = eqx.nn.MLP(3, 2, 7, 2, use_bias=False, use_final_bias=False, key=jax.random.key(0))
    net = Network.of(module, np.zeros(3))
    assert net.description is not None
    assert net.parameters == sum(
        leaf.size for leaf in jax.tree.leaves(eqx.filter(module, eqx.is_array))
    )


def test_training_leaves_layers_without_a_bias_without_one(made, rng):
    x = rng.normal(size=(20, 3))
    net = Network.described(made)
    trained = ft.fit(net, (x, x[:, :2]), "squared", "gd", steps=5, step=0.01).network
    assert trained.parameters == net.parameters
    assert not trained.description.layers[-1].bias.any()
    assert not np.array_equal(trained.params[0][0], net.params[0][0])


def test_an_audit_counts_the_parameters_that_there_are_and_trusts_the_list_of_layers(rng):
    net = Network.described(layers(rng)).with_data(
        Dataset("rows", rng.normal(size=(8, 3)), rng.integers(0, 2, 8))
    )
    facts = {fact.name: fact.value for fact in counts(net, rng).facts}
    assert facts["parameters"] == Enclosure.exact(47)
    assert describes_this_function.check(net).status is Status.PROVED
