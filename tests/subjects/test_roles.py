"""Networks in their role in a generative model."""

import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Status, SubjectError, Verdict
from ftheta.networks import random_mlp
from ftheta.subjects.roles import ask_role, values_at

ROWS = ft.Dataset("rows", np.random.default_rng(0).normal(size=(30, 2)))


def network(inputs: int, outputs: int, role: str) -> ft.Network:
    return ft.Network.described(
        random_mlp(np.random.default_rng(1), (inputs, 8, outputs), "tanh"), "net"
    ).with_role(role)


def test_a_role_that_does_not_exist_is_refused_with_the_nearest_one():
    with pytest.raises(SubjectError, match="did you mean score"):
        network(3, 2, "scores")


def test_a_function_is_read_in_its_role():
    net = ft.Network.of(lambda z: -z[:2], (3,), role="score")
    assert net.role == "score"
    assert net.with_data(ROWS).law is not None
    with pytest.raises(SubjectError, match="did you mean critic"):
        ft.Network.of(lambda z: z[:1], (3,), role="critics")


@pytest.mark.parametrize(
    ("inputs", "role"), [(3, "score"), (3, "velocity"), (5, "generator"), (5, "decoder")]
)
def test_the_rows_to_imitate_are_no_inputs(inputs, role):
    net = network(inputs, 2, role).with_data(ROWS)
    assert net.data is None and net.law is not None and net.law.x.shape == (30, 2)


def test_the_data_of_a_critic_are_its_inputs():
    net = network(2, 1, "critic").with_data(ROWS)
    assert net.law is None and net.data is not None


def test_rows_of_another_size_are_refused():
    with pytest.raises(SubjectError, match="do not fit the score"):
        network(5, 4, "score").with_data(ROWS)


def test_the_hypothesis_asks_for_role_shapes_and_data():
    asks = ask_role("score").check
    assert asks(network(3, 2, "velocity")).status is Status.FAILED
    assert asks(network(3, 2, "score")).status is Status.FAILED
    assert asks(network(3, 2, "score").with_data(ROWS)).status is Status.PROVED
    assert asks(network(4, 2, "score")).status is Status.FAILED


def test_times_are_the_last_entry():
    net = network(3, 2, "velocity")
    x = ROWS.x[:4]
    one = values_at(net, x, 0.5)
    assert np.allclose(one, np.asarray(net.description(np.column_stack([x, np.full(4, 0.5)]))))


@pytest.mark.parametrize(
    ("id", "inputs", "outputs", "role"),
    [
        ("score-matching", 3, 2, "score"),
        ("girsanov", 3, 2, "score"),
        ("flow-matching", 3, 2, "velocity"),
        ("modes-need-steepness", 2, 2, "generator"),
        ("vae-elbo", 2, 2, "decoder"),
    ],
)
def test_theorems_judge_networks_in_their_role(id, inputs, outputs, role):
    result = ft.check(id, network(inputs, outputs, role).with_data(ROWS))
    assert result.verdict in (Verdict.CONSISTENT, Verdict.CERTIFIED, Verdict.INCONCLUSIVE), (
        result.summary
    )
    assert not any(claim.judgement.contradicted for claim in result.claims)
