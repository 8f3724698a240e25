"""Depth in several conventions, and conversions that keep the function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.networks import Dense, Description, random_mlp
from ftheta.relu.line.hat import shallow
from ftheta.theorems.perceptrons.depth_conventions import claim_never_negative, misprint_universal
from ftheta.theorems.perceptrons.depth_conventions.conventions import (
    depths,
    exact_gap,
    idle_layers,
    with_activated_layers,
    with_linear_output,
    without_linear_output,
    wrong_numbers,
)


def drawn(seed: int, maps: int, word: str = "relu", activated: bool = False) -> Description:
    theta = random_mlp(np.random.default_rng(seed), (2, *[4] * (maps - 1), 3), word, bias=0.5)
    if not activated:
        return theta
    last = theta.layers[-1]
    return Description((*theta.layers[:-1], Dense(last.weight, last.bias, word)))


def test_the_hat_is_two_affine_maps_and_one_hidden_layer():
    hat = depths(shallow())
    assert (hat.gribonval, hat.peyre, hat.murari) == (2, 2, 1)


@given(st.integers(0, 99), st.integers(1, 5), st.booleans())
def test_conversions_keep_the_values_in_rational_arithmetic(seed, maps, activated):
    theta = drawn(seed, maps, activated=activated)
    x = np.random.default_rng(seed).normal(size=(3, 2))
    for other in (with_linear_output(theta), with_activated_layers(theta)):
        if other is not None:
            assert other.layers[-1].activation == "identity"
            assert wrong_numbers(theta, other) == 0 == exact_gap(theta, other, x)


def test_an_activated_output_costs_one_more_affine_map():
    theta = drawn(0, 3, "tanh", activated=True)
    assert depths(theta).gribonval == 4 == len(with_linear_output(theta).layers)
    assert with_activated_layers(theta) is None


def test_a_conversion_with_one_wrong_number_is_noticed():
    theta = drawn(0, 3)
    strict = with_activated_layers(theta)
    assert strict is not None
    for i, layer in enumerate(strict.layers):
        weight = layer.weight.copy()
        weight.flat[0] += 2.0**-40
        layers = (
            *strict.layers[:i],
            Dense(weight, layer.bias, layer.activation),
            *strict.layers[i + 1 :],
        )
        assert wrong_numbers(theta, Description(layers)) == 1


def test_a_relu_output_is_never_negative_and_misses_a_negative_target():
    theta = drawn(1, 3)
    x = np.random.default_rng(0).normal(size=(8, 2))
    on_the_line = random_mlp(np.random.default_rng(1), (1, 5, 1), bias=1.0)
    assert claim_never_negative(on_the_line)[0].judge().verdict == "proved"
    assert misprint_universal(theta, x)[0].judge().verdict == "refuted"
    assert exact_gap(theta, without_linear_output(theta), x) > 0


def test_a_layer_without_activation_is_named():
    hidden = [
        Dense(np.eye(2), np.zeros(2), word) for word in ("relu", "identity", "relu", "identity")
    ]
    assert idle_layers(Description(tuple(hidden))) == [2]


@pytest.mark.parametrize("word", ["tanh", "leaky-relu"])
def test_only_relu_is_undone_by_its_mirror_image(word):
    assert with_activated_layers(drawn(0, 3, word)) is None
