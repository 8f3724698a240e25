"""Calibration: against closed forms, brute force and coverage."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from ftheta.estimates.calibration import (
    Reliability,
    calibration_test,
    fit_temperature,
    reliability,
    softmax,
)


def test_the_error_is_that_of_a_sum_over_bins_by_hand():
    rng = np.random.default_rng(0)
    sure = rng.random(500)
    right = rng.random(500) < sure**2
    total = 0.0
    for b in range(15):
        here = (sure > b / 15) & (sure <= (b + 1) / 15)
        if here.any():
            total += here.sum() * abs(right[here].mean() - sure[here].mean())
    assert reliability(sure, right).error == pytest.approx(total / 500, rel=1e-12)


def test_a_confidence_of_one_that_is_always_right_is_calibrated():
    sure = np.ones(40)
    found = reliability(sure, np.ones(40, bool))
    assert found.error == 0 and found.counts.tolist() == [40]
    assert calibration_test(sure, np.ones(40, bool), np.random.default_rng(0), draws=19).p == 1.0


def test_the_temperature_has_the_least_cross_entropy():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(300, 4))
    classes = np.array([rng.choice(4, p=p) for p in softmax(logits)])
    steep = 3.0 * logits  # overconfident by a factor of three

    def loss(log_t: float) -> float:
        return -log_softmax(steep / np.exp(log_t), axis=1)[np.arange(300), classes].mean()

    best = np.exp(
        minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9}).x
    )
    assert fit_temperature(steep, classes) == pytest.approx(best, rel=1e-5)
    assert 2 < best < 4


def test_the_radius_is_that_of_mcdiarmid():
    found = Reliability(np.array([4, 16]), np.array([0.3, 0.9]), np.array([0.25, 1.0]))
    assert found.radius(0.95) == pytest.approx((2 + 4) / 40 + (np.log(20) / 40) ** 0.5)


def test_the_radius_covers_and_the_test_has_its_level():
    """ECE* is 0 where every row is right with the probability that is said: 300 draws at levels of 5 % each."""
    rng = np.random.default_rng(2)
    sure = rng.uniform(0.5, 1, 200)
    missed = 0
    rejected = 0
    for _ in range(300):
        right = rng.random(200) < sure
        found = reliability(sure, right)
        missed += found.error > found.radius(0.95)
        rejected += calibration_test(sure, right, rng, draws=19).p <= 0.05
    assert missed <= 30  # a binomial (300, 0.05) exceeds 30 with probability 1e-4
    assert rejected <= 30


def test_overconfidence_is_noticed():
    rng = np.random.default_rng(3)
    found = calibration_test(np.full(400, 0.95), rng.random(400) < 0.8, rng, draws=99)
    assert found.p == 0.01 and found.expected < 0.03
