"""Networks to hold against the sawtooth: trained to follow it, random, constant, or the sawtooth itself."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ftheta.networks import Dense, Description, random_mlp
from ftheta.relu.describe import describe_layers
from ftheta.relu.line.sawtooth import sparse_zigzag
from ftheta.relu.line.separation import folds
from ftheta.training.adaptive import Adam

KINDS = ("trained", "random", "½", "f itself")
POINTS = 256
RATE = 0.02  # of Adam
Params = list[tuple[np.ndarray, np.ndarray]]


def tent(x: np.ndarray, k: int) -> np.ndarray:
    r"""$\Delta^{\circ k}$ on $[0,1]$."""
    for _ in range(k):
        x = 1 - np.abs(2 * x - 1)
    return x


def states(params: Params, x: np.ndarray) -> list[np.ndarray]:
    """The input, every hidden state, the output: one row per point."""
    found = [x]
    for W, b in params[:-1]:
        found.append(np.maximum(found[-1] @ W.T + b, 0.0))
    W, b = params[-1]
    return [*found, found[-1] @ W.T + b]


def gradient(params: Params, x: np.ndarray, y: np.ndarray) -> Params:
    r"""Of $\frac1n\sum_i|f_\theta(x_i)-y_i|^2$, backwards through the layers."""
    passed = states(params, x)
    adjoint = 2 * (passed[-1] - y) / len(x)
    found = []
    for (W, _), state in zip(reversed(params), reversed(passed[:-1])):
        found.append((adjoint.T @ state, adjoint.sum(axis=0)))
        adjoint = (adjoint @ W) * (state > 0)
    return found[::-1]


def initialise(rng: np.random.Generator, widths: Sequence[int]) -> Params:
    """Random layers; the kinks of the first are spread over [0, 1]."""
    params = [(rng.normal(size=(n, m)) * np.sqrt(2 / m), np.zeros(n)) for m, n in pairwise(widths)]
    W, _ = params[0]
    return [(W, -W[:, 0] * rng.random(len(W))), *params[1:]]


def fit(
    rng: np.random.Generator, widths: Sequence[int], x: np.ndarray, y: np.ndarray, steps: int
) -> Params:
    """Adam on the mean square error, all points at once."""
    params = initialise(rng, widths)
    rule = Adam(alpha=RATE)
    theta = np.concatenate([a.ravel() for layer in params for a in layer])
    params = _layers_of(theta, params)  # views: they move with theta
    memory = rule.begin(np.zeros_like(theta))
    for t in range(1, steps + 1):
        slope = np.concatenate([g.ravel() for layer in gradient(params, x, y) for g in layer])
        move, memory = rule.step(slope, t, memory)
        theta += move
    return params


def _layers_of(theta: np.ndarray, like: Params) -> Params:
    """The numbers of `theta` as layers of these shapes, without a copy."""
    ends = np.cumsum([a.size for layer in like for a in layer])
    parts = iter(np.split(theta, ends[:-1]))
    return [(next(parts).reshape(W.shape), next(parts).reshape(b.shape)) for W, b in like]


def train(rng: np.random.Generator, widths: Sequence[int], k: int, steps: int = 300) -> Description:
    r"""Layers trained to follow $\Delta^{\circ k}$."""
    params = fit(rng, widths, middles(POINTS), tent(middles(POINTS), k), steps)
    words = ["relu"] * (len(params) - 1) + ["identity"]
    return Description(tuple(Dense(W, b, word) for (W, b), word in zip(params, words)))


def make_competitor(
    rng: np.random.Generator, kind: str, widths: Sequence[int], hidden: str
) -> tuple[Description, str]:
    """A network to hold against the sawtooth of 64 pieces, and its name."""
    if kind == "½":
        return Description((Dense(np.zeros((1, 1)), np.array([0.5])),)), "the constant ½"
    if kind == "f itself":
        return describe_layers(sparse_zigzag(2, folds(2))), "the sawtooth of 64 pieces"
    learns = kind == "trained" and hidden == "relu"
    layers = train(rng, widths, folds(2)) if learns else random_mlp(rng, widths, hidden, bias=0.5)
    return (
        layers,
        f"{'trained' if learns else 'random'} {hidden} network {'-'.join(map(str, widths))}",
    )


def middles(n: int) -> np.ndarray:
    """The middles of n equal cells of [0, 1], as a column."""
    return (np.arange(n)[:, None] + 0.5) / n
