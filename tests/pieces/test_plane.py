"""Planar slices: against the rational enumerator, against sampling, and against what the plane itself demands."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ftheta.logic import Basis
from ftheta.pieces import Box, Polygon, count_pieces, pieces, stream_pieces
from ftheta.relu.network import ReluNetwork, Step

from ..thoroughness import max_examples
from .networks import KINDS, adversarial_network, default_network, sampled_patterns

SQUARE = Box.cube(2)


def patterns(cells):
    return {row.tobytes() for row in cells.patterns}


def pairs_by_pattern(cells):
    rows = [row.tobytes() for row in cells.patterns]
    return {frozenset((rows[i], rows[j])) for i, j, _ in cells.adjacency}


@pytest.mark.parametrize("kind", KINDS)
def test_the_splitter_agrees_with_rational_arithmetic_on_degenerate_networks(kind):
    for seed in range(40):
        net = adversarial_network(kind, 2, seed)
        ours = pieces(net, SQUARE)
        exact = pieces(net, SQUARE, exact=True)
        assert patterns(ours) == patterns(exact), (kind, seed)
        assert len(ours) == len(exact) == len(patterns(ours))
        assert ours.certificate.basis is exact.certificate.basis is Basis.EXACT
        assert pairs_by_pattern(ours) == pairs_by_pattern(exact)
        assert ours.linear_regions().max() == exact.linear_regions().max()
        assert abs(ours.volumes.sum() - 4) < 1e-12 > abs(exact.volumes.sum() - 4)
        assert np.allclose(np.sort(ours.volumes), np.sort(exact.volumes), atol=1e-12)


@max_examples(40)
@given(
    st.sampled_from(KINDS),
    st.integers(100, 10**6),
    st.lists(
        st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=3, max_size=3, unique=True
    ),
)
def test_the_splitter_agrees_with_rational_arithmetic_on_triangles_with_corners_on_kinks(
    kind, seed, corners
):
    (a, b), (c, d), (e, f) = corners
    if (c - a) * (f - b) == (d - b) * (e - a):
        return
    net = adversarial_network(kind, 2, seed)
    triangle = Polygon(np.array(corners) / 2)
    assert patterns(pieces(net, triangle)) == patterns(pieces(net, triangle, exact=True))


@pytest.mark.parametrize("widths", [(2, 8, 8, 1), (2, 16, 16, 16, 2), (2, 40, 3)])
def test_every_sampled_pattern_has_its_cell_and_every_centre_its_pattern(widths):
    net = default_network(widths, seed=3)
    cells = pieces(net, SQUARE)
    points = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    found = {row.tobytes() for row in cells.activation}
    assert {row.tobytes() for row in sampled_patterns(net, points)} <= found
    assert (sampled_patterns(net, cells.centres) == cells.activation).all()


@pytest.mark.parametrize("seed", range(5))
def test_generic_complexes_have_four_corners_a_cell_on_average_and_euler_characteristic_one(seed):
    cells = pieces(default_network((2, 12, 12, 1), seed), SQUARE)
    inner = len(cells.adjacency)
    outer = int((cells.labels < 0).sum())
    corners = np.unique(np.round(cells.vertices, 9), axis=0)
    assert len(corners) - (inner + outer) + len(cells) == 1
    assert len(cells.vertices) == 4 * len(cells)


def test_the_affine_maps_are_the_function_its_jacobian_and_continuous_across_edges():
    net = default_network((2, 16, 16, 3), seed=1)
    cells = pieces(net, SQUARE)
    for i in range(0, len(cells), 7):
        cell = cells[i]
        t = cells.centres[i]
        assert np.allclose(cell.slope @ t + cell.constant, net(t), atol=1e-13)
        step = 1e-7 * np.sqrt(cells.volumes[i])
        difference = np.stack(
            [(net(t + step * e) - net(t - step * e)) / (2 * step) for e in np.eye(2)], axis=1
        )
        assert np.allclose(difference, cell.slope, atol=1e-4)
        slope, constant = cells.input_map(i)
        assert np.allclose(slope, cell.slope) and np.allclose(constant, cell.constant)
    owner = np.repeat(np.arange(len(cells)), np.diff(cells.ends))
    values = (
        np.einsum("voc,vc->vo", cells.maps[owner, :, :2], cells.vertices) + cells.maps[owner, :, 2]
    )
    # both cells of an edge agree with f at its ends
    assert np.allclose(values, net(cells.vertices), atol=1e-12)
    assert np.allclose(pieces(net, SQUARE, maps=False).maps, cells.maps, atol=1e-13)


def test_a_slice_through_three_points_of_a_residual_network_with_a_sparse_convolution():
    rng = np.random.default_rng(2)
    kernel = rng.normal(size=3)
    rows = np.repeat(np.arange(30), 3)
    band = sparse.csr_array(
        (np.tile(kernel, 30), (rows, (rows + np.tile([0, 1, 2], 30)) % 30)), shape=(30, 30)
    )
    # the input is passed on beside the ReLU
    keep = sparse.csr_array(sparse.vstack([band, sparse.eye_array(30)]))
    merge = sparse.csr_array(sparse.hstack([sparse.eye_array(30), sparse.eye_array(30)]))
    net = ReluNetwork(
        (
            Step(keep, np.concatenate([rng.normal(size=30), np.zeros(30)]), np.arange(60) < 30),
            Step(merge, rng.normal(size=30), np.ones(30, bool)),
            Step(rng.normal(size=(2, 30)), np.zeros(2), np.zeros(2, bool)),
        )
    )
    dense = ReluNetwork(
        tuple(Step(step.dense(), step.offset, step.rectified) for step in net.steps)
    )
    domain = Polygon.through(*rng.normal(size=(3, 30)))
    cells = pieces(net, domain)
    same = pieces(dense, domain)
    assert patterns(cells) == patterns(same) == patterns(pieces(net, domain, exact=True))
    assert np.allclose(
        net(domain.chart(cells.centres)),
        np.einsum("icd,id->ic", cells.maps, np.c_[cells.centres, np.ones(len(cells))]),
    )
    assert (sampled_patterns(net, domain.chart(cells.centres)) == cells.activation).all()


def test_a_neuron_that_vanishes_on_a_cell_is_inactive_there_and_does_not_split_it():
    relu_of_relu = ReluNetwork.dense([[[1.0, 0.0]], [[1.0]], [[1.0]]], [[0.0], [0.0], [0.0]])
    cells = pieces(relu_of_relu, SQUARE)
    assert sorted(map(tuple, cells.activation.tolist())) == [(False, False), (True, True)]
    zero = ReluNetwork.dense([np.zeros((3, 2)), np.ones((1, 3))], [np.zeros(3), np.zeros(1)])
    assert len(pieces(zero, SQUARE)) == 1 and not pieces(zero, SQUARE).activation.any()


def test_without_escalation_open_signs_are_counted_and_the_count_is_not_called_exact():
    net = adversarial_network("central", 2, 1)
    cells = pieces(net, SQUARE, exact=False)
    assert cells.certificate.guessed > 0 and cells.count.basis is Basis.FLOAT


def test_streamed_counted_and_stored_pieces_are_the_same():
    net = default_network((2, 128, 128, 1))
    cells = pieces(net, SQUARE)
    streamed = np.concatenate([chunk.names for chunk in stream_pieces(net, SQUARE)])
    assert count_pieces(net, SQUARE).lo == len(cells) == len(np.unique(streamed)) > 5_000
    assert cells.certificate.margin > 1 and cells.certificate.volume_defect < 1e-12


def test_an_affine_network_has_one_piece():
    net = ReluNetwork.dense([[[1.0, 2.0]]], [[3.0]])
    cells = pieces(net, SQUARE)
    assert len(cells) == 1 and cells.maps.tolist() == [[[1.0, 2.0, 3.0]]]


@pytest.mark.parametrize("kept_sparse", [False, True])
def test_neurons_that_nothing_reaches_are_zero_without_being_asked_for(kept_sparse):
    """The first neuron is off on the whole box and alone feeds the first of the second layer, which feeds a third."""
    rng = np.random.default_rng(1)
    first = rng.normal(size=(6, 2))
    second = rng.normal(size=(5, 6))
    third = rng.normal(size=(4, 5))
    second[0], third[0] = [1, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0]
    weights = [first, second, third, rng.normal(size=(1, 4))]
    offsets = [
        np.array([start, *rng.normal(size=n - 1)])
        for start, n in ((-50.0, 6), (0.0, 5), (0.0, 4), (0.0, 1))
    ]
    net = ReluNetwork.dense(weights, offsets)
    if kept_sparse:
        net = ReluNetwork(
            tuple(replace(step, matrix=sparse.csr_array(step.dense())) for step in net.steps)
        )
    found = pieces(net, Box.cube(2))
    exactly = pieces(net, Box.cube(2), exact=True)
    assert set(found.names.tolist()) == set(exactly.names.tolist()) and len(found) > 10
    assert found.certificate.rational_signs == 0 and found.activity.dead.lo >= 3


@pytest.mark.parametrize("kept_sparse", [False, True])
def test_terms_that_cancel_in_float64_alone_are_not_taken_for_zero(kept_sparse):
    """10¹⁶u + u − 10¹⁶u is zero in float64, and positive: u = 2 + x₁ on the square."""
    weights = [
        np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]]),
        np.array([[1e16, 1.0, -1e16, 0.0]]),
        np.ones((1, 1)),
    ]
    net = ReluNetwork.dense(weights, [np.array([2.0, 2.0, 2.0, 0.0]), np.zeros(1), np.zeros(1)])
    if kept_sparse:
        net = ReluNetwork(
            tuple(replace(step, matrix=sparse.csr_array(step.dense())) for step in net.steps)
        )
    found = pieces(net, SQUARE)
    assert (
        patterns(found) == patterns(pieces(net, SQUARE, exact=True))
        and found.activation[:, 4].all()
    )
    assert found.certificate.rational_signs > 0
