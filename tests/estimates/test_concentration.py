"""Tails of means: exact, bounded, measured."""

from fractions import Fraction
from math import comb, log, sqrt

import numpy as np
import pytest
from flint import ctx, fmpq  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ftheta.estimates.concentration import (
    Law,
    binomial_tail,
    chebyshev_radius,
    deviation,
    deviation_frequency,
    deviation_tail,
    hoeffding_radius,
    zero_one_law,
)
from ftheta.logic import Enclosure

chances = st.fractions(min_value=0, max_value=1, max_denominator=30)


@given(st.integers(1, 60), chances, st.integers(-1, 62))
def test_the_binomial_tail_encloses_the_rational_sum(n, q, k):
    exact = sum(
        (comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(max(k, 0), n + 1)), Fraction(0)
    )
    ball = Enclosure.ball(binomial_tail(n, q, k))
    assert ball.lo <= exact <= ball.hi
    assert ball.width < 1e-15


@pytest.mark.parametrize("n, k", [(10**6, 501_500), (10**6, 499_000), (10**5, 50_700)])
def test_the_binomial_tail_agrees_with_scipy_for_many_draws(n, k):
    assert float(binomial_tail(n, Fraction(1, 2), k)) == pytest.approx(
        stats.binom.sf(k - 1, n, 0.5), rel=1e-9
    )


@given(st.integers(1, 25), chances, st.floats(0.01, 1.5), st.integers(1, 5))
def test_the_deviation_tail_encloses_the_sum_over_all_outcomes(n, q, radius, candidates):
    law = (
        Law((Fraction(-1), Fraction(3)), (1 - q, q))
        if 0 < q < 1
        else Law((Fraction(3 if q else -1),), (Fraction(1),))
    )
    weights = {k: comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)}
    below = sum(
        (w for k, w in weights.items() if 4 * (q - Fraction(k, n)) > Fraction(radius)), Fraction(0)
    )
    above = sum(
        (w for k, w in weights.items() if 4 * (Fraction(k, n) - q) > Fraction(radius)), Fraction(0)
    )
    exact = 1 - (1 - below) ** candidates + above**candidates
    with ctx.workprec(160):
        found = deviation_tail(law, n, hoeffding_radius(1, 0.5, 1.0) * 0 + radius, candidates)
    assert found.lo - 1e-15 <= exact <= found.hi + 1e-15
    assert found.width < 1e-12


def test_a_selection_among_many_is_as_likely_to_stray_as_an_experiment_finds():
    law = Law.of([0, 1], [0.5, 0.5])
    n = 50
    radius = hoeffding_radius(50, 0.05, 1.0)
    exact = deviation_tail(law, n, radius, 40)
    measured, _ = deviation_frequency(law, np.random.default_rng(0), n, float(radius), 4000, 40)
    assert measured.lo <= exact.lo and exact.hi <= measured.hi
    assert exact.lo > 0.05 > deviation_tail(law, n, radius).hi


@given(st.integers(1, 10**6), st.floats(1e-6, 0.9), st.floats(0.01, 100))
def test_the_radii_are_their_formulas(n, delta, width):
    assert float(hoeffding_radius(n, delta, width)) == pytest.approx(
        width * sqrt(log(2 / delta) / (2 * n))
    )
    assert float(chebyshev_radius(n, delta, Fraction(width))) == pytest.approx(
        sqrt(width / (n * delta))
    )


@given(st.integers(1, 400), chances, st.floats(0.001, 0.9))
def test_neither_radius_is_exceeded_more_often_than_it_claims(n, q, delta):
    law = Law.of([0.0, 1.0], [float(1 - q), float(q)])
    assert deviation_tail(law, n, hoeffding_radius(n, delta, 1.0)).hi <= delta
    assert deviation_tail(law, n, chebyshev_radius(n, delta, law.variance)).hi <= delta


@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(1, 9)), min_size=1, max_size=12))
def test_a_law_merges_equal_atoms_and_has_the_moments_of_its_atoms(atoms):
    values, weights = zip(*atoms)
    law = Law.of(values, weights)
    total = sum(weights)
    mean = Fraction(sum(v * w for v, w in atoms), total)
    assert sum(law.probabilities) == 1 and len(set(law.values)) == len(law.values)
    assert law.mean == mean
    assert law.variance == Fraction(sum(w * v * v for v, w in atoms), total) - mean**2


def test_sample_means_have_the_mean_and_the_variance_of_the_law():
    law = Law.of([0.0, 0.5, 2.0], [0.5, 0.3, 0.2])
    n = 40
    means = law.sample_means(np.random.default_rng(0), n, 20_000)
    spread = sqrt(float(law.variance) / n)
    assert abs(means.mean() - float(law.mean)) < 6 * spread / sqrt(20_000)
    assert means.std() == pytest.approx(spread, rel=0.05)


def test_a_law_with_three_atoms_has_a_measured_tail_and_one_with_two_an_exact_one():
    rng = np.random.default_rng(0)
    radius = hoeffding_radius(100, 0.05, 1.0)
    assert deviation("r", Law.of([0, 0.5, 1], [1, 1, 1]), 100, radius, rng, 500).tail.samples == 500
    assert deviation("r", Law.of([0, 1], [1, 1]), 100, radius, rng, 500).tail.samples is None
    with pytest.raises(ValueError, match="two atoms"):
        deviation_tail(Law.of([0, 0.5, 1], [1, 1, 1]), 100, radius)


@pytest.mark.parametrize(
    "outputs, labels, errors",
    [
        ([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], [1, 0, 0], 1),
        ([[0.1, 0.9], [0.8, 0.2]], [[0, 1], [0, 1]], 1),
        ([[1.0], [-1.0], [2.0]], [1, 0, 0], 1),
        ([[1.0], [-1.0], [2.0], [-3.0]], [1, -1, -1, 1], 2),
        ([[np.nan, 0.0], [1.0, 0.0]], [0, 0], 1),
    ],
)
def test_the_zero_one_law_counts_wrong_classes(outputs, labels, errors):
    law = zero_one_law(np.array(outputs), np.array(labels))
    assert law.mean == Fraction(errors, len(outputs))


@pytest.mark.parametrize("n, k", [(400, 80), (400, 41), (60, 60), (400, 10)])
def test_what_is_not_summed_of_a_tail_is_in_its_ball(n, k):
    q = Fraction(1, 10)
    exactly = sum((comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k, n + 1)), Fraction(0))
    with ctx.workprec(2000):
        assert binomial_tail(n, q, k).contains(fmpq(exactly.numerator, exactly.denominator))
