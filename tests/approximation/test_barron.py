"""Barron's theorem: the density of neurons, Maurey's identity, the greedy network."""

from math import gamma, sqrt

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.approximation.barron import Problem, SampledBall, gaussian_problem, scales_up_to
from ftheta.approximation.gaussian_spectrum import gaussian_moment
from ftheta.approximation.greedy import frank_wolfe
from ftheta.estimates import mean
from ftheta.logic import SubjectError
from ftheta.subjects import Spectrum

WAVES = (
    np.array([[3.0, 1.0], [0.0, -5.0], [1.0, 1.0]]),
    np.array([1.0, -0.5, 0.25]),
    np.array([0.3, 2.0, -1.0]),
)


def waves_problem(rng: np.random.Generator, factor: float = 1.0) -> Problem:
    omega, amplitude, phase = WAVES
    spectrum = Spectrum.cosines(omega, amplitude, phase)
    values = lambda rows: (amplitude * jnp.cos(rows @ omega.T + phase)).sum(1)
    ball = SampledBall.draw(rng, np.array([0.7, -1.2]), 1.5, 40)
    return Problem.on(values, spectrum.sample, spectrum.first_moment.middle * factor, ball)


def problems() -> dict[str, Problem]:
    rng = np.random.default_rng(0)
    return {
        "line": gaussian_problem(rng, 1, 40),
        "space": gaussian_problem(rng, 7, 40),
        "waves": waves_problem(rng),
    }


each_problem = pytest.mark.parametrize("problem", problems().values(), ids=problems().keys())


@each_problem
def test_the_mean_neuron_is_the_function_at_every_point(problem):
    neurons = problem.neurons(np.random.default_rng(1), 40_000).on(problem.ball.offsets)
    for column, wanted in zip(neurons.T, problem.wanted):
        assert wanted in mean(column)


@each_problem
def test_the_spectrum_gives_the_function_back_and_a_false_moment_does_not(problem):
    assert problem.mismatch(np.random.default_rng(2)) <= 1
    false = Problem(
        problem.values, problem.sample, 0.8 * problem.moment, problem.ball, problem.wanted
    )
    assert false.mismatch(np.random.default_rng(2)) > 1


@each_problem
def test_the_squared_error_is_maureys_constant_over_the_number_of_neurons(problem):
    rng = np.random.default_rng(3)
    constant = mean(problem.energies(rng, 40_000)) - problem.size
    for p in (1, 5, 40):
        scaled = mean(problem.errors(rng, p, 500)) * p
        assert scaled.lo <= constant.hi and constant.lo <= scaled.hi
        assert scaled.hi < problem.bound(1)


@each_problem
def test_coefficients_are_at_most_twice_radius_times_moment(problem):
    steps = problem.neurons(np.random.default_rng(4), 5000)
    assert np.abs(steps.coefficients).max() <= 2 * problem.ball.radius * problem.moment
    assert np.allclose(np.linalg.norm(steps.directions, axis=1), 1)
    assert steps.thresholds.min() >= 0


@each_problem
def test_the_growth_of_the_function_stays_below_its_spectral_norm(problem):
    ratio, _ = problem.growth()
    assert ratio.lo <= 1


def test_a_moment_far_too_small_is_contradicted_at_a_point_evaluated_again():
    ratio, witness = waves_problem(np.random.default_rng(5), factor=0.1).growth()
    assert ratio.lo > 1 and witness.left.lo > witness.right.hi


@given(st.integers(1, 60))
def test_the_moment_of_the_gaussian_is_its_closed_form(d):
    assert gaussian_moment(d) == pytest.approx(
        sqrt(2) * gamma((d + 1) / 2) / gamma(d / 2), rel=1e-12
    )


def test_points_are_uniform_in_the_ball():
    ball = SampledBall.draw(np.random.default_rng(6), np.array([1.0, 2.0, 3.0]), 2.0, 20_000)
    length = np.linalg.norm(ball.offsets, axis=1)
    assert length.max() <= 2
    assert abs((length <= 1).mean() - 1 / 8) < 6 * sqrt(7 / 64 / 20_000)


