"""The worst entry of a comparison: none is left out."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.estimates import largest, worst_ratio

sizes = st.one_of(st.just(0.0), st.floats(1e-320, 1e300), st.floats(-1e3, 1e3))
entries = st.lists(st.tuples(sizes, sizes), min_size=1, max_size=6)


@given(entries)
def test_the_ratio_is_at_most_one_exactly_when_every_value_is_within_its_bound(pairs):
    values, bounds = np.array(pairs).T
    assert (worst_ratio(values, bounds) <= 1) == bool((values <= bounds).all())


@given(entries, st.data())
def test_one_entry_that_is_no_number_or_beyond_a_bound_of_zero_is_seen(pairs, data):
    values, bounds = np.array(pairs).T.copy()
    place = data.draw(st.integers(0, len(pairs) - 1))
    values[place] = data.draw(st.sampled_from([nan, inf, 1e-300]))
    bounds[place] = 0.0
    assert worst_ratio(values, bounds) == inf


@pytest.mark.parametrize(
    "value, bound, rounding, ratio",
    [
        (0.0, 0.0, 0.0, 0.0),
        (1.0, 0.0, 2.0, 0.5),
        (-1.0, -2.0, 0.0, inf),
        (1.0, inf, 0.0, 0.0),
        (1.0, 1.0, inf, inf),
    ],
)
def test_a_zero_bound_admits_zero_and_rounding_without_a_bound_admits_nothing(
    value, bound, rounding, ratio
):
    assert worst_ratio(value, bound, rounding) == ratio


def test_the_largest_of_several_arrays_is_infinite_where_one_is_not_a_number():
    assert largest([1.0, nan], [2.0]) == inf
    assert largest(-1.0, [-2.0]) == -1.0
    assert largest() == 0.0
