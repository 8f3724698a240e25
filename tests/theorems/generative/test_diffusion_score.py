"""Diffusion of Gaussian mixtures: laws, scores, denoisers and the way back."""

from math import e, exp, sqrt

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from ftheta.estimates import mean
from ftheta.flows.diffusion.reversal import (
    backward_times,
    kl_to_normal,
    probability_flow,
    reverse_sde,
)
from ftheta.flows.mixtures import Mixture
from ftheta.logic import Basis, Verdict
from ftheta.theorems.generative.diffusion_score import (
    equality_claim,
    moment_claims,
    pointwise_claims,
    reach_claim,
    start_claim,
)
from ftheta.theorems.generative.diffusion_score.diffusion import (
    farthest_from_normal,
    forward,
    gap_to_normal,
    generate,
    kolmogorov_distance,
    memorise,
    posterior_mean,
    sampling_radius,
    tweedie,
)
from ftheta.theorems.laws import place_on_ring

from ...thoroughness import max_examples


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def draw(seed: int, atoms: int = 3, dimension: int = 1, variance: float = 0.3) -> Mixture:
    rng = np.random.default_rng(seed)
    return Mixture(rng.normal(size=(atoms, dimension)), rng.dirichlet(np.ones(atoms)), variance)


mixtures = st.builds(
    draw, st.integers(0, 1000), st.integers(1, 5), st.integers(1, 3), st.floats(0.01, 3)
)
TWO = Mixture(place_on_ring(2, 2.0, 1), np.array([0.5, 0.5]), 1.0)


@given(mixtures, st.floats(0, 3), st.floats(0, 3))
def test_diffusing_twice_is_diffusing_for_the_sum_of_the_times(mixture, t, s):
    twice = mixture.after(t).after(s)
    once = mixture.after(t + s)
    np.testing.assert_allclose(twice.atoms, once.atoms, rtol=1e-12)
    assert twice.variance == pytest.approx(once.variance, rel=1e-12)


@given(mixtures)
def test_the_score_is_the_derivative_of_the_log_density(mixture):
    x = np.random.default_rng(0).normal(size=(4, mixture.atoms.shape[1]))
    h = 1e-5

    def log_density(at):
        squares = ((at[:, None] - mixture.atoms[None]) ** 2).sum(2)
        return np.asarray(
            special.logsumexp(-squares / (2 * mixture.variance), b=mixture.weights, axis=1)
        )

    for j, unit in enumerate(np.eye(x.shape[1])):
        slope = (log_density(x + h * unit) - log_density(x - h * unit)) / (2 * h)
        np.testing.assert_allclose(mixture.score(x)[:, j], slope, atol=1e-5 / mixture.variance**2)


def test_the_score_of_two_bumps_has_a_closed_form():
    x = np.array([[0.7], [-3.0]])
    np.testing.assert_allclose(TWO.score(x), 2 * np.tanh(2 * x) - x, rtol=1e-13)
    assert TWO.score(x)[0, 0] == pytest.approx(1.0707033, abs=5e-8)


def test_the_variance_of_one_bump_tends_to_one():
    assert Mixture(np.zeros((1, 1)), np.ones(1), 4.0).after(1.0).variance == pytest.approx(
        1 + 3 / e**2, rel=1e-14
    )


@max_examples(40)
@given(mixtures, st.floats(0.05, 5))
def test_tweedies_formula_is_bayes_rule(mixture, sigma):
    x = mixture.add_noise(sigma).sample(np.random.default_rng(0), 5)
    np.testing.assert_allclose(
        tweedie(mixture, sigma, x), posterior_mean(mixture, sigma, x), rtol=1e-9, atol=1e-11
    )


def test_denoising_one_bump_shrinks_towards_its_centre():
    bump = Mixture(np.zeros((1, 1)), np.ones(1), 4.0)
    assert tweedie(bump, 1.0, np.array([[5.0]])) == pytest.approx(4.0, rel=1e-14)


