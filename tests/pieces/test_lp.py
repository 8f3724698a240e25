"""Cells by linear programming: against rational arithmetic, the splitter by corners, Zaslavsky and another solver."""

from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ftheta.logic import Basis, UsageError
from ftheta.pieces import Box, Polygon, count_pieces, pieces, stream_pieces
from ftheta.pieces.by_points import PointComplex
from ftheta.pieces.enumeration import Budget, enumerate_cells
from ftheta.pieces.methods.lp import LPKernel
from ftheta.pieces.methods.lp_exact import Bounds, least, rationals
from ftheta.pieces.plan import make_plan
from ftheta.relu.network import ReluNetwork

from ..thoroughness import max_examples
from .networks import KINDS, adversarial_network, arrangement, default_network, sampled_patterns


def by_lp(net, box, *, ask=True, rational=False, maps=False):
    """The kernel after an enumeration, and its chunks."""
    kernel = LPKernel(
        make_plan(net, box.chart), box, ask=ask, store=True, maps=maps, rational=rational
    )
    return kernel, list(enumerate_cells(kernel, Budget(), inf))


def patterns(chunks):
    found = [row.tobytes() for chunk in chunks for row in chunk.patterns]
    assert len(found) == len(set(found))
    return set(found)


def assert_inside(cells):
    """Every neuron that does not vanish on a cell has its sign at the cell's interior point, in exact arithmetic."""
    for i in range(len(cells)):
        pattern = cells.pattern_number(i)
        t = [*(Fraction(int(x.p), int(x.q)) for x in cells.interior(i)), 1]
        for k in range(cells.plan.neurons):
            form = cells.exact_forms.neuron_form(k, pattern)
            value = sum(int(a) * x for a, x in zip(form, t))
            assert (value > 0) == bool(pattern >> k & 1) and (value != 0 or not any(form)), (i, k)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 3, 4])
def test_cells_are_those_of_rational_arithmetic_on_degenerate_networks(kind, d):
    for seed in range((0, 0, 8, 4, 2)[d]):
        net = adversarial_network(kind, d, seed, widest=5 if d < 4 else 4)
        exact = {row.tobytes() for row in pieces(net, Box.cube(d), exact=True).patterns}
        kernel, chunks = by_lp(net, Box.cube(d))
        assert patterns(chunks) == exact, (kind, seed)
        assert (
            kernel.tally.complete and kernel.tally.guessed == 0 and kernel.tally.cells == len(exact)
        )
        if seed == 0:
            assert patterns(by_lp(net, Box.cube(d), rational=True)[1]) == exact, (kind, seed)


@pytest.mark.parametrize("widths", [(5, 7, 7, 1), (6, 8, 4, 4, 1), (6, 20, 1)])
def test_cells_are_those_of_the_splitter_by_corners(widths):
    net = default_network(widths, seed=3)
    box = Box(np.linspace(-2, 0, widths[0]), np.linspace(0.5, 3, widths[0]))
    cells = pieces(net, box)
    kernel, chunks = by_lp(net, box, maps=True)
    assert patterns(chunks) == {row.tobytes() for row in cells.patterns}
    assert kernel.tally.answered == 0  # nothing degenerate: float64 proves everything
    own = {name: k for k, name in enumerate(cells.names.tolist())}
    for chunk in chunks:
        assert chunk.maps is not None
        order = [own[name] for name in chunk.names.tolist()]
        assert np.allclose(chunk.maps, cells.maps[order], atol=1e-12)
        assert (sampled_patterns(net, chunk.vertices) == cells.activation[order]).all()


@pytest.mark.parametrize(("n", "d"), [(8, 6), (6, 8), (9, 9), (12, 11), (5, 14)])
def test_central_arrangements_have_zaslavskys_number_of_regions(n, d):
    count = count_pieces(arrangement(n, d, central=True), Box.cube(d))
    assert (
        count.lo == count.hi == 2 * sum(comb(n - 1, i) for i in range(d))
        and count.basis is Basis.EXACT
    )


