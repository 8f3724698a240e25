"""Particle flows of two-layer networks against automatic differentiation, closed forms and exact rationals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import UsageError
from ftheta.networks import activation
from ftheta.particles.descent import RegressionTask, descend
from ftheta.theorems.charts_particles import draw_energy, draw_fluctuations, draw_paths
from ftheta.theorems.width.chizat_bach import claims_about_students, teachers
from ftheta.theorems.width.mean_field_limit import particles


@pytest.mark.parametrize("sigma", ["relu", "tanh"])
def test_outputs_and_velocity_are_those_of_automatic_differentiation(sigma, monkeypatch):
    monkeypatch.setattr("ftheta.particles.descent.BLOCK", 40)  # several blocks
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(2, 7, 4))
    X = rng.normal(size=(5, 3))
    y = rng.normal(size=5)
    task = RegressionTask(X, y, sigma)

    def loss(theta):
        f = jnp.mean(theta[:, :1] * activation(sigma).function(theta[:, 1:] @ X.T), 0)
        return jnp.mean((f - y) ** 2) / 2

    outputs = task.outputs(theta)
    with jax.enable_x64(True):
        for run in range(2):
            value, gradient = jax.value_and_grad(loss)(jnp.asarray(theta[run]))
            assert task.energy(outputs)[run] == pytest.approx(float(value), rel=1e-12)
            assert np.allclose(
                task.velocity(theta, outputs)[run],
                -7 * np.asarray(gradient),
                rtol=1e-10,
                atol=1e-14,
            )


def test_runs_do_not_see_one_another_and_the_energy_never_rises():
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(3, 8, 3))
    task = RegressionTask(rng.normal(size=(10, 2)), rng.normal(size=10))
    together = descend(task, theta, 60)
    alone = descend(task, theta[1:2], 60)
    assert np.allclose(together.energies[1], alone.energies[0], rtol=1e-12)
    assert np.allclose(together.end[1], alone.end[0], rtol=1e-10)
    assert (np.diff(together.energies, axis=1) <= 0).all()


def test_one_linear_neuron_on_one_row_has_a_conserved_quantity_and_the_known_end():
    """For x = 1 and positive parts the loss is (μw − y)²/2: μ² − w² is conserved, and μw tends to y."""
    run = descend(
        RegressionTask(np.ones((1, 1)), np.array([2.0])), np.array([[[1.5, 0.5]]]), 4000, 1e-3
    )
    mu, w = run.end[0, 0]
    assert mu * w == pytest.approx(2.0, rel=1e-4)
    assert mu**2 - w**2 == pytest.approx(1.5**2 - 0.5**2, rel=1e-2)


def test_mean_field_fits_and_its_energy_is_dissipated():
    x = np.linspace(-1, 1, 40)
    found = ft.mean_field(x, np.abs(x), neurons=200, steps=300)
    assert found.energies[-1] < 0.02 * found.energies[0]
    assert found(x).shape == (40,)
    assert np.mean((found(x) - np.abs(x)) ** 2) / 2 == pytest.approx(found.energies[-1], rel=1e-9)
    assert found.paths.shape[1:] == (200, 3)
    assert found.largest_rise <= 0
    assert found.energies[0] - found.energies[-1] == pytest.approx(found.dissipation, rel=0.1)
    assert all(chart.series for chart in (draw_energy(found.runs), draw_paths(found.paths)))


def test_fluctuations_after_training_shrink_like_the_square_root_of_the_width():
    x = np.linspace(-1, 1, 12)
    found = ft.mean_field(x, np.sin(2 * x), neurons=8000, steps=30).fluctuations(
        (64, 256, 1024), draws=12
    )
    scaled = [e.middle for e in found.scaled_squares]
    assert max(scaled) < 3 * min(scaled)
    assert found.order.lo - 0.25 < -0.5 < found.order.hi + 0.25
    assert len(draw_fluctuations(found).series) == 2


def test_more_neurons_succeed_more_often():
    x = np.linspace(-1, 1, 20)
    y = np.abs(x) - 0.5 * np.maximum(x - 0.3, 0)
    found = ft.mean_field(x, y, neurons=50, steps=150).success((1, 32), seeds=6, below=0.02)
    assert found.shares[0] == 0
    assert found.shares[1] > 0.5
    assert found.least_width == 32


def test_the_energy_of_the_particle_theorem_is_that_of_the_flow():
    rng = np.random.default_rng(2)
    theta = rng.normal(size=(9, 3))
    X = rng.normal(size=(6, 2))
    y = rng.normal(size=6)
    value, velocity = particles.energy(theta, X, y)
    task = RegressionTask(X, y)
    assert value == pytest.approx(float(task.energy(task.outputs(theta[None]))[0]), rel=1e-13)
    assert np.allclose(velocity, task.velocity(theta[None], task.outputs(theta[None]))[0])


def test_a_student_at_the_teacher_stays_and_one_sign_cannot_learn_the_other():
    rng = np.random.default_rng(3)
    given = teachers.make_teacher(rng, 4, 48, "one sign")
    assert teachers.energy_at_teacher(given) < 1e-30
    found = teachers.train_students(given.task, given.start, given, 3, 100, 1e-3, rng)
    floor = (
        np.minimum(given.task.y, 0) ** 2
    ).mean() / 2  # outputs of neurons with μ > 0 are not negative
    assert found.lowest >= floor > found.found.target
    assert found.enclose_lowest().middle == pytest.approx(found.lowest, rel=1e-12)
    assert found.enclose_lowest().width < 1e-12
    assert (
        claims_about_students(found, taught=True, spread=False)[2].judge().verdict.name == "REFUTED"
    )


def test_a_spread_start_leaves_no_large_angle_empty():
    rng = np.random.default_rng(4)
    assert teachers.largest_gap(teachers.start_of("spread")(rng, 2000)) < 10
    assert teachers.largest_gap(teachers.start_of("one sign")(rng, 2000)) == 360
    assert teachers.largest_gap(teachers.start_of("one cone")(rng, 2000)) > 330


def test_the_potential_is_negative_where_a_neuron_is_missing_and_zero_at_a_minimum():
    rng = np.random.default_rng(5)
    given = teachers.make_teacher(rng, 3, 48, "spread")
    around = teachers.directions_of(2, rng)
    assert teachers.steepest(given.task, given.task.outputs(given.neurons[None])[0], around) < 1e-15
    less = given.task.outputs(given.neurons[None, :2])[0]
    assert teachers.steepest(given.task, less, around) > 1e-3


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"neurons": 0}, "positive"),
        ({"step": -1.0}, "positive"),
        ({"activation": "magic"}, "Unknown activation"),
        ({"memory": 1000}, "memory"),
        ({"start": np.ones((4, 2))}, "do not fit"),
        ({"y": np.ones(3)}, "one number each"),
        ({"y": np.full(5, np.nan)}, "not finite"),
    ],
)
def test_bad_questions_are_said(options, match):
    with pytest.raises(UsageError, match=match):
        ft.mean_field(**({"x": np.arange(5.0), "y": np.ones(5)} | options))
