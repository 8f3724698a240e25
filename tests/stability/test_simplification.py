"""Simplified networks: the same rationals inside the set, fewer neurons, another function outside."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.logic.errors import FthetaError, UsageError
from ftheta.networks import random_mlp
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork
from tests.thoroughness import max_examples


def draw(seed: int, *widths: int) -> ReluNetwork:
    layers = random_mlp(np.random.default_rng(seed), widths, "relu", bias=0.5).layers
    return ReluNetwork.dense([layer.weight for layer in layers], [layer.bias for layer in layers])


@max_examples(20)
@given(st.integers(0, 10_000), st.floats(0.001, 1.0))
def test_both_are_equal_in_rationals_at_points_of_the_box(seed, radius):
    net = draw(seed, 2, 12, 12, 3)
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal(2)
    found = ft.simplify(net, (centre - radius, centre + radius))
    before, after = exact(net), exact(found.network)
    assert found.open_neurons + sum(map(len, found.dead)) + sum(map(len, found.linear)) == 24
    points = [*rng.uniform(centre - radius, centre + radius, (5, 2)), centre - radius, centre + radius]
    for x in points:
        point = tuple(Fraction(float(v)) for v in x)
        assert before(point) == after(point)


def test_on_a_small_box_a_network_is_one_affine_map():
    net = draw(0, 3, 20, 20, 2)
    x = np.full(3, 0.3)
    found = ft.simplify(net, (x - 1e-9, x + 1e-9))
    assert found.network.widths == (3, 2) and found.open_neurons == 0


def test_neurons_that_pass_give_way_to_the_state_before_them():
    """Thirty neurons on two inputs, few of them open: the state is those and the two inputs."""
    net = draw(1, 2, 30, 4, 1)
    found = ft.simplify(net, (np.full(2, 0.25), np.full(2, 0.35)))
    assert found.network.widths[1] < 30
    assert "30" in str(found) and "dead" in str(found)


def test_outside_of_the_box_they_differ():
    net = ReluNetwork.dense([np.eye(1), np.eye(1)], [np.zeros(1), np.zeros(1)])
    found = ft.simplify(net, (np.array([1.0]), np.array([2.0])))
    assert found.network.widths == (1, 1)
    assert found.network([-3.0]) == -3.0 and net([-3.0]) == 0.0


def test_a_dead_layer_leaves_a_constant():
    net = ReluNetwork.dense([np.eye(2), np.ones((1, 2))], [np.zeros(2), np.full(1, 7.0)])
    found = ft.simplify(net, (np.full(2, -2.0), np.full(2, -1.0)))
    assert [len(part) for part in found.dead] == [2]
    assert found.network([5.0, 5.0]) == 7.0


def test_balls_and_networks_of_images_are_taken():
    net = ft.Network.described(random_mlp(np.random.default_rng(0), (4, 8, 2), "relu", bias=0.5), "random")
    found = ft.simplify(net, ft.Ball(np.zeros(4), 0.01, norm=2))
    assert found.network([0.0] * 4) == pytest.approx(np.asarray(net(np.zeros(4))), rel=1e-12)


@pytest.mark.parametrize(
    "net, region",
    [
        (draw(0, 2, 4, 1), (np.ones(2), np.zeros(2))),
        (draw(0, 2, 4, 1), (np.zeros(3), np.ones(3))),
        (draw(0, 2, 4, 1), (np.zeros((2, 2)), np.ones((2, 2)))),
    ],
)
def test_what_makes_no_sense_is_refused(net, region):
    with pytest.raises(FthetaError):
        ft.simplify(net, region)


def test_a_network_that_is_not_piecewise_affine_is_refused():
    net = ft.Network.described(random_mlp(np.random.default_rng(0), (2, 4, 1), "tanh", bias=0.5), "smooth")
    with pytest.raises((UsageError, FthetaError), match="piecewise affine"):
        ft.simplify(net, (np.zeros(2), np.ones(2)))
