r"""Convex and monotone by construction: what the signs of the weights prove of a network on all of $\mathbb R^d$.

A sum of convex functions with weights of the right signs is convex, and so is a convex non-decreasing activation of a
convex function. Layer by layer this tells for every neuron whether it is convex, concave or both (affine) in the
inputs, and in which inputs it rises or falls. Input-convex networks (`amos2017`), with free skip connections from the
inputs, pass; so do maxima, and nothing that is not convex does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from ftheta.networks.activations import activation
from ftheta.networks.description import Dense, Description
from ftheta.relu.network import ReluNetwork

CONVEX = frozenset(("relu", "leaky-relu", "softplus", "square"))
"""Activations that are convex; those that are monotone say so themselves."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Of every output: whether it is `convex` or `concave`, and in which inputs it does not fall (`rises`) or does not
    rise (`falls`), shape (outputs, inputs). True is proved, False is not known."""

    convex: np.ndarray
    concave: np.ndarray
    rises: np.ndarray
    falls: np.ndarray


def shape_of(net: ReluNetwork | Description) -> Shape:
    """What the signs of the weights prove; they are looked at as they are, without a tolerance."""
    layers = list(_layers(net))
    d = layers[0][0].shape[1]
    every = np.ones(d, bool)
    shape = Shape(every, every, np.ones((d, d), bool), ~np.eye(d, dtype=bool))
    for matrix, words in layers:
        shape = _activate(_combine(matrix, shape), words)
    return shape


def _layers(net: ReluNetwork | Description) -> Iterable[tuple[Any, list[str]]]:
    if isinstance(net, Description):
        for layer in net.layers:
            yield layer.weight, [layer.activation] * len(layer.weight)
    else:
        for step in net.steps:
            yield step.matrix, ["relu" if r else "identity" for r in step.rectified]


def _combine(A: Any, s: Shape) -> Shape:
    """Every row holds where no term spoils it: positive weights keep a property, negative ones exchange the two."""
    more = (A > 0).astype(np.int64)
    less = (A < 0).astype(np.int64)

    def keeps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (more @ ~one + less @ ~other) == 0

    convex = keeps(s.convex, s.concave)
    concave = keeps(s.concave, s.convex)
    return Shape(convex, concave, keeps(s.rises, s.falls), keeps(s.falls, s.rises))


def _activate(s: Shape, words: list[str]) -> Shape:
    known = {word: activation(word) for word in set(words)}
    affine = np.array([word == "identity" for word in words])
    monotone = np.array([known[word].monotone for word in words])
    bowl = np.array([word in CONVEX for word in words])
    constant = (s.rises & s.falls).all(1)
    both = s.convex & s.concave
    convex = np.where(affine, s.convex, bowl & np.where(monotone, s.convex, both)) | constant
    concave = np.where(affine, s.concave, False) | constant
    still = s.rises & s.falls
    keep = monotone[:, None]
    return Shape(convex, concave, np.where(keep, s.rises, still), np.where(keep, s.falls, still))


# ---- networks of this kind -------------------------------------------------------------------------------------------


def with_signs(net: Description, first: bool) -> Description:
    """The same layers with the absolute values of the weights, in the first layer too if `first`: convex for convex
    non-decreasing activations, and monotone then."""
    layers = [
        Dense(np.abs(layer.weight) if k or first else layer.weight, layer.bias, layer.activation)
        for k, layer in enumerate(net.layers)
    ]
    return Description(tuple(layers))


def draw_input_convex(
    rng: np.random.Generator, inputs: int, width: int
) -> tuple[Callable[[Any, Any], Any], Any]:
    r"""$z_1=r(A_0x+b_0)$, $z_2=r(W_1z_1+A_1x+b_1)$, $f=W_2z_2+A_2x+b_2$ with $W_1,W_2\ge0$: `apply` and `params`."""
    sizes = (width, width, 1)
    free = [(rng.normal(size=(n, inputs)), rng.normal(size=n) / 2) for n in sizes]
    hidden = [np.abs(rng.normal(size=(n, m))) for m, n in pairwise(sizes)]
    return _input_convex, (free, hidden)


def _input_convex(params: Any, x: Any) -> Any:
    free, hidden = params
    z = jax.nn.relu(free[0][0] @ x + free[0][1])
    for k, ((A, b), W) in enumerate(zip(free[1:], hidden)):
        z = W @ z + A @ x + b
        z = jax.nn.relu(z) if k < len(hidden) - 1 else z
    return z
