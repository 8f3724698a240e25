"""Semidefinite certificates of quadratic functions of ReLU networks: none excludes a point that is there."""

from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.certify.quadratic.search import QuadraticSearch
from ftheta.certify.questions import Box, Case, Row
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork, Step
from ftheta.relu.reading.products import QuadraticNetwork

from . import Trial
from .verification import _draw

SECONDS = 0.4
DRAWN = 400
ROUNDS = 40  # of ever smaller steps towards the least value
POWERS = (0, 0, 0, 30, 120)  # of two, by which inputs and outputs are scaled
ONE = Fraction(1)


def _draw_network(rng: np.random.Generator, d: int, centre: np.ndarray) -> QuadraticNetwork:
    r"""$y_0$ of products of affine functions of $x$ and neurons, and $y_1=\|x-c\|^2$."""
    widths = [d, *(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 3))))]
    count = int(rng.integers(1, 4)) + d
    steps = []
    carried = np.eye(d + count)
    state = d + count  # inputs and products; then neurons are put before them
    neurons = 0
    for n in widths[1:]:
        rows = np.zeros((n, state))
        seen = slice(0, neurons) if neurons and rng.random() < 0.7 else slice(neurons, neurons + d)
        rows[:, seen] = _draw(rng, n, seen.stop - seen.start)
        matrix = np.vstack([rows, np.hstack([np.zeros((d + count, neurons)), carried])])
        offset = np.concatenate([_draw(rng, n), np.zeros(d + count)])
        steps.append(Step(matrix, offset, np.arange(len(matrix)) < n))
        neurons = n
        state = n + d + count
    forms = np.zeros((2 * count, state))
    forms[:, : neurons + d] = _draw(rng, 2 * count, neurons + d)
    shifts = _draw(rng, 2 * count)
    if rng.random() < 0.3:
        forms[count:], shifts[count:] = forms[:count], shifts[:count]  # squares
    for i in range(d):
        for k in (count - d + i, 2 * count - d + i):
            forms[k] = 0.0
            forms[k, neurons + i] = 1.0
            shifts[k] = -centre[i]
    outputs = np.zeros((2, state))
    outputs[0, : neurons + d] = _draw(rng, neurons + d)
    outputs[0, neurons + d :] = rng.choice([-1.0, 0.5, 1.0, 1.0], count)
    outputs[1, state - d :] = 1.0
    last = np.vstack([outputs, forms])
    steps.append(Step(last, np.concatenate([_draw(rng, 2), shifts]), np.zeros(len(last), bool)))
    return QuadraticNetwork(ReluNetwork(tuple(steps)), d, 2, count)


def _evaluate(net: QuadraticNetwork, x: np.ndarray) -> np.ndarray:
    """Outputs at rows, in floats."""
    none = np.zeros((len(x), net.products))
    factors = net.network(np.hstack([x, none]))[:, net.outputs :]
    products = factors[:, : net.products] * factors[:, net.products :]
    return np.asarray(net.network(np.hstack([x, products]))[:, : net.outputs])


def _evaluate_exactly(net: QuadraticNetwork, x: list[Fraction]) -> list[Fraction]:
    in_rationals = exact(net.network)
    factors = in_rationals([*x, *[Fraction(0)] * net.products])[net.outputs :]
    products = [a * b for a, b in zip(factors, factors[net.products :])]
    return list(in_rationals([*x, *products])[: net.outputs])


def _seek_least(
    rng: np.random.Generator, net: QuadraticNetwork, low: np.ndarray, high: np.ndarray, far: float
) -> np.ndarray:
    """A point of the box, and with y₁ at most so far, near the least y₀."""

    def cost(x: np.ndarray) -> np.ndarray:
        y = _evaluate(net, x)
        return np.where(y[:, 1] <= far, y[:, 0], np.inf)

    x = rng.uniform(low, high, (DRAWN, len(low)))
    best = x[int(cost(x).argmin())]
    for k in range(ROUNDS):
        step = (high - low) * 0.7**k
        near = np.clip(best + step * rng.standard_normal((24, len(low))), low, high)
        near = np.vstack([best[None], near])
        best = near[int(cost(near).argmin())]
    return best


def _scale(net: QuadraticNetwork, inputs: int, outputs: int) -> QuadraticNetwork:
    """Inputs and all outputs but factors times powers of two."""
    *steps, last = net.network.steps
    factors = np.ones(len(last.offset))
    factors[: net.outputs] = 2.0**outputs
    steps = [*steps, Step(last.dense() * factors[:, None], last.offset * factors, last.rectified)]
    first = steps[0].dense().copy()
    first[:, : net.inputs] *= 2.0**-inputs
    steps[0] = Step(first, steps[0].offset, steps[0].rectified)
    return QuadraticNetwork(ReluNetwork(tuple(steps)), net.inputs, net.outputs, net.products)


def attempt_certificate(rng: np.random.Generator) -> str | None:
    """A bound that one point attains exactly, near the least value: no part that holds the point is excluded."""
    d = int(rng.integers(1, 4))
    half = rng.integers(1, 9, d) / 4
    middle = _draw(rng, d)
    low, high = middle - half, middle + half
    centre = middle + rng.uniform(-1, 1, d) * half
    net = _draw_network(rng, d, centre)
    has_ball = bool(rng.random() < 0.5)
    far = float((half**2).sum() * rng.uniform(0.1, 1.0)) if has_ball else np.inf
    point = _seek_least(rng, net, low, high, far + float(_evaluate(net, centre[None])[0, 1]))
    most = int(rng.choice(POWERS))
    a, b = (int(v) for v in rng.integers(-most, most + 1, 2))
    net = _scale(net, a, b)
    x = [Fraction(float(v)) * Fraction(2) ** a for v in point]
    y = _evaluate_exactly(net, x)
    rows = tuple(Row({}, {j: ONE}, y[j], False) for j in range(1 + has_ball))
    by = Fraction(2) ** a
    box = Box(*(tuple(by * Fraction(float(v)) for v in side) for side in (low, high)))
    stand_in: Any = ReluNetwork.dense(
        [np.zeros((2, d))], [np.zeros(2)]
    )  # for attacks, of no use here
    search = QuadraticSearch(net, stand_in, Case(box, (rows,)), SECONDS, lambda x: False).run()
    if search.closed:
        return f"{net.network.widths}, {net.products} products: excluded, and {point.tolist()} is there"
    return None


TRIALS = (
    Trial("quadratic: certificates", "a point excluded that is there", attempt_certificate, few=15),
)
