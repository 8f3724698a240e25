"""Back-propagation by hand beside JAX; counted costs of perceptrons beside their formulas."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.networks import Dense, Description, random_mlp
from ftheta.networks.backprop import backpropagate
from ftheta.theorems.gradients.backprop_mlp import _claim_agreement, misprints
from ftheta.theorems.gradients.backprop_mlp.recursion import Backprop, one_neuron
from ftheta.theorems.gradients.reverse_mode.differentiation import (
    chain_memory,
    count_multiplications,
    perceptron_costs,
)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", ["tanh", "relu", "sigmoid", "gelu", "square"])
def test_the_recursion_gives_the_gradient_of_jax(name):
    rng = np.random.default_rng(0)
    net = random_mlp(rng, (4, 6, 5, 2), name, bias=0.3)
    x = rng.normal(size=(7, 4))
    y = rng.normal(size=(7, 2))
    loss = lambda params, x: jnp.sum((net.apply(params, x) - y) ** 2) / 2
    found = backpropagate(net, x, y)
    by_params, by_input = jax.grad(loss, (0, 1))(net.params, x)
    for (a, b), (c, d) in zip(found.gradients, by_params, strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(b, d, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.adjoints[0], by_input, rtol=1e-9, atol=1e-12)


def test_the_recursion_is_exact_on_a_linear_network_in_rationals():
    w1 = [[1, 2], [3, -1]]
    w2 = [[2, -1]]
    x = [1, -2]
    y = [3]
    h = [sum(Fraction(a) * b for a, b in zip(row, x)) for row in w1]
    g = sum(Fraction(a) * b for a, b in zip(w2[0], h)) - y[0]
    net = Description(
        (Dense(np.array(w1, float), np.zeros(2)), Dense(np.array(w2, float), np.zeros(1)))
    )
    found = backpropagate(net, np.array([x], float), np.array([y], float))
    assert found.gradients[1][0].tolist() == [[float(g * v) for v in h]]
    assert found.gradients[0][0].tolist() == [[float(g * a * v) for v in x] for a in w2[0]]
    assert one_neuron() == ((1.5, 1.5), (3.0, 3.0), (4.5, 4.5))


def test_a_wrong_description_is_contradicted_with_a_witness():
    rng = np.random.default_rng(0)
    net, other = (random_mlp(rng, (3, 4, 2), "tanh") for _ in range(2))
    x = rng.normal(size=(5, 3))
    y = rng.normal(size=(5, 2))
    right = _claim_agreement(Backprop(net, net.apply, net.params, x, y), rng, 5)
    wrong = _claim_agreement(Backprop(other, net.apply, net.params, x, y), rng, 5)
    assert {c.judge().verdict.value for c in right} == {"consistent"}
    assert {c.judge().verdict.value for c in wrong} == {"refuted"}


@pytest.mark.parametrize("hidden", ["tanh", "relu"])
def test_the_misprints_are_refuted_in_intervals(hidden):
    rng = np.random.default_rng(0)
    net = random_mlp(rng, (3, 4, 4, 2), hidden, bias=0.3)
    found = Backprop(net, net.apply, net.params, rng.normal(size=(5, 3)), rng.normal(size=(5, 2)))
    with jax.enable_x64(True):
        printed = misprints(found)
        for misprint in printed:
            witness = misprint.witness
            assert witness is not None
            assert witness.left.lo <= misprint.left.middle <= witness.left.hi
            assert witness.right.lo <= misprint.right.middle <= witness.right.hi
    assert [c.judge().verdict.value for c in printed] == ["refuted", "refuted"]


def test_perceptrons_multiply_as_often_as_the_formula_says():
    rng = np.random.default_rng(0)
    assert count_multiplications(random_mlp(rng, (10, 20, 30, 1), "relu")) == (830, 1460)
    assert count_multiplications(random_mlp(rng, (10, 20, 30, 1), "tanh")) is None
    assert [c.dimension for c in perceptron_costs()][:2] == [
        881,
        20 * 20 * 2 + 40 + 40 * 60 + 60 + 60 + 1,
    ]
    assert (
        max(c.ratio for c in perceptron_costs()) <= 5 and chain_memory(64).checkpointed // 8 <= 18
    )