def test_discrete_data_are_denoised_to_their_posterior_mean():
    data = Mixture(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]), 0.0)
    x = np.array([[0.3], [2.0]])
    for denoised in (tweedie(data, 0.5, x), posterior_mean(data, 0.5, x)):
        np.testing.assert_allclose(denoised, np.tanh(x / 0.25), rtol=1e-12)


def test_atoms_of_weight_zero_do_not_matter():
    mixture = Mixture(np.array([[0.0], [5.0]]), np.array([1.0, 0.0]), 1.0)
    x = np.array([[4.0]])
    assert mixture.score(x) == pytest.approx(-4.0)
    assert posterior_mean(mixture, 1.0, x) == pytest.approx(2.0)


@given(mixtures, st.floats(0, 2))
def test_draws_of_the_forward_process_have_the_moments_of_its_law(mixture, t):
    law = mixture.after(t)
    x = forward(mixture, np.random.default_rng(0), 4000, t)
    assert all(claim.judge().verdict is Verdict.CONSISTENT for claim in moment_claims(law, x))


def test_draws_of_another_law_contradict_the_moments():
    x = forward(TWO, np.random.default_rng(0), 4000, 1.0)
    found = [claim.judge() for claim in moment_claims(TWO.after(0.5), x)]
    assert any(judgement.contradicted for judgement in found)


@pytest.mark.parametrize(
    "mixture", [TWO, draw(1, 4, 1, 0.05), Mixture(np.array([[-1.0], [0.5]]), np.full(2, 0.5), 0.0)]
)
def test_the_flow_carries_quantiles_to_quantiles(mixture):
    times = backward_times(mixture, 4.0, 200)
    x = np.linspace(-1.5, 1.5, 7)[:, None]
    landed = probability_flow(mixture.score_at, x, times)
    before = mixture.after(4.0).cdf(x[:, 0])
    after = mixture.after(times[-1]).cdf(landed[:, 0])
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_one_step_of_the_reverse_sde_is_exact_for_one_bump():
    bump = Mixture(np.array([[2.0]]), np.ones(1), 0.25)
    rng = np.random.default_rng(0)
    x = reverse_sde(
        bump.score_at, bump.after(1.5).sample(rng, 20_000), np.array([1.5, 0.0]), rng, bump.variance
    )[:, 0]
    assert 2.0 in mean(x) and 0.25 in mean((x - 2) ** 2)


def test_backward_times_fall_to_the_data_in_ever_finer_steps():
    for mixture in (TWO, Mixture(TWO.atoms, TWO.weights, 0.0)):
        times = backward_times(mixture, 6.0, 100)
        steps = -np.diff(times)
        assert times[0] == 6.0 and (steps > 0).all() and (np.diff(steps) <= 1e-12).all()
    assert times[-1] > 0 == backward_times(TWO, 6.0, 100)[-1]


def test_both_backward_processes_reach_the_data_from_noise():
    mixture = Mixture(place_on_ring(3, 2.0, 1), np.array([0.2, 0.3, 0.5]), 0.04)
    for name, points, coarse in generate(mixture, np.random.default_rng(0), 4000, 6.0, 200):
        assert reach_claim(name, points, coarse, mixture, 0.0).judge().verdict is Verdict.CONSISTENT
        assert reach_claim(name, points + 0.3, coarse + 0.3, mixture, 0.0).judge().contradicted


def test_a_late_enough_start_is_certified_and_an_early_one_refuted_by_balls():
    assert start_claim(TWO, 6.0, 0.01).judge().verdict is Verdict.CERTIFIED
    early = start_claim(TWO, 0.5, 0.01)
    assert early.judge().verdict is Verdict.REFUTED
    assert early.witness is not None and early.witness.left.basis is Basis.EXACT


