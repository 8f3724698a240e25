"""Columns of tables of results."""

import numpy as np
import pytest

from ftheta.sweeps.table import column


@pytest.mark.parametrize("whole", [2**53 + 1, -(2**60) - 1, 2**63 + 1, 2**1024 - 1])
def test_whole_numbers_beside_a_missing_one_lose_no_digits(whole):
    found = column([1, whole, None])
    assert found.dtype == object and found.tolist() == [1, whole, None]


@pytest.mark.parametrize("whole", [3, -(2**53), 2**60, 2**1000])
def test_whole_numbers_that_are_floats_are_numbers_with_a_gap(whole):
    found = column([1, whole, None, 0.5])
    assert found.dtype == np.float64 and np.isnan(found[2])
    assert found[1] == whole
