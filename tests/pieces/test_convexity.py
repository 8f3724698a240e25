"""Convexity by jumps, maxima of affine forms, differences of convex functions, convex regression."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ftheta.logic import SubjectError, Verdict
from ftheta.networks import random_mlp
from ftheta.pieces.functions.convexity import (
    Difference,
    cells_of_maximum,
    convex_fit,
    facets,
    largest_gap,
)
from ftheta.pieces.functions.partitions import Budget, pieces_of
from ftheta.pieces.functions.polyhedra import everywhere
from ftheta.relu.elementary import absolute, hat
from ftheta.relu.exact import exact
from ftheta.relu.geometry import value
from ftheta.relu.matrices import fraction
from ftheta.relu.maxima.maximum import max_affine
from ftheta.relu.network import ExactNetwork
from ftheta.subjects import Dataset
from ftheta.theorems.piecewise.convex_cpa_and_dc import convex_cpa_and_dc
from ftheta.theorems.piecewise.convex_cpa_and_dc.convex_form import from_data

from ..thoroughness import max_examples

ONE = fmpq(1)


def plenty() -> Budget:
    return Budget(20_000, 10**6)


def split_up(net: ExactNetwork, even: bool = False) -> Difference:
    return Difference.of(pieces_of(net, everywhere(net.widths[0]), plenty()), even)


def r(t: Fraction) -> Fraction:
    return max(t, Fraction(0))


def test_the_hat_is_the_difference_that_the_catalogue_gives():
    made = split_up(hat())
    assert made.ridges == ((fmpq(2), (1, 0)),)
    forms = dict.fromkeys(p.rows[1] for p in made.refine(plenty()))
    for x in (Fraction(k, 5) for k in range(-15, 16)):
        point = (fmpq(x.numerator, x.denominator),)
        assert fraction(max(value(f, point) for f in forms)) == r(x + 1) + r(x - 1)
        assert fraction(made.h(point)) == 2 * r(x)


def test_with_both_sides_of_the_hyperplane_the_hat_takes_an_absolute_value():
    made = split_up(hat(), even=True)
    assert [fraction(made.h((fmpq(k),))) for k in (-3, -1, 0, 2)] == [3, 1, 0, 2]


affine_forms = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=6)


@max_examples(25)
@given(affine_forms)
def test_maxima_are_convex_and_their_pieces_are_the_forms_that_matter(rows):
    forms = [tuple(map(fmpq, row)) for row in rows]
    made = split_up(max_affine([f[:-1] for f in forms], [f[-1] for f in forms]))
    assert not made.ridges and not made.concave
    found = {p.rows[0] for p in made.pieces}
    assert found == {p.rows[0] for p in cells_of_maximum(forms)} <= set(forms)
    x = np.random.default_rng(0).integers(-50, 51, (40, 2))
    everywhere_equal = all(
        max(value(f, (fmpq(int(a)), fmpq(int(b)))) for f in found)
        == max(value(f, (fmpq(int(a)), fmpq(int(b)))) for f in forms)
        for a, b in x
    )
    assert everywhere_equal


@max_examples(10)
@given(
    st.integers(0, 10**6), st.sampled_from([(1, 5, 4, 1), (2, 3, 3, 1), (3, 4, 1)]), st.booleans()
)
def test_every_network_is_a_maximum_less_ridges(seed, widths, even):
    net = exact(random_mlp(np.random.default_rng(seed), widths, bias=0.5))
    made = split_up(net, even)
    refined = made.refine(plenty())
    forms = list(dict.fromkeys(p.rows[1] for p in refined))
    assert min(made.jumps, default=0) >= 0 and largest_gap(refined, forms) == 0
    rng = np.random.default_rng(seed)
    points = [
        tuple(fmpq(int(t), 16) for t in row) for row in rng.integers(-64, 65, (30, widths[0]))
    ]
    g = [max(value(f, x) for f in forms) for x in points]
    for x, top in zip(points, g):
        assert fraction(top - made.h(x)) == net(x)[0]
    for x, y, gx, gy in zip(
        points, points[1:], g, g[1:]
    ):  # midpoint convexity, with g from the network itself
        middle = tuple((a + b) / 2 for a, b in zip(x, y))
        at_middle = net(middle)[0] + fraction(made.h(middle))
        assert at_middle <= fraction(gx + gy) / 2


def test_a_saddle_is_not_convex_and_bends_down_across_one_line():
    # |x| − |y|
    cross = ExactNetwork.dense(
        [[[1, 0], [-1, 0], [0, 1], [0, -1]], [[1, 1, -1, -1]]], [[0] * 4, [0]]
    )
    made = split_up(cross)
    assert {f.plane: f.jump for f in made.facets} == {(1, 0, 0): 2, (0, 1, 0): -2}
    assert len(made.facets) == 4 and [plane for _, plane in made.ridges] == [(0, 1, 0)]


def test_a_missing_form_is_seen_at_a_corner_or_at_infinity():
    made = split_up(absolute())
    refined = made.refine(plenty())
    forms = list(dict.fromkeys(p.rows[1] for p in refined))
    assert largest_gap(refined, forms) == 0
    assert largest_gap(refined, forms[:1]) > 0


def test_pieces_that_do_not_fit_together_are_refused():
    left, right = pieces_of(absolute(), everywhere(1), plenty())
    lifted = replace(right, rows=((right.rows[0][0], right.rows[0][1] + 1),))
    with pytest.raises(SubjectError, match="do not fit"):
        facets([left, lifted])


# ---- convex regression -----------------------------------------------------------------------------------------------


@max_examples(12)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_convex_fit_is_as_near_as_a_linear_program_over_all_convex_functions(seed, d):
    rng = np.random.default_rng(seed)
    x = rng.integers(-8, 9, (9, d)) / 4.0
    y = rng.integers(-8, 9, 9) / 4.0
    n = len(x)
    size = 9 * (d + 1) + 1
    rows = []
    limits = []
    for i in range(n):  # unknowns: value and subgradient at every point, then the distance
        for sign in (1, -1):
            row = np.zeros(size)
            row[i], row[-1] = sign, -1
            rows.append(row)
            limits.append(sign * y[i])
        for j in set(range(n)) - {i}:
            row = np.zeros(size)
            row[i], row[j] = 1, -1
            row[n + i * d : n + (i + 1) * d] = x[j] - x[i]
            rows.append(row)
            limits.append(0.0)
    best = linprog(
        np.eye(size)[-1], A_ub=np.array(rows), b_ub=np.array(limits), bounds=(None, None)
    )
    fit = convex_fit(x, y)
    assert float(fraction(fit.distance)) == pytest.approx(best.fun, abs=1e-7)
    for point, label in zip(x.tolist(), y.tolist()):
        at = max(value(f, tuple(fmpq(int(4 * t), 4) for t in point)) for f in fit.forms)
        assert abs(fraction(at) - Fraction(label)) <= fraction(fit.distance)


def test_convex_data_are_met_exactly():
    x = np.array([[i / 2, j / 2] for i in range(-3, 4) for j in range(-3, 4)])
    made = from_data(x, (x**2).sum(axis=1))
    assert made.distance == 0 == made.excess
    found = convex_cpa_and_dc.measure(
        Dataset("bowl", x, (x**2).sum(axis=1)), np.random.default_rng(0)
    )
    assert all(claim.judge().verdict is Verdict.PROVED for claim in found.claims)
    assert not made.difference.ridges


def test_facets_are_where_an_inner_point_of_one_lies_in_the_other():
    net = exact(random_network((2, 5, 3, 1)))
    pieces = pieces_of(net, everywhere(2), plenty())
    found = {(facet.below, facet.above) for facet in facets(pieces)}
    # a second way: two cells have a facet in common if a linear program finds a segment in both
    for i, one in enumerate(pieces):
        for j, other in enumerate(pieces[:i]):
            assert ((i, j) in found or (j, i) in found) == share_a_segment(
                one.cell.sides, other.cell.sides
            )


def random_network(widths: tuple[int, ...]):
    from ftheta.relu.exact import from_description

    return from_description(random_mlp(np.random.default_rng(5), widths, bias=0.4))


def share_a_segment(one: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]) -> bool:
    """Whether both polyhedra, cut by a large box, have more than a point in common along one of their sides."""
    rows = np.array([np.array(side, float) / max(map(abs, side)) for side in (*one, *other)])
    for direction in ((1.0, 0.3), (-0.4, 1.0)):
        ends = [
            linprog(
                sign * np.array(direction),
                -rows[:, :-1],
                rows[:, -1] + 1e-9,
                bounds=[(-1e3, 1e3)] * 2,
            )
            for sign in (1, -1)
        ]
        if ends[0].status == 0 and -ends[1].fun - ends[0].fun > 1e-4:
            return True
    return False