@given(st.integers(1, 20_000))
def test_scales_end_at_p_and_are_few(p):
    scales = scales_up_to(p)
    assert scales[-1] == p and scales[0] >= 1 and len(scales) <= 8 and scales == sorted(set(scales))


@given(st.integers(0, 1000), st.integers(2, 40))
def test_on_the_line_the_greedy_error_keeps_to_the_bound_of_frank_and_wolfe(seed, p):
    problem = gaussian_problem(np.random.default_rng(seed), 1, 30)
    size = 2 * problem.ball.radius * problem.moment
    errors = frank_wolfe(problem.ball.offsets, problem.wanted, np.ones((1, 1)), size, p).errors
    assert (np.diff(errors) <= 1e-15).all()
    assert (errors <= 4 * (2 * size) ** 2 / (np.arange(1, p + 1) + 2)).all()


@given(st.integers(0, 1000))
def test_the_first_greedy_step_correlates_most_with_the_function(seed):
    rng = np.random.default_rng(seed)
    offsets = rng.integers(-3, 4, size=(12, 2)).astype(float)
    wanted = rng.normal(size=12)
    directions = np.array([[1.0, 0.0], [0.0, 1.0]])
    size = 50.0
    active = [
        s * offsets @ a > t for a in directions for s in (1, -1) for t in np.arange(-3.5, 3.5)
    ]
    overlaps = [abs(wanted[some].sum()) for some in active]
    chosen = active[int(np.argmax(overlaps))]
    # the line search, which stays below 1 for so large a step
    share = max(overlaps) / (size * chosen.sum())
    step = share * size * np.sign(wanted[chosen].sum()) * chosen
    assert frank_wolfe(offsets, wanted, directions, size, 1).errors[0] == pytest.approx(
        ((wanted - step) ** 2).mean()
    )


@given(st.integers(0, 1000), st.integers(1, 25), st.integers(1, 3))
def test_the_network_of_a_path_has_its_error_and_stays_in_the_hull(seed, k, d):
    rng = np.random.default_rng(seed)
    offsets = rng.integers(-3, 4, size=(20, d)).astype(float)
    wanted = rng.normal(size=20)
    path = frank_wolfe(offsets, wanted, rng.integers(1, 5, size=(5, d)).astype(float), 7.0, 25)
    net = path.network(k)
    assert len(net.thresholds) <= k and np.abs(net.coefficients).sum() <= 7.0 * (1 + 1e-12)
    assert ((wanted - net.on(offsets).sum(0)) ** 2).mean() == pytest.approx(
        path.errors[k - 1], rel=1e-9, abs=1e-12
    )


@given(st.integers(0, 1000))
def test_each_iteration_finds_the_step_that_correlates_most(seed):
    rng = np.random.default_rng(seed)
    offsets = rng.integers(-2, 3, size=(15, 2)).astype(float)
    wanted = rng.normal(size=15)
    directions = np.array([[1.0, 0.0], [1.0, 2.0]])
    path = frank_wolfe(offsets, wanted, directions, 5.0, 6)
    for k in range(1, 6):
        residual = wanted - path.network(k).on(offsets).sum(0)
        active = [
            s * offsets @ a > t for a in directions for s in (1, -1) for t in np.arange(-6.5, 7)
        ]
        most = max(abs(residual[some].sum()) for some in active)
        step = path.moves.on(offsets)[k] / 5.0
        assert abs(residual @ step) == pytest.approx(most, rel=1e-9, abs=1e-12)


def test_values_that_are_not_finite_are_refused():
    ball = SampledBall.draw(np.random.default_rng(0), np.zeros(1), 1.0, 8)
    with pytest.raises(SubjectError, match="finite"):
        Problem.on(lambda rows: np.full(len(rows), np.nan), Spectrum.gaussian(1).sample, 1.0, ball)
    with pytest.raises(SubjectError, match="finite"):
        Problem.on(lambda rows: np.zeros(len(rows)), Spectrum.unknown().sample, np.inf, ball)
