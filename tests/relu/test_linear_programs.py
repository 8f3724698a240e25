"""Exact linear programs against HiGHS, and what they say of polyhedra."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ftheta.relu.geometry import value
from ftheta.relu.linear_programs import deepest, has_interior, inside, irredundant, maximise
from ftheta.relu.matrices import fraction

small = st.integers(-3, 3)
SQUARE = [(1, 0, 0), (-1, 0, 1), (0, 1, 0), (0, -1, 1)]


def exactly(rows):
    return [tuple(map(fmpq, row)) for row in rows]


@st.composite
def programs(draw):
    d = draw(st.integers(1, 3))
    m = draw(st.integers(1, 7))
    rows = draw(st.lists(st.lists(small, min_size=d + 1, max_size=d + 1), min_size=m, max_size=m))
    return draw(st.lists(small, min_size=d, max_size=d)), rows


@given(programs())
def test_the_maximum_is_that_of_highs_and_attained_at_a_feasible_point(program):
    cost, rows = program
    found = maximise([fmpq(c) for c in cost], exactly(rows))
    A = np.array(rows)[:, :-1]
    b = np.array(rows)[:, -1]
    reference = linprog(-np.array(cost), A_ub=-A, b_ub=b, bounds=(None, None))
    assert (found is None) == (reference.status != 0)
    if found is not None:
        best, x = found
        assert inside(exactly(rows), x)
        assert sum((c * t for c, t in zip(cost, x)), fmpq(0)) == best
        assert float(fraction(best)) == pytest.approx(-reference.fun, abs=1e-7)


@given(programs())
def test_the_deepest_point_is_as_deep_as_it_says_and_as_highs_finds(program):
    _, rows = program
    d = len(rows[0]) - 1
    depth, x = deepest(exactly(rows), d)
    assert min([fmpq(1), *(value(f, x) for f in exactly(rows))]) == depth
    A = np.array(rows)[:, :-1]
    b = np.array(rows)[:, -1]
    limits = np.column_stack([-A, np.ones(len(b))])
    reference = linprog(
        [*[0] * d, -1], A_ub=limits, b_ub=b, bounds=[*[(None, None)] * d, (None, 1)]
    )
    assert float(fraction(depth)) == pytest.approx(-reference.fun, abs=1e-7)


def test_many_degenerate_pivots_do_not_cycle():
    # all half-planes pass through the origin; the cone x ≥ 0, y ≥ 0 is what is left
    rows = [(a, b, 0) for a in range(1, 12) for b in range(1, 12)] + [(1, 0, 0), (0, 1, 0)]
    assert maximise([fmpq(-1), fmpq(-1)], exactly(rows)) == (0, (0, 0))
    assert set(irredundant(exactly(rows), 2)) == set(exactly([(1, 0, 0), (0, 1, 0)]))


def test_a_flat_polyhedron_has_no_interior_and_is_not_empty():
    flat = exactly([*SQUARE, (1, 1, -2)])  # the corner (1, 1) alone
    assert has_interior(flat, 2) is None and deepest(flat, 2)[0] == 0
    assert deepest(exactly([*SQUARE, (1, 1, -3)]), 2)[0] < 0


def test_sides_that_do_not_matter_are_left_out():
    more = [*SQUARE, (1, 1, 5), (2, 0, 1), (1, 1, 0)]
    assert set(irredundant(exactly(more), 2)) == set(exactly(SQUARE))


def test_numbers_that_float64_cannot_tell_apart_are_told_apart():
    tiny = Fraction(1, 10**40)
    gap = [(fmpq(1), fmpq(0)), (fmpq(-1), fmpq(tiny.numerator, tiny.denominator))]
    assert has_interior(gap, 1) is not None
    assert has_interior([gap[0], (fmpq(-1), -gap[1][1])], 1) is None
