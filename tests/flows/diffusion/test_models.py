"""Diffusion models of data and of scores: samples, copies, bounds, bad input."""

import numpy as np
import pytest

import ftheta as ft
from ftheta.flows.diffusion.bounds import score_error
from ftheta.flows.diffusion.langevin import spectral_gap
from ftheta.flows.diffusion.models import SAMPLERS, denoise_by_score
from ftheta.flows.mixtures import Mixture
from ftheta.logic import UsageError

ROWS = np.random.default_rng(0).normal(size=(40, 2)) * [2.0, 0.5] + [1.0, -1.0]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_exact_score_of_few_rows_makes_copies_of_them(sampler):
    model = ft.diffuse(ROWS[:5], sampler=sampler, steps=100)
    made = model.sample(50, seed=1)
    assert model.copies(made) > 0.8


def test_samples_are_in_the_units_of_the_data():
    rows = 1000.0 * ROWS[:5] + 7.0
    made = ft.diffuse(rows, sampler="heun", steps=100).sample(20, seed=1)
    nearest = np.linalg.norm(made[:, None] - rows, axis=2).min(1)
    assert np.median(nearest) < 1e-2 * rows.std()


def test_blurred_rows_are_not_copied():
    model = ft.diffuse(ROWS, sampler="heun", steps=40, spread=0.5)
    made = model.sample(200)
    assert model.copies(made) < 0.5
    assert made.mean(0) == pytest.approx(ROWS.mean(0), abs=0.5)


def test_a_denoiser_from_the_score_is_the_posterior_mean():
    law = Mixture(np.array([[-1.0], [2.0]]), np.array([0.4, 0.6]), 0.1)
    x = np.linspace(-3, 4, 9)[:, None]
    assert np.allclose(denoise_by_score(law.score_at, x, 0.7), law.denoise(x, 0.7), atol=1e-12)


def test_a_constant_error_of_the_score_integrates_to_its_square_times_the_time():
    law = Mixture(np.array([[-1.0], [1.0]]), np.full(2, 0.5), 0.25)
    found = score_error(
        law, lambda t, x: law.score_at(t, x) + 0.1, 0.01, 4.0, np.random.default_rng(0)
    )
    assert found.middle == pytest.approx(0.01 * 3.99, rel=1e-6)


def test_only_the_sde_has_a_bound_and_that_of_the_exact_score_is_what_is_left_at_the_horizon():
    assert ft.diffuse(ROWS, sampler="heun").bound is None
    bound = ft.diffuse(ROWS, sampler="sde").bound
    assert bound is not None and 0 < bound.hi < 1e-4


def test_a_score_is_given_with_its_data():
    law = Mixture(np.zeros((1, 2)), np.ones(1), 1.0)
    model = ft.diffuse(law.score_at, data=ROWS, sampler="sde", steps=60)
    assert model.bound is not None and model.bound.middle > 0
    with pytest.raises(UsageError, match="data it was trained on"):
        ft.diffuse(law.score_at)


@pytest.mark.parametrize(
    "given",
    [{"sampler": "huen"}, {"schedule": "cosine"}, {"steps": 0}, {"spread": -1.0}],
    ids=lambda g: next(iter(g)),
)
def test_bad_settings_are_refused(given):
    with pytest.raises(UsageError):
        ft.diffuse(ROWS, **given)


def test_rows_that_are_all_the_same_or_not_finite_are_refused():
    with pytest.raises(UsageError, match="All rows are the same"):
        ft.diffuse(np.ones((4, 2)))
    with pytest.raises(UsageError, match="finite"):
        ft.diffuse(np.array([[1.0, np.nan], [0.0, 1.0]]))


def test_langevin_steps_end_with_the_variance_of_their_discretisation_and_diverge_beyond_two():
    ends = ft.langevin(lambda x: -x, np.zeros((4000, 1)), step=0.5, steps=100)
    assert ends.var() == pytest.approx(1 / 0.75, abs=6 * (4 / 3) * np.sqrt(2 / 4000))
    with pytest.raises(UsageError, match="diverge"):
        ft.langevin(lambda x: -x, np.ones((1, 1)), step=3.0, steps=2000)


@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0])
def test_the_spectral_gap_of_a_gaussian_is_one_over_its_variance(variance):
    law = Mixture(np.array([[0.7]]), np.ones(1), variance)
    assert spectral_gap(law) == pytest.approx(1 / variance, rel=1e-8)


def test_the_spectral_gap_of_two_wells_is_that_of_a_matrix():
    law = Mixture(np.array([[-1.0], [1.0]]), np.full(2, 0.5), 0.5)
    x = np.linspace(-7, 7, 1401)
    p = law.density(x)
    between = np.sqrt(p[1:] * p[:-1]) / (x[1] - x[0]) ** 2
    diagonal = (np.append(between, 0) + np.append(0, between)) / p
    off = -between / np.sqrt(p[1:] * p[:-1])
    from scipy.linalg import eigvalsh_tridiagonal

    second = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(0, 1))[1]
    assert spectral_gap(law) == pytest.approx(second, rel=1e-3)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    "score", [lambda t, x: x * np.nan, lambda t, x: x[:, 0]], ids=["NaN", "another shape"]
)
def test_a_score_that_is_none_is_refused(sampler, score):
    with pytest.raises(UsageError, match="score"):
        ft.diffuse(score, data=ROWS, sampler=sampler, steps=3).sample(4)


def test_rows_whose_squares_overflow_are_refused():
    with pytest.raises(UsageError, match="no float64 numbers"):
        ft.diffuse(1e200 * ROWS)


@pytest.mark.parametrize(
    "score, start, words",
    [
        (
            lambda x: -x[:, 0],
            np.zeros((3, 1)),
            "one row of the size of x",
        ),  # would be broadcast to three columns
        (lambda x: -x, [], "no rows"),
        (lambda x: -x, "start", "rows of numbers"),
    ],
)
def test_bad_input_of_langevin_steps_is_told(score, start, words):
    with pytest.raises(UsageError, match=words):
        ft.langevin(score, start, step=0.1, steps=2)
