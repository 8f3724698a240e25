"""Tests and intervals of residuals beside scipy's, enumeration and closed forms."""

import numpy as np
import pytest
from scipy import stats

from ftheta.estimates.paired import sign_flip_test
from ftheta.estimates.residuals import conformal_radius, dependence_test, median_interval, sign_test


@pytest.mark.parametrize("n", [6, 9, 40, 1001])
def test_the_interval_of_a_median_is_the_narrowest_with_its_level(n):
    values = np.random.default_rng(n).permutation(n).astype(float)  # the order statistic k is k − 1
    found = median_interval(values, 0.95)
    k = int(found.lo) + 1
    assert found.hi == n - k
    assert 2 * stats.binom.cdf(k - 1, n, 0.5) <= 0.05 < 2 * stats.binom.cdf(k, n, 0.5)


def test_few_values_say_nothing_of_their_median():
    assert median_interval(np.arange(4.0), 0.95).width == np.inf


@pytest.mark.parametrize("above, below, zeros", [(9, 1, 3), (1, 9, 0), (5, 5, 0), (30, 12, 1)])
def test_the_sign_test_is_the_binomial_one(above, below, zeros):
    values = np.array([1.0] * above + [-2.0] * below + [0.0] * zeros)
    assert sign_test(values) == pytest.approx(stats.binomtest(above, above + below).pvalue)


def test_the_correlation_is_spearmans_and_ties_are_shared():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, 50).astype(float)
    covariate = values + rng.integers(0, 9, 50)
    found = dependence_test(values, covariate[:, None], rng)
    assert found.correlation == pytest.approx(stats.spearmanr(values, covariate).statistic)
    assert found.p == 1 / 1000 or found.p < 0.02


def test_independent_values_are_rejected_no_more_often_than_the_level():
    """400 tests at 5 %: more than 35 rejections have probability 0.2 %."""
    rng = np.random.default_rng(1)
    rejected = sum(
        dependence_test(rng.standard_t(2, 25), rng.normal(size=(25, 2)), rng, 99).p <= 0.05
        for _ in range(400)
    )
    assert rejected <= 35


def test_constant_covariates_are_independent_of_everything():
    rng = np.random.default_rng(2)
    assert dependence_test(rng.normal(size=20), np.ones((20, 1)), rng, 99).p == 1.0


def test_sign_flips_agree_with_all_of_them():
    differences = np.array([0.3, 1.2, -0.4, 0.9, 0.8, 1.1, 0.2, 0.7, 1.5])
    every = [
        abs(differences @ (2 * np.array([(k >> i) & 1 for i in range(9)]) - 1)) for k in range(512)
    ]
    wanted = np.mean(np.array(every) >= abs(differences.sum()) - 1e-12)
    found = sign_flip_test(differences, np.random.default_rng(0), 19_999)
    assert found == pytest.approx(wanted, abs=5 * np.sqrt(wanted / 20_000) + 1e-4)


def test_equal_models_cannot_be_told_apart():
    assert sign_flip_test(np.zeros(30), np.random.default_rng(0)) == 1.0


@pytest.mark.parametrize(
    "n, level, place", [(9, 0.9, 9), (19, 0.9, 18), (99, 0.95, 95), (8, 0.9, None)]
)
def test_the_conformal_radius_is_an_order_statistic(n, level, place):
    found = conformal_radius(np.random.default_rng(0).permutation(n) + 1.0, level)
    assert found == (np.inf if place is None else place)


def test_the_rows_as_they_are_count_as_one_of_the_permutations():
    rows = np.arange(12.0)
    found = dependence_test(rows, rows[:, None], np.random.default_rng(0), permutations=19)
    assert found.p == 1 / 20
