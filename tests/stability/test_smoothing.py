"""Smoothing: tight for linear classifiers, its confidence simulated, both kinds of noise, what it refuses."""

import json
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import binom, norm

import ftheta as ft
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks import Dense, Description


def linear(w, b: float) -> ft.Network:
    weight = np.stack([np.asarray(w, float), np.zeros(len(w))])
    return ft.Network.described(Description((Dense(weight, np.array([b, 0.0])),)), "linear")


NET = linear([3, 4], 0.0)


def test_the_catalogues_value():
    """σ = 0.5 and p = 0.9 of two classes: 0.640775783."""
    assert ft.smooth(NET, 0.5).radius(0.9) == pytest.approx(0.640775783, abs=1e-9)


def test_normal_noise_is_tight_for_a_linear_classifier():
    """p = Φ(m/σ‖w‖), hence σΦ⁻¹(p) = m/‖w‖, the distance to the boundary: 1.4 for w = (3, 4) at (1, 1)."""
    smoothed = ft.smooth(NET, 1.0)
    assert smoothed.radius(float(norm.cdf(1.4))) == pytest.approx(1.4, rel=1e-11)
    found = smoothed.certify([1.0, 1.0], draws=20_000)
    assert found.label == 0 and 1.3 < found.radius <= 1.4
    assert found.norm == 2


def test_uniform_noise_never_certifies_beyond_the_boundary():
    """On a line the smoothed label of x > 0 changes at 0; noise in [−1, 1] shows min(x, 1) at most."""
    smoothed = ft.smooth(linear([1.0], 0.0), 1.0, "uniform")
    found = smoothed.certify(np.array([[0.3], [0.8], [5.0]]), draws=20_000)
    assert np.all(found.radius <= [0.3, 0.8, 1.0])
    assert np.all(found.radius >= [0.25, 0.75, 0.99])
    assert found.norm == 1


@pytest.mark.parametrize("noise, x, truth", [("normal", 0.2, 0.2), ("uniform", 0.2, 0.2)])
def test_a_stated_confidence_holds_at_the_sample_size_at_hand(noise, x, truth):
    """In at most a tenth of all calls the radius is larger than the distance to the boundary."""
    calls = 600
    found = ft.smooth(linear([1.0], 0.0), 1.0, noise).certify(
        np.full((calls, 1), x), draws=60, guesses=50, confidence=0.9, seed=1
    )
    wrong = int(
        ((found.radius > truth) & (found.label == 0)).sum()
        + ((found.label == 1) & (found.radius > 0)).sum()
    )
    assert wrong <= binom.ppf(1 - 1e-6, calls, 0.1)
    assert wrong > 0  # 60 draws are few: the bound is not loose by orders


def test_the_probability_is_the_least_that_the_counts_leave_at_the_stated_confidence():
    """With that probability as many draws come out as often with the rest of the confidence, and no less often."""
    found = ft.smooth(linear([1.0], 0.0), 1.0).certify(
        np.array([[0.1], [0.5], [3.0]]), draws=500, confidence=0.99
    )
    tails = [binom.sf(k - 1, 500, p) for k, p in zip(found.counts, found.probability)]
    assert np.all(np.array(tails) <= 0.01 * (1 + 1e-12))
    assert np.all(np.array(tails) >= 0.01 * (1 - 1e-5))


@pytest.mark.parametrize("sigma", [0.25, 1.0, 3.0])
def test_radii_are_rounded_down(sigma):
    """In balls, noise of this size leaves the half-space at that distance with no more than the probability."""
    for p in (0.5 + 2.0**-53, 0.5 + 1e-12, 0.500001, 0.6, 0.9, 0.99, 1 - 1e-9, 1 - 2.0**-53):
        normal = ft.smooth(NET, sigma).radius(p)
        uniform = Fraction(ft.smooth(NET, sigma, "uniform").radius(p))
        with ctx.workprec(200):
            assert (1 + (arb(normal) / arb(sigma) / arb(2).sqrt()).erf()) / 2 < arb(p)
        assert uniform < 2 * Fraction(sigma) * (Fraction(p) - Fraction(1, 2))
        assert normal > 0 or p == 0.5 + 2.0**-53


def test_it_abstains_on_the_boundary():
    found = ft.smooth(NET, 0.5).certify([[4.0, -3.0], [1.0, 1.0]], draws=2000)
    assert found.abstains.tolist() == [True, False]
    assert found.radius[0] == 0
    assert "abstains" in str(found)


def test_guesses_and_draws_are_different_noise():
    """With the same noise for both, counts of the guessed label would be biased upward."""
    smoothed = ft.smooth(NET, 0.5)
    x = np.tile([4.0, -3.0], (300, 1))  # both labels equally likely
    found = smoothed.certify(x, draws=9, guesses=9)
    assert abs(found.counts.mean() - 4.5) < 5 * 1.5 / sqrt(300)


def test_counts_are_those_of_the_draws():
    counts = ft.smooth(NET, 0.5).count([0.1, 0.1], 12_345)
    assert counts.sum() == 12_345
    p = norm.cdf(0.7 / (0.5 * 5))
    assert abs(counts[0] / 12_345 - p) < 5 * sqrt(p * (1 - p) / 12_345)
    assert ft.smooth(NET, 0.5).predict([[1.0, 1.0], [-1.0, -1.0]]).tolist() == [0, 1]


def test_it_is_told_as_json():
    found = ft.smooth(NET, 0.5).certify([1.0, 1.0], draws=100)
    assert json.loads(json.dumps(found.to_dict()))["draws"] == 100


@pytest.mark.parametrize(
    "words, call",
    [
        ("positive number", lambda: ft.smooth(NET, 0.0)),
        ("positive number", lambda: ft.smooth(NET, float("nan"))),
        ("no noise", lambda: ft.smooth(NET, 1.0, "laplace")),  # pyright: ignore[reportArgumentType]
        ("is smoothed", lambda: ft.smooth("net.onnx", 1.0)),
        ("do not fit", lambda: ft.smooth(NET, 1.0).certify([1.0])),
        ("do not fit", lambda: ft.smooth(NET, 1.0).certify([np.inf, 0.0])),
        ("whole number", lambda: ft.smooth(NET, 1.0).certify([1.0, 1.0], draws=0)),
        ("whole number", lambda: ft.smooth(NET, 1.0).predict([1.0, 1.0], draws=2.5)),  # pyright: ignore[reportArgumentType]
        ("between 0 and 1", lambda: ft.smooth(NET, 1.0).certify([1.0, 1.0], confidence=1.0)),
    ],
)
def test_what_makes_no_sense_is_refused(words, call):
    with pytest.raises(UsageError, match=words):
        call()


def test_one_output_has_no_label():
    with pytest.raises(SubjectError, match="two outputs"):
        ft.smooth(ft.Network.of(lambda x: x.sum(keepdims=True), (2,)), 1.0)
