r"""What a network costs in connections $W$ (non-zero weights) and in neurons $N$, and what it loses when weights go.

A neuron is *live* if some input reaches it and it reaches some output, along non-zero weights. The others dangle: one
that no input reaches is a constant, which goes into the biases behind it; one that reaches no output is not missed.
Every live neuron is entered by a connection of its own, so that $N\le W$ when nothing dangles.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.logic import Enclosure
from ftheta.networks.activations import activation
from ftheta.networks.description import Dense, Description
from ftheta.networks.realisation import states

MOST_CUTS = 24  # networks along a pruning curve


def find_live(description: Description) -> list[np.ndarray]:
    """For the input, every hidden layer and the output: which entries lie on a path from an input to an output."""
    links = [layer.weight != 0 for layer in description.layers]
    reached = [np.ones(description.widths[0], bool)]
    for link in links:
        reached.append(link[:, reached[-1]].any(axis=1))
    reaching = [np.ones(description.widths[-1], bool)]
    for link in reversed(links):
        reaching.append(link[reaching[-1]].any(axis=0))
    both = [a & b for a, b in zip(reached, reversed(reaching))]
    return [reached[0], *both[1:-1], reaching[0]]


def without_dangling(description: Description) -> Description:
    r"""The same function without its dangling neurons; constants $\sigma(b)$ go into the next bias."""
    kept = find_live(description)
    layers = []
    if not all(mask.any() for mask in kept):  # nothing gets through
        d = description.widths[0]
        constant = states(description, np.zeros((1, d)))[-1][1][0]
        return Description((Dense(np.zeros((len(constant), d)), constant),))
    fixed = np.zeros(description.widths[0])  # the value of every entry that no input reaches
    reached = np.ones(description.widths[0], bool)
    for layer, before, after in zip(description.layers, kept, kept[1:]):
        bias = layer.bias + layer.weight @ fixed
        layers.append(Dense(layer.weight[np.ix_(after, before)], bias[after], layer.activation))
        reached = (layer.weight != 0)[:, reached].any(axis=1)
        value = np.asarray(activation(layer.activation).function(jnp.asarray(bias)))
        fixed = np.where(reached, 0.0, value)
    return Description(tuple(layers))


@dataclass(frozen=True, slots=True)
class ConnectionCounts:
    """Connections and hidden neurons of the live part, and of the whole."""

    connections: int
    neurons: int
    all_connections: int
    all_neurons: int


def count_budget(description: Description) -> ConnectionCounts:
    """Connections and neurons on paths from an input to an output, and all of them."""
    kept = find_live(description)
    inner = sum(
        int(np.count_nonzero(y.weight[np.ix_(b, a)]))
        for y, (a, b) in zip(description.layers, pairwise(kept))
    )
    return ConnectionCounts(
        inner,
        sum(int(mask.sum()) for mask in kept[1:-1]),
        sum(int(np.count_nonzero(y.weight)) for y in description.layers),
        sum(description.widths[1:-1]),
    )


def largest_weights(description: Description, count: int) -> Description:
    """Only the so many largest weights (in absolute value; the first among equals), all biases."""
    sizes = np.concatenate([np.abs(layer.weight).ravel() for layer in description.layers])
    keep = np.zeros(len(sizes), bool)
    keep[np.argsort(-sizes, kind="stable")[:count]] = True
    layers = []
    start = 0
    for layer in description.layers:
        mask = keep[start : start + layer.weight.size].reshape(layer.weight.shape)
        layers.append(Dense(layer.weight * mask, layer.bias, layer.activation))
        start += layer.weight.size
    return Description(tuple(layers))


@dataclass(frozen=True, eq=False)
class Pruning:
    """Along the curve: live connections, live neurons, and the error relative to the size of the outputs."""

    connections: tuple[int, ...]
    neurons: tuple[int, ...]
    errors: tuple[float, ...]
    inputs: int

    def within(self, error: float) -> Enclosure:
        """The fewest live connections met for which this error is not exceeded, here and with more weights."""
        held = len(self.errors)
        while held and self.errors[held - 1] <= error:
            held -= 1
        place = min(held, len(self.errors) - 1)
        return Enclosure.measured(self.connections[place], samples=self.inputs)


def prune(description: Description, x: np.ndarray) -> Pruning:
    """Weights go from the smallest to the largest; the error is seen at the rows of `x`."""
    outputs: Callable[[Description], Any] = lambda net: states(net, x)[-1][1]
    whole = count_budget(description).all_connections
    full = outputs(description)
    size = float(np.sqrt(np.mean(full**2))) or 1.0
    counts = sorted({round(whole * k / MOST_CUTS) for k in range(MOST_CUTS + 1)})
    cut = [largest_weights(description, n) for n in counts]
    left = [count_budget(net) for net in cut]
    errors = [float(np.sqrt(np.mean((outputs(net) - full) ** 2))) / size for net in cut]
    return Pruning(
        tuple(b.connections for b in left), tuple(b.neurons for b in left), tuple(errors), len(x)
    )
