"""Boxes and all of space: Zaslavsky's numbers, volumes, and the exact reference in three dimensions and more."""

from math import comb

import numpy as np
import pytest

from ftheta.logic import Basis, UsageError
from ftheta.pieces import Box, Space, count_pieces, pieces
from ftheta.pieces.methods import workers
from ftheta.relu.network import ReluNetwork

from .networks import KINDS, adversarial_network, arrangement, default_network, sampled_patterns


@pytest.mark.parametrize(
    ("n", "d", "regions"),
    [(3, 2, 7), (4, 2, 11), (5, 2, 16), (4, 3, 15), (6, 3, 42), (10, 3, 176), (7, 4, 99)],
)
def test_hyperplanes_in_general_position_have_zaslavskys_number_of_regions(n, d, regions):
    assert regions == sum(comb(n, i) for i in range(d + 1))
    for exact in ("auto", True):
        count = count_pieces(arrangement(n, d), Space(d), exact=exact)
        assert (count.lo, count.hi, count.basis) == (regions, regions, Basis.EXACT)


@pytest.mark.parametrize(("n", "d"), [(4, 3), (6, 3), (5, 2), (6, 4)])
def test_central_arrangements_have_zaslavskys_number_of_regions(n, d):
    expected = 2 * sum(comb(n - 1, i) for i in range(d))
    net = arrangement(n, d, central=True)
    assert count_pieces(net, Space(d)).lo == expected
    assert count_pieces(net, Box.cube(d)).lo == expected


def test_a_large_box_loses_regions_that_all_of_space_has():
    net = ReluNetwork.dense([[[1.0, 1e-9], [1.0, -1e-9]], [[1.0, 1.0]]], [[0.0, 1.0], [0.0]])
    assert count_pieces(net, Box.cube(2, 1e6)).lo == 3 < count_pieces(net, Space(2)).lo == 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 4])
def test_the_splitter_agrees_with_rational_arithmetic_on_degenerate_networks(kind, d):
    for seed in range(10 if d == 3 else 4):
        net = adversarial_network(kind, d, seed, widest=5)
        ours = pieces(net, Box.cube(d))
        exact = pieces(net, Box.cube(d), exact=True)
        assert {p.tobytes() for p in ours.patterns} == {p.tobytes() for p in exact.patterns}, (
            kind,
            seed,
        )
        assert len(ours) == len(exact) and ours.certificate.basis is Basis.EXACT
        assert count_pieces(net, Space(d)) == count_pieces(net, Space(d), exact=True)


@pytest.mark.parametrize("widths", [(3, 12, 12, 2), (4, 8, 8, 1), (5, 7, 7, 1)])
def test_volumes_corners_patterns_and_maps_fit(widths):
    net = default_network(widths, seed=2)
    d = widths[0]
    cells = pieces(net, Box.cube(d))
    assert abs(cells.volumes.sum() - 2**d) < 1e-9
    assert all(len(cells[i].facets) >= d + 1 for i in range(0, len(cells), 17))
    assert (sampled_patterns(net, cells.centres) == cells.activation).all()
    points = np.random.default_rng(0).uniform(-1, 1, (5000, d))
    assert {r.tobytes() for r in sampled_patterns(net, points)} <= {
        r.tobytes() for r in cells.activation
    }
    ones = np.c_[cells.centres, np.ones(len(cells))]
    assert np.allclose(net(cells.centres), np.einsum("icd,id->ic", cells.maps, ones), atol=1e-12)


def test_neighbours_differ_in_one_neuron_in_general_position():
    cells = pieces(default_network((3, 8, 8, 1), seed=5), Box.cube(3))
    pairs = cells.adjacency
    differences = (cells.activation[pairs[:, 0]] != cells.activation[pairs[:, 1]]).sum(axis=1)
    assert (differences == 1).all() and len(pairs) >= len(cells) - 1


