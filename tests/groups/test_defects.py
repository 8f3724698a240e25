"""Defects of whole networks, their averages, and group convolutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.groups import (
    cyclic,
    dihedral,
    equivariance_defect,
    invariance_defect,
    natural,
    on_grid,
    on_images,
    on_sets,
    symmetric,
    symmetrised,
    trivial,
)
from ftheta.groups.convolution import periodic, zero_padded
from ftheta.groups.group_convolution import group_convolution, group_network, on_poses, poses
from ftheta.logic import UsageError


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def conv_net(conv, side=8, seed=0):
    """Two convolutions with ReLU between them."""
    rng = np.random.default_rng(seed)
    params = [rng.normal(size=(3, 3, 2, 4)), rng.normal(size=(3, 3, 4, 3))]

    def apply(params, x):
        return conv(params[1], jnp.maximum(conv(params[0], x), 0))

    return ft.Network("two convolutions", apply, params, (side, side, 2))


def test_a_periodic_cnn_has_a_defect_at_rounding_level():
    seen = equivariance_defect(conv_net(periodic), on_grid((8, 8), 2))
    assert seen.largest < 1e-13 and seen.where.shape == (8, 8, 3)


def test_the_defect_of_a_zero_padded_cnn_lies_at_the_border():
    """Windows of 3, twice: a shift moves what was in the interior so that it meets the border, or left it."""
    net = conv_net(zero_padded, side=10)
    shift = on_grid((10, 10), 2)
    seen = equivariance_defect(net, shift)
    assert seen.largest > 0.1
    x = np.random.default_rng(0).normal(size=(10, 10, 2))
    one = np.abs(np.asarray(net(np.roll(x, 1, 0))) - np.roll(np.asarray(net(x)), 1, 0)).max((1, 2))
    assert (one[3:8] < 1e-12).all() and one[[0, 9]].min() > 1e-3
    own = ft.Network("the same", net.apply, net.params, net.input_shape)
    assert equivariance_defect(own, shift, seed=3).element != "e"


def test_the_defect_is_the_brute_force_one():
    net = ft.Network(
        "square", lambda p, x: p @ x, np.random.default_rng(0).normal(size=(4, 4)), (4,)
    )
    group = symmetric(4)
    x = np.random.default_rng(1).normal(size=(3, 4))
    seen = equivariance_defect(net, group, x=x)
    size = np.sqrt(np.mean([np.sum((net.params @ r) ** 2) for r in x]))
    for g in range(group.order):
        P = natural(group).matrices[g].astype(float)
        gaps = [np.linalg.norm(net.params @ P @ r - P @ net.params @ r) for r in x]
        assert seen.by_element[g] == pytest.approx(max(gaps) / size, abs=1e-12)


def test_a_deep_sets_layer_is_equivariant_and_its_sum_invariant():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 3, 5))
    layer = ft.Network(
        "deep sets", lambda p, x: jnp.tanh(x @ p[0] + x.mean(0) @ p[1]), [A, B], (4, 3)
    )
    assert equivariance_defect(layer, symmetric(4)).largest < 1e-13
    pooled = ft.Network("pooled", lambda p, x: layer.apply(p, x).sum(0), [A, B], (4, 3))
    assert invariance_defect(pooled, symmetric(4)).largest < 1e-13
    one = ft.Network("first row", lambda p, x: layer.apply(p, x)[0], [A, B], (4, 3))
    assert invariance_defect(one, symmetric(4)).largest > 0.01


@pytest.mark.parametrize("group", [cyclic(4), dihedral(4)], ids=lambda g: g.name)
def test_averaging_makes_any_network_equivariant_and_leaves_one_that_is(group):
    rng = np.random.default_rng(0)
    net = ft.Network(
        "dense",
        lambda p, x: jnp.tanh(p @ x.ravel()).reshape(4, 4),
        rng.normal(size=(16, 16)),
        (4, 4),
    )
    rho = on_images(group, 4)
    assert equivariance_defect(net, rho, rho).largest > 0.1
    mean = symmetrised(net, rho, rho)
    assert equivariance_defect(mean, rho, rho).largest < 1e-12
    x = rng.normal(size=(4, 4))
    assert np.allclose(symmetrised(mean, rho, rho)(x), mean(x), atol=1e-12)
    brute = np.mean(
        [
            np.linalg.inv(M) @ np.asarray(net((M @ x.ravel()).reshape(4, 4))).ravel()
            for M in rho.matrices
        ],
        0,
    )
    assert np.asarray(mean(x)).ravel() == pytest.approx(brute, abs=1e-12)


@pytest.mark.parametrize("boundary", ["periodic", "zero"])
@pytest.mark.parametrize("group", [cyclic(4), dihedral(4)], ids=lambda g: g.name)
def test_group_convolutions_move_with_the_image_exactly(group, boundary):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (5, 5, 2)).astype(float)
    first = rng.integers(-3, 4, (3, 3, 2, 3)).astype(float)
    second = rng.integers(-3, 4, (3, 3, group.order, 3, 2)).astype(float)

    def f(x):
        lifted = jnp.maximum(group_convolution(group, first, x, boundary), 0)
        return np.asarray(group_convolution(group, second, lifted, boundary)).ravel()

    images = on_images(group, 5, 2)
    out = on_poses(group, 5, 2)
    for g in range(group.order):
        assert (f(images.move(g, x.ravel()).reshape(x.shape)) == out.move(g, f(x))).all()


def test_a_lifting_convolution_sees_the_kernel_in_all_poses():
    group = cyclic(4)
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=(3, 3, 1, 1))
    x = rng.normal(size=(6, 6, 1))
    turned = np.asarray(poses(group, kernel))
    assert {tuple(np.rot90(kernel[:, :, 0, 0], k).ravel()) for k in range(4)} == {
        tuple(p.ravel()) for p in turned[..., 0, 0]
    }
    whole = np.asarray(group_convolution(group, kernel, x))
    for h in range(4):
        assert whole[..., h] == pytest.approx(
            np.asarray(periodic(turned[h], jnp.asarray(x)))[..., 0]
        )


@pytest.mark.parametrize("group", [cyclic(4), dihedral(4)], ids=lambda g: g.name)
def test_a_group_network_is_invariant(group):
    rng = np.random.default_rng(0)
    params = [
        rng.normal(size=(3, 3, 1, 2)),
        rng.normal(size=(3, 3, group.order, 2, 3)),
        rng.normal(size=(10, 3)),
    ]
    net = ft.Network("group network", group_network(group), params, (7, 7, 1))
    assert equivariance_defect(net, group).largest < 1e-12
    plain = conv_net(periodic)
    pooled = ft.Network(
        "pooled", lambda p, x: plain.apply(p, x).mean((0, 1)), plain.params, plain.input_shape
    )
    assert equivariance_defect(pooled, group).largest > 0.01


def test_outputs_with_other_channels_move_as_the_inputs_do():
    seen = equivariance_defect(conv_net(periodic), on_images(cyclic(4), 8, 2))
    assert seen.target.dimension == 8 * 8 * 3 and seen.target.character[1] == 0
    first = ft.Network("first", lambda p, x: x.sum(0, keepdims=True), (), (3, 4, 4))
    assert (
        equivariance_defect(first, on_images(cyclic(4), 4, 3, channels_first=True)).largest < 1e-13
    )


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: equivariance_defect(lambda x: x, cyclic(4)), "that of a network"),
        (
            lambda: equivariance_defect(conv_net(periodic), trivial(cyclic(4), 5)),
            "does not fit the inputs",
        ),
        (lambda: equivariance_defect(conv_net(periodic), symmetric(3)), "not clear"),
        (
            lambda: equivariance_defect(conv_net(periodic), on_grid((8, 8), 2), x=np.ones((2, 5))),
            "no|not inputs",
        ),
        (lambda: poses(cyclic(4), np.ones((4, 4))), "odd width"),
        (
            lambda: group_convolution(cyclic(4), np.ones((3, 3, 5, 1, 1)), np.ones((5, 5, 4))),
            "every pose",
        ),
        (lambda: equivariance_defect(conv_net(periodic), on_sets(symmetric(3), 2)), "does not fit"),
    ],
)
def test_bad_questions_are_said(make, words):
    with pytest.raises(UsageError, match=words):
        make()


@pytest.mark.parametrize(
    "group, target", [(np.zeros((4, 3)), None), (None, None), (cyclic(4), np.zeros((4, 3)))]
)
def test_rows_in_the_place_of_the_group_are_refused(group, target):
    net = ft.Network.of(lambda x: x, (4,), "identity")
    with pytest.raises(UsageError, match=r"group|representation") as caught:
        ft.equivariance_defect(net, group, target)
    assert "x=rows" in caught.value.remedy
