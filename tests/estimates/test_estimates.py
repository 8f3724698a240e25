from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ftheta.estimates import binomial_interval, fit_rate, mean
from ftheta.logic import Enclosure

LAWS = {
    "Bernoulli(0.01)": (
        lambda rng, n: (rng.random(n) < 0.01).astype(float),
        0.01,
        0.01 * 0.99,
        (0.0, 1.0),
    ),
    "Bernoulli(0.5)": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5, 0.25, (0.0, 1.0)),
    "uniform": (lambda rng, n: rng.random(n), 0.5, 1 / 12, (0.0, 1.0)),
    "beta(0.5, 0.5)": (lambda rng, n: rng.beta(0.5, 0.5, n), 0.5, 1 / 8, (0.0, 1.0)),
    "two points": (
        lambda rng, n: np.where(rng.random(n) < 0.02, 50.0, -1.0),
        0.02,
        0.02 * 0.98 * 51**2,
        (-1.0, 50.0),
    ),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0, 1.0, None),
    "lognormal, σ = 2": (
        lambda rng, n: rng.lognormal(0, 2, n),
        np.exp(2),
        np.exp(4) * (np.exp(4) - 1),
        None,
    ),
    "Student, 3 degrees": (lambda rng, n: rng.standard_t(3, n), 0.0, 3.0, None),
}
TRIALS = 300
FALSE_ALARM = 1e-9  # of one test of coverage


def assert_covers(missed: int, trials: int, confidence: float) -> None:
    """Not rejected by the exact binomial test of "missed with probability at most 1 − confidence"."""
    assert stats.binom.sf(missed - 1, trials, 1 - confidence) > FALSE_ALARM, (
        f"{missed} of {trials} missed"
    )


@pytest.mark.parametrize("confidence", [0.8])
@pytest.mark.parametrize("n", [5, 30, 200])
@pytest.mark.parametrize("law", [name for name, law in LAWS.items() if law[3] is not None])
def test_the_mean_of_draws_in_a_known_interval_is_covered_as_often_as_stated(law, n, confidence):
    draw, truth, _, within = LAWS[law]
    rng = np.random.default_rng(n)
    missed = sum(truth not in mean(draw(rng, n), confidence, within=within) for _ in range(TRIALS))
    assert_covers(missed, TRIALS, confidence)


@pytest.mark.parametrize("confidence", [0.8])
@pytest.mark.parametrize("n", [5, 30, 200])
@pytest.mark.parametrize("law", LAWS)
def test_the_mean_of_draws_of_known_variance_is_covered_as_often_as_stated(law, n, confidence):
    draw, truth, variance, _ = LAWS[law]
    rng = np.random.default_rng(n)
    missed = sum(
        truth not in mean(draw(rng, n), confidence, variance=variance) for _ in range(TRIALS)
    )
    assert_covers(missed, TRIALS, confidence)


@pytest.mark.parametrize(
    "law, n", [("Bernoulli(0.01)", 200), ("lognormal, σ = 2", 100), ("exponential", 30)]
)
def test_an_interval_by_the_central_limit_theorem_states_no_confidence(law, n):
    """These laws are missed far more often than once in a million; the interval does not claim otherwise."""
    draw, _, _, _ = LAWS[law]
    found = mean(draw(np.random.default_rng(0), n))
    assert found.confidence is None and found.nominal == 1 - 1e-6
    assert "not guaranteed" in found.assuming


def test_the_rate_of_misses_of_the_central_limit_theorem_is_what_makes_its_level_nominal():
    """The alarm rings where it should: the test above would reject a t-interval that stated its level."""
    draw, truth, _, _ = LAWS["Bernoulli(0.01)"]
    rng = np.random.default_rng(0)
    missed = sum(truth not in mean(draw(rng, 200), 1 - 1e-6) for _ in range(TRIALS))
    with pytest.raises(AssertionError, match="missed"):
        assert_covers(missed, TRIALS, 1 - 1e-6)