def test_an_arrangement_whose_vertices_all_lie_in_the_box_has_zaslavskys_number_of_regions():
    rng = np.random.default_rng(0)
    normals = np.vstack([np.eye(6), np.ones((1, 6)), [1, 2, 3, -1, -2, -3.0]]) + 0.05 * rng.normal(
        size=(8, 6)
    )
    net = ReluNetwork.dense([normals, np.ones((1, 8))], [0.1 * rng.normal(size=8), np.zeros(1)])
    assert count_pieces(net, Box.cube(6, 1e4)).lo == sum(comb(8, i) for i in range(7))


def test_nearly_coincident_hyperplanes_make_thin_cells_and_these_are_counted():
    step = 2.0**-52
    net = ReluNetwork.dense(
        [[[1.0] * 3, [1.0 + step, 1.0, 1.0]], [[1.0, 1.0]]], [[0.3, 0.3], [0.0]]
    )
    cells = pieces(net, Box.cube(3), exact=True)
    kernel, chunks = by_lp(net, Box.cube(3))
    assert patterns(chunks) == {row.tobytes() for row in cells.patterns} and len(cells) == 4
    assert kernel.tally.answered > 0 and kernel.stack.thin.any()


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_of_many_dimensions_agree_with_rational_arithmetic_throughout(kind):
    net = adversarial_network(kind, 11, seed=1, widest=3)
    ours = pieces(net, Box.cube(11))
    exact = pieces(net, Box.cube(11), exact=True)
    assert set(ours.names.tolist()) == set(exact.names.tolist()) and len(ours) == len(exact)
    assert ours.certificate.basis is exact.certificate.basis is Basis.EXACT
    assert_inside(ours)
    assert isinstance(ours, PointComplex)
    if kind != "mirrored":  # whose cells between nearly equal hyperplanes hold no float64 point
        assert all(list(ours.interior(i)) == rationals(ours.centres[i]) for i in range(len(ours)))


@pytest.fixture(scope="module")
def cells():
    return pieces(default_network((12, 6, 5, 2), seed=1), Box.cube(12))


def test_a_cell_has_a_pattern_a_map_and_a_point_of_its_interior(cells):
    net = cells.plan.net
    assert (sampled_patterns(net, cells.centres) == cells.activation).all()
    assert np.allclose(
        net(cells.centres),
        np.einsum("ioj,ij->io", cells.maps, np.c_[cells.centres, np.ones(len(cells))]),
    )
    points = np.random.default_rng(0).uniform(-1, 1, (20_000, 12))
    assert {r.tobytes() for r in sampled_patterns(net, points)} <= {
        r.tobytes() for r in cells.activation
    }
    for t in points[:5]:
        i = cells.cell_of(t)
        assert (sampled_patterns(net, t[None])[0] == cells.activation[i]).all()
    slopes = np.linalg.norm(cells.maps[:, :, :-1], 2, axis=(1, 2)).max()
    assert cells.lipschitz().middle == pytest.approx(slopes)


