import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ftheta.estimates import binomial_interval, fit_rate, mean


@given(st.integers(0, 10**6))
def test_the_mean_agrees_with_scipys_t_interval(seed):
    draws = np.random.default_rng(seed).normal(3.0, 2.0, size=20)
    ours = mean(draws, 0.95)
    theirs = stats.t.interval(0.95, 19, loc=draws.mean(), scale=stats.sem(draws))
    assert (ours.lo, ours.hi) == pytest.approx(theirs, rel=1e-12)
    assert ours.samples == 20 and ours.confidence == 0.95


def test_the_mean_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = sum(1.0 in mean(rng.exponential(size=200), 0.9) for _ in range(2000))
    assert abs(hits - 1800) < 5 * np.sqrt(2000 * 0.9 * 0.1) + 40  # the exponential is skewed: a little under 0.9


@given(st.integers(1, 60), st.data())
def test_the_binomial_interval_agrees_with_scipys_exact_one(trials, data):
    successes = data.draw(st.integers(0, trials))
    ours = binomial_interval(successes, trials, 0.99)
    theirs = stats.binomtest(successes, trials).proportion_ci(0.99, method="exact")
    assert (ours.lo, ours.hi) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@given(st.floats(0.1, 4), st.floats(0.01, 100))
def test_an_exact_power_law_gives_its_exponent(order, constant):
    scales = np.array([1.0, 2, 4, 8, 16])
    slope = fit_rate(scales, constant * scales**-order)
    assert slope.lo == pytest.approx(-order, abs=1e-9) and slope.hi == pytest.approx(-order, abs=1e-9)


@given(st.integers(0, 1000))
def test_the_fitted_rate_agrees_with_scipys_regression(seed):
    rng = np.random.default_rng(seed)
    scales = np.array([1.0, 2, 4, 8, 16, 32])
    errors = scales**-0.5 * np.exp(rng.normal(size=6) * 0.1)
    ours = fit_rate(scales, errors, 0.99)
    slope, _, _, _, spread = stats.linregress(np.log(scales), np.log(errors))
    half = stats.t.ppf(0.995, 4) * spread
    assert (ours.lo, ours.hi) == pytest.approx((slope - half, slope + half), abs=1e-10)


def test_a_rate_needs_three_positive_errors():
    with pytest.raises(ValueError, match="three positive"):
        fit_rate(np.array([1, 2, 3]), np.array([1.0, 0.0, 1.0]))
