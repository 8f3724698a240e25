"""Rules act at the exact step they speak of; a number that is not finite is found where it first appeared."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.training import Stop, fit

from .problems import linear, mlp, regression, same_bits
from .test_resume import cut


@pytest.mark.parametrize("lengths", [(1,), (3, 7), (100,)])
def test_the_target_loss_stops_at_the_first_step_that_has_it(monkeypatch, lengths):
    cut(monkeypatch, *lengths)
    full = fit(mlp(), regression(), step=0.01, steps=80)
    target = float(full.history.loss[37])
    first = int(np.flatnonzero(full.history.loss <= target)[0])
    stopped = fit(mlp(), regression(), step=0.01, steps=80, stop=Stop(loss=target))
    assert stopped.steps == first and stopped.stopped_by == f"loss at most {target:g}"
    assert same_bits(stopped.params, fit(mlp(), regression(), step=0.01, steps=first).params)
    assert same_bits(stopped.history.loss, full.history.loss[:first])


def test_the_gradient_norm_stops_a_linear_model_near_its_minimum():
    x, y = regression(20, 2)
    stopped = fit(
        (np.zeros(2), linear),
        (x, y),
        "squared",
        "gd",
        step=0.2,
        steps=10**6,
        stop=Stop(gradient=1e-9),
    )
    gradient = lambda theta: np.linalg.norm(2 * x.T @ (x @ theta - y) / 20)
    assert (
        gradient(stopped.params) == pytest.approx(1e-9, rel=0.9)
        and gradient(stopped.params) <= 1.001e-9
    )
    assert stopped.history.gradient.min() > 1e-9 and "gradient norm" in stopped.stopped_by


def test_patience_ends_a_run_that_no_longer_improves():
    x, y = regression(20, 2)
    stopped = fit(
        (np.zeros(2), linear),
        (x, y),
        "squared",
        "gd",
        step=0.2,
        steps=10**6,
        stop=Stop(patience=50),
    )
    full = fit(
        (np.zeros(2), linear), (x, y), "squared", "gd", step=0.2, steps=stopped.steps + 10
    ).history.loss
    best = np.inf
    since = 0
    for k, value in enumerate(full):
        best, since = (value, k) if value < best else (best, since)
        if k - since >= 50:
            break
    assert stopped.steps == k and stopped.stopped_by == "no improvement for 50 steps"


def test_patience_looks_at_the_validation_loss_where_there_is_one():
    x, y = regression(30, 3)
    other = (x[15:], -3 * y[15:])  # learning the first half makes these worse
    trained = fit(
        mlp(),
        (x[:15], y[:15]),
        step=0.02,
        steps=5000,
        validation=other,
        evaluate_every=5,
        stop=Stop(patience=20),
    )
    seen = trained.history
    assert trained.stopped_by == "no improvement for 20 steps" and trained.steps < 5000
    assert trained.steps - seen.evaluated[np.argmin(seen.validation)] == 20


def test_time_ends_a_run():
    stopped = fit((np.zeros(3), linear), regression(), steps=10**9, stop=Stop(seconds=0.2))
    assert stopped.stopped_by == "0.2 seconds" and 0 < stopped.steps < 10**9


@pytest.mark.parametrize(
    "rule", [{"loss": np.nan}, {"gradient": -1.0}, {"patience": -3}, {"seconds": np.inf}]
)
def test_senseless_rules_are_refused(rule):
    with pytest.raises(UsageError, match="stopping rule"):
        Stop(**rule)


@pytest.mark.parametrize("lengths", [(1,), (5, 11), (400,)])
def test_a_diverging_run_stops_at_the_step_where_its_loss_overflows(monkeypatch, lengths):
    cut(monkeypatch, *lengths)
    x, y = regression(20, 2)
    theta = np.array([1.0, -1.0])
    losses = []
    path = []
    with np.errstate(over="ignore"):
        while not losses or np.isfinite(losses[-1]):
            path.append(theta)
            losses.append(np.mean((x @ theta - y) ** 2))
            theta = theta - 8 * 2 * x.T @ (x @ theta - y) / 20
    stopped = fit((path[0], linear), (x, y), "squared", "gd", step=8.0, steps=1000)
    assert stopped.stopped_by == "not finite" and stopped.trouble is not None
    assert (
        stopped.trouble.step == stopped.steps == len(losses) - 1 and stopped.trouble.what == "loss"
    )
    assert stopped.params == pytest.approx(path[-1], rel=1e-9)
    assert len(stopped.history.loss) == stopped.steps and np.isfinite(stopped.history.loss).all()
    assert "not finite" in str(stopped)


def scaled(params, x):
    hidden = jnp.tanh(x @ params["first"])
    return hidden * jnp.log(params["scale"])


def test_the_layer_and_the_line_of_a_nan_in_the_forward_pass_are_named():
    x = np.ones((4, 1))
    start = {"first": np.array([1.0]), "scale": np.array(1.0)}
    stopped = fit((start, scaled), (x, -50 * np.ones(4)), "squared", "gd", step=0.05, steps=100)
    trouble = stopped.trouble
    assert trouble is not None and (trouble.what, trouble.layer) == ("loss", "['scale']")
    assert "log" in trouble.source and "test_stopping.py" in trouble.source
    assert stopped.params["scale"] <= 0 and np.isfinite(stopped.params["scale"])


def test_the_layer_of_an_overflow_in_a_described_network_is_named():
    net = random_mlp(np.random.default_rng(1), (3, 8, 8, 1), "relu")
    stopped = fit(net, regression(), "squared", "gd", step=1e200, steps=50)
    assert stopped.trouble is not None and stopped.trouble.layer == "weight of layer 2"
    # tanh keeps the predictions finite
    bounded = fit(mlp(), regression(), "squared", "gd", step=1e200, steps=50)
    assert bounded.trouble is not None and bounded.trouble.layer == "loss function"
    assert "square" in bounded.trouble.source


def test_a_gradient_that_is_not_finite_is_told_from_a_loss_that_is_not():
    root = lambda params, x: x[0] * jnp.sqrt(params["a"]) + params["b"]
    start = {"a": np.array(0.0), "b": np.array(1.0)}
    stopped = fit((start, root), (np.ones((3, 1)), np.zeros(3)), steps=10)
    assert stopped.trouble is not None and (stopped.trouble.what, stopped.trouble.layer) == (
        "gradient",
        "['a']",
    )
    assert stopped.steps == 0 and same_bits(stopped.params, start)


def test_an_update_that_is_not_finite_is_the_optimisers():
    bursting = optax.scale_by_schedule(lambda k: jnp.where(k == 13, -jnp.inf, -0.01))
    stopped = fit((np.ones(3), linear), regression(), "squared", bursting, steps=40)
    assert stopped.trouble is not None and (stopped.trouble.step, stopped.trouble.what) == (
        13,
        "update",
    )
    assert same_bits(
        stopped.params,
        fit((np.ones(3), linear), regression(), "squared", bursting, steps=13).params,
    )


def test_infinities_that_are_always_there_are_not_blamed():
    def masked(params, x):
        open_or_not = jnp.where(jnp.arange(2) == 0, 0.0, -jnp.inf)
        return jnp.sum(jax_softmax(open_or_not) * x) * jnp.log(params["b"])

    def jax_softmax(z):
        return jnp.exp(z) / jnp.sum(jnp.exp(z))

    start = {"b": np.array(1.0)}
    stopped = fit(
        (start, masked), (np.ones((4, 2)), -50 * np.ones(4)), "squared", "gd", step=0.05, steps=100
    )
    assert stopped.trouble is not None and "log" in stopped.trouble.source