def test_facets_are_the_rows_that_another_solver_finds_irredundant(cells):
    d = cells.dimension
    for i in (0, len(cells) // 2):
        pattern = cells.pattern_number(i)
        rows = {}
        for k in range(cells.plan.neurons):
            form = np.array([float(a) for a in cells.exact_forms.neuron_form(k, pattern)])
            if np.abs(form[:-1]).max() > 0:
                rows[k] = form / np.linalg.norm(form[:-1]) * (1 if pattern >> k & 1 else -1)
        for j in range(2 * d):
            rows[-1 - j] = np.append((1 - 2 * (j % 2)) * np.eye(d)[j // 2], 1.0)
        expected = []
        for k, row in rows.items():
            others = np.array([r for j, r in rows.items() if j != k])
            least_value = (
                linprog(
                    row[:-1], A_ub=-others[:, :-1], b_ub=others[:, -1], bounds=[(-3, 3)] * d
                ).fun
                + row[-1]
            )
            expected += [k] if least_value < -1e-9 else []
        assert cells.facets(i) == tuple(sorted(expected)) == cells[i].facets


def test_neighbours_are_symmetric_and_differ_in_one_neuron(cells):
    for i in (0, 7):
        across = cells.neighbours(i)
        assert across and all(i in cells.neighbours(j) for j in across[:2])
        assert all((cells.activation[i] != cells.activation[j]).sum() == 1 for j in across)
        label, distance = cells.nearest_facet(cells.centres[i])
        assert label in cells.facets(i) and 0 < distance <= 1


def test_neighbours_across_coincident_kinks_are_found_from_both_sides():
    eye = np.eye(11)[:2]
    net = ReluNetwork.dense(
        [np.vstack([eye, 2 * eye[:1]]), [[1.0, 0, 0]], [[1.0]]], [np.zeros(3), [0.0], [0.0]]
    )
    cells = pieces(net, Box.cube(11))
    assert len(cells) == 4 and all(len(cells.neighbours(i)) == 2 for i in range(4))


def test_what_needs_corners_says_what_to_take_instead(cells):
    questions = (
        lambda: cells.vertices,
        lambda: cells.volumes,
        lambda: cells.extreme(0),
        lambda: cells.adjacency,
        lambda: cells.linear_regions(),
        lambda: cells.decision_boundary(0),
        lambda: cells.decision_regions(),
        lambda: cells.corners(0),
        lambda: cells.face_counts,
    )
    for question in questions:
        with pytest.raises(UsageError, match="without their corners"):
            question()
    with pytest.raises(UsageError, match="no cell"):
        cells.cell_of(np.full(12, 2.0))
    with pytest.raises(UsageError, match="too many"):
        _ = Box.cube(40).corners


def test_budgets_streams_and_one_neuron_in_many_dimensions(cells):
    net = cells.plan.net
    box = cells.domain
    part = pieces(net, box, max_cells=50)
    assert len(part) == 50 and not part.certificate.complete and part.count.hi == inf
    assert (
        sum(len(chunk) for chunk in stream_pieces(net, box))
        == len(cells)
        == count_pieces(net, box).lo
    )
    assert count_pieces(default_network((40, 60, 60, 1)), Box.cube(40), max_seconds=0.3).hi == inf
    assert count_pieces(default_network((300, 1, 1)), Box.cube(300)).lo == 2
    guessed = count_pieces(net, box, exact=False)
    assert guessed.lo == len(cells) and guessed.basis is Basis.FLOAT


def test_a_planar_slice_finds_no_pattern_that_the_box_has_not(cells):
    plane = Polygon([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.zeros(12), np.eye(12)[:, :2])
    assert set(pieces(cells.plan.net, plane).names.tolist()) <= set(cells.names.tolist())


@max_examples(40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 6))
def test_the_rational_simplex_finds_the_minimum_that_another_solver_finds(seed, n, m):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, (m, n + 1))
    rows[:, -1] = np.abs(rows[:, -1])  # the origin is feasible
    form = rng.integers(-3, 4, n + 1)
    box = Bounds([fmpq(-1)] * n, [fmpq(int(x), 2) for x in rng.integers(1, 5, n)])
    value, where = least(form.tolist(), rows.tolist(), box)
    high = [float(b.p) / float(b.q) for b in box.high]
    theirs = linprog(
        form[:-1], A_ub=-rows[:, :-1], b_ub=rows[:, -1], bounds=[(-1, b) for b in high]
    )
    assert float(value.p) / float(value.q) == pytest.approx(theirs.fun + form[-1], abs=1e-8)
    assert sum((int(a) * x for a, x in zip(form, where)), fmpq(int(form[-1]))) == value
    assert all(
        sum((int(a) * x for a, x in zip(row, where)), fmpq(int(row[-1]))) >= 0 for row in rows
    )


def test_an_exact_linear_program_looks_at_the_clock():
    """Out of time in the middle of a sign, the cells found so far are kept and the count is a lower bound."""
    net = default_network((12, 30, 1))
    found = pieces(net, Box.cube(12), exact=True, max_seconds=0.2)
    assert "max_seconds" in found.certificate.stopped_by and found.count.hi == float("inf")
    box = Bounds([fmpq(0)] * 2, [fmpq(1)] * 2)
    assert least([1, 1, 0], [[2, 1, -1]], box)[0] == fmpq(1, 2)
    with pytest.raises(TimeoutError):
        least([1, 1, 0], [[2, 1, -1]], box, deadline=0.0)
