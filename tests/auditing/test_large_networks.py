"""Facts of large networks, tried on small ones that are called large, beside the same numbers found another way."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from ftheta.auditing.facts import evaluation, inputs, large, precision
from ftheta.auditing.facts.large import large_hessian, loss_gradients
from ftheta.auditing.part import NOT_COMPUTED
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.auditing.pool import Pool
from ftheta.logic import Enclosure, SubjectError
from ftheta.networks import random_mlp
from ftheta.subjects import Dataset, Network

TASKS = {task.id: task for task in plan_tasks() if task.is_fact}


@pytest.fixture
def net(monkeypatch) -> Network:
    monkeypatch.setattr(large, "LARGE", 0)
    monkeypatch.setattr(inputs, "BLOCKWISE", 0)
    rng = np.random.default_rng(2)
    layers = random_mlp(rng, (16, 12, 4), bias=0.3)
    x = rng.normal(size=(10, 16))
    guesses = np.array([np.asarray(layers.apply(layers.params, row)) for row in x]).argmax(1)
    return Network.described(layers, "large").with_data(
        Dataset("rows", x, np.where(np.arange(10) == 3, 0, guesses))
    )


def facts_of(id: str, net: Network) -> dict[str, Any]:
    found = perform(TASKS[id], [net], 0)
    return {fact.name: fact.value for fact in found.facts}  # type: ignore[union-attr]


def mean_loss(net: Network, params: Any, x: Any, y: Any) -> Any:
    logits = jnp.stack([net.apply(params, row) for row in x])
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(y)), y])


def test_outputs_in_blocks_are_the_outputs_row_by_row(net):
    for n in (1, 4, 7):
        x = net.data.x[:n]
        assert np.allclose(
            inputs.outputs_at(net, x), np.stack([np.asarray(net(row)) for row in x]), rtol=1e-12
        )


def test_the_shared_gradient_is_that_of_a_loss_written_out_in_float64(net):
    known = loss_gradients(net)
    rows = np.asarray(known.x, float)
    y = known.y[:, 0].astype(int)
    with jax.enable_x64(True):
        value, (theta, x) = jax.value_and_grad(
            lambda p, x: mean_loss(net, p, x, y), argnums=(0, 1)
        )(net.params, rows)
    assert known.loss == pytest.approx(float(value), rel=1e-5)
    for mine, his in zip(jax.tree.leaves(known.by_parameters), jax.tree.leaves(theta)):
        assert np.allclose(mine, his, atol=1e-6)
    assert known.by_inputs is not None and np.allclose(known.by_inputs, x, atol=1e-6)
    assert loss_gradients(net) is known


def test_the_sharpness_is_the_largest_eigenvalue_of_the_hessian_written_out(net):
    operator, rows = large_hessian(net)
    with jax.enable_x64(True):
        flat, build = ravel_pytree(net.params)
    y = net.data.y.ravel()[:rows].astype(int)
    with jax.enable_x64(True):
        matrix = jax.hessian(lambda t: mean_loss(net, build(t), net.data.x[:rows], y))(
            jnp.asarray(flat, float)
        )
    v = np.random.default_rng(0).normal(size=operator.size)
    assert np.allclose(operator.product(v), matrix @ v, atol=1e-4 * np.linalg.norm(matrix @ v))
    sharpness = facts_of("curvature-of-the-loss", net)["largest eigenvalue of the Hessian"]
    top = float(np.linalg.eigvalsh(matrix)[-1])
    assert 0.9 * top <= sharpness.lo <= top * (1 + 1e-4)


def test_an_attack_counts_a_row_only_where_its_moved_input_has_another_class(net):
    found = perform(TASKS["certified-rows"], [net], 0)
    (table,) = found.tables  # type: ignore[union-attr]
    known = loss_gradients(net)
    for row, change, distance, certified in table.rows:
        assert certified == NOT_COMPUTED
        if change == "wrong as it is":
            assert np.asarray(net(known.x[row])).argmax() != known.y[row, 0]
        elif np.isfinite(distance):
            moved = known.x[row] + distance * np.sign(known.by_inputs[row])
            before, after = map(int, change.split(" → "))
            assert np.asarray(net(known.x[row])).argmax() == before == known.y[row, 0]
            assert np.asarray(net(moved)).argmax() == after != before
    assert found.findings  # type: ignore[union-attr]
    for finding in found.findings:  # type: ignore[union-attr]
        assert "not certified" in finding.means and "certified from" not in finding.basis


def test_a_secant_along_the_gradient_is_no_steeper_than_the_product_of_norms(net):
    lower = facts_of("steepness", net)["Lipschitz lower bound (steepest secant found)"]
    product = np.prod([np.linalg.norm(layer.weight, 2) for layer in net.description.layers])
    assert isinstance(lower, Enclosure) and 0 < lower.lo <= product


class _Worker:
    def __init__(self, has: set[str]) -> None:
        self.has = has | {""}


def test_a_worker_leaves_facts_to_the_one_that_has_evaluated_what_they_share():
    from collections import deque

    pool = object.__new__(Pool)
    first, second = _Worker({"outputs"}), _Worker(set())
    pool._pool = type("P", (), {"workers": [first, second]})()  # type: ignore[assignment]
    pool.suspended = deque()
    pool.waiting = deque([TASKS["calibration"], TASKS["precision"], TASKS["gradients-by-layer"]])
    assert pool._next_task(second).id == "gradients-by-layer"  # type: ignore[arg-type]
    assert pool._next_task(first).id == "calibration"  # type: ignore[arg-type]
    assert pool._next_task(second).id == "precision"  # type: ignore[arg-type] # rather than nothing


def test_a_process_that_was_set_aside_goes_on_where_all_facts_that_wait_need_what_it_has():
    from collections import deque

    pool = object.__new__(Pool)
    aside = _Worker({"gradient"})
    aside.task, aside.turns = TASKS["certified-rows"], 2  # type: ignore[attr-defined]
    pool.suspended = deque([aside])  # type: ignore[list-item]
    pool.waiting = deque([TASKS["gradients-by-layer"], TASKS["steepness"]])
    assert pool._fact_to_go_on() is aside
    pool.waiting.append(TASKS["columns"])
    assert pool._fact_to_go_on() is None  # others can begin


def test_a_network_on_tokens_has_a_gradient_by_its_parameters_alone(monkeypatch):
    monkeypatch.setattr(large, "LARGE", 0)

    def apply(params: Any, ids: Any) -> Any:
        return jnp.sum(jnp.asarray(params[0])[ids.astype(int)], 0) @ params[1]

    params = (np.random.default_rng(0).normal(size=(7, 3)), np.ones((3, 2)) * np.array([1.0, -1.0]))
    x = np.array([[0, 1, 2], [3, 4, 5], [6, 0, 1], [2, 2, 2]])
    net = Network("tokens", apply, params, (3,)).with_data(
        Dataset("ids", x, np.array([0, 1, 0, 1]))
    )
    known = loss_gradients(net)
    assert known.by_inputs is None and jax.tree.leaves(known.by_parameters)[0].shape == (7, 3)


def test_where_all_rows_take_long_they_are_evaluated_in_float32_and_it_is_said(net, monkeypatch):
    wide = evaluation.evaluate_data(net.with_data(net.data), np.random.default_rng(0))
    monkeypatch.setattr(evaluation, "NARROW", 0)
    narrow = evaluation.evaluate_data(net, np.random.default_rng(0))
    assert wide.precision == "float64" and narrow.precision == "float32"
    assert narrow.told == f"{wide.told}, float32"
    assert (narrow.outputs != wide.outputs).any()
    assert np.allclose(narrow.outputs, wide.outputs, rtol=0, atol=1e-5)
    right = float((wide.guesses == wide.classes).mean())
    assert facts_of("test-error", net)["accuracy on the data"].lo == pytest.approx(right)


def test_outputs_in_float32_are_held_against_float64_on_the_rows_that_are_affordable(
    net, monkeypatch
):
    expected = facts_of("precision", net.with_data(net.data))
    monkeypatch.setattr(evaluation, "NARROW", 0)
    name = "largest difference of an output in float32"
    assert facts_of("precision", net)[name].lo == pytest.approx(expected[name].lo, rel=0.5)
    monkeypatch.setattr(precision, "WORK", 0)
    few = facts_of("precision", net)
    assert few[name].samples == precision.LEAST and 0 < few[name].lo <= expected[name].lo * 1.5
    assert few["predictions that change in float32"].lo == 0


def test_a_network_that_does_not_run_in_float32_is_evaluated_in_float64(net, monkeypatch):
    def refuse(net: Network, x: np.ndarray) -> np.ndarray:
        raise SubjectError("It does not run in float32.")

    monkeypatch.setattr(evaluation, "NARROW", 0)
    monkeypatch.setattr(evaluation, "outputs_in_float32", refuse)
    assert evaluation.evaluate_data(net, np.random.default_rng(0)).precision == "float64"


def test_gradients_of_convolutions_are_not_compiled_in_a_hurry(net):
    """Those of windows take minutes then, where a thorough compiler takes seconds."""
    kernel = np.ones((1, 1, 2, 2))
    slide = lambda p, x: jax.lax.conv_general_dilated(x[None], p, (1, 1), "VALID").ravel()
    assert large._compiler_options(Network("slides", slide, kernel, (1, 3, 3))) is None
    assert large._compiler_options(net)
