"""U-Nets: sizes three ways, odd images refused, and weights with which one is the identity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import UsageError, Verdict
from ftheta.networks.architectures import Stack, unet
from ftheta.networks.layers import Conv, Pool, ReLU, Skip, UpConv
from ftheta.theorems.architectures.unet.denoising import skips_of
from ftheta.theorems.architectures.unet.padded_unet import (
    formula_side,
    identity_weights,
    padded_unet,
    unpadded_side,
    valid_rest,
)


def unpadded(side: int, depth: int) -> Stack:
    double = (Conv(kernel=3, channels=2), ReLU()) * 2
    inner = double
    for _ in range(depth):
        inner = (*double, Skip((Pool(kernel=2, stride=2), *inner, UpConv(2))), *double)
    return Stack("unpadded", inner, (1, side, side))


def test_the_published_sizes():
    assert unet().shapes[-1] == (2, 388, 388)
    assert unpadded_side(572, 4) == formula_side(572, 4) == 388 and valid_rest(4) == 572 % 16


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_rule_formula_and_layers_agree_on_the_sides_that_can_be_pooled(depth):
    accepted = []
    for side in range(12 * 2**depth, 16 * 2**depth):
        try:
            assert (
                unpadded_side(side, depth)
                == formula_side(side, depth)
                == unpadded(side, depth).shapes[-1][-1]
            )
            accepted.append(side)
        except UsageError:
            continue
    assert accepted == [
        s for s in range(12 * 2**depth, 16 * 2**depth) if s % 2**depth == valid_rest(depth)
    ]


def test_odd_images_are_refused_with_a_size_that_would_do():
    with pytest.raises(UsageError, match="halved") as refused:
        padded_unet(13, 2, 4)
    assert "12" in refused.value.remedy and "13" in str(refused.value.got)
    with pytest.raises(UsageError, match="odd side"):
        unpadded_side(571, 4)


def test_with_the_right_weights_it_is_the_identity_and_with_others_not():
    stack = padded_unet(8, 2, 3)
    x = np.random.default_rng(0).normal(size=(1, 8, 8))
    with jax.enable_x64(True):
        assert np.array_equal(stack.apply(identity_weights(stack), x), x)
        assert not np.allclose(stack.apply(stack.initial(np.random.default_rng(1)), x), x)


def test_without_skips_the_top_has_half_as_many_channels_to_read():
    with_skips = padded_unet(8, 1, 4)
    without = padded_unet(8, 1, 4, skips=False)
    assert with_skips.shapes[-1] == without.shapes[-1] == (1, 8, 8)
    # of the convolution that reads the skip
    assert with_skips.parameters - without.parameters == 4 * 4 * 9


# -- networks that are given ------------------------------------------------------------------------------------------


def test_the_skips_of_a_network_are_its_concatenations_of_images_and_not_those_of_a_ring():
    stack = padded_unet(8, 2, 2)
    params = stack.initial(np.random.default_rng(0))
    assert len(skips_of(stack.apply, params, stack.input_shape)) == 2
    assert not skips_of(lambda p, x: jnp.pad(x, ((0, 0), (1, 1), (1, 1)), "wrap"), (), (1, 8, 8))


@pytest.mark.parametrize("channels", [1, 3])
def test_a_network_of_ones_own_is_trained_on_as_a_denoiser(channels):
    layers = (
        Conv(kernel=3, padding=1, channels=4),
        ReLU(),
        Conv(kernel=3, padding=1, channels=channels),
    )
    stack = Stack("two convolutions", layers, (channels, 8, 8))
    net = ft.Network(
        stack.name, stack.apply, stack.initial(np.random.default_rng(0)), stack.input_shape
    )
    result = ft.check("unet", net, steps=60)
    assert result.numbers["skips"].hi == 0 and result.numbers["parameters"].hi == stack.parameters
    assert (
        result.numbers["error of the denoised images"].middle
        < result.numbers["error as it is"].middle
    )
    assert result.verdict is not Verdict.REFUTED


def test_a_network_that_changes_the_size_is_told_so():
    stack = Stack("smaller", (Conv(kernel=3, channels=1),), (1, 8, 8))
    net = ft.Network(
        stack.name, stack.apply, stack.initial(np.random.default_rng(0)), stack.input_shape
    )
    result = ft.check("unet", net)
    assert result.verdict is Verdict.INAPPLICABLE and "(1, 6, 6)" in result.checks[0].finding.note
