"""Live neurons, what may be left out, and the curve of a network whose small weights go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.networks import Dense, Description, random_mlp
from ftheta.networks.realisation import prune_weights, states
from ftheta.theorems.universality.sparse_connection_approximation import tabulate_layers
from ftheta.theorems.universality.sparse_connection_approximation.sparsity import (
    count_budget,
    find_live,
    largest_weights,
    prune,
    without_dangling,
)

from ...thoroughness import max_examples


def thinned(seed: int, share: float, word: str = "relu") -> Description:
    rng = np.random.default_rng(seed)
    return prune_weights(random_mlp(rng, (3, 6, 5, 6, 2), word, bias=0.5), share, rng)


@max_examples(60)
@given(st.integers(0, 10**6), st.floats(0, 1), st.sampled_from(["relu", "tanh"]))
def test_live_neurons_lie_on_a_path_and_nothing_else_is_needed(seed, share, word):
    net = thinned(seed, share, word)
    links = [(layer.weight != 0).astype(int) for layer in net.layers]
    for level, mask in enumerate(find_live(net)[1:-1], 1):
        before = np.eye(3, dtype=int)
        after = np.eye(2, dtype=int)
        for link in links[:level]:
            before = link @ before
        for link in reversed(links[level:]):
            after = after @ link
        assert np.array_equal(mask, (before.sum(axis=1) * after.sum(axis=0)) > 0)
    less = without_dangling(net)
    x = np.random.default_rng(1).normal(size=(20, 3))
    assert np.allclose(states(net, x)[-1][1], states(less, x)[-1][1], atol=1e-12)
    kept = count_budget(net)
    assert kept.neurons <= kept.connections <= (kept.neurons + 3) * (kept.neurons + 2)
    if sum(less.widths[1:-1]):
        assert (
            count_budget(less).all_neurons == kept.neurons
            and count_budget(less).all_connections == kept.connections
        )


def test_a_neuron_without_inputs_goes_into_the_bias():
    first = Dense(np.array([[1.0], [0.0], [0.0]]), np.array([0.0, 2.0, -2.0]), "relu")
    net = Description((first, Dense(np.array([[1.0, 3.0, 5.0]]), np.array([1.0]))))
    less = without_dangling(net)
    assert less.widths == (1, 1, 1) and less.layers[1].bias[0] == 7.0
    table = tabulate_layers(net)
    assert table.rows[0][1:] == (3, 1, "33.3%", 1, 3, 1) and table.rows[1][1:] == (
        3,
        3,
        "100.0%",
        1,
        1,
        1,
    )


def test_a_network_that_nothing_passes_is_a_constant():
    net = thinned(0, 1.0)
    assert without_dangling(net).widths == (3, 2) and count_budget(net).neurons == 0
    x = np.ones((1, 3))
    assert np.array_equal(states(without_dangling(net), x)[-1][1], states(net, x)[-1][1])


def test_the_largest_weights_stay_and_the_curve_ends_at_no_error():
    net = thinned(1, 0.0)
    some = largest_weights(net, 10)
    kept = np.concatenate([np.abs(y.weight).ravel() for y in some.layers])
    every = np.concatenate([np.abs(y.weight).ravel() for y in net.layers])
    assert (
        np.array_equal(np.sort(kept)[-10:], np.sort(every)[-10:]) and np.count_nonzero(kept) == 10
    )
    curve = prune(net, np.random.default_rng(0).normal(size=(64, 3)))
    assert (
        curve.errors[-1] == 0
        and curve.connections[0] == 0
        and curve.connections[-1] == count_budget(net).connections
    )
    place = curve.connections.index(int(curve.within(0.05).lo))
    assert all(error <= 0.05 for error in curve.errors[place:]) and curve.errors[place - 1] > 0.05
    assert curve.within(-1.0).lo == curve.connections[-1]
    assert pytest.approx(curve.errors[0]) == np.sqrt(
        np.mean(
            (states(largest_weights(net, 0), np.ones((1, 3)))[-1][1] - states(net, X)[-1][1]) ** 2
        )
        / np.mean(states(net, X)[-1][1] ** 2)
    )


X = np.random.default_rng(0).normal(size=(64, 3))
