"""Slopes of worst losses against JAX, searches against known maximisers, ties, and networks without labels."""

from dataclasses import replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Verdict
from ftheta.networks import Dense, Description, random_mlp
from ftheta.running import run
from ftheta.theorems.robustness.danskin_adversarial_training import danskin_adversarial_training
from ftheta.theorems.robustness.danskin_adversarial_training.linear_margins import (
    LabelledInput,
    Linear,
    loss_slope,
    worst_loss,
)
from ftheta.theorems.robustness.danskin_adversarial_training.worst_losses import search, targets_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3))
Y = np.array([0, 1, 0, 1, 1, 0])
W = np.array([1.0, -2.0, 0.5])


def with_rows(net: ft.Network, x: np.ndarray = X, y: np.ndarray | None = Y) -> ft.Network:
    return replace(net, data=ft.Dataset("rows", x, y))


def test_the_slope_in_balls_is_that_of_jax():
    v = RNG.normal(size=3)
    exact = lambda array, bias: Linear(tuple(map(Fraction, array.tolist())), Fraction(bias))
    theta, direction = exact(W, 0.25), exact(v, -0.5)
    rows = [LabelledInput(tuple(map(Fraction, x.tolist())), int(2 * y - 1)) for x, y in zip(X, Y)]
    sign = 2.0 * Y - 1

    def loss(w, b):
        return jnp.mean(jnp.log1p(jnp.exp(-sign * (X @ w + b) + 0.1 * jnp.sum(jnp.abs(w)))))

    with jax.enable_x64(True):
        value, slope = jax.jvp(loss, (W, 0.25), (v, -0.5))
    assert float(worst_loss(rows, theta, Fraction(0.1)).mid()) == pytest.approx(
        float(value), rel=1e-12
    )
    assert float(loss_slope(rows, theta, direction, Fraction(0.1)).mid()) == pytest.approx(
        float(slope), rel=1e-12
    )


def test_the_search_finds_the_corner_of_a_linear_classifier():
    net = with_rows(ft.Network.described(Description((Dense(W[None], np.zeros(1)),))))
    x, y = targets_of(net, 6)
    with jax.enable_x64(True):
        found = search(net, net.params, x, y, 0.2)
    np.testing.assert_allclose(found.points, X - 0.2 * y * np.sign(W), atol=1e-12)
    assert found.ties(0.2) == 0


def test_two_maximisers_are_seen_by_the_search():
    """f = |x| on a box around 0 with the label −1: both ends are worst."""
    absolute = Description(
        (Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu"), Dense(np.ones((1, 2)), np.zeros(1)))
    )
    net = with_rows(ft.Network.described(absolute), np.zeros((2, 1)), np.array([-1, -1]))
    result = run(danskin_adversarial_training, net)
    assert result.verdict is Verdict.INAPPLICABLE and "2 of 2 rows" in result.summary


def test_your_network_is_consistent_and_needs_labels():
    net = with_rows(ft.Network.described(random_mlp(RNG, (3, 8, 2), "tanh")))
    result = run(danskin_adversarial_training, net, epsilon=0.05)
    assert result.verdict is Verdict.CONSISTENT
    assert result.numbers["rows certified"].hi <= result.numbers["rows not flipped"].lo
    assert run(danskin_adversarial_training, with_rows(net, y=None)).verdict is Verdict.INAPPLICABLE


def test_a_copy_trained_for_the_worst_case_is_shown_beside_the_network():
    x = RNG.normal(size=(60, 3))
    net = with_rows(
        ft.Network.described(random_mlp(RNG, (3, 8, 2), "relu")), x, (x[:, 0] > 0).astype(int)
    )
    result = run(danskin_adversarial_training, net, epsilon=0.05, retrain="ibp", rows=4)
    bars = result.charts[0]
    assert bars.kind == "bars" and bars.groups == ("as it is", "trained on by ibp")
    plain, robust = bars.values
    assert robust[2] >= plain[2] and robust[2] > 0.7
    assert all(share[2] <= share[1] <= share[0] for share in (plain, robust))
