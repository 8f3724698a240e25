"""Arrangements in whole numbers, against the enumeration and the formulas."""

from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.pieces import Space, count_pieces
from ftheta.pieces.bounds import arrangement
from ftheta.relu.network import ReluNetwork
from ftheta.theorems.piecewise.regions_shallow.arrangements import (
    central,
    characteristic,
    count_bounded,
    count_regions,
    distinct,
    find_lattice,
    in_central_position,
    in_general_position,
    primitive,
)

from ...thoroughness import max_examples


def layer(rows: np.ndarray) -> ReluNetwork:
    return ReluNetwork.dense([rows[:, :-1], np.ones((1, len(rows)))], [rows[:, -1], np.zeros(1)])


@pytest.mark.parametrize(
    "n, d, expected", [(3, 2, 7), (4, 2, 11), (5, 2, 16), (4, 3, 15), (6, 3, 42), (10, 3, 176)]
)
def test_general_position_has_the_values_of_the_catalogue(n, d, expected):
    found = find_lattice(layer(np.random.default_rng(n).normal(size=(n, d + 1))), Space(d).chart, d)
    assert found is not None and found.regions == arrangement(n, d) == expected
    assert found.bounded_regions == comb(n - 1, d)
    assert in_general_position(found.rows, d) and not in_central_position(found.rows, d)


def test_four_planes_through_a_point_make_fourteen_regions():
    rows = np.random.default_rng(0).normal(size=(4, 4))
    rows[:, -1] = 0
    found = find_lattice(layer(rows), Space(3).chart, 3)
    assert found is not None and found.regions == central(4, 3) == 14
    assert found.bounded_regions == 0
    assert in_central_position(found.rows, 3) and not in_general_position(found.rows, 3)


small = st.integers(-2, 2)


@max_examples(40)
@given(
    st.integers(1, 3).flatmap(
        lambda d: st.lists(st.tuples(*[small] * (d + 1)), min_size=1, max_size=6)
    )
)
def test_the_lattice_and_the_enumeration_count_the_same_regions_of_degenerate_arrangements(rows):
    d = len(rows[0]) - 1
    found = find_lattice(layer(np.array(rows, float)), Space(d).chart, d)
    assert found is not None
    assert (
        count_pieces(layer(np.array(rows, float)), Space(d)).middle
        == found.regions
        <= arrangement(len(rows), d)
    )
    assert all(
        count_regions(a) < count_regions(b) and count_bounded(a) <= count_bounded(b)
        for a, b in pairwise(found.chis)
    )


def test_equal_hyperplanes_have_equal_rows_and_constants_none():
    assert primitive([0.5, -1, 2]) == primitive([-1, 2, -4]) == (1, -2, 4)
    assert primitive([0, 0, 3]) is None
    assert distinct([(1, 0), (1, 0), None]) == [(1, 0)]
    assert list(characteristic([], 2)) == [[0, 0, 1]]