def test_folding_multiplies_the_regions():
    # |x| in both coordinates, twice: each fold quarters the square
    fold = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    join = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    half = np.array([-0.5, 0.5, -0.5, 0.5])
    net = ReluNetwork.dense([fold, fold @ join, join], [np.zeros(4), half, np.zeros(2)])
    assert count_pieces(net, Box.cube(2)).lo == 16
    assert count_pieces(net, Box.cube(2), exact=True).lo == 16


@pytest.mark.parametrize("kind", KINDS)
def test_the_volumes_of_stored_cells_add_up_to_that_of_the_box(kind):
    """Lawrence's sum, or NaN where a corner is hardly known; the hulls of the corners are the second method."""
    for d, seed in ((3, 0), (3, 1), (4, 2), (5, 3)):
        cells = pieces(adversarial_network(kind, d, seed, widest=5), Box.cube(d, 2.0))
        volume = cells.certificate.volume
        assert np.isnan(volume) or abs(volume - 4.0**d) < 1e-8 * 4.0**d, (kind, d, seed)
        assert not np.isnan(volume) or cells.radius.max() > 1e-12
    net = default_network((4, 10, 10, 1), seed=7)
    part = pieces(net, Box.cube(4), max_cells=150)
    assert abs(part.certificate.volume - part.volumes.sum()) < 1e-10


@pytest.mark.parametrize("widths", [(3, 12, 12, 1), (4, 9, 9, 1), (5, 7, 7, 1)])
def test_counting_without_building_the_last_cells_gives_the_stored_number(widths):
    for seed in range(4):
        net = default_network(widths, seed)
        box = Box.cube(widths[0])
        assert count_pieces(net, box).lo == len(pieces(net, box))
    for kind in KINDS:
        net = adversarial_network(kind, widths[0], 11, widest=5)
        box = Box.cube(widths[0])
        assert count_pieces(net, box).lo == len(pieces(net, box))


def test_what_is_known_of_corners_bounds_their_distance_from_the_exact_ones():
    for widths, seed in (((3, 10, 10, 1), 0), ((4, 8, 8, 1), 1), ((5, 6, 6, 1), 2)):
        net = default_network(widths, seed)
        cells = pieces(net, Box.cube(widths[0]))
        exact = pieces(net, Box.cube(widths[0]), exact=True)
        rows = {p.tobytes(): i for i, p in enumerate(exact.patterns)}
        for i in range(0, len(cells), 7):
            there = exact.corners(rows[cells.patterns[i].tobytes()])
            here = cells.corners(i)
            radius = cells.radius[cells.ends[i] : cells.ends[i + 1]]
            gap = np.linalg.norm(here[:, None] - there[None], axis=2).min(axis=1)
            assert (gap <= radius + 1e-15).all()


def test_two_threads_find_the_same_cells_and_heed_the_budget():
    net = default_network((3, 40, 40, 1), seed=1)
    box = Box.cube(3)
    alone = pieces(net, box)
    shared = pieces(net, box, workers=2)
    assert {p.tobytes() for p in alone.patterns} == {p.tobytes() for p in shared.patterns}
    assert len(alone) == len(shared) == count_pieces(net, box, workers=2).hi
    assert (
        abs(shared.certificate.volume - 8.0) < 1e-9
        and shared.certificate.margin == alone.certificate.margin
    )
    for budget in (1, 100, len(alone) - 1):
        part = pieces(net, box, workers=2, max_cells=budget)
        assert len(part) == budget and not part.certificate.complete
        assert count_pieces(net, box, workers=2, max_cells=budget).lo == budget
    assert pieces(net, box, workers=2, max_cells=len(alone)).certificate.complete
    with pytest.raises(UsageError, match="threads"):
        count_pieces(net, box, workers=0)


@pytest.mark.parametrize("pause", [2_000, 20_000, 100_000])
def test_a_thread_that_pauses_below_the_budget_goes_on(monkeypatch, pause):
    monkeypatch.setattr(workers, "PAUSE_AFTER", pause)
    net = default_network((3, 40, 40, 1), seed=1)
    count = len(pieces(net, Box.cube(3)))
    for _ in range(5):  # threads meet in another order each time
        assert pieces(net, Box.cube(3), workers=2, max_cells=count).certificate.complete
