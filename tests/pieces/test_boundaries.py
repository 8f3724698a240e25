"""Where outputs tie, and what a classifier makes of its domain."""

from fractions import Fraction

import numpy as np
import pytest

from ftheta.logic import Basis, UsageError
from ftheta.pieces import Box, pieces
from ftheta.relu.network import ReluNetwork

from .networks import KINDS, adversarial_network, default_network

SQUARE = Box.cube(2)


def with_kinks(outputs, d: int, seed: int = 0) -> ReluNetwork:
    """Given affine outputs (rows with the constant last), cut by neurons that say nothing."""
    rng = np.random.default_rng(seed)
    rows = np.asarray(outputs, float)
    hidden = np.vstack([np.eye(d), -np.eye(d), rng.normal(size=(4, d))])
    last = np.hstack([rows[:, :-1], -rows[:, :-1], np.zeros((len(rows), 4))])
    return ReluNetwork.dense(
        [hidden, last], [np.concatenate([np.zeros(2 * d), rng.normal(size=4)]), rows[:, -1]]
    )


def balanced(widths, seed: int) -> ReluNetwork:
    """A random network whose outputs all vanish in the middle: there they tie."""
    net = default_network(widths, seed)
    return net - ReluNetwork.dense([np.zeros((widths[-1], widths[0]))], [net(np.zeros(widths[0]))])


def area(polygon: np.ndarray) -> float:
    fan = np.cross(polygon[1:-1] - polygon[0], polygon[2:] - polygon[0])
    return 0.5 * float(np.linalg.norm(fan, axis=1).sum())


def test_the_plane_through_a_cube_is_a_hexagon_whatever_cells_it_is_cut_into():
    cells = pieces(with_kinks([[1, 1, 1, 0], [0, 0, 0, 0]], 3), Box.cube(3))
    found = cells.boundary(0, 1)
    assert len(found) > 4 and found.basis is Basis.EXACT and not len(found.tied)
    assert sum(map(area, found.pieces)) == pytest.approx(3 * 3**0.5, rel=1e-12)
    assert all(abs(p.sum(axis=1)).max() < 1e-12 for p in found.pieces)
    assert isinstance(cells.decision_boundary(0, 1), list)


@pytest.mark.parametrize("exactness", ["auto", True])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_pieces_lie_in_their_cells_and_the_outputs_tie_there(d, exactness):
    cells = pieces(balanced((d, 6, 5, 2), seed=d), Box.cube(d), exact=exactness)
    found = cells.boundary(0, 1)
    assert len(found)
    for piece, i in zip(found.pieces, found.owners):
        values = piece @ cells.maps[i, :, :-1].transpose(1, 0) + cells.maps[i, :, -1]
        assert np.abs(values[:, 0] - values[:, 1]).max() < 1e-12 and len(piece) >= d
        corners = cells.corners(int(i))
        assert (piece >= corners.min(axis=0) - 1e-9).all() and (
            piece <= corners.max(axis=0) + 1e-9
        ).all()


def test_compiled_and_rational_complexes_have_the_same_boundary():
    for kind in KINDS:
        for seed in range(3):
            net = adversarial_network(kind, 2, seed)
            one, other = (
                pieces(net, SQUARE, exact=exactness).boundary(0) for exactness in ("auto", True)
            )
            length = lambda b: sum(float(np.linalg.norm(p[1] - p[0])) for p in b.pieces)
            assert len(one) == len(other) and len(one.tied) == len(other.tied)
            assert length(one) == pytest.approx(length(other), abs=1e-9)


def test_ties_along_edges_are_listed_once_and_ties_on_cells_are_named():
    ramp = ReluNetwork.dense([[[1.0, 0.0]], [[1.0]]], [[0.0], [0.0]])  # zero for x <= 0
    found = pieces(ramp, SQUARE).boundary(0)
    assert len(found) == 1 and len(found.tied) == 1 and np.allclose(found.pieces[0][:, 0], 0)
    # |x| touches zero
    valley = ReluNetwork.dense([[[1.0, 0.0], [-1.0, 0.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]])
    assert len(pieces(valley, SQUARE).decision_boundary(0)) == 1
    corner = ReluNetwork.dense(
        [np.vstack([np.eye(2), -np.eye(2)]), np.ones((1, 4))], [np.zeros(4), np.zeros(1)]
    )
    # |x| + |y| vanishes at a point only
    assert len(pieces(corner, SQUARE).decision_boundary(0)) == 0


def test_points_on_a_line_where_an_output_vanishes():
    cells = pieces(with_kinks([[1, -0.3]], 1), Box.cube(1))
    assert np.allclose(cells.decision_boundary(0), [[0.3]])
    with pytest.raises(UsageError, match="no such output"):
        cells.boundary(1)


@pytest.mark.parametrize("d, shares", [(1, (2, 2)), (2, (3, 3, 2)), (3, (7, 7, 7, 3))])
def test_shares_of_the_largest_coordinate_are_known_in_closed_form(d, shares):
    """Of x₁, …, x_d and 0 the zero wins where all are negative: 2⁻ᵈ; the others are alike."""
    outputs = np.vstack([np.column_stack([np.eye(d), np.zeros(d)]), np.zeros((1, d + 1))])
    regions = pieces(with_kinks(outputs, d), Box.cube(d)).decision_regions()
    for share, want in zip(regions.shares, shares):
        assert Fraction(share.lo) <= Fraction(want, sum(shares)) <= Fraction(share.hi)
        assert share.basis is Basis.EXACT and share.width < 1e-15
    assert regions.tied.hi < 1e-15
    values = [np.append(piece.mean(axis=0), 0.0) for piece in regions.pieces]
    assert [int(v.argmax()) for v in values] == regions.classes.tolist()


def test_a_class_that_always_ties_is_counted_and_said():
    cells = pieces(with_kinks([[1, 0, 0], [1, 0, 0]], 2), SQUARE)
    regions = cells.decision_regions()
    assert (
        regions.shares[0].lo > 1 - 1e-15
        and regions.shares[1].hi < 1e-15
        and regions.tied.lo > 1 - 1e-15
    )
    assert len(cells.boundary(0, 1).tied) == len(cells)


def test_shares_agree_with_a_sample_and_boundaries_of_classes_separate_them():
    net = balanced((2, 12, 12, 4), seed=8)
    points = 40_000
    cells = pieces(net, SQUARE)
    regions = cells.decision_regions()
    seen = np.bincount(
        net(np.random.default_rng(0).uniform(-1, 1, (points, 2))).argmax(axis=1), minlength=4
    )
    for share, count in zip(regions.shares, seen.tolist()):
        error = (max(share.middle * (1 - share.middle), 1e-9) / points) ** 0.5
        assert abs(count / points - share.middle) < 5 * error + 1e-3 / points
    assert sum(share.middle for share in regions.shares) == pytest.approx(1, abs=1e-14)
    edges = [(pair, piece) for pair, b in cells.class_boundary().items() for piece in b.pieces]
    assert edges
    for (a, b), piece in edges:
        values = net(piece.mean(axis=0))
        assert (
            values[a]
            == pytest.approx(values.max(), abs=1e-12)
            == pytest.approx(values[b], abs=1e-12)
        )


def test_regions_need_a_complete_complex():
    with pytest.raises(UsageError, match="all cells"):
        pieces(default_network((2, 12, 2)), SQUARE, max_cells=3).decision_regions()
