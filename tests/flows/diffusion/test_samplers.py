"""Samplers by their steps: closed forms of Gaussian data, measured orders, equalities between methods."""

from itertools import pairwise

import numpy as np
import pytest

from ftheta.flows.diffusion.samplers import (
    karras_levels,
    linear_alphas,
    noise_levels,
    sample_ddim,
    sample_ddpm,
    sample_euler,
    sample_heun,
    thin_alphas,
)
from ftheta.flows.mixtures import Mixture
from ftheta.logic import UsageError

GAUSSIAN = Mixture(np.zeros((1, 1)), np.ones(1), 0.25)
TWO = Mixture(np.array([[-1.0, 0.0], [1.0, 0.5]]), np.array([0.3, 0.7]), 0.04)


def exact_end(x: np.ndarray, high: float, low: float) -> np.ndarray:
    """The flow of Gaussian data scales by the ratio of the deviations."""
    return x * np.sqrt((0.25 + low**2) / (0.25 + high**2))


@pytest.mark.parametrize(("sample", "order"), [(sample_euler, 1), (sample_heun, 2)])
def test_the_error_falls_at_the_order_of_the_method(sample, order):
    start = np.array([[10.0]])
    errors = []
    for steps in (64, 128, 256):
        levels = np.geomspace(10.0, 0.05, steps + 1)
        errors.append(
            abs(
                float(
                    sample(GAUSSIAN.denoise, start, levels)[0, 0]
                    - exact_end(start, 10.0, 0.05)[0, 0]
                )
            )
        )
    slopes = np.diff(np.log2(errors))
    assert slopes == pytest.approx(-order, abs=0.15)


def test_ddim_is_eulers_method_down_its_noise_levels():
    alphas = thin_alphas(linear_alphas(), 20)
    start = np.random.default_rng(0).normal(size=(30, 2))
    levels = np.append(noise_levels(alphas[:-1]), 0.0)
    by_euler = sample_euler(TWO.denoise, start / np.sqrt(alphas[0]), levels)
    assert np.allclose(sample_ddim(TWO.denoise, start, alphas), by_euler, atol=1e-10)


def test_ddpm_ends_with_the_variance_of_its_recursion():
    alphas = np.append(linear_alphas()[::-20], 1.0)
    made = sample_ddpm(
        GAUSSIAN.denoise,
        np.random.default_rng(1).normal(size=(4000, 1)),
        alphas,
        np.random.default_rng(2),
    )
    v = 1.0
    for now, then in pairwise(alphas):
        beta = 1 - now / then
        slope = 0.25 / (0.25 + (1 - now) / now) / np.sqrt(now)
        factor = (1 - beta / (1 - now) * (1 - np.sqrt(now) * slope)) / np.sqrt(1 - beta)
        v = factor**2 * v + (beta if then < 1 else 0.0)
    assert made.var() == pytest.approx(v, abs=6 * v * np.sqrt(2 / 4000))


def test_karras_levels_fall_from_80_to_0():
    levels = karras_levels(18)
    assert levels[0] == pytest.approx(80) and levels[-2] == pytest.approx(0.002) and levels[-1] == 0
    assert (np.diff(levels) < 0).all()


def test_more_steps_than_the_schedule_has_are_refused():
    with pytest.raises(UsageError, match="no more than its schedule"):
        thin_alphas(linear_alphas(10), 11)
