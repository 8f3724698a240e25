"""Penalties, decay, constraints, noise, dropout, augmentation inside `ftheta.fit`: against closed forms and optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import ftheta as ft
from ftheta.groups import translations
from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.risks.averages import augmented_ridge, dropout_fit, noise_fit
from ftheta.training.regularisers.decay import (
    constrained,
    decoupled,
    l1,
    l2,
    largest_row,
    penalised,
    spectral,
    spectral_ball,
)
from ftheta.training.regularisers.disturbances import (
    augmentation,
    disturbed,
    dropout,
    noise,
    quiet,
    with_dropout,
)
from ftheta.training.regularisers.penalties import jacobian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * RNG.normal(size=40)
LINEAR = (np.zeros(3), lambda w, x: x @ w)
NET = ft.Network.described(random_mlp(RNG, (3, 5, 2), "tanh"))
TWO = np.stack([Y, X[:, 0]], axis=1)


def slow(k):
    return 0.05 / (1 + k / 200)


def test_the_l2_penalty_under_descent_reaches_ridge_and_leaves_the_loss_alone():
    fit = ft.fit(LINEAR, (X, Y), "squared", penalised("gd", l2(0.1), step=0.05), steps=2000)
    assert np.allclose(fit.params, np.linalg.solve(X.T @ X + 40 * 0.1 * np.eye(3), X.T @ Y))
    assert fit.loss == pytest.approx(np.mean((X @ fit.params - Y) ** 2))


def test_the_l1_penalty_is_the_lasso():
    from sklearn.linear_model import Lasso

    fit = ft.fit(LINEAR, (X, Y), "squared", penalised("gd", l1(0.6), step=slow), steps=20_000)
    peer = Lasso(alpha=0.3, fit_intercept=False).fit(X, Y).coef_  # of half the mean squared error
    assert np.allclose(fit.params, peer, atol=2e-3)


def test_decay_is_the_penalty_under_descent_and_adamw_under_adam():
    start = (np.array([3.0, 1.0, -2.0]), LINEAR[1])
    fitted = lambda rule: ft.fit(start, (X, Y), "squared", rule, steps=60).params
    assert np.allclose(
        fitted(penalised("gd", l2(0.05), step=0.02)),
        fitted(decoupled("gd", 0.05, 0.02)),
        atol=1e-12,
    )
    decay = fitted(decoupled("adam", 0.05, 0.02))
    assert np.allclose(decay, fitted(optax.adamw(0.02, weight_decay=0.1)), atol=1e-12)
    assert np.abs(decay - fitted(penalised("adam", l2(0.05), step=0.02))).max() > 0.01


def test_constraints_hold_after_training():
    ball = ft.fit(
        NET, (X, TWO), "squared", constrained("adam", spectral_ball(0.8), step=0.02), steps=50
    ).params
    rows = ft.fit(
        NET, (X, TWO), "squared", constrained("adam", largest_row(0.5), step=0.02), steps=50
    ).params
    assert max(np.linalg.norm(W, 2) for W, _ in ball) <= 0.8 * (1 + 1e-9)
    assert max(np.linalg.norm(W, axis=1).max() for W, _ in rows) <= 0.5 * (1 + 1e-9)


def test_the_spectral_penalty_is_the_sum_of_largest_squared_singular_values():
    with jax.enable_x64(True):
        found = float(spectral(2.0)(jax.tree.map(jnp.asarray, NET.params), None))
    assert found == pytest.approx(2 * sum(np.linalg.norm(W, 2) ** 2 for W, _ in NET.params))


def test_the_jacobian_penalty_of_a_linear_map_is_its_frobenius_norm_and_trains_to_ridge():
    W = RNG.normal(size=(2, 3))
    with jax.enable_x64(True):
        penalty = jacobian(lambda p, x: p @ x, X, 1.0, rows=4, probes=2000)
        found = float(penalty(jnp.asarray(W), jax.random.key(0)))
    assert found == pytest.approx((W**2).sum(), rel=0.2)
    # one output: every sign gives ‖w‖²
    rule = penalised("gd", jacobian(LINEAR[1], X, 0.1), step=0.05)
    fit = ft.fit(LINEAR, (X, Y), "squared", rule, steps=2000)
    assert np.allclose(fit.params, np.linalg.solve(X.T @ X + 40 * 0.1 * np.eye(3), X.T @ Y))


@pytest.mark.parametrize(
    "disturbance, expected",
    [(noise(0.5), noise_fit(X, Y, 0.25)), (dropout(0.7), dropout_fit(X, Y, 0.7))],
    ids=["noise", "dropout"],
)
def test_training_with_disturbed_inputs_tends_to_the_penalised_fit(disturbance, expected):
    fit = ft.fit(disturbed(LINEAR, disturbance), (X, Y), "squared", "gd", step=slow, steps=12_000)
    plain = np.linalg.lstsq(X, Y, rcond=None)[0]
    w = np.asarray(fit.network[0])
    assert np.linalg.norm(w - expected) < 0.06 < 0.3 < np.linalg.norm(w - plain)


def test_augmented_training_tends_to_the_fit_on_all_moved_rows():
    ring = translations((3,))
    fit = ft.fit(
        disturbed(LINEAR, augmentation(ring)), (X, Y), "squared", "gd", step=slow, steps=12_000
    )
    assert np.linalg.norm(fit.network[0] - augmented_ridge(X, Y, ring, 0.0)) < 0.05


def test_a_disturbed_network_is_quiet_unless_its_parameters_are_differentiated():
    loud = disturbed(NET, noise(3.0))
    row = X[0]
    assert np.array_equal(loud(row), NET(row))
    with jax.enable_x64(True):
        value = jax.value_and_grad(lambda p: jnp.sum(loud.apply(p, jnp.asarray(row))))(NET.params)[
            0
        ]
    assert abs(float(value) - float(np.sum(np.asarray(NET(row))))) > 1e-3
    fit = ft.fit(loud, (X, TWO), steps=40, batch=10, validation=(X, TWO))
    own = quiet(NET, fit.network)
    assert own.description is not None and isinstance(fit.network, ft.Network)
    with jax.enable_x64(True):
        losses = np.sum((np.asarray(own.apply(own.params, jnp.asarray(X))) - TWO) ** 2, axis=1)
    assert fit.history.validation[-1] == pytest.approx(losses.mean()) == pytest.approx(fit.loss)


def test_noise_is_new_at_every_step_and_the_same_in_every_run():
    frozen = (np.zeros(3), lambda w, x: jnp.sum(x))  # its loss is that of the disturbed rows alone
    moving = (np.zeros(3), lambda w, x: jnp.sum(x) + 1e-12 * jnp.sum(w))
    still = ft.fit(disturbed(frozen, noise(1.0)), (X, Y), "squared", "gd", step=0.1, steps=6)
    seen = ft.fit(disturbed(moving, noise(1.0)), (X, Y), "squared", "gd", step=0.1, steps=6)
    again = ft.fit(disturbed(moving, noise(1.0)), (X, Y), "squared", "gd", step=0.1, steps=6)
    other = ft.fit(
        disturbed(moving, noise(1.0), seed=1), (X, Y), "squared", "gd", step=0.1, steps=6
    )
    assert len(set(still.history.loss.tolist())) == 1  # the parameters did not move
    assert len(set(seen.history.loss.tolist())) == 6
    assert np.array_equal(seen.history.loss, again.history.loss)
    assert not np.array_equal(seen.history.loss, other.history.loss)


def test_masks_and_noise_have_the_moments_they_promise():
    rows = np.tile([[1.0, -2.0, 3.0]], (20_000, 1)) + np.arange(20_000)[:, None] * 1e-9
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(1), len(rows))
        masked = np.asarray(jax.vmap(dropout(0.8))(jnp.asarray(rows), keys))
        noisy = np.asarray(jax.vmap(noise(0.5))(jnp.asarray(rows), keys))
    assert np.allclose(masked.mean(0), [1, -2, 3], atol=6 * 3 * 0.5 / np.sqrt(20_000))
    assert np.mean(masked == 0) == pytest.approx(0.2, abs=6 * 0.4 / np.sqrt(60_000))
    assert (noisy - rows).std() == pytest.approx(0.5, abs=6 * 0.5 / np.sqrt(120_000))


def test_hidden_dropout_trains_and_resumes_bit_for_bit(tmp_path):
    net = with_dropout(NET, 0.8)
    once = ft.fit(net, (X, TWO), steps=30, batch=10)
    ft.fit(net, (X, TWO), steps=13, batch=10, checkpoint=tmp_path / "run.npz")
    rest = ft.fit(net, (X, TWO), steps=30, batch=10, checkpoint=tmp_path / "run.npz", resume=True)
    assert np.array_equal(once.history.loss, rest.history.loss)


def test_a_penalty_with_random_probes_resumes_bit_for_bit():
    rule = penalised("adam", jacobian(LINEAR[1], X, 0.1), step=0.01)
    one = ft.fit(LINEAR, (X, Y), "squared", rule, steps=30, batch=10)
    two = ft.fit(LINEAR, (X, Y), "squared", rule, steps=12, batch=10).resume(30)
    assert np.array_equal(one.history.loss, two.history.loss)


def test_a_description_and_a_pair_come_back_as_themselves():
    layers = NET.description
    assert layers is not None
    fit = ft.fit(disturbed(layers, noise(0.1)), (X, TWO), steps=3)
    back = quiet(layers, fit.network)
    assert type(back) is type(layers) and np.array_equal(back.layers[0].weight, fit.params[0][0])
    assert quiet(LINEAR, (np.ones(3), None))[1] is LINEAR[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: dropout(0.0),
        lambda: dropout(1.5),
        lambda: disturbed(NET),
        lambda: disturbed(3.0, noise(1.0)),
        lambda: with_dropout(LINEAR, 0.5),
        lambda: penalised("adam", step=0.1),
        lambda: penalised("adem", l2(0.1)),
    ],
)
def test_what_cannot_be_done_is_refused(call):
    with pytest.raises(UsageError):
        call()


@pytest.mark.parametrize("make", [l2, l1, spectral, noise])
@pytest.mark.parametrize("size", [-1.0, float("nan"), float("inf")])
def test_penalties_and_noise_have_a_size(make, size):
    with pytest.raises(UsageError, match="≥ 0"):
        make(size)
