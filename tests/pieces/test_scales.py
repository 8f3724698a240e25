"""Numbers that overflow and vanish: the same pieces as in rational arithmetic, whatever the scale."""

import numpy as np
import pytest

from ftheta.logic import Basis
from ftheta.pieces import Box, Segment, Space, count_pieces, pieces
from ftheta.relu.network import ReluNetwork

from .networks import adversarial_network

CROSS = ReluNetwork.dense([[[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]])


def test_a_kink_too_small_for_float64_is_not_taken_for_another():
    net = ReluNetwork.dense([[[1e18], [1e18]], [[1.0, 1.0]]], [[2.3e-308, 0.0], [0.0]])
    for domain in (Segment([-1.0], [1.0]), Box([-1.0], [1.0])):
        assert (
            count_pieces(net, domain).lo
            == count_pieces(net, domain).hi
            == len(pieces(net, domain))
            == 3
        )


@pytest.mark.parametrize(
    "radius", [5e-324, 1e-300, 1e-200, 1e-160, 1e-120, 1e-30, 1e30, 1e120, 1e160, 1e200, 1e300]
)
def test_the_size_of_the_domain_does_not_matter_to_lines_through_its_centre(radius):
    cells = pieces(CROSS, Box.cube(2, radius))
    assert len(cells) == 4 and cells.certificate.basis is Basis.EXACT
    assert cells.lipschitz("inf").lo == cells.lipschitz("inf").hi == 2
    assert len(cells.adjacency) == 4


@pytest.mark.parametrize("radius", [1e-200, 1e200])
def test_segments_of_every_length_have_a_euclidean_slope(radius):
    net = ReluNetwork.dense([[[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.0]]], [[0.0, 0.0], [0.0]])
    slope = pieces(net, Segment([-radius, 0.0], [radius, 0.0])).lipschitz()
    assert slope.lo <= 3 <= slope.hi and slope.hi < 3.001


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-155, 1e-80, 1e80, 1e120, 1e154, 1e290])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_multiple_of_every_weight_leaves_the_pieces_as_they_are(scale, d):
    """r(λz) = λr(z): the first layer multiplied by a power of two next to `scale`."""
    net = adversarial_network("halves", d, seed=3)
    power = 2.0 ** round(np.log2(scale))
    first, *others = net.steps
    scaled = ReluNetwork.dense(
        [power * first.dense(), *(s.dense() for s in others)],
        [power * first.offset, *(0 * s.offset for s in others)],
    )
    plain = ReluNetwork.dense(
        [first.dense(), *(s.dense() for s in others)],
        [first.offset, *(0 * s.offset for s in others)],
    )
    assert (
        count_pieces(scaled, Box.cube(d))
        == count_pieces(plain, Box.cube(d))
        == pieces(scaled, Box.cube(d)).count
    )


def test_layers_whose_product_overflows_are_counted_in_rationals():
    net = ReluNetwork.dense(
        [1e200 * np.eye(2), 1e200 * np.eye(2), np.ones((1, 2))], [np.zeros(2), np.zeros(2), [0.0]]
    )
    assert count_pieces(net, Box.cube(2)).lo == count_pieces(net, Space(2)).lo == 4
    low, high = pieces(net, Box.cube(2)).extreme()
    assert low.lo == low.hi == 0 and high.hi == np.inf and high.lo > 1e308


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_squares_of_slopes_may_lie_beyond_the_range_of_floats(size):
    net = ReluNetwork.dense([[[size, 0.0], [0.0, size]], [[3.0, 4.0]]], [np.zeros(2), [0.0]])
    found = pieces(net, Box.cube(2)).lipschitz()
    assert found.lo <= 5 * size <= found.hi <= 5.001 * size


def test_cells_of_many_dimensions_are_found_at_every_scale():
    net = ReluNetwork.dense([np.eye(3, 11) * 1e170, np.ones((1, 3))], [np.zeros(3), [0.0]])
    assert count_pieces(net, Box.cube(11, 1e-170)).lo == 8
