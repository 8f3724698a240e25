"""Slices of networks: which form is cut, where, and whether the maps found are the network."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.logic import Basis, Curves, Regions
from ftheta.networks import random_mlp
from ftheta.pieces import Polygon, Segment, pieces
from ftheta.pieces.normal_forms import listed_form, normal_form
from ftheta.pieces.pictures import picture
from ftheta.pieces.slices import slice_of, storable
from ftheta.running import run
from ftheta.subjects import Network
from ftheta.theorems.piecewise.relu_net_is_cpa import KNOWN, relu_net_is_cpa
from ftheta.theorems.piecewise.relu_net_is_cpa.affine_maps import LocalMaps


def random_network(widths, hidden="relu", seed=0) -> Network:
    return Network.described(random_mlp(np.random.default_rng(seed), widths, hidden, bias=0.5))


def test_a_normal_form_is_exact_unless_a_constant_was_rounded():
    net = random_network((2, 5, 1))
    assert normal_form(net).basis is Basis.EXACT
    with jax.enable_x64(True):
        assert normal_form(random_network((2, 5, 1), "leaky-relu")).basis is Basis.EXACT
        assert normal_form(replace(net, apply=lambda p, x: net.apply(p, x))).basis is Basis.EXACT
        assert (
            normal_form(replace(net, apply=lambda p, x: net.apply(p, x / 3))).basis is Basis.EXACT
        )
        rooted = normal_form(
            replace(net, apply=lambda p, x: net.apply(p, x * jnp.sqrt(p[0][0][0, 0] ** 2 + 2)))
        )
    assert rooted.basis is Basis.FLOAT and "sqrt" in rooted.meaning


def test_a_description_that_tells_something_else_is_not_believed():
    net = random_network((2, 5, 1))
    other = replace(net, apply=lambda p, x: net.apply(p, jnp.abs(x)))
    with jax.enable_x64(True):
        form = normal_form(other).network
        told = listed_form(other)
        assert form is not None and told is not None
        x = np.array([-1.0, 0.5])
        np.testing.assert_allclose(form(x), other(x))
        assert not np.allclose(form(x), told(x))


def test_a_smooth_network_is_refused_with_a_reason():
    with jax.enable_x64(True):
        assert "tanh" in normal_form(random_network((2, 5, 1), "tanh")).refusal


def test_a_slice_passes_through_rows_of_the_data_and_survives_rows_on_a_line():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 4))
    plane = slice_of(4, rows, rng, 1.0)
    assert isinstance(plane, Polygon)
    for corner in ([0, 0], [1, 0], [0, 1]):
        assert np.abs(rows - plane.chart(corner)).max(axis=1).min() < 1e-12
    line = np.outer(np.arange(5.0), np.ones(4))
    assert np.array_equal(slice_of(4, line, rng, 1.0).chart.basis, np.eye(4)[:, :2])
    assert isinstance(slice_of(1, None, rng, 1.0), Segment)


@pytest.mark.parametrize(
    "name, cells, regions", [("|x₁| + |x₂|", 4, 4), ("identity", 4, 1), ("three lines", 7, 7)]
)
def test_small_networks_have_the_pieces_that_are_known_by_heart(name, cells, regions):
    net = Network.described(KNOWN[name])
    form = normal_form(net).network
    assert form is not None
    found = pieces(form, slice_of(2, None, np.random.default_rng(0), 2.0))
    with jax.enable_x64(True):
        maps = LocalMaps(found, net, net.input_shape)
        assert len(found) == cells and maps.regions()[1].middle == regions
        assert maps.largest_gap.gap <= maps.largest_gap.allowance
        slopes = maps.compare_jacobians(8)
        assert slopes.gap.basis is Basis.FLOAT and slopes.gap.hi <= slopes.allowance


@pytest.mark.parametrize("inputs, kind", [(1, Curves), (3, Regions)])
def test_every_cell_is_drawn(inputs, kind):
    form = normal_form(random_network((inputs, 6, 2))).network
    assert form is not None and storable(form, 10) == 10
    found = pieces(form, slice_of(inputs, None, np.random.default_rng(0), 2.0))
    assert isinstance(picture(found, "t", found.activation.sum(axis=1), "active"), kind)


def test_ties_across_a_slice_do_not_refute_the_slopes_along_it():
    """On the plane of the first two inputs both entries of the maximum vanish: there Df has two one-sided values."""
    net = Network.of(
        lambda x: x[0] + jnp.maximum(x[1], 0.0) + jnp.maximum(-x[2], 3.0 * x[3]), (4,), name="tied"
    )
    assert run(relu_net_is_cpa, net).verdict in ("certified", "consistent")
