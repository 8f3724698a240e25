"""Two samples and two classifiers: against SciPy, closed forms, and levels that are counted."""

import numpy as np
import pytest
from scipy.stats import binomtest, energy_distance

from ftheta.estimates.paired import mcnemar
from ftheta.estimates.two_samples import energy_test


def test_the_statistic_is_the_squared_energy_distance():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    y = rng.normal(size=(30, 1)) + 1
    found = energy_test(x, y, rng, permutations=9)
    assert found.statistic == pytest.approx(energy_distance(x[:, 0], y[:, 0]) ** 2, rel=1e-9)


def test_the_level_is_kept_for_a_law_with_heavy_tails():
    rng = np.random.default_rng(1)
    ps = [
        energy_test(rng.standard_cauchy((8, 2)), rng.standard_cauchy((6, 2)), rng, 19).p
        for _ in range(300)
    ]
    # of a binomial (300, 0.05), 30 or more have probability 1e-4
    assert np.mean(np.array(ps) <= 0.05) <= 0.1
    assert min(ps) == 0.05


def test_a_shift_is_noticed_and_equal_samples_are_not():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100, 3))
    assert energy_test(x, rng.normal(size=(100, 3)) + 1, rng, 99).p == 0.01
    assert energy_test(x, x.copy(), rng, 99).p > 0.5


@pytest.mark.parametrize(("b", "c"), [(0, 0), (5, 5), (1, 9), (9, 1), (0, 12), (30, 41)])
def test_mcnemar_is_the_binomial_test(b, c):
    first = np.array([True] * b + [False] * c + [True] * 7)
    second = np.array([False] * b + [True] * c + [True] * 7)
    expected = 1.0 if b + c == 0 else binomtest(b, b + c).pvalue
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-12)
