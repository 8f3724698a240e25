"""What is said of networks of a kind, beside closed forms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.signal import convolve2d

from ftheta.auditing.part import Part
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.logic import Skipped
from ftheta.networks import Dense, Description
from ftheta.subjects import Dataset, Network

TASKS = {task.id: task for task in plan_tasks() if task.is_fact}
KINDS = (
    "residual-blocks",
    "attention-heads",
    "recurrent-state",
    "receptive-field",
    "best-linear-code",
)


def part(id: str, net: Network) -> Part:
    found = perform(TASKS[id], [net], 0)
    assert isinstance(found, Part), found
    return found


def value(found: Part, name: str) -> Any:
    (fact,) = [f for f in found.facts if f.name == name]
    return fact.value


def rules_of(found: Part) -> dict[str, str]:
    return {finding.rule: finding.severity.value for finding in found.findings}


def network(function: Any, shape: tuple[int, ...], rows: int = 12) -> Network:
    data = Dataset("rows", np.random.default_rng(0).normal(size=(rows, *shape)))
    return Network.of(function, shape).with_data(data)


def test_a_plain_network_is_of_no_kind():
    net = network(lambda x: jnp.maximum(x, 0.0)[:1], (5,))
    found = {id: perform(TASKS[id], [net], 0) for id in KINDS}
    assert all(
        isinstance(f, Skipped) and f.remedy and "internal" not in f.reason for f in found.values()
    ), found


def test_linear_blocks_have_their_norms_and_flow_like_the_exponential():
    rng = np.random.default_rng(0)
    A = 0.3 * rng.normal(size=(4, 4))
    B = 0.001 * np.eye(4)
    net = network(lambda x: (lambda y: y + B @ jnp.tanh(y))(x + A @ x), (4,))
    found = part("residual-blocks", net)
    assert value(found, "residual blocks").lo == 2
    bounds = [row[2] for row in found.tables[0].rows]
    assert bounds == pytest.approx([np.linalg.norm(A, 2), 0.001], rel=1e-9)
    assert value(found, "blocks certified to be invertible").lo == sum(b < 1 for b in bounds)
    assert rules_of(found) == {"idle-blocks": "note"}
    x = net.data.x
    own = x + x @ A.T
    flowed = x @ expm(A).T
    gap = np.linalg.norm(flowed - own, axis=1) / np.linalg.norm(own, axis=1)
    name = "distance from the flow of its blocks, median, relative to the output"
    assert value(found, name).lo == pytest.approx(np.median(gap), rel=2e-3)


def heads(scale: np.ndarray) -> Any:
    """Attention of one layer; head h has queries and keys that are `scale[h]` times the tokens."""

    def apply(x: Any) -> Any:
        unit = x / jnp.linalg.norm(x, axis=1, keepdims=True)
        found = [jax.nn.softmax(s * unit @ unit.T, axis=-1) @ x for s in scale]
        return jnp.concatenate(found, axis=1)

    return apply


def test_heads_that_average_or_look_at_themselves_are_counted():
    found = part("attention-heads", network(heads(np.array([0.0, 50.0, 3.0, 3.0])), (6, 5)))
    assert value(found, "heads that average all tokens").lo == 1
    assert value(found, "heads that look at their own token").lo == 1
    # in one product, or in products of one head each
    assert value(found, "pairs of heads that are copies").lo in (0, 1)
    assert rules_of(found) == {"idle-heads": "good"}  # one of four is no more than usual
    kinds = [row[4] for row in found.tables[0].rows]
    assert kinds == ["uniform", "diagonal", "–", "–"]
    assert value(found, "attention heads").lo == 4


def test_two_equal_heads_of_one_product_are_copies_and_averaged_tokens_cluster():
    def apply(x: Any) -> Any:
        q = jnp.stack([x, x, 2 * x])
        weights = jax.nn.softmax(jnp.einsum("hqd,kd->hqk", q, x), axis=-1)
        return jnp.einsum("hqk,hkd->hqd", weights, jnp.stack([x, 2 * x, 3 * x])).sum(0)

    found = part("attention-heads", network(apply, (6, 5)))
    assert value(found, "pairs of heads that are copies").lo == 1
    flat = part("attention-heads", network(heads(np.array([0.0])), (6, 5)))
    assert value(flat, "mean cosine of two tokens behind the last attention").lo == pytest.approx(
        1.0
    )
    assert rules_of(flat) == {"idle-heads": "note", "token-clusters": "warning"}


def plain_rnn(W: np.ndarray) -> Any:
    def apply(x: Any) -> Any:
        step = lambda h, row: (jnp.tanh(W @ h + row),) * 2
        return jax.lax.scan(step, jnp.zeros(len(W)), x)[0]

    return apply


def test_jacobians_of_the_state_are_those_of_tanh_and_the_certificate_is_the_norm_of_the_weights():
    rng = np.random.default_rng(1)
    W = 0.5 * np.linalg.qr(rng.normal(size=(3, 3)))[0]
    net = network(plain_rnn(W), (7, 3), rows=6)
    found = part("recurrent-state", net)
    radii = []
    for x in net.data.x:
        h = np.zeros(3)
        for t, row in enumerate(x):
            h = np.tanh(W @ h + row)
            if 0 < t < 6:
                radii.append(np.abs(np.linalg.eigvals((1 - h**2)[:, None] * W)).max())
    assert value(found, "spectral radius of the Jacobians, median").lo == pytest.approx(
        np.median(radii)
    )
    assert value(found, "spectral radius of the Jacobians, largest").lo == pytest.approx(max(radii))
    bound = value(found, "Lipschitz constant of a step in the state")
    assert bound.hi == pytest.approx(0.5, rel=1e-9) and bound.hi >= np.linalg.norm(W, 2)
    assert "steps" in value(found, "memory length") and rules_of(found)["short-memory"] in (
        "note",
        "good",
    )


@pytest.mark.parametrize("gates", ["gru", "lstm"])
def test_the_step_of_a_gated_state_is_bounded_on_the_box_of_the_states_met(gates):
    """No Jacobian at two states in the box, nor a secant between them, is steeper."""
    rng = np.random.default_rng(4)
    U, V, W = 0.6 * rng.normal(size=(3, 2, 2))

    def gru(h: Any, x: Any) -> Any:
        z = jax.nn.sigmoid(U @ h + x)
        return z * h + (1 - z) * jnp.tanh(W @ h + x)

    def lstm(state: Any, x: Any) -> Any:
        h, c = state
        c = jax.nn.sigmoid(U @ h + x) * c + jax.nn.sigmoid(V @ h) * jnp.tanh(W @ h + x)
        return jnp.tanh(c) * jax.nn.sigmoid(V @ h - x), c

    cell, zero = {"gru": (gru, np.zeros(2)), "lstm": (lstm, (np.zeros(2), np.zeros(2)))}[gates]

    def apply(x: Any) -> Any:
        last = jax.lax.scan(lambda h, row: (cell(h, row), 0.0), zero, x)[0]
        return last if gates == "gru" else last[0]

    net = network(apply, (5, 2), rows=6)
    found = part("recurrent-state", net)
    assert "none" in value(found, "stability certificate for every state")
    bound = value(found, "Lipschitz constant of a step in the box of the states met").hi
    states = []
    for x in net.data.x:
        h = zero
        for row in x:
            h = cell(h, row)
            states.append(np.concatenate([np.ravel(part) for part in jax.tree.leaves(h)]))
    low, high = np.min(states, 0), np.max(states, 0)
    flat = lambda s: s if gates == "gru" else (s[:2], s[2:])
    step = lambda s, x: jnp.concatenate([jnp.ravel(p) for p in jax.tree.leaves(cell(flat(s), x))])
    slopes = jax.jit(jax.vmap(jax.jacfwd(step), (0, None)))
    inside = rng.uniform(low, high, (200, len(low)))
    steepest = max(
        np.linalg.norm(slopes(inside, row), 2, (1, 2)).max() for row in net.data.x[0][2:]
    )
    assert 0.3 * bound < steepest <= bound


def test_a_linear_state_that_doubles_is_unstable():
    def apply(x: Any) -> Any:
        return jax.lax.scan(lambda h, row: (2.0 * h + row,) * 2, jnp.zeros(2), x)[0]

    found = part("recurrent-state", network(apply, (6, 2)))
    assert value(found, "growth of a change of the state per step").lo == pytest.approx(2.0)
    assert rules_of(found) == {"unstable-state": "warning"}


def convolve(kernels: list[np.ndarray], strides: list[int]) -> Any:
    def apply(x: Any) -> Any:
        for kernel, stride in zip(kernels, strides):
            x = jax.lax.conv_general_dilated(x[None], kernel, (stride, stride), "VALID")[0]
        return x.sum((1, 2))

    return apply


def test_the_receptive_field_follows_from_windows_and_strides():
    rng = np.random.default_rng(2)
    kernels = [
        rng.normal(size=(2, 1, 3, 3)),
        rng.normal(size=(2, 2, 3, 3)),
        rng.normal(size=(3, 2, 2, 2)),
    ]
    found = part("receptive-field", network(convolve(kernels, [2, 1, 1]), (1, 20, 20), 2))
    assert [row[4] for row in found.tables[0].rows] == ["3×3", "7×7", "9×9"]  # 3, 3 + 2·2, 7 + 1·2
    assert value(found, "its share of the input, smallest axis").lo == pytest.approx(9 / 20)
    assert rules_of(found) == {"receptive-field": "note"}


def test_stencils_are_told_apart_by_what_they_do_to_a_constant():
    edge = np.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]])
    blur = np.ones((3, 3)) / 9
    kernels = [np.stack([edge, blur, 0 * blur])[:, None]]
    found = part("receptive-field", network(convolve(kernels, [1]), (1, 8, 8), 2))
    still = [abs(convolve2d(np.ones((5, 5)), k[0], "valid")).max() for k in kernels[0]]
    assert still == pytest.approx([0, 1, 0])
    assert value(found, "stencils that are averages (weights of one sign)").lo == 1
    assert rules_of(found)["idle-filters"] == "note"


@pytest.mark.parametrize("directions, rule", [((0, 1), "note"), ((0, 5), "warning")])
def test_an_autoencoder_is_held_against_pca(directions, rule):
    """A linear one that is PCA is no better; one that keeps a small direction is worse."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 6)) * np.array([5.0, 3, 1, 0.6, 0.4, 0.2])
    x -= x.mean(0)
    axes = np.linalg.svd(x, full_matrices=False)[2]
    U = axes[list(directions)]
    net = Network.described(Description((Dense(U, np.zeros(2)), Dense(U.T, np.zeros(6)))), "linear")
    found = part(
        "best-linear-code",
        net.with_data(Dataset("rows", x)).with_train_data(Dataset("training", x)),
    )
    left = np.delete(np.linalg.svd(x, compute_uv=False), [0, 1])
    assert value(found, "error of PCA with 2 directions").lo == pytest.approx((left**2).sum() / 300)
    assert rules_of(found)["behind-pca"] in (rule, "problem" if rule == "warning" else rule)


def test_pca_of_the_rows_at_hand_is_no_better_than_the_best_code_of_their_law():
    """On the rows that it is fitted to it always is: 40 directions are more than 60 rows can tell."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 40)) * np.where(np.arange(40) < 3, 2.0, 1.0)
    U = np.eye(40)[:3]
    net = Network.described(
        Description((Dense(U, np.zeros(3)), Dense(U.T, np.zeros(40)))), "the best of the law"
    )
    found = part("best-linear-code", net.with_data(Dataset("rows", x)))
    assert value(found, "error of PCA with 3 directions").samples == 30
    assert (
        value(found, "error of PCA with 3 directions").lo > value(found, "reconstruction error").lo
    )
    assert rules_of(found)["behind-pca"] in ("good", "note")
