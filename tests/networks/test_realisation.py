"""From a description to its function, one map at a time."""

import equinox as eqx
import jax
import numpy as np
import pytest

from ftheta.logic import SubjectError
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.networks.description import count_stored_apart, require_layers
from ftheta.networks.realisation import (
    compare_outputs,
    count_differing,
    forget,
    lost_in_a_file,
    permute_neurons,
    prune_weights,
    states,
)
from ftheta.running import run
from ftheta.subjects import Network
from ftheta.theorems.perceptrons.network_description_realisation import (
    network_description_realisation,
)

each_activation = pytest.mark.parametrize("name", sorted(ACTIVATIONS))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@each_activation
def test_the_last_of_the_maps_is_the_network(name):
    theta = random_mlp(rng(), (3, 7, 5, 2), name, bias=0.3)
    x = rng(1).normal(size=(20, 3))
    with jax.enable_x64(True):
        passed = states(theta, x)
        assert len(passed) == 2 * 3 - 1
        np.testing.assert_allclose(
            passed[-1][1], theta.apply(theta.params, x), rtol=1e-12, atol=1e-12
        )


@each_activation
def test_neurons_that_change_places_leave_the_function_alone(name):
    theta = random_mlp(rng(), (3, 7, 5, 2), name, bias=0.3)
    x = rng(1).normal(size=(20, 3))
    with jax.enable_x64(True):
        other = permute_neurons(theta, rng(2))
        assert count_differing(theta, other) > 0
        assert compare_outputs(Network.described(theta), other, x).within_rounding


def test_a_file_keeps_every_bit():
    assert (
        lost_in_a_file(prune_weights(random_mlp(rng(), (3, 7, 2), "tanh", bias=1e-300), 0.5, rng()))
        == 0
    )


def test_what_is_forgotten_is_noticed():
    theta = random_mlp(rng(), (3, 7, 2), "tanh", bias=0.3)
    assert count_differing(theta, forget(theta, "biases")) == 9
    assert count_differing(theta, forget(theta, "activations")) == 1
    assert forget(theta, "nothing") is theta
    assert count_stored_apart(theta.params, theta) == 0 and count_stored_apart((), theta)


def test_different_shapes_differ_in_every_number():
    assert (
        count_differing(random_mlp(rng(), (3, 7, 2)), random_mlp(rng(), (3, 6, 2)))
        == 3 * 7 + 7 + 7 * 2 + 2
    )


def test_a_network_without_layers_says_what_to_give():
    with pytest.raises(SubjectError, match="W0, b0"):
        require_layers(None)


def test_a_list_of_layers_that_is_not_the_function_is_found_out():
    theta = random_mlp(rng(), (3, 7, 2), "tanh", bias=0.3)
    wrong = Network("wrong", theta.apply, theta.params, (3,), forget(theta, "activations"))
    assert run(network_description_realisation, wrong).verdict == "inapplicable"
    assert run(network_description_realisation, wrong, force=True).verdict == "refuted"


def test_a_function_that_was_not_made_from_its_list_is_consistent_at_best():
    module = eqx.nn.MLP(3, 2, 8, 2, activation=jax.nn.tanh, key=jax.random.key(0))
    assert run(network_description_realisation, Network.of(module, (3,))).verdict == "consistent"
