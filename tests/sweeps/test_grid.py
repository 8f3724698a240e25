"""Cells, their order and their names."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import UsageError
from ftheta.sweeps import Grid
from ftheta.sweeps.grid import key_of

VALUE = st.one_of(
    st.integers(-3, 3), st.floats(allow_nan=False), st.text(max_size=3), st.booleans(), st.none()
)
AXES = st.dictionaries(st.sampled_from("abcd"), st.lists(VALUE, min_size=1, max_size=3), max_size=3)


def distinct(values):
    return list({repr(v): v for v in values}.values())


@given(AXES, st.integers(1, 3))
def test_a_grid_is_the_product_of_its_axes_with_seeds_fastest(axes, seeds):
    axes = {name: distinct(values) for name, values in axes.items()}
    grid = Grid(axes, seeds)
    expected = [
        (dict(zip(axes, values)), s) for values in product(*axes.values()) for s in range(seeds)
    ]
    assert [tuple(grid[i]) for i in range(len(grid))] == expected


@given(AXES, st.integers(1, 3))
def test_keys_name_what_a_cell_says_and_nothing_else(axes, seeds):
    axes = {name: distinct(values) for name, values in axes.items()}
    grid = Grid(axes, seeds)
    keys = [grid.key(i) for i in range(len(grid))]
    assert len(set(keys)) == len(grid) and keys == [key_of(grid[i]) for i in range(len(grid))]
    turned = Grid(
        {name: values[::-1] for name, values in reversed(axes.items())}, range(seeds - 1, -1, -1)
    )
    assert {turned.key(i) for i in range(len(turned))} == set(keys)
    listed = Grid([grid[i].settings for i in range(0, len(grid), seeds)], seeds)
    assert [listed.key(i) for i in range(len(listed))] == keys


def test_numbers_of_numpy_are_plain_numbers_and_types_are_kept_apart():
    a = Grid({"a": np.array([1, 2])})
    b = Grid({"a": [1, 2]})
    assert [a.key(i) for i in range(2)] == [b.key(i) for i in range(2)]
    assert len({Grid({"a": [value]}).key(0) for value in (1, 1.0, True, "1", None, (1,))}) == 6
    assert Grid({"a": [[8, 8]]})[0].settings == {"a": (8, 8)}


def test_a_hundred_million_cells_cost_nothing():
    grid = Grid({"a": range(100), "b": range(1000)}, 1000)
    assert len(grid) == 10**8 and grid[10**8 - 1] == ({"a": 99, "b": 999}, 999)
    with pytest.raises(UsageError, match="between 1 and"):
        Grid({"a": range(100), "b": range(1000)}, 1001)


@pytest.mark.parametrize(
    "grid, seeds, part",
    [
        ({"a": []}, 1, "no value"),
        ({"a": [1, 1]}, 1, "twice"),
        ({"a": [float("nan")]}, 1, "cannot be a setting"),
        ({"a": [object()]}, 1, "cannot be a setting"),
        ({"seed": [1]}, 1, "cannot be the name"),
        ({"two words": [1]}, 1, "cannot be the name"),
        ({"_a": [1]}, 1, "cannot be the name"),
        ({"a": [1], "A": [2]}, 1, "case"),
        ([{"a": 1}, {"a": 1}], 1, "listed twice"),
        ([1], 1, "mapping"),
        ("a=1", 1, "mapping"),
        ([], 1, "between 1"),
        ({"a": [1]}, 0, "seeds"),
        ({"a": [1]}, -1, "seeds"),
        ({"a": [1]}, [1, 1], "seeds"),
        ({"a": [1]}, [0.5], "seeds"),
        ({"a": [1]}, [-1], "seeds"),
        ({"a": [1]}, "12", "seeds"),
        ({"a": [1]}, True, "seeds"),
    ],
)
def test_a_bad_grid_is_refused_in_words(grid, seeds, part):
    with pytest.raises(UsageError, match=part):
        Grid(grid, seeds)