@given(st.integers(0, 10**6), st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_an_interval_moves_and_stretches_with_the_draws(seed, shift, scale):
    draws = np.random.default_rng(seed).random(40)
    plain = mean(draws, 0.9, within=(0.0, 1.0))
    moved = mean(
        shift + scale * draws,
        0.9,
        within=(shift - 1e-9 * abs(shift), shift + scale + 1e-9 * abs(shift)),
    )
    close = 1e-5 * scale + 1e-8 * abs(shift)
    assert moved.lo == pytest.approx(shift + scale * plain.lo, abs=close)
    assert moved.hi == pytest.approx(shift + scale * plain.hi, abs=close)


def test_what_is_assumed_is_said():
    draws = np.linspace(0, 1, 50)
    assert mean(draws, within=(0, 1)).assuming == "draws in [0, 1]"
    assert mean(draws, variance=0.25).assuming == "variance ≤ 0.25"


def test_valid_intervals_are_hardly_wider_than_the_nominal_one():
    draws = np.random.default_rng(0).random(2000)
    assert mean(draws, within=(0, 1)).width < 1.2 * mean(draws).width
    assert mean(draws, variance=1 / 12).width < 1.2 * mean(draws).width


def capital(shares: list[float], m: float, tail: float) -> float:
    """The largest capital of a bettor against the mean m, every stake chosen before the draw is seen."""
    total, squares, largest, money = 0.5, 0.25, 0.0, 1.0
    for seen, x in enumerate(shares):
        stake = min(sqrt(2 * log(1 / tail) / (len(shares) * squares / (seen + 1))), 0.75 / m)
        money *= 1 + stake * (x - m)
        largest = max(largest, money)
        total += x
        squares += (x - total / (seen + 2)) ** 2
    return largest


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_each_end_is_where_bets_at_half_of_the_error_no_longer_pay(seed, confidence):
    draws = np.random.default_rng(seed).beta(0.5, 0.8, 60)
    found = mean(draws, confidence, within=(0.0, 1.0))
    tail = (1 - confidence) / 2
    for shares, end in ((draws, found.lo), (1 - draws, 1 - found.hi)):
        assert capital(shares.tolist(), end * (1 - 1e-4), tail) >= 1 / tail
        assert capital(shares.tolist(), end * (1 + 1e-4), tail) < 1 / tail


def test_each_end_is_where_catonis_sum_reaches_what_the_error_allows():
    draws = np.random.default_rng(0).exponential(size=80)
    found = mean(draws, 0.99, variance=1.0)
    goal = log(2 / 0.01)
    alpha = sqrt(2 * goal / 80)
    for end, sign in ((found.lo, 1), (found.hi, -1)):
        t = alpha * (draws - end)
        total = float((np.sign(t) * np.log1p(np.abs(t) + t**2 / 2)).sum())
        assert sign * total == pytest.approx(80 * log(1 + alpha**2 / 2) + goal, rel=1e-4)


@pytest.mark.parametrize("draws", [[0.5, 1.5], [0.5, np.nan], [-0.1, 0.0]])
def test_draws_outside_of_their_interval_are_refused(draws):
    with pytest.raises(ValueError, match=r"do not lie in|finite"):
        mean(np.array(draws), within=(0.0, 1.0))


@pytest.mark.parametrize("draws", [[0.5, np.nan], [0.5, np.inf, -np.inf]])
def test_nothing_is_known_of_the_mean_of_draws_that_overflowed(draws):
    for bounds in ({}, {"variance": 1.0}, {"within": (0.0, np.inf)}):
        found = mean(np.array(draws), **bounds)
        assert (found.lo, found.hi) == (-np.inf, np.inf) and found.samples == len(draws)


@pytest.mark.parametrize("exponent", [-900, -600, 600, 900])
def test_intervals_of_a_mean_are_as_wide_as_the_draws_are_large(exponent):
    """Squares of such draws are 0 or infinite."""
    draws = np.random.default_rng(0).normal(3.0, 2.0, size=20)
    found = mean(np.ldexp(draws, exponent))
    plain = mean(draws)
    assert found.lo == pytest.approx(np.ldexp(plain.lo, exponent), rel=1e-12, abs=0)
    assert found.hi == pytest.approx(np.ldexp(plain.hi, exponent), rel=1e-12, abs=0)


def test_equal_draws_of_variance_zero_are_their_mean():
    found = mean(np.full(10, 0.1), variance=0.0)
    assert 0.1 in found and found.width < 1e-14


@given(st.integers(0, 10**6))
def test_the_nominal_interval_agrees_with_scipys_t_interval(seed):
    draws = np.random.default_rng(seed).normal(3.0, 2.0, size=20)
    ours = mean(draws, 0.95)
    theirs = stats.t.interval(0.95, 19, loc=draws.mean(), scale=stats.sem(draws))
    assert (ours.lo, ours.hi) == pytest.approx(theirs, rel=1e-12)
    assert ours.samples == 20 and ours.nominal == 0.95


def test_a_nominal_level_stays_nominal_in_arithmetic():
    sure = Enclosure.estimate(1.0, 0.1, samples=10, confidence=0.9, assuming="a")
    vague = Enclosure.approximate(2.0, 0.1, samples=20, nominal=0.95, assuming="b")
    both = sure + vague
    assert both.confidence is None and both.nominal == pytest.approx(0.85)
    assert both.assuming == "a; b" and (sure * 2.0).confidence == 0.9


@pytest.mark.parametrize("n, chance", [(5, 0.01), (30, 0.1), (200, 0.01)])
def test_the_binomial_interval_covers_exactly(n, chance):
    """The probability of a miss is summed over all counts."""
    missed = [chance not in binomial_interval(k, n, 0.9) for k in range(n + 1)]
    assert stats.binom.pmf(np.flatnonzero(missed), n, chance).sum() <= 0.1


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
    assert slope.lo == pytest.approx(-order, abs=1e-9) and slope.hi == pytest.approx(
        -order, abs=1e-9
    )


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


def test_a_fitted_rate_says_what_its_level_rests_on():
    assert (
        fit_rate(np.array([1, 2, 3]), np.array([1.0, 0.4, 0.3])).assuming
        == "log errors Gaussian about a line"
    )
