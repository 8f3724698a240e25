"""Questions to a complex that are answered with proofs: extremes, norms, volumes, faces, live neurons."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from ftheta.logic import Basis, UsageError
from ftheta.pieces import Box, Polygon, Polyline, Segment, pieces
from ftheta.pieces.enumeration import Budget
from ftheta.pieces.methods.rational import RationalEnumeration, initial_vertices
from ftheta.pieces.plan import make_plan
from ftheta.pieces.signs import exact_body
from ftheta.relu.counts import firing
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from .networks import KINDS, adversarial_network, default_network, sampled_patterns, tent

SQUARE = Box.cube(2)


def rational_corners(net, box):
    """All corners of all cells by the rational enumeration, which shares no corner with the compiled ones."""
    corners, sides = exact_body(box)
    run = RationalEnumeration(
        make_plan(net, box.chart), initial_vertices(corners, sides), len(sides)
    )
    return {v.point for cell, _ in run.cells(Budget(), inf) for v in cell}


# -- extremes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_extremes_are_the_exact_values_at_the_corners_of_a_second_enumeration(kind, inputs):
    net = adversarial_network(kind, inputs, 2, widest=4)
    box = Box.cube(inputs)
    rational = exact(net)
    values = [rational([Fraction(x, w) for x in t])[0] for *t, w in rational_corners(net, box)]
    cells = pieces(net, box)
    for found, best in ((cells.argmin(), min(values)), (cells.argmax(), max(values))):
        assert found.value.lo <= best <= found.value.hi and found.value.basis is Basis.EXACT
        assert found.value.width <= 2e-16 * max(1.0, abs(float(best)))
        assert rational(found.point)[0] == best
        assert found.cell in range(len(cells))
    assert cells.extreme() == (cells.argmin().value, cells.argmax().value)


def test_the_extremes_of_a_sawtooth_are_zero_and_one_exactly():
    low, high = pieces(tent(8), Box([0.0], [1.0])).extreme()
    assert (low.lo, low.hi, high.lo, high.hi) == (0, 0, 1, 1)


def test_a_plateau_of_thousands_of_corners_does_not_stop_the_search():
    net = default_network((2, 60, 60, 1))
    flat = ReluNetwork.dense(
        *zip(*[(s.matrix * (i < 2), s.offset) for i, s in enumerate(net.steps)])
    )
    low, high = pieces(flat, SQUARE).extreme()
    assert (
        low.basis is Basis.EXACT
        and float(net.steps[-1].offset[0]) in low
        and low.width < 1e-9 > high.width
    )


def test_polylines_are_answered_in_float64():
    net = default_network((2, 8, 1))
    line = Polyline([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    cells = pieces(net, line, maps=False)
    low, high = cells.extreme()
    points = np.concatenate([[[t, 0.0], [1.0, t]] for t in np.linspace(0, 1, 300)])
    values = net(points)[:, 0]
    assert low.basis is Basis.FLOAT and low.lo <= values.min() and values.max() <= high.hi
    assert values.max() > high.hi - 0.01
    assert cells.cell_of([1.5]) == next(
        i for i in range(len(cells)) if cells.corners(i)[0] <= 1.5 <= cells.corners(i)[1]
    )
    steep = max(pieces(net, part).lipschitz().middle for part in line.segments)
    assert (
        cells.lipschitz().middle == pytest.approx(steep) and cells.lipschitz().basis is Basis.FLOAT
    )
    with pytest.raises(UsageError, match="polyline"):
        _ = cells.exact_volumes


# -- norms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "widths", [(1, 5, 3), (2, 8, 8, 1), (2, 8, 8, 4), (3, 6, 6, 2), (4, 5, 4, 6)]
)
def test_lipschitz_constants_are_the_largest_norms_of_the_maps(widths):
    cells = pieces(default_network(widths, seed=3), Box.cube(widths[0]))
    for norm, order in ((2, 2), (1, 1), (inf, np.inf)):
        for output in (None, widths[-1] - 1):
            slopes = cells.maps[:, :, :-1] if output is None else cells.maps[:, [output], :-1]
            largest = max(np.linalg.norm(A, order) for A in slopes)
            found = cells.lipschitz(norm, output)
            assert found.basis is Basis.EXACT and found.width <= 1e-12 * largest
            assert found.lo * (1 - 1e-13) <= largest <= found.hi * (1 + 1e-13)


def test_the_norm_of_a_shear_is_enclosed_by_its_defining_equation():
    shear = ReluNetwork.dense([[[1.0, 1.0], [0.0, 1.0]], np.eye(2)], [[9.0, 9.0], [0.0, 0.0]])
    found = pieces(shear, SQUARE).lipschitz()  # the golden ratio: s² = s + 1
    low = Fraction(found.lo)
    high = Fraction(found.hi)
    assert low**2 <= low + 1 and high**2 >= high + 1 and found.width < 1e-12


def test_the_metric_is_that_of_the_inputs_on_slanted_slices():
    net = default_network((5, 9, 9, 3), seed=2)
    p, q, r = np.random.default_rng(1).normal(size=(3, 5))
    cells = pieces(net, Polygon.through(p, q, r))
    Q, _ = np.linalg.qr(np.stack([q - p, r - p], axis=1))
    largest = max(np.linalg.norm(cells.input_map(i)[0] @ Q, 2) for i in range(len(cells)))
    found = cells.lipschitz()
    assert (
        found.basis is Basis.EXACT
        and found.width < 1e-12
        and found.middle == pytest.approx(largest, rel=1e-12)
    )
    with pytest.raises(UsageError, match="Euclidean"):
        cells.lipschitz(1)
    step = pieces(net, Segment(p, q))
    slopes = [step.input_map(i)[0] @ (q - p) for i in range(len(step))]
    assert step.lipschitz(1).middle == pytest.approx(
        max(abs(s).sum() for s in slopes) / abs(q - p).sum()
    )


def test_part_of_a_complex_bounds_the_constant_from_below_and_bad_norms_are_refused():
    net = default_network((2, 16, 16, 2))
    some = pieces(net, SQUARE, max_cells=10).lipschitz()
    all_ = pieces(net, SQUARE).lipschitz()
    assert some.lo <= all_.hi and some.hi == inf
    for wrong in ({"norm": 3}, {"output": 2}):
        with pytest.raises(UsageError):
            pieces(net, SQUARE).lipschitz(**wrong)


# -- volumes and faces ----------------------------------------------------------------------------


@pytest.mark.parametrize("exactness", ["auto", True])
@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_volumes_add_up_and_the_euler_characteristic_is_one(kind, inputs, exactness):
    box = Box(np.full(inputs, -1.0), np.full(inputs, 1.25))
    cells = pieces(adversarial_network(kind, inputs, 5, widest=3), box, exact=exactness)
    assert sum(cells.exact_volumes) == Fraction(9, 4) ** inputs
    assert np.allclose([float(v) for v in cells.exact_volumes], cells.volumes, atol=1e-12)
    assert cells.euler() == 1 and cells.face_counts[-1] == len(cells)


def test_faces_of_two_crossing_lines_and_of_planes_through_a_cube():
    cross = ReluNetwork.dense([np.eye(2), np.ones((1, 2))], [np.zeros(2), np.zeros(1)])
    assert pieces(cross, SQUARE).face_counts == (9, 12, 4)
    planes = ReluNetwork.dense([np.eye(3), np.ones((1, 3))], [np.zeros(3), np.zeros(1)])
    assert pieces(planes, Box.cube(3)).face_counts == (27, 54, 36, 8)
    # a hexagon through six edges
    diagonal = ReluNetwork.dense([[[1.0, 1.0, 1.0]], [[1.0]]], [[0.0], [0.0]])
    assert pieces(diagonal, Box.cube(3)).face_counts == (14, 24, 13, 2)


@pytest.mark.parametrize("widths", [(3, 12, 12, 1), (4, 8, 8, 1), (5, 6, 1)])
def test_volumes_in_float64_are_those_of_convex_hulls(widths):
    cells = pieces(default_network(widths, seed=1), Box.cube(widths[0]))
    hulls = [ConvexHull(cells.corners(i), qhull_options="Qt Pp").volume for i in range(len(cells))]
    assert np.allclose(cells.volumes, hulls, rtol=1e-9, atol=1e-12)
    assert cells.volumes.sum() == pytest.approx(2.0 ** widths[0], rel=1e-12)


def test_an_incomplete_complex_has_no_euler_characteristic():
    with pytest.raises(UsageError, match="complete"):
        pieces(default_network((2, 8, 1)), SQUARE, max_cells=2).euler()


# -- live and dead neurons ------------------------------------------------------------------------


def test_dead_and_always_active_neurons_are_known_exactly():
    # x+3 is always on, x-3 never, x both; r(-r(x+3)) never; r(r(x) - r(x-3) + 1) always
    net = ReluNetwork.dense(
        [[[1.0], [1.0], [1.0]], [[-1.0, 0.0, 0.0], [0.0, -1.0, 1.0]], [[1.0, 1.0]]],
        [[3.0, -3.0, 0.0], [0.0, 1.0], [0.0]],
    )
    seen = pieces(net, Box.cube(1)).activity
    assert seen.some.tolist() == [True, False, True, False, True]
    assert seen.every.tolist() == [True, False, False, False, True] and seen.bending.sum() == 1
    assert (seen.dead.middle, seen.live.middle, seen.always.middle) == (
        2,
        3,
        2,
    ) and seen.dead.basis is Basis.EXACT
    assert [m.tolist() for m in seen.firing().dead] == [
        [False, True, False],
        [True, False],
        [False],
    ]
    assert seen.firing().undecided == (1, 0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_decide_what_intervals_and_samples_leave_open(kind):
    net = adversarial_network(kind, 2, 7)
    seen = pieces(net, SQUARE).activity
    sound = firing(net, [-1, -1], [1, 1])
    mine = seen.firing()
    for one, other in ((sound.dead, mine.dead), (sound.active, mine.active)):
        strictly = [a & ~b for a, b in zip(one, other)]
        # intervals call a neuron active that never is negative: zero everywhere is dead here
        assert all(not s.any() or (d[s]).all() for s, d in zip(strictly, mine.dead))
    on = sampled_patterns(net, np.random.default_rng(0).uniform(-1, 1, (3000, 2)))
    assert not (on.any(axis=0) & ~seen.some).any() or kind == "central"
    assert not (~on.all(axis=0) & seen.every).any()


def test_part_of_a_complex_bounds_the_number_of_dead_neurons():
    net = default_network((2, 16, 16, 1))
    part = pieces(net, SQUARE, max_cells=5).activity
    whole = pieces(net, SQUARE).activity
    assert part.dead.lo == 0 and part.dead.hi >= whole.dead.middle
    assert part.live.lo <= whole.live.middle <= part.live.hi
    assert not any(mask.any() for mask in part.firing().dead)