@given(mixtures, st.floats(0.1, 3))
def test_balls_agree_with_float64_on_the_distance_to_the_normal_law(mixture, t):
    at, gap = farthest_from_normal(mixture.after(t))
    ball = gap_to_normal(mixture, t, at)
    assert ball.width < 1e-14
    assert gap == pytest.approx(ball.middle, abs=1e-12)


@max_examples(30)
@given(st.integers(0, 1000), st.floats(0.2, 2))
def test_the_bound_of_the_divergence_is_above_it_and_attained_by_one_bump(seed, variance):
    for atoms in (1, 3):
        mixture = draw(seed, atoms, 1, variance)

        def integrand(x, mixture=mixture):
            p = mixture.density(np.array([x]))[0]
            return p * (np.log(p) + x**2 / 2 + np.log(2 * np.pi) / 2) if p > 0 else 0.0

        divergence = integrate.quad(integrand, -12, 12, limit=200)[0]
        assert divergence <= kl_to_normal(mixture) + 1e-7
        if atoms == 1:
            assert divergence == pytest.approx(kl_to_normal(mixture), abs=1e-7)


@pytest.mark.parametrize("dimension", [1, 2])
def test_the_score_of_a_finite_sample_leads_back_to_it(dimension):
    mixture = draw(3, 4, dimension, 0.2)
    points, data, far = memorise(mixture, np.random.default_rng(0), 6.0)
    assert far.max() < 1e-6
    fresh = reverse_sde(
        mixture.score_at,
        points,
        backward_times(mixture, 6.0, 100),
        np.random.default_rng(0),
        mixture.variance,
    )
    # the true score does not
    assert np.median(np.abs(fresh[:, None] - data[None]).sum(2).min(1)) > 1e-3


def test_few_discrete_data_are_themselves_what_is_returned_to():
    data = Mixture(place_on_ring(5, 1.0, 1), np.full(5, 0.2), 0.0)
    points, sample, far = memorise(data, np.random.default_rng(0), 6.0)
    assert sample is data.atoms and far.max() < 1e-9
    assert len(np.unique(points.round(6))) == 5


def test_pointwise_claims_hold_and_fail_for_the_wrong_law():
    x = TWO.sample(np.random.default_rng(0), 8)
    assert all(
        claim.judge().verdict is Verdict.CERTIFIED for claim in pointwise_claims(TWO, 0.5, 1.0, x)
    )
    wrong = equality_claim("", TWO.after(0.5).score(x), TWO.after(0.6).score(x), 1e-9)
    assert wrong.judge().contradicted


def test_nothing_is_claimed_of_the_score_of_discrete_data_at_time_zero():
    data = Mixture(place_on_ring(2, 1.0, 1), np.full(2, 0.5), 0.0)
    x = np.array([[0.3]])
    assert len(pointwise_claims(data, 0.0, 1.0, x)) == 1
    assert equality_claim("", data.score(x), x, 0.0).judge().verdict is Verdict.INCONCLUSIVE


def test_exact_draws_stay_within_the_sampling_radius():
    rng = np.random.default_rng(0)
    found = [kolmogorov_distance(TWO.sample(rng, 400)[:, 0], TWO) for _ in range(100)]
    assert max(found) < sampling_radius(400)
    assert np.median(found) > 0.2 * sampling_radius(400)
    assert kolmogorov_distance(np.array([np.nan, np.nan]), TWO) == 1.0


def test_atoms_lie_on_a_segment_or_a_circle():
    assert place_on_ring(1, 5.0, 2).tolist() == [[0.0, 0.0]]
    assert place_on_ring(3, 2.0, 1)[:, 0].tolist() == [-2.0, 0.0, 2.0]
    np.testing.assert_allclose(np.linalg.norm(place_on_ring(7, 2.0, 3), axis=1), 2.0)
    assert TWO.after(1.0).cdf(np.array([0.0]))[0] == pytest.approx(0.5)
    assert TWO.density(np.array([2.0]))[0] == pytest.approx((1 + exp(-8)) / 2 / sqrt(2 * np.pi))
