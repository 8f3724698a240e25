"""Networks on tokens: nothing that needs inputs between two ids is said of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.auditing.part import Part
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.catalogue import theorem
from ftheta.logic import Skipped
from ftheta.running import run
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import takes_tokens

TASKS = {task.id: task for task in plan_tasks()}
# a square number of tokens is no image
VOCABULARY = 7
LENGTH = 16


def network(read) -> Network:
    """An embedding, whose ids `read` makes of the input, and two layers."""
    rng = np.random.default_rng(0)
    params = {
        "table": rng.normal(size=(VOCABULARY, 4)),
        "W": rng.normal(size=(4 * LENGTH, 5)),
        "V": rng.normal(size=(5, 3)),
    }

    def apply(p, x):
        states = jnp.asarray(p["table"])[read(jnp.asarray(x))].reshape(-1)
        return jax.nn.relu(states @ p["W"]) @ p["V"]

    return Network("tokens", apply, params, (LENGTH,))


READINGS = {
    "cast": lambda x: x.astype(jnp.int32),
    "rounded": lambda x: jnp.round(x).astype(jnp.int64),
    "in a batch": lambda x: x[None].astype(jnp.int32)[0],
    "clipped": lambda x: jnp.clip(x.astype(jnp.int32), 0, VOCABULARY - 1),
}


@pytest.fixture(scope="module")
def net() -> Network:
    rng = np.random.default_rng(1)
    rows = Dataset("ids", rng.integers(0, VOCABULARY, (30, LENGTH)), rng.integers(0, 3, 30))
    return network(READINGS["cast"]).with_data(rows)


@pytest.mark.parametrize("reading", READINGS)
def test_an_embedding_of_the_inputs_is_noticed(reading):
    assert takes_tokens(network(READINGS[reading]))


@pytest.mark.parametrize(
    "function",
    [
        lambda p, x: jnp.tanh(x) @ p,
        lambda p, x: p[jnp.argmax(x)],  # whole numbers that are made of real ones
        lambda p, x: x @ p + p[x.astype(jnp.int32)[0]],  # both
        lambda p, x: jnp.round(x) @ p,
    ],
)
def test_networks_on_numbers_take_no_tokens(function):
    assert not takes_tokens(Network("numbers", function, np.eye(4), (4,)))


@pytest.mark.parametrize(
    "id", ["steepness", "certified-rows", "rays", "shifts", "turns", "pieces-on-a-slice"]
)
def test_facts_about_moved_inputs_are_not_applicable(id, net):
    found = perform(TASKS[id], [net], 0)
    assert (
        isinstance(found, Skipped)
        and found.reason.startswith("Requires ")
        and "token ids" in found.reason
    )
    assert not found.unfinished


@pytest.mark.parametrize(
    "id", ["counts", "test-error", "gradients-by-layer", "active-units", "tangent-spectrum"]
)
def test_facts_about_parameters_and_rows_are_found(id, net):
    assert isinstance(perform(TASKS[id], [net], 0), Part)


def test_a_network_on_tokens_is_held_against_the_majority_class_alone(net):
    found = perform(TASKS["baselines"], (net,), 0)
    assert isinstance(found, Part)
    names = [fact.name for fact in found.facts]
    assert [name for name in names if name.startswith("accuracy")] == ["accuracy, majority class"]
    assert "corrected" not in found.facts[-1].note


@pytest.mark.parametrize("id", ["gradients-by-layer", "active-units", "tangent-spectrum"])
def test_without_data_no_ids_are_invented(id):
    found = perform(TASKS[id], [network(READINGS["cast"])], 0)
    assert (
        isinstance(found, Skipped)
        and found.reason.startswith("Requires data")
        and "--data" in found.remedy
    )


@pytest.mark.parametrize(
    "id",
    [
        "group-equivariant-linear-maps",
        "architecture-and-stability-penalties",
        "forward-mode-and-finite-differences",
    ],
)
def test_theorems_about_moved_inputs_are_inapplicable(id, net):
    for subject in (net, net.with_data(None)):
        found = run(theorem(id), subject)
        assert (
            found.verdict == "inapplicable"
            and "real-valued inputs: requires real-valued inputs" in found.summary
        )
