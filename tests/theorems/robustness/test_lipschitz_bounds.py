"""The Lipschitz constant of a composition, also where it is no list of layers with one activation each."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.networks import random_mlp
from ftheta.networks.spec.read import read
from ftheta.subjects import Network


def mixed(words: list[str]) -> Network:
    hidden, head = random_mlp(np.random.default_rng(0), (3, len(words), 2), bias=0.5).layers
    arrays = {"W0": hidden.weight, "b0": hidden.bias, "W1": head.weight, "b1": head.bias}
    return Network.of_import(read(arrays, Path("mixed.npz"), activation=[words]), "mixed")


def product(net: Network) -> float:
    return (
        ft.check("lipschitz-bounds", on=net, points=64, climbs=4).numbers["product of constants"].hi
    )


def test_an_activation_that_changes_from_neuron_to_neuron_counts_by_the_steepest():
    net = mixed(["relu", "identity", "leaky-relu", "tanh", "sigmoid", "softplus"])
    result = ft.check("lipschitz-bounds", on=net, points=64, climbs=4)
    assert result.verdict == "consistent" and [check.finding.status for check in result.checks] == [
        "proved",
        "proved",
    ]
    hidden, head = random_mlp(np.random.default_rng(0), (3, 6, 2), bias=0.5).layers
    norms = np.linalg.norm(hidden.weight, 2) * np.linalg.norm(head.weight, 2)
    assert product(net) == pytest.approx(norms, rel=1e-4)
    assert product(mixed(["relu", "silu"] * 3)) == pytest.approx(1.0998393 * norms, rel=1e-4)


def test_a_program_without_a_constant_is_none_of_these_and_says_why():
    net = ft.Network.of(lambda x: jnp.concatenate([x[:1] * x[1:], x]), example=(2,))
    result = ft.check("lipschitz-bounds", on=net, points=64, climbs=4)
    assert result.verdict == "inapplicable"
    assert "no Lipschitz constant is known" in result.checks[0].finding.note
