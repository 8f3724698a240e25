"""Segments and polylines: known numbers of pieces, and the exact reference."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Basis
from ftheta.pieces import Box, Polyline, Segment, Space, count_pieces, pieces
from ftheta.relu.network import ReluNetwork

from ..thoroughness import max_examples
from .networks import KINDS, adversarial_network, default_network, sampled_patterns, tent

UNIT = Box([0.0], [1.0])


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_the_k_fold_tent_map_has_two_to_the_k_pieces_without_rational_help(k):
    cells = pieces(tent(k), UNIT)
    assert len(cells) == 2**k and cells.count.basis is Basis.EXACT
    assert cells.certificate.rational_signs == 0
    assert cells.vertices[::2, 0].tolist() == [i / 2**k for i in range(2**k)]
    assert (np.abs(cells.maps[:, 0, 0]) == 2**k).all()
    assert len(set(cells.linear_regions().tolist())) == 2**k


def test_two_layers_of_two_neurons_have_at_most_seven_pieces_and_some_have():
    rng = np.random.default_rng(0)
    most = 0
    for _ in range(1500):
        W = [rng.normal(size=(2, 1)), rng.normal(size=(2, 2)), np.ones((1, 2))]
        net = ReluNetwork.dense(W, [rng.normal(size=2), rng.normal(size=2), np.zeros(1)])
        most = max(most, int(count_pieces(net, Box([-50.0], [50.0])).lo))
    assert 5 <= most <= 7


@max_examples(60)
@given(st.sampled_from(KINDS), st.integers(0, 10**6), st.integers(1, 3))
def test_segments_agree_with_rational_arithmetic(kind, seed, inputs):
    net = adversarial_network(kind, inputs, seed)
    a, b = np.random.default_rng(seed).integers(-3, 4, size=(2, inputs)) / 2
    if (a == b).all():
        return
    ours = pieces(net, Segment(a, b))
    exact = pieces(net, Segment(a, b), exact=True)
    assert {p.tobytes() for p in ours.patterns} == {p.tobytes() for p in exact.patterns}
    assert np.allclose(ours.volumes.sum(), 1) and (np.diff(ours.vertices[::2, 0]) >= 0).all()


def test_a_polyline_is_its_segments_one_after_another():
    net = default_network((5, 32, 32, 2), seed=4)
    points = np.random.default_rng(1).normal(size=(4, 5))
    line = pieces(net, Polyline(points))
    parts = [pieces(net, Segment(a, b)) for a, b in pairwise(points)]
    assert len(line) == sum(map(len, parts)) and line.vertices.max() == 3.0
    assert line.certificate.volume_defect < 1e-12
    inputs = points[0] + parts[0].centres * (points[1] - points[0])
    assert (sampled_patterns(net, inputs) == parts[0].activation).all()


def test_wide_networks_agree_with_a_dense_sample():
    net = default_network((1, 64, 64, 64, 1))
    domain = Box([-100.0], [100.0])
    cells = pieces(net, domain)
    assert (sampled_patterns(net, cells.centres) == cells.activation).all()
    seen = sampled_patterns(net, np.linspace(-100, 100, 50_001)[:, None])
    assert {row.tobytes() for row in seen} <= {row.tobytes() for row in cells.activation}


def test_the_whole_line_counts_unbounded_pieces():
    # eight inside [0, 1]; beyond, the two affine ends
    assert count_pieces(tent(3), Space(1)).lo == 10
