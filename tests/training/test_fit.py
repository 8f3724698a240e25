"""The loop takes the steps that the optimiser defines: closed forms, NumPy, and optax called by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import ftheta as ft
from ftheta.networks import Description
from ftheta.training import OPTIMISERS, Batches, Problem, Stop, fit
from ftheta.training.batches import BatchRows
from ftheta.training.optimisers import optimiser_named

from .problems import linear, mlp, regression, same_bits


def test_gradient_descent_on_a_linear_model_follows_its_closed_form():
    x, y = regression(20, 3)
    start = np.array([1.0, -2.0, 0.5])
    tau = 0.05
    K = 40
    hessian = 2 * x.T @ x / len(x)
    goal = np.linalg.lstsq(x, y, rcond=None)[0]
    closed = goal + np.linalg.matrix_power(np.eye(3) - tau * hessian, K) @ (start - goal)
    trained = fit((start, linear), (x, y), "squared", "gd", step=tau, steps=K)
    assert trained.params == pytest.approx(closed, rel=1e-12)
    assert trained.history.loss[0] == pytest.approx(np.mean((x @ start - y) ** 2), rel=1e-13)
    assert trained.loss == pytest.approx(np.mean((x @ closed - y) ** 2), rel=1e-12)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_every_named_optimiser_takes_the_steps_of_optax_one_by_one(name):
    (x, y) = regression()
    start = np.array([1.0, -2.0, 0.5])
    step = 0.02
    trained = fit((start, linear), (x, y), "squared", name, step=step, steps=12)
    with jax.enable_x64(True):
        maker, options, _ = OPTIMISERS[name]
        optimiser = getattr(optax, maker)(step, **options)
        params = jnp.asarray(start)
        memory = optimiser.init(params)
        losses = []
        for _ in range(12):
            value, gradient = jax.value_and_grad(lambda theta: jnp.mean((x @ theta - y) ** 2))(
                params
            )
            updates, memory = optimiser.update(gradient, memory, params)
            params = optax.apply_updates(params, updates)
            losses.append(float(value))
    assert trained.history.loss == pytest.approx(losses, rel=1e-11)
    assert trained.params == pytest.approx(np.asarray(params), rel=1e-9, abs=1e-12)


def test_adam_takes_the_steps_of_its_definition():
    x, y = regression(30, 2)
    theta = np.array([0.3, -0.7])
    m = np.zeros(2)
    v = np.zeros(2)
    trained = fit((theta, linear), (x, y), "squared", "adam", step=0.1, steps=25)
    for k in range(1, 26):
        g = 2 * x.T @ (x @ theta - y) / len(x)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        theta = theta - 0.1 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
    assert trained.params == pytest.approx(theta, rel=1e-10)


def test_mini_batches_are_the_rows_that_the_seed_says():
    x, y = regression(10, 2)
    theta = np.zeros(2)
    batches = Batches(4)
    trained = fit((theta, linear), (x, y), "squared", "sgd", step=0.1, epochs=2, batch=4, seed=7)
    rows = batches.rows(10, 7, 0, 6)
    assert rows.valid is not None
    for k in range(6):
        numbers = rows.numbers[k][rows.valid[k]]
        theta = theta - 0.2 * x[numbers].T @ (x[numbers] @ theta - y[numbers]) / len(numbers)
    assert trained.steps == 6 and trained.params == pytest.approx(theta, rel=1e-12)


@pytest.mark.parametrize("n, size", [(10, 4), (12, 4), (7, 7), (5, 2)])
def test_an_epoch_without_replacement_sees_every_row_once(n, size):
    batches = Batches(size)
    count = batches.in_an_epoch(n)
    for epoch in range(3):
        rows = batches.rows(n, 0, epoch * count, count)
        seen = (
            rows.numbers[:count] if rows.valid is None else rows.numbers[:count][rows.valid[:count]]
        )
        assert sorted(seen.ravel().tolist()) == list(range(n))


def test_a_dropped_last_batch_is_not_seen_and_replacement_draws_freely():
    assert Batches(4, last="drop").in_an_epoch(10) == 2
    assert Batches(4, last="drop").rows(10, 0, 0, 2).valid is None
    drawn = Batches(4, replace=True).rows(10, 3, 0, 500).numbers[:500]
    # 200 expected, standard deviation 13.4
    assert np.bincount(drawn.ravel(), minlength=10).min() > 120
    assert any(len(set(row)) < 4 for row in drawn.tolist())


def test_rows_do_not_depend_on_where_the_steps_are_cut():
    for batches in (Batches(3), Batches(3, last="drop"), Batches(3, replace=True)):
        whole = batches.rows(10, 5, 0, 20)
        for first in range(20):
            part = batches.rows(10, 5, first, 1)
            assert (part.numbers[0] == whole.numbers[first]).all()
            if part.valid is not None and whole.valid is not None:
                assert (part.valid[0] == whole.valid[first]).all()


def test_a_run_is_a_function_of_its_seed():
    x, y = regression()
    runs = [fit(mlp(), (x, y), steps=30, batch=8, seed=seed) for seed in (3, 3, 4)]
    assert same_bits(runs[0].params, runs[1].params) and same_bits(
        runs[0].history.loss, runs[1].history.loss
    )
    assert not same_bits(runs[0].params, runs[2].params)


def test_zero_steps_are_the_initialisation():
    net = mlp()
    trained = fit(net, regression(), steps=0)
    assert (
        trained.steps == 0
        and same_bits(trained.params, net.params)
        and trained.stopped_by == "0 steps"
    )


@pytest.mark.parametrize("optimiser", [optax.lion(1e-2), optax.lbfgs()])
def test_any_optax_optimiser_lowers_the_loss(optimiser):
    trained = fit((np.full(3, 2.0), linear), regression(), "squared", optimiser, steps=60)
    assert trained.loss < 0.9 * trained.history.loss[0]


def test_a_schedule_of_steps_is_followed():
    start = np.zeros(2)
    (x, y) = regression(20, 2)
    halves = fit((start, linear), (x, y), "squared", "gd", step=lambda k: 0.1 * 0.5**k, steps=2)
    first = start - 0.1 * 2 * x.T @ (x @ start - y) / 20
    second = first - 0.05 * 2 * x.T @ (x @ first - y) / 20
    assert halves.params == pytest.approx(second, rel=1e-12)


def test_every_kind_of_network_comes_back_as_its_kind_trained_alike():
    x, y = regression()
    description = mlp()
    network = ft.Network.described(description, "mine")
    pair = (description.params, description.apply)
    how = {"loss": "squared", "optimiser": "adam", "step": 0.01, "steps": 20}
    by_description, by_network, by_pair = (
        fit(net, (x, y), **how) for net in (description, network, pair)
    )
    assert isinstance(by_description.network, Description) and isinstance(
        by_network.network, ft.Network
    )
    assert by_network.network.name == "mine" and by_network.network.description is not None
    assert same_bits(by_description.params, by_network.params) and same_bits(
        by_network.params, by_pair.params
    )
    params, apply = by_pair.network
    assert np.asarray(by_network.network(x[0])) == pytest.approx(
        np.asarray(apply(params, x[0])), rel=1e-5
    )


def test_an_equinox_module_keeps_its_structure_and_what_is_not_an_array():
    module = eqx.nn.MLP(3, 1, 8, 1, key=jax.random.key(0))
    trained = fit(module, regression(), steps=50, step=0.01)
    assert (
        isinstance(trained.network, eqx.nn.MLP)
        and trained.network.layers[0].weight.dtype == np.float32
    )
    assert (
        trained.network.activation is module.activation and trained.loss < trained.history.loss[0]
    )


def test_the_data_that_a_network_carries_are_used():
    x, y = regression()
    network = ft.Network.described(mlp()).with_data(ft.Dataset("mine", x, y))
    assert same_bits(fit(network, steps=3).params, fit(mlp(), (x, y), steps=3).params)


def test_many_networks_train_at_once_under_vmap():
    x, y = regression()
    nets = [mlp(seed=s) for s in range(3)]
    with jax.enable_x64(True):
        squared = lambda p, t: jnp.sum((p - t) ** 2)
        problem = Problem(nets[0].apply, squared, optimiser_named("adam", 0.01)[1])
        together = jax.vmap(problem.start)(
            jax.tree.map(lambda *a: jnp.stack(a), *[net.params for net in nets])
        )
        rows = BatchRows(*Batches(10).rows(50, 0, 0, 30))
        roll = jax.jit(
            lambda s: jax.vmap(lambda one: problem.roll(one, x, y[:, None], rows, 4096, 30))(s)
        )
        chunk = roll(together)
    for i, net in enumerate(nets):
        alone = fit(net, (x, y), step=0.01, steps=30, batch=10)
        assert np.asarray(chunk.losses[i][:30]) == pytest.approx(alone.history.loss, rel=1e-9)


def test_float32_is_kept_and_close_to_float64():
    x, y = regression()
    single, double = (
        fit(mlp(), (x, y), steps=20, dtype=dtype) for dtype in (np.float32, np.float64)
    )
    assert {leaf.dtype for leaf in jax.tree.leaves(single.params)} == {np.dtype(np.float32)}
    assert single.history.loss == pytest.approx(double.history.loss, rel=1e-4)
    assert single.history.loss.dtype == np.float32


def test_history_every_few_steps_validation_and_metrics():
    x, y = regression(60)
    trained = fit(
        mlp(),
        (x[:50], y[:50]),
        steps=25,
        every=10,
        validation=(x[50:], y[50:]),
        metrics={"worst": lambda p, t: jnp.max(jnp.abs(p - t))},
        evaluate_every=10,
    )
    full = fit(mlp(), (x[:50], y[:50]), steps=25)
    assert trained.history.step.tolist() == [0, 10, 20] == trained.history.evaluated.tolist()
    assert same_bits(trained.history.loss, full.history.loss[::10]) and same_bits(
        trained.params, full.params
    )
    at_start = np.asarray(mlp().apply(mlp().params, x[50:]))[:, 0]
    assert trained.history.validation[0] == pytest.approx(
        np.mean((at_start - y[50:]) ** 2), rel=1e-6
    )
    assert trained.history.metrics["worst"][0] == pytest.approx(
        np.max(np.abs(at_start - y[50:])), rel=1e-6
    )


def test_a_recorded_gradient_norm_is_the_norm_of_the_gradient():
    x, y = regression(20, 2)
    theta = np.array([0.3, -0.7])
    trained = fit((theta, linear), (x, y), steps=1, stop=Stop(gradient=0.0))
    assert trained.history.gradient == pytest.approx(
        [np.linalg.norm(2 * x.T @ (x @ theta - y) / 20)], rel=1e-12
    )


def test_the_result_tells_its_story():
    trained = fit(mlp(), regression(), steps=5, batch=10)
    told = str(trained)
    for part in (
        "41 parameters",
        "50 rows",
        "squared loss, adam, step 0.001",
        "10 rows per step",
        "5 steps",
        "compiled in",
    ):
        assert part in told, part
    assert trained.compile_seconds > 0 and trained.seconds > 0 and not trained.interrupted


def test_the_next_seed_and_the_next_start_of_the_same_problem_are_not_traced_again(monkeypatch):
    x, y = regression()
    traced = []
    roll = Problem.roll
    monkeypatch.setattr(Problem, "roll", lambda *args: (traced.append(args), roll(*args))[1])
    ask = {"steps": 6, "batch": 16, "progress": False}
    fit(mlp(seed=0), (x, y), "squared", "adam", step=0.0173, **ask)
    assert len(traced) == 1
    other = fit(mlp(seed=1), (x, y), "squared", "adam", step=0.0173, seed=5, **ask)
    assert len(traced) == 1
    layers = mlp(seed=1)  # as a function of the user's it is traced on its own
    plain = fit(
        (layers.params, layers.apply), (x, y), "squared", "adam", step=0.0173, seed=5, **ask
    )
    assert len(traced) == 2 and same_bits(plain.params, other.params)
    fit(mlp(seed=1), (x, y), "squared", "adam", step=0.0174, **ask)
    assert len(traced) == 3


def test_a_loss_of_the_users_is_asked_at_every_run():
    x, y = regression()
    weight = [1.0]
    loss = lambda prediction, target: weight[0] * jnp.sum((prediction - target) ** 2)
    first = fit(mlp(), (x, y), loss, steps=3)
    weight[0] = 2.0
    assert fit(mlp(), (x, y), loss, steps=3).history.loss[0] == pytest.approx(
        2 * first.history.loss[0], rel=1e-12
    )
