"""Meshes to networks: exact equality with barycentric interpolation, and the depths of the catalogue."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from ftheta.logic import SubjectError
from ftheta.relu.counts import count, is_plain
from ftheta.relu.exact import exact, round_weights
from ftheta.relu.geometry import barycentric, overlap, positive_part, value, where_all_positive
from ftheta.relu.maxima.planar import planar_nodal, planar_sum
from ftheta.relu.maxima.sums import MaximaSum, depth_bound, recent_hidden_layers
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.nodal import (
    compile_cpa,
    convex_network,
    convex_pieces,
    convex_star,
    fem_basis,
    lattice_nodal,
    nodal,
    star_is_convex,
)
from ftheta.relu.symmetry.canonical import canonical

from ..thoroughness import max_examples

L_SHAPE = (
    [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1], [0, 2], [1, 2]],
    [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [3, 4, 7], [3, 7, 6]],
)


def kuhn(d: int) -> tuple[list[list[int]], list[list[int]], int]:
    """The 2^d unit cubes around the origin, each cut into d! simplices; and the number of the origin."""
    number: dict[tuple[int, ...], int] = {}
    corners: list[tuple[int, ...]] = list(product((-1, 0), repeat=d))
    cells = []
    for corner in corners:
        for order in permutations(range(d)):
            x = [*corner]
            cell = [number.setdefault(corner, len(number))]
            for axis in order:
                x[axis] += 1
                cell.append(number.setdefault(tuple(x), len(number)))
            cells.append(cell)
    return [list(x) for x in number], cells, number[(0,) * d]


def delaunay(points: np.ndarray) -> tuple[list, list]:
    return points.tolist(), Delaunay(points).simplices.tolist()


def sample(mesh: Mesh, cell: int, rng: np.random.Generator):
    """A rational point of a simplex (now and then on its boundary) and its barycentric coordinates."""
    w = [int(t) for t in rng.integers(0, 4, mesh.dimension + 1)]
    w[0] += sum(w) == 0
    weights = [fmpq(t, sum(w)) for t in w]
    corners = mesh.corners(cell)
    return [
        sum((t * x[j] for t, x in zip(weights, corners)), fmpq(0)) for j in range(mesh.dimension)
    ], weights


def assert_interpolates(
    net, mesh: Mesh, values, rng: np.random.Generator, samples: int = 3
) -> None:
    for k, cell in enumerate(mesh.simplices):
        for _ in range(samples):
            x, w = sample(mesh, k, rng)
            assert net.states(x)[-1][0] == sum((t * values[i] for t, i in zip(w, cell)), fmpq(0))


# ---- compile_cpa ---------------------------------------------------------------------------------------------------


@max_examples(25)
@given(st.integers(0, 2**31), st.integers(5, 14))
def test_any_triangulated_function_of_two_variables_takes_two_hidden_layers(
    seed: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    points, cells = delaunay(np.unique(rng.integers(0, 12, (n, 2)), axis=0) + 0 * rng.random())
    mesh = Mesh.of(points, cells)
    values = [int(v) for v in rng.integers(-5, 6, len(points))]
    net = compile_cpa(points, cells, values)
    assert_interpolates(net, mesh, values, rng)
    assert count(net).affine_layers <= 3 and is_plain(net)


@pytest.mark.parametrize("d", [2, 3])
def test_float_meshes_are_compiled_at_their_binary_values(d: int) -> None:
    rng = np.random.default_rng(3)
    points, cells = delaunay(rng.random((9, d)))
    values = rng.normal(size=9).tolist()
    exact_values = [fmpq(*v.as_integer_ratio()) for v in values]
    net = compile_cpa(points, cells, values)
    assert_interpolates(net, Mesh.of(points, cells), exact_values, rng, samples=1)
    floats = round_weights(net).network
    assert np.allclose([floats(np.array(p))[0] for p in points], values, atol=1e-6)


def test_a_domain_that_is_not_convex_and_one_with_a_gap() -> None:
    rng = np.random.default_rng(0)
    values = [3, -1, 4, 1, -5, 9, 2, -6]
    assert_interpolates(compile_cpa(*L_SHAPE, values), Mesh.of(*L_SHAPE), values, rng)
    line = ([[0], [1], [Fraction(11, 10)], [4]], [[0, 1], [2, 3]])
    assert_interpolates(compile_cpa(*line, [1, 2, -1, 0]), Mesh.of(*line), [1, 2, -1, 0], rng)
    assert_interpolates(nodal(Mesh.of(*line), 1), Mesh.of(*line), [0, 1, 0, 0], rng)


def test_a_notched_domain_in_space_is_verified_simplex_by_simplex() -> None:
    points, cells, _ = kuhn(3)
    cells = cells[:-6]  # one cube is missing
    mesh = Mesh.of(points, cells)
    values = [(7 * i) % 11 - 5 for i in range(len(mesh.points))]
    assert not mesh.is_convex
    rng = np.random.default_rng(1)
    for i in (0, 5, 13):
        hat = [int(j == i) for j in range(len(mesh.points))]
        assert_interpolates(nodal(mesh, i), mesh, hat, rng, samples=1)
    assert_interpolates(compile_cpa(points, cells, values), mesh, values, rng, samples=1)


def test_the_round_trip_mesh_network_mesh() -> None:
    points, cells = delaunay(np.random.default_rng(5).integers(0, 30, (10, 2)).astype(float))
    values = list(range(10))
    net = compile_cpa(points, cells, values)
    again = compile_cpa(points, cells, [net(p)[0] for p in points])
    assert all(
        a.matrix == b.matrix and a.offset == b.offset for a, b in zip(net.steps, again.steps)
    )


def test_an_interpolant_that_is_constant_is_a_constant_network() -> None:
    assert count(compile_cpa(*kuhn(2)[:2], [7] * 9)).neurons == 0
    assert compile_cpa(*kuhn(3)[:2], [0] * 27)([1, 2, 3]) == (0,)


# ---- nodal functions -----------------------------------------------------------------------------------------------


def uniform_hat(x: list[Fraction]) -> Fraction:
    zero = Fraction(0)
    return max(zero, 1 - (max(*x, zero) - min(*x, zero)))


@max_examples(60)
@given(st.lists(st.fractions(-2, 2, max_denominator=8), min_size=2, max_size=2))
def test_the_uniform_hat_in_the_plane_on_all_of_the_plane(x: list[Fraction]) -> None:
    """C8, X17: φ = max(0, 1 − max(|x|,|y|,|x−y|)) and max(|x|,|y|,|x−y|) = max(x,y,0) − min(x,y,0)."""
    points, cells, origin = kuhn(2)
    net = nodal(Mesh.of(points, cells), origin)
    assert net(x) == (uniform_hat(x),)
    assert uniform_hat(x) == max(Fraction(0), 1 - max(abs(x[0]), abs(x[1]), abs(x[0] - x[1])))


def test_the_uniform_hat_has_the_values_of_the_catalogue() -> None:
    points, cells, origin = kuhn(2)
    mesh = Mesh.of(points, cells)
    net = nodal(mesh, origin)
    half = Fraction(1, 2)
    assert net([half, 0]) == (half,) and net([half, -half]) == (0,)
    # six triangles of area 1/2, mean 1/3: integral 1
    assert len(mesh.stars[origin]) * Fraction(1, 2) / 3 == 1
    assert count(net).affine_layers == 3


@max_examples(40)
@given(st.lists(st.fractions(-2, 2, max_denominator=8), min_size=3, max_size=3))
def test_the_uniform_hat_in_space_by_valuation_and_by_lattice(x: list[Fraction]) -> None:
    mesh, origin = KUHN_3
    assert HATS_3[0](x) == HATS_3[1](x) == (uniform_hat(x),)
    assert count(HATS_3[0]).affine_layers == 3 < count(HATS_3[1]).affine_layers
    assert star_is_convex(mesh, origin)


KUHN_3 = (Mesh.of(*kuhn(3)[:2]), kuhn(3)[2])
HATS_3 = (convex_star(*KUHN_3).network(), lattice_nodal(*KUHN_3))


def test_stars_that_are_not_convex_are_handled_in_plane_and_space() -> None:
    rng = np.random.default_rng(2)
    arrow = (
        [[0, 0], [4, 0], [1, 1], [0, 4], [-4, -4]],
        [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]],
    )
    mesh = Mesh.of(*arrow)
    assert not star_is_convex(mesh, 0)
    assert_interpolates(nodal(mesh, 0), mesh, [1, 0, 0, 0, 0], rng, samples=10)
    spiked = ([[0, 0, 0], [6, 0, 0], [0, 6, 0], [0, 0, 6], [1, 1, 1], [-1, -1, -1]],)
    faces = [[1, 2, 4], [2, 3, 4], [1, 3, 4], [1, 2, 5], [2, 3, 5], [1, 3, 5]]
    solid = Mesh.of(spiked[0], [[0, *face] for face in faces])
    assert not star_is_convex(solid, 0) and 0 not in solid.boundary_vertices
    net = nodal(solid, 0)
    assert_interpolates(net, solid, [1, 0, 0, 0, 0, 0], rng, samples=10)
    assert net([2, 2, 2]) == net([-2, 0, 0]) == (0,)


@pytest.mark.parametrize(("mesh", "depth"), [(kuhn(1)[:2], 2), (kuhn(2)[:2], 3), (L_SHAPE, 3)])
def test_a_basis_is_a_partition_of_unity_with_the_depth_of_the_dimension(mesh, depth: int) -> None:
    points, cells = mesh
    basis = fem_basis(points, cells)
    where = Mesh.of(points, cells)
    rng = np.random.default_rng(0)
    assert count(basis).affine_layers == depth == depth_bound(len(points[0]))
    for k, cell in enumerate(where.simplices):
        x, w = sample(where, k, rng)
        values = basis.states(x)[-1]
        assert sum(values, fmpq(0)) == 1
        assert [values[i] for i in cell] == w


def test_one_dimension_takes_three_neurons_a_hat() -> None:
    basis = fem_basis([[0], [1], [3]], [[0, 1], [1, 2]], nodes=[1])
    assert count(basis).neurons == 3 and basis([2]) == (Fraction(1, 2),)


def test_merging_equal_neurons_makes_a_basis_smaller_and_keeps_it() -> None:
    points, cells, _ = kuhn(2)
    basis = fem_basis(points, cells)
    small = canonical(basis)
    assert count(small).neurons < count(basis).neurons
    x = [Fraction(1, 3), Fraction(-2, 7)]
    assert small(x) == basis(x)


# ---- convexity and differences -------------------------------------------------------------------------------------


def test_convex_interpolants_are_the_maximum_of_their_pieces() -> None:
    points, cells, _ = kuhn(2)
    bowl = [x * x + y * y for x, y in points]
    mesh = Mesh.of(points, cells)
    rng = np.random.default_rng(0)
    assert convex_pieces(mesh, [-v for v in bowl]) is None
    assert_interpolates(
        convex_network(points, cells, [max(x, y, 0) for x, y in points]),
        mesh,
        [max(x, y, 0) for x, y in points],
        rng,
    )
    with pytest.raises(SubjectError, match="not convex"):
        convex_network(points, cells, [-v for v in bowl])


@max_examples(20)
@given(
    st.lists(st.integers(-4, 4), min_size=9, max_size=9),
    st.lists(st.fractions(-1, 1), min_size=4, max_size=4),
)
def test_a_planar_function_is_a_difference_of_two_convex_ones(values, t) -> None:
    points, cells, _ = kuhn(2)
    f = planar_sum(Mesh.of(points, cells), values)
    x, y = [tuple(fmpq(a.numerator, a.denominator) for a in pair) for pair in (t[:2], t[2:])]
    middle = tuple((a + b) / 2 for a, b in zip(x, y))
    assert f(x) == f.convex(x) - f.subtrahend(x)
    for part in (f.convex, f.subtrahend):
        assert 2 * part(middle) <= part(x) + part(y)
        assert part.network().states(x)[-1][0] == part(x)


def test_the_depth_bound_of_the_catalogue() -> None:
    """C4."""
    assert [depth_bound(d) for d in (1, 2, 3, 4, 7, 8, 15, 16)] == [2, 3, 3, 4, 4, 5, 5, 6]
    assert [(depth_bound(d) - 1, recent_hidden_layers(d)) for d in (4, 10, 28)] == [
        (3, 2),
        (4, 3),
        (5, 4),
    ]
    with pytest.raises(SubjectError):
        recent_hidden_layers(2)


# ---- geometry ------------------------------------------------------------------------------------------------------


@max_examples(60)
@given(st.integers(0, 2**31), st.sampled_from([1, 2, 3]))
def test_clipping_a_simplex_keeps_exactly_its_positive_part(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    simplex = tuple(tuple(fmpq(int(t)) for t in row) for row in rng.integers(-4, 5, (d + 1, d)))
    form = tuple(fmpq(int(t)) for t in rng.integers(-3, 4, d + 1))
    try:
        barycentric(simplex)
    except SubjectError:
        return
    parts = [*positive_part(simplex, form), *positive_part(simplex, tuple(-a for a in form))]
    if any(form):
        assert sum((volume(part) for part in parts), fmpq(0)) == volume(simplex)
    assert all(value(form, x) >= 0 for part in positive_part(simplex, form) for x in part)


def volume(simplex) -> fmpq:
    from flint import fmpq_mat

    return abs(fmpq_mat([[*x, fmpq(1)] for x in simplex]).det())


def test_simplices_that_touch_do_not_overlap() -> None:
    q = lambda *rows: tuple(tuple(map(fmpq, row)) for row in rows)
    one = q((0, 0), (2, 0), (0, 2))
    assert not overlap(one, q((2, 0), (0, 2), (2, 2)))
    assert overlap(one, q((1, 1), (0, 0), (2, 1))) and overlap(one, q((-1, 1), (3, 1), (1, -9)))
    assert where_all_positive(one, [q((1, 0, -3))[0]]) is None


@pytest.mark.parametrize(
    ("points", "cells", "word"),
    [
        ([[0, 0], [1, 0], [2, 0]], [[0, 1, 2]], "flat"),
        (
            [[0, 0], [2, 0], [0, 2], [1, 1], [2, 2]],
            [[0, 1, 2], [1, 3, 4], [2, 3, 4]],
            "vertex lies",
        ),
        ([[0, 0], [2, 0], [0, 2], [2, 2]], [[0, 1, 2], [0, 1, 3]], "overlap"),
        ([[0, 0], [2, 0], [0, 2]], [[0, 1, 5]], "distinct vertices"),
        ([[0, 0], [2, 0], [0, 2]], [], "simplices"),
    ],
)
def test_what_is_not_a_mesh_is_refused(points, cells, word: str) -> None:
    with pytest.raises(SubjectError, match=word):
        compile_cpa(points, cells, [0] * len(points))


def test_a_wrong_number_of_values_is_refused() -> None:
    with pytest.raises(SubjectError, match="one value"):
        compile_cpa([[0], [1]], [[0, 1]], [1, 2, 3])


def test_sums_of_maxima_of_up_to_four_forms_are_compiled_exactly() -> None:
    forms = [tuple(map(fmpq, f)) for f in ((1, 2, -1), (-3, 1, 0), (2, -2, 1))]
    f = MaximaSum(
        tuple(map(fmpq, (1, -1, 2))), ((fmpq(-2), tuple(forms)), (fmpq(3), tuple(forms[:2])))
    )
    net = f.network()
    for x in product((-1, 0, 2), repeat=2):
        assert net.states(x)[-1][0] == f(tuple(map(fmpq, x)))
    assert planar_nodal(Mesh.of(*kuhn(2)[:2]), kuhn(2)[2])(tuple(map(fmpq, (0, 0)))) == 1
    assert exact(net) is net


@pytest.mark.parametrize(
    "height, complaint", [(1, "overlap"), (0, "does not belong to"), (-1, None)]
)
def test_what_floats_cannot_tell_apart_is_decided_in_rationals(height: int, complaint: str | None):
    tip = [fmpq(1, 3), fmpq(height, 10**40)]
    points = [[0, 0], [1, 0], [0, 1], [0, -1], [1, -1], tip]
    simplices = [[0, 1, 2], [3, 4, 5]]
    if complaint is None:
        assert len(Mesh.of(points, simplices).simplices) == 2
    else:
        with pytest.raises(SubjectError, match=complaint):
            Mesh.of(points, simplices)
