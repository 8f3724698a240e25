"""Training of residual networks that are linear in their weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.running import run
from ftheta.subjects import Dataset
from ftheta.theorems.depth.resnet_local_pl import (
    one_datum,
    random_instances,
    resnet_local_pl,
    training_claims,
)
from ftheta.theorems.depth.resnet_local_pl.local_pl import Fourier, Problem, train

from ...thoroughness import max_examples


def problem(
    rng: np.random.Generator, N: int = 5, d: int = 3, outputs: int = 2, q: int = 8
) -> Problem:
    return Problem(
        Fourier.draw(d, q, 1.2, rng), rng.normal(size=(N, d)), rng.normal(size=(N, outputs))
    )


def test_the_gradient_is_that_of_automatic_differentiation():
    rng = np.random.default_rng(0)
    asked = problem(rng)
    V = rng.normal(size=(4, 3, 16))
    omega = asked.phi.omega

    def loss(V: Any) -> Any:
        x = jnp.asarray(asked.x)
        for weight in V:
            u = x @ omega.T
            x = x + jnp.concatenate([jnp.cos(u), jnp.sin(u)], 1) / jnp.sqrt(8) @ weight.T / 4
        return jnp.sum((x[:, :2] - asked.y) ** 2) / 10

    with jax.enable_x64(True):
        value, slope = jax.value_and_grad(loss)(jnp.asarray(V))
    gradient, found = asked.measure(V)
    assert found["loss"] == pytest.approx(float(value)) == pytest.approx(asked.loss(V))
    # in L² of the time, a layer weighs 1/T
    np.testing.assert_allclose(gradient, 4 * np.asarray(slope), rtol=1e-10)
    assert found["square"] == pytest.approx(4 * float(np.sum(np.asarray(slope) ** 2)))


def test_the_lipschitz_constant_of_the_features_is_exact():
    phi = Fourier.draw(3, 10, 1.5, np.random.default_rng(0))
    x = np.random.default_rng(1).normal(size=3)
    with jax.enable_x64(True):
        u = lambda x: (
            jnp.concatenate([jnp.cos(phi.omega @ x), jnp.sin(phi.omega @ x)]) / jnp.sqrt(10)
        )
        slope = np.asarray(jax.jacfwd(u)(x))
    assert phi.lipschitz == pytest.approx(np.linalg.norm(slope, 2), rel=1e-12)
    w = np.arange(20.0)[None]
    np.testing.assert_allclose(phi.pull_back(phi(x[None]), w), w @ slope, rtol=1e-10)


@max_examples(40)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 8), st.floats(0.0, 3.0))
def test_both_inequalities_hold_everywhere(seed, N, T, size):
    rng = np.random.default_rng(seed)
    found = problem(rng, N).measure(size * rng.normal(size=(T, 3, 16)) / 7)[1]
    slack = 1 + 1e-9
    assert found["m"] * found["loss"] <= found["square"] * slack
    assert found["square"] <= found["M"] * found["loss"] * slack
    assert found["low"] <= found["square"] * slack and found["square"] <= found["high"] * slack


def test_one_datum_and_random_instances():
    rng = np.random.default_rng(0)
    assert one_datum(rng).judge().verdict.holds and random_instances(rng).judge().verdict.holds


def test_training_reaches_the_targets_and_the_claims_hold():
    found = train(problem(np.random.default_rng(3), N=4, q=32), 8, 80)
    assert found.seen["loss"][-1] < 1e-4 * found.seen["loss"][0]
    assert all(claim.judge().verdict.holds for claim in training_claims(found))


def test_the_least_eigenvalue_of_separated_points_is_bounded_from_below():
    rng = np.random.default_rng(0)
    N = 6
    phi = Fourier.draw(2, 20_000, 2.0, rng)
    x = 3 * rng.normal(size=(N, 2))
    rows = Problem(phi, x, x)
    delta = rows.separation
    kernel = np.exp(-2.0 * np.sum((x[:, None] - x[None]) ** 2, 2))  # what the features tend to
    assert np.linalg.eigvalsh(kernel)[0] >= phi.least_eigenvalue(delta, N)
    assert np.abs(phi(x) @ phi(x).T - kernel).max() < 0.05
    assert rows.limit_of_least_eigenvalue == pytest.approx(np.linalg.eigvalsh(kernel)[0])


def test_data_with_classes_and_many_columns_are_taken():
    rng = np.random.default_rng(0)
    result = run(
        resnet_local_pl,
        Dataset("classes", rng.normal(size=(60, 30)), rng.integers(0, 3, 60)),
        steps=20,
    )
    assert result.verdict.holds


def test_the_gradient_through_both_linear_maps_is_that_of_finite_differences():
    rng = np.random.default_rng(5)
    phi = Fourier.draw(4, 6, 1.0, rng)
    problem = Problem(
        phi, rng.normal(size=(3, 4)), rng.normal(size=(3, 2)), rng.normal(size=(2, 4))
    )
    V = rng.normal(size=(3, 4, 12))
    gradient, found = problem.measure(V)
    direction = rng.normal(size=V.shape)
    h = 1e-5
    slope = (problem.loss(V + h * direction) - problem.loss(V - h * direction)) / (2 * h)
    assert np.sum(gradient * direction) / len(V) == pytest.approx(slope, rel=1e-7)
    assert found["m"] * found["loss"] <= found["square"] <= found["M"] * found["loss"]
    assert found["low"] <= found["square"] <= found["high"]


def test_a_decoder_that_is_not_onto_fails_its_hypothesis_and_promises_nothing():
    rng = np.random.default_rng(6)
    row = rng.normal(size=4)
    phi = Fourier.draw(4, 6, 1.0, rng)
    problem = Problem(
        phi, rng.normal(size=(3, 4)), rng.normal(size=(3, 2)), np.stack([row, 2 * row])
    )
    assert problem.decoder_range[0] < 1e-12
    assert problem.measure(np.zeros((2, 4, 12)))[1]["m"] < 1e-12
