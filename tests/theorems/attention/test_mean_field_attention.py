"""Attention over Gaussians against integrals, closed forms and optimal transport."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, linalg, stats

from ftheta.logic import Status, Verdict
from ftheta.running import run
from ftheta.subjects import Dataset, Measure
from ftheta.theorems.attention.mean_field_attention import check_normality, mean_field_attention
from ftheta.theorems.attention.mean_field_attention.cloud import Cloud
from ftheta.theorems.attention.mean_field_attention.mean_field import (
    Attention,
    Gaussian,
    moments,
    scalar,
    stability_rates,
    wasserstein,
)

from ...thoroughness import max_examples

UNIT = Attention(np.eye(1), np.eye(1))


def law(seed: int, d: int, scale: float = 0.3) -> Gaussian:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    return Gaussian(rng.normal(size=d), scale * (A @ A.T / d + 0.2 * np.eye(d)))


@pytest.mark.parametrize("mean, variance, x", [(0.0, 1.0, 0.5), (0.7, 0.3, -2.0)])
def test_attention_over_a_gaussian_is_the_ratio_of_two_integrals(mean, variance, x):
    density = lambda y: stats.norm.pdf(y, mean, variance**0.5)
    moment = lambda k: integrate.quad(
        lambda y: np.exp(x * y) * y**k * density(y), -20, 20, epsabs=1e-13
    )[0]
    formula = UNIT.of_gaussian(Gaussian(np.array([mean]), np.array([[variance]])), np.array([[x]]))
    assert formula[0, 0] == pytest.approx(moment(1) / moment(0), rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_quadrature_of_a_gaussian_has_the_same_attention_and_moments(d):
    mu = law(d, d)
    attention = Attention.build(d, 0.5, 40.0)
    y, w = mu.quadrature()
    found = moments(y, w)
    np.testing.assert_allclose(found.mean, mu.mean, atol=1e-12)
    np.testing.assert_allclose(found.covariance, mu.covariance, atol=1e-12)
    x = np.random.default_rng(0).normal(size=(5, d))
    np.testing.assert_allclose(
        attention.of_points(y, w, x), attention.of_gaussian(mu, x), atol=1e-6
    )


def test_attention_over_points_is_a_weighted_average():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(6, 2))
    w = rng.dirichlet(np.ones(6))
    x = rng.normal(size=2)
    a = Attention.build(2, 0.3, 70.0)
    weights = np.array([w[j] * np.exp(np.dot(a.M @ x, y[j])) for j in range(6)])
    np.testing.assert_allclose(
        a.of_points(y, w, x[None])[0], a.V @ (weights @ y) / weights.sum(), rtol=1e-12
    )


def test_a_quarter_becomes_a_half_at_one_and_blows_up_at_two():
    start = Gaussian(np.zeros(1), np.array([[0.25]]))
    assert UNIT.gaussians(start, np.array([1.0]))[-1].largest == pytest.approx(0.5, rel=1e-8)
    assert scalar(0.25, 1.0) == 0.5 and scalar(0.25, 2.0) == np.inf
    assert UNIT.blow_up(start, 3.0) == pytest.approx(2.0, abs=1e-5)
    assert UNIT.blow_up(start, 1.9) == np.inf


def test_the_equations_of_mean_and_covariance_are_those_of_moving_nodes():
    mu = law(7, 2, 0.15)
    attention = Attention.build(2, -0.4, 50.0)
    y, w = mu.quadrature()
    moved = moments(attention.particles(y, w, 0.8), w)
    solved = attention.gaussians(mu, np.array([0.8]))[-1]
    np.testing.assert_allclose(moved.mean, solved.mean, atol=1e-6)
    np.testing.assert_allclose(moved.covariance, solved.covariance, atol=1e-6)


def test_residuals_have_mean_zero_under_the_law_and_not_under_another():
    mu = law(3, 2)
    other = law(4, 2)
    y = mu.draw(np.random.default_rng(0), 200_000)
    x = np.array([0.3, -0.5])
    z = lambda about: (
        (r := Attention.build(2, 1.0, 0.0).residuals(about, y, x)).mean(0)
        / r.std(0)
        * len(y) ** 0.5
    )
    assert np.abs(z(mu)).max() < 5 < np.abs(z(other)).max()


# -- transport -------------------------------------------------------------------------------------------


def test_the_distance_of_gaussians_is_that_of_the_textbook():
    a = law(1, 3)
    b = law(2, 3)
    half = linalg.sqrtm(a.covariance)
    cross = np.trace(np.real(linalg.sqrtm(half @ b.covariance @ half)))
    square = ((a.mean - b.mean) ** 2).sum() + np.trace(a.covariance + b.covariance) - 2 * cross
    assert wasserstein(a, b) == pytest.approx(square**0.5, rel=1e-9)
    assert wasserstein(a, b) == pytest.approx(wasserstein(b, a), rel=1e-9)


@given(st.floats(0.01, 4), st.floats(0.01, 4), st.floats(-2, 2))
def test_on_a_line_it_is_the_distance_of_quantiles(s, t, move):
    a = Gaussian(np.zeros(1), np.array([[s]]))
    b = Gaussian(np.array([move]), np.array([[t]]))
    assert wasserstein(a, b) == pytest.approx(np.hypot(move, s**0.5 - t**0.5), abs=1e-6)


@max_examples(20)
@given(st.integers(0, 500), st.integers(1, 3), st.floats(-1, 1), st.floats(0, 180))
def test_two_flows_part_no_faster_than_their_bound(seed, d, stretch, turn):
    attention = Attention.build(d, stretch, turn)
    times = np.linspace(0, 0.2, 21)
    ones, others = (attention.gaussians(law(s, d), times) for s in (seed, seed + 1))
    apart = np.array([wasserstein(a, b) for a, b in zip(ones, others)])
    rates = np.array(list(stability_rates(attention, ones, others)))
    steps = np.maximum(rates[1:], rates[:-1]) * np.diff(times[: len(rates)])
    assert (np.diff(np.log(apart)) <= steps + 1e-6).all()


# -- clouds ----------------------------------------------------------------------------------------------


def test_normal_tokens_look_normal_and_others_do_not():
    rng = np.random.default_rng(0)
    assert (
        check_normality(rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3))).status
        is Status.SAMPLED
    )
    assert check_normality(rng.exponential(size=(500, 3))).status is Status.FAILED


def test_a_mixture_has_the_moments_of_its_parts():
    atoms = np.array([[-1.0, 0.0], [2.0, 1.0]])
    spread = 0.5
    found = Cloud.mixture(atoms, np.array([0.25, 0.75]), spread).law
    mean = np.array([0.25, 0.75]) @ atoms
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    between = sum(w * np.outer(a - mean, a - mean) for w, a in zip((0.25, 0.75), atoms))
    np.testing.assert_allclose(found.covariance, between + 0.25 * np.eye(2), atol=1e-12)


def test_normal_tokens_of_many_dimensions_refute_nothing():
    rows = 0.3 * np.random.default_rng(0).normal(size=(60, 5))
    result = run(mean_field_attention, Dataset("normal", rows), time=0.1)
    assert result.verdict is Verdict.CONSISTENT


@pytest.mark.parametrize("spread", [3.0, 31.0])
def test_a_quadrature_that_is_too_coarse_refutes_nothing(spread):
    wide = Measure("one wide Gaussian", np.zeros((1, 2)), np.ones(1), spread)
    result = run(mean_field_attention, wide, time=1e-4)
    assert result.verdict is Verdict.INCONCLUSIVE


def test_tokens_that_are_all_equal_are_no_sample_of_a_gaussian():
    assert check_normality(np.ones((8, 3))).status is Status.FAILED
