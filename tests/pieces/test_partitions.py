"""Cells of compositions: each counted once, against a second enumeration, volumes and known examples."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, HalfspaceIntersection

from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.pieces import Box, pieces
from ftheta.pieces.functions.composition import Composition, Listing, Window, within_budget
from ftheta.pieces.functions.partitions import (
    Budget,
    OutOfBudget,
    compose_pieces,
    identity_on,
    pieces_of,
    split,
)
from ftheta.pieces.functions.polyhedra import (
    at,
    box,
    corners_of,
    everywhere,
    opposite,
    primitive,
    simplices,
    volume,
)
from ftheta.relu.exact import exact, from_description
from ftheta.relu.linear_programs import inside
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork
from ftheta.theorems.piecewise.cpa_partition_composition import COMPOSED, count_relu_twice

from ..thoroughness import max_examples


def plenty() -> Budget:
    return Budget(10_000, 10**6)


def made(name: str, hidden: int = 1) -> Composition:
    found = Composition.of(
        exact(COMPOSED[name]), everywhere(COMPOSED[name].widths[0]), hidden, 1000
    )
    assert found is not None
    return found


# ---- polyhedra -------------------------------------------------------------------------------------------------------


sides = st.lists(
    st.tuples(*[st.integers(-4, 4)] * 3).filter(lambda s: any(s[:2])), min_size=1, max_size=6
)


@max_examples(40)
@given(sides)
def test_cutting_by_corners_and_by_programs_give_the_same_polyhedron(cuts):
    cell = box([-3, -3], [3, 3])
    for cut in cuts:
        above, below = cell.halves(primitive(tuple(map(fmpq, cut))))
        assert (cell._half_by_program(cut) is None) == (above is None)
        assert (cell._half_by_program(opposite(cut)) is None) == (below is None)
        cell = above or below
        assert cell is not None
    assert cell.interior_point is not None
    assert set(cell.corners) == set(corners_of(cell.sides, 2))
    middle = [sum(c) for c in zip(*cell.corners)]
    assert all(at(side, middle) > 0 for side in cell.sides)


@max_examples(25)
@given(st.integers(2, 3), st.integers(0, 10**6))
def test_volumes_in_a_box_are_those_of_qhull(d, seed):
    rng = np.random.default_rng(seed)
    frame = box([-2] * d, [2] * d)
    cell = everywhere(d)
    for _ in range(4):
        normal = rng.integers(-4, 5, d)
        if normal.any():
            cell = cell.halves(primitive(tuple(map(fmpq, [*map(int, normal), 2]))))[0]
            assert cell is not None  # zero is inside
    rows = np.array([*cell.sides, *frame.sides], float)
    corners = HalfspaceIntersection(-rows, np.zeros(d)).intersections
    found = float(fraction(volume(simplices(cell, frame))))
    assert found == pytest.approx(ConvexHull(corners).volume, rel=1e-9)


def test_all_of_space_holds_lines_and_is_cut_by_programs_until_it_holds_none():
    half = everywhere(2).halves((1, 0, 0))[0]
    assert half is not None and not half.corners and not half.is_bounded
    quadrant = half.halves((0, 1, 0))[0]
    assert quadrant is not None and set(quadrant.corners) == {(0, 0, 1), (1, 0, 0), (0, 1, 0)}


# ---- composition -----------------------------------------------------------------------------------------------------


def test_a_list_of_pairs_has_three_cells_of_relu_after_relu_and_a_partition_two():
    assert count_relu_twice() == (3, 2)
    found = made("r∘r")
    assert found.listed is not None
    negative = [p for p in found.listed if p.cell.sides == ((-1, 0),)]
    assert len(negative) == 2 and [p.owner for p in negative].count(True) == 1


def test_hat_after_hat_is_the_distance_to_zero_cut_at_one():
    for x in (Fraction(k, 7) for k in range(-20, 21)):
        point = (fmpq(x.numerator, x.denominator),)
        here = [
            p
            for p in made("h∘h", 2).owned
            if inside([tuple(map(fmpq, s)) for s in p.cell.sides], point)
        ]
        assert here and {fraction(p(point)[0]) for p in here} == {min(abs(x), 1)}


def test_around_a_point_with_four_cells_the_preimage_is_listed_four_times():
    found = made("four quadrants at a point")
    assert found.listed is not None
    frame = box([-1, -1], [1, 1])
    assert (
        Listing(found.owned, frame).volume.lo == 4 and Listing(found.owned, frame).overlaps.hi == 0
    )
    # the negative quadrant four times, its two neighbours twice, the positive one (cut in two) once
    assert Listing(found.listed, frame).volume.lo == 4 + 2 + 2 + 1
    assert Listing(found.listed, frame).overlaps.lo == 6 + 1 + 1


@max_examples(12)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(1, 4, 4, 1), (2, 5, 4, 1), (2, 3, 3, 3, 2), (3, 4, 3, 1)]),
    st.booleans(),
)
def test_owners_are_the_cells_that_another_enumeration_finds(seed, widths, biased):
    layers = random_mlp(np.random.default_rng(seed), widths, bias=0.5 if biased else 0.0)
    net = exact(layers)
    d = widths[0]
    f, g = split(net, 1)
    frame = box([-1] * d, [1] * d)
    found = compose_pieces(g, pieces_of(f, everywhere(d), plenty()), plenty())
    cells = Listing(found, frame)
    assert cells.count == pieces(from_description(layers), Box.cube(d)).count
    assert cells.volume.lo == 2**d and cells.overlaps.hi == 0 and cells.flat.hi == 0
    for piece in found:
        assert tuple(map(fraction, piece(piece.cell.within))) == net(piece.cell.within)


@max_examples(10)
@given(st.integers(0, 10**6))
def test_without_biases_a_list_of_pairs_overlaps_and_its_owners_do_not(seed):
    rng = np.random.default_rng(seed)
    weights = [rng.integers(-2, 3, shape).tolist() for shape in ((3, 2), (3, 3), (1, 3))]
    f, g = split(ExactNetwork.dense(weights, [[0] * 3, [0] * 3, [0]]), 1)
    inner = pieces_of(f, everywhere(2), plenty())
    listed = compose_pieces(g, inner, plenty(), listed=True)
    frame = box([-1, -1], [1, 1])
    owners = Listing([p for p in listed if p.owner], frame)
    assert owners.volume.lo == 4 and owners.overlaps.hi == 0
    assert len(owners.pieces) == len(compose_pieces(g, inner, plenty()))
    assert len({(p.source, p.pattern) for p in listed}) == len(listed)
    # every listed pair is one: points of the image just beside it lie on the chosen side of every neuron
    assert all(p.cell.interior_point is not None for p in listed)


def test_the_owner_of_a_face_does_not_need_cells_that_meet_face_to_face():
    # the image (0, x₂) lies on the zero set of r(4y₁), and where that is active the second layer is cut elsewhere
    inner = ExactNetwork.dense([[[0, 1], [0, -1]], [[0, 0], [1, -1]]], [[0, 0], [0, 0]])
    outer = ExactNetwork.dense(
        [[[0, 1], [1, 0]], [[1, 4], [-1, 4]], [[1, 1]]], [[0, 0], [-1, 1], [0]]
    )
    listed = compose_pieces(outer, pieces_of(inner, everywhere(2), plenty()), plenty(), listed=True)
    frame = box([-3, -3], [3, 3])
    owners = Listing([p for p in listed if p.owner], frame)
    assert owners.volume.lo == 36 and owners.overlaps.hi == 0
    assert Listing(listed, frame).volume.lo > 36


def test_the_budget_stops_the_enumeration():
    net = exact(random_mlp(np.random.default_rng(0), (2, 8, 8, 1), bias=0.5))
    with pytest.raises(OutOfBudget):
        pieces_of(net, everywhere(2), Budget(20, 10**6))
    with pytest.raises(OutOfBudget):
        pieces_of(net, everywhere(2), Budget(10**6, 20))
    assert Composition.of(net, everywhere(2), 1, 10) is None


def test_a_network_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="does not fit"):
        compose_pieces(ExactNetwork.affine([[1, 1, 1]]), [identity_on(everywhere(2))], plenty())


def test_cells_of_a_grid_of_lines_are_its_squares():
    lines = [[1, 0], [1, 0], [0, 1], [0, 1]]
    net = ExactNetwork.dense([lines, [[1, 1, 1, 1]]], [[1, -1, 1, -1], [0]])
    found = pieces_of(net, everywhere(2), plenty())
    assert len(found) == 9 and sum(p.cell.is_bounded for p in found) == 1
    (middle,) = (p for p in found if p.cell.is_bounded)
    assert set(middle.cell.corners) == {(x, y, 1) for x, y in product((-1, 1), repeat=2)}


def test_a_window_has_more_pieces_than_one_less_than_are_listed():
    """The count by compiled code ends the listing in rationals before it begins, at the same number."""
    net = random_mlp(np.random.default_rng(4), (2, 5, 5, 1), bias=0.5)
    form = from_description(net)
    view = Window.of(form, None, np.random.default_rng(0), 2.0)
    listed = within_budget(view.net, view.frame, 1000)
    assert listed is not None
    assert view.has_more_pieces(form, len(listed) - 1)
    assert not view.has_more_pieces(form, len(listed))
