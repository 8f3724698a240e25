"""Networks for the tests: random, adversarial, and with known numbers of pieces."""

from itertools import pairwise

import numpy as np

from ftheta.relu.network import ReluNetwork

KINDS = (
    "generic",
    "integer",
    "halves",
    "central",
    "duplicated",
    "mirrored",
    "pruned",
    "parallel",
    "idempotent",
)


def default_network(widths, seed=0) -> ReluNetwork:
    """Uniform weights as common libraries draw them, rounded to single precision."""
    rng = np.random.default_rng(seed)
    weights = []
    biases = []
    for n, m in pairwise(widths):
        k = n**-0.5
        weights.append(rng.uniform(-k, k, (m, n)).astype(np.float32))
        biases.append(rng.uniform(-k, k, m).astype(np.float32))
    return ReluNetwork.dense(weights, biases)


def adversarial_network(kind: str, inputs: int, seed: int, widest: int = 6) -> ReluNetwork:
    rng = np.random.default_rng(seed)
    widths = [inputs, *rng.integers(1, widest + 1, size=rng.integers(1, 4)).tolist(), 1]
    weights = []
    biases = []
    for n, m in pairwise(widths):
        W = rng.normal(size=(m, n))
        b = 0.3 * rng.normal(size=m)
        if kind == "integer":
            W = rng.integers(-2, 3, size=W.shape).astype(float)
            b = rng.integers(-1, 2, size=m).astype(float)
        elif kind == "halves":
            W = rng.integers(-2, 3, size=W.shape) / 2
            b = rng.integers(-2, 3, size=m) / 4
        elif kind == "central":
            b = np.zeros(m)
        elif kind == "duplicated":
            W[-1], b[-1] = 2 * W[0], 2 * b[0]
        elif (
            kind == "mirrored"
        ):  # three times a float is rounded: almost, but not quite, the same line
            W[-1], b[-1] = -3 * W[0], -3 * b[0]
        elif kind == "pruned":
            W = W * (rng.random(W.shape) < 0.4)
            b = b * (rng.random(m) < 0.5)
        elif kind == "parallel":
            W[-1] = 2 * W[0]
        elif kind == "idempotent" and weights and n == m:
            W = np.eye(n)
            b = np.zeros(n)
        weights.append(W)
        biases.append(b)
    return ReluNetwork.dense(weights, biases)


def tent(k: int) -> ReluNetwork:
    """The k-fold tent map: 2^k pieces on [0, 1]."""
    inner = [np.array([[2.0, -4.0], [2.0, -4.0]])] * (k - 1)
    weights = [np.array([[1.0], [1.0]]), *inner, np.array([[2.0, -4.0]])]
    return ReluNetwork.dense(weights, [np.array([0.0, -0.5])] * k + [np.zeros(1)])


def arrangement(n: int, d: int, seed: int = 0, central: bool = False) -> ReluNetwork:
    """One hidden layer of n hyperplanes in general position."""
    rng = np.random.default_rng(seed)
    b = np.zeros(n) if central else rng.normal(size=n)
    return ReluNetwork.dense([rng.normal(size=(n, d)), np.ones((1, n))], [b, np.zeros(1)])


def sampled_patterns(net: ReluNetwork, x: np.ndarray) -> np.ndarray:
    """Which neurons are positive at the points `x` (n, D), in float64."""
    state = x.T
    found = []
    for step in net.steps[:-1]:
        state = step.matrix @ state + step.offset[:, None]
        found.append(state[step.rectified] > 0)
        state = np.where(step.rectified[:, None], np.maximum(state, 0.0), state)
    return np.concatenate(found).T
