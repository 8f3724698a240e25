"""Questions to a finished complex."""

import numpy as np
import pytest

from ftheta.logic import UsageError
from ftheta.pieces import Box, Polygon, Segment, pieces
from ftheta.relu.network import ReluNetwork

from .networks import adversarial_network, default_network

SQUARE = Box.cube(2)


@pytest.fixture(scope="module")
def cells():
    return pieces(default_network((2, 16, 16, 2), seed=1), SQUARE)


def test_the_cell_of_a_point_contains_it_and_the_nearest_facet_is_as_far_as_the_nearest_edge(cells):
    for t in np.random.default_rng(0).uniform(-1, 1, (30, 2)):
        i = cells.cell_of(t)
        ring = cells.corners(i)
        edge = np.roll(ring, -1, axis=0) - ring
        distance = (edge[:, 0] * (t - ring)[:, 1] - edge[:, 1] * (t - ring)[:, 0]) / np.linalg.norm(
            edge, axis=1
        )
        assert distance.min() >= -1e-12
        label, nearest = cells.nearest_facet(t)
        assert nearest == pytest.approx(distance.min(), abs=1e-12)
        assert cells.labels[cells.ends[i] : cells.ends[i + 1]][distance.argmin()] == label


def test_points_on_kinks_and_corners_have_a_cell(cells):
    assert all(0 <= cells.cell_of(v) < len(cells) for v in cells.vertices[:40])
    with pytest.raises(UsageError, match="no cell"):
        cells.cell_of([3.0, 0.0])


def test_extremes_and_the_lipschitz_constant_bound_every_sample(cells):
    net = cells.plan.net
    points = np.random.default_rng(1).uniform(-1, 1, (4000, 2))
    values = net(points)[:, 0]
    low, high = cells.extreme(0)
    assert low.lo <= values.min() and values.max() <= high.hi and high.width < 1e-9
    assert high.middle == pytest.approx(net(cells.vertices)[:, 0].max())
    constant = cells.lipschitz().middle
    slopes = np.linalg.norm(net(points[1:]) - net(points[:-1]), axis=1) / np.linalg.norm(
        np.diff(points, axis=0), axis=1
    )
    assert (
        slopes.max()
        <= constant
        <= np.linalg.norm(cells.maps[:, :, :2], 2, axis=(1, 2)).max() * (1 + 1e-12)
    )


def test_the_lipschitz_constant_of_a_slice_is_measured_in_the_inputs():
    net = ReluNetwork.dense([np.eye(3), np.ones((1, 3))], [np.zeros(3), np.zeros(1)])
    slice_ = Polygon(
        [[0, 0], [1, 0], [0, 1]], origin=[1.0, 1.0, 1.0], basis=[[10, 0], [0, 0.1], [0, 0]]
    )
    assert pieces(net, slice_).lipschitz().middle == pytest.approx(2**0.5)
    assert pieces(net, Segment([0, 0, 0], [5, 0, 0])).lipschitz().middle == pytest.approx(1.0)


def test_the_two_logits_tie_on_the_decision_boundary(cells):
    segments = cells.decision_boundary(0, 1)
    values = cells.plan.net(segments.reshape(-1, 2))
    assert len(segments) and np.allclose(values[:, 0], values[:, 1], atol=1e-12)
    line = pieces(default_network((1, 8, 1), seed=3), Box([-3.0], [3.0]))
    assert np.allclose(line.plan.net(line.decision_boundary(0)), 0.0, atol=1e-12)


def test_merging_gives_as_many_regions_as_there_are_affine_functions_on_connected_sets():
    dead = ReluNetwork.dense([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]]], [[0.0, 0.0], [0.0]])
    cells = pieces(dead, SQUARE)  # the second neuron does not reach the output
    assert len(cells) == 4 and len(set(cells.linear_regions().tolist())) == 2
    for seed in range(10):
        cells = pieces(adversarial_network("integer", 2, seed), SQUARE)
        regions = cells.linear_regions()
        for region in set(regions.tolist()):
            maps = cells.maps[regions == region]
            assert np.allclose(maps, maps[0])


def test_neighbours_are_symmetric_and_every_complex_is_connected(cells):
    for i in (0, 5, len(cells) - 1):
        assert all(i in cells.neighbours(j) for j in cells.neighbours(i))
    assert len(cells.adjacency) >= len(cells) - 1


def test_labels_name_the_step_and_coordinate_of_the_neuron_that_vanishes_on_an_edge(cells):
    net = cells.plan.net
    after = np.arange(1, len(cells.vertices) + 1)
    after[cells.ends[1:] - 1] = cells.ends[:-1]
    middle = 0.5 * (cells.vertices + cells.vertices[after])
    for label, t in list(zip(cells.labels, middle))[:200]:
        if label < 0:
            assert np.abs(t).max() == pytest.approx(1.0)
            continue
        step, k = cells.units[label]
        state = t
        for s in net.steps[:step]:
            state = np.maximum(s.matrix @ state + s.offset, 0.0)
        assert abs((net.steps[step].matrix @ state + net.steps[step].offset)[k]) < 1e-12
