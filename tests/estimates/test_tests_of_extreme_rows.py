"""Permutation tests and intervals on rows whose squares overflow, vanish or cancel, and on what is no number."""

import numpy as np
import pytest

import ftheta as ft
from ftheta.estimates.paired import sign_flip_test
from ftheta.estimates.two_samples import energy_test
from ftheta.logic import SubjectError
from ftheta.transport.two_sample import permutation_test

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
Y = RNG.normal(size=(25, 2))
USUAL = energy_test(X, Y, np.random.default_rng(1)).p


@pytest.mark.parametrize(
    "scale, offset", [(1e200, 0.0), (1e-200, 0.0), (1e308 / 5, 0.0), (1.0, 1e8)]
)
def test_the_p_value_does_not_depend_on_the_units_of_the_rows(scale, offset):
    assert energy_test(scale * X + offset, scale * Y + offset, np.random.default_rng(1)).p == USUAL


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_no_evidence(bad):
    rows = X.copy()
    rows[0, 0] = bad
    with pytest.raises(ValueError, match="finite"):
        energy_test(rows, Y, np.random.default_rng(1))
    with pytest.raises(ValueError, match="finite"):
        sign_flip_test(rows[:, 0], np.random.default_rng(1))


@pytest.mark.parametrize("kind", ["w1", "w2", "energy", "mmd", "bures"])
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_distances_whose_squares_are_no_floats_are_refused(kind, scale):
    with pytest.raises(SubjectError, match="scale the rows"):
        ft.distance(scale * X, scale * (Y + 5), kind=kind)


def test_statistics_that_overflow_reject_nothing():
    with np.errstate(all="ignore"), pytest.raises(SubjectError, match="no float64 numbers"):
        permutation_test(1e200 * X, 1e200 * Y, "energy")
