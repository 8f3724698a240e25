"""Weights that grow without end."""

from math import log

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.networks import random_mlp
from ftheta.running import run
from ftheta.subjects import Dataset, Network, Training
from ftheta.theorems.depth.singular_limit_explosion import (
    ball_claims,
    closed_form,
    singular_limit_explosion,
    travel_claim,
)
from ftheta.theorems.depth.singular_limit_explosion.divergence import gradient_flow


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def test_the_textbook_flow_has_its_closed_form():
    found = closed_form()
    assert all(claim.judge().verdict.holds for claim in found.claims)
    run = gradient_flow(lambda a: jnp.exp(2 * a).sum() / 2, np.zeros(1), 10.0, rtol=1e-11)
    assert (
        run.states[-1, 0]
        == pytest.approx(-log(21) / 2, rel=1e-8)
        == pytest.approx(-1.5222612, rel=1e-7)
    )
    assert run.losses[-1] == pytest.approx(1 / 42, rel=1e-8)


def test_the_flow_of_a_quadratic_is_an_exponential():
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    start = np.array([1.0, -2.0])
    t = 1.5
    found = gradient_flow(lambda x: x @ (H @ x) / 2, start, t)
    values, vectors = np.linalg.eigh(H)
    np.testing.assert_allclose(
        found.states[-1], vectors @ (np.exp(-t * values) * (vectors.T @ start)), rtol=1e-6
    )
    assert travel_claim(found).judge().verdict.holds and not found.improves


def test_swapped_labels_are_approached_no_better_than_half():
    """Flows of the line are increasing: with x(0) = 1 and target −1 the loss stays above ½, the value at infinity."""
    result = run(singular_limit_explosion, target=-1.0)
    assert result.verdict.holds and 0.5 < result.numbers["F(θ(t))"].middle < 0.51


def test_a_penalty_finds_the_minimum_of_the_penalised_loss():
    found = gradient_flow(lambda a: jnp.exp(2 * a).sum() / 2, np.zeros(1), 1e4, 0.05)
    a = found.states[-1, 0]
    assert np.exp(2 * a) + 0.1 * a == pytest.approx(0, abs=1e-6)  # its derivative
    assert ball_claims(found)[0].judge().verdict.holds


def test_a_loss_that_may_be_negative_has_no_ball():
    found = gradient_flow(lambda a: a.sum() - 1, np.zeros(1), 2.0, 0.1)
    assert ball_claims(found) == ()


def test_a_network_on_separable_data_never_settles_and_one_on_noise_does():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    net = Network.described(random_mlp(rng, (3, 2), "identity"))
    separable = net.with_data(Dataset("separable", x, (x[:, 0] > 0).astype(int)))
    assert run(singular_limit_explosion, separable).verdict.holds
    noise = net.with_data(Dataset("noise", x, rng.normal(size=(40, 2))))
    assert run(singular_limit_explosion, noise).verdict == "inapplicable"


def test_a_network_without_data_is_told_what_to_add():
    result = run(
        singular_limit_explosion, Network.described(random_mlp(np.random.default_rng(0), (3, 4, 2)))
    )
    assert result.verdict == "inapplicable" and "labelled" in result.checks[0].remedy


def test_a_training_run_with_a_minimum_is_inapplicable():
    result = run(singular_limit_explosion, Training.quadratic("bowl", np.eye(2), np.ones(2)))
    assert result.verdict == "inapplicable"
