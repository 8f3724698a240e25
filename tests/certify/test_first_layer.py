"""Bounds by splitting neurons of the first layer: against exact minima in rationals, and against lines alone."""

from fractions import Fraction

import numpy as np
import pytest

from ftheta.certify.neurons.enclosing import enclose
from ftheta.certify.neurons.first_layer import bound_by_first_layer
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.neurons.lines import Start, bound_below, plain_lines
from ftheta.relu.network import ReluNetwork


def random_net(rng: np.random.Generator, widths: list[int], scale: int = 0) -> ReluNetwork:
    shapes = [*zip(widths[1:], widths)]
    return ReluNetwork.dense(
        [rng.normal(size=s) * 2.0 ** rng.integers(-scale, scale + 1, s) for s in shapes],
        [rng.normal(size=s[0]) for s in shapes],
    )


def least_on_segment(net: ReluNetwork, low: float, high: float) -> list[Fraction]:
    """The exact minimum of each output of a network with one hidden layer and one input, at ends and kinks."""
    first, last = net.steps
    w = [Fraction(v) for v in first.matrix[:, 0].tolist()]
    b = [Fraction(v) for v in first.offset.tolist()]
    ends = (Fraction(low), Fraction(high))
    kinks = [-v / u for u, v in zip(w, b) if u and ends[0] < -v / u < ends[1]]
    least = []
    for row, offset in zip(last.matrix.tolist(), last.offset.tolist()):
        values = [
            sum((Fraction(a) * max(u * x + v, 0) for a, u, v in zip(row, w, b)), Fraction(offset))
            for x in (*ends, *kinks)
        ]
        least.append(min(values))
    return least


def bound_outputs(net: ReluNetwork, inputs: Inputs, splits: int) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of all outputs with so many splits, and without any."""
    frame, _ = enclose(net, inputs)
    last = frame.last
    start = Start(np.ascontiguousarray(last.weight), last.bias.copy(), last.error.copy())
    lines = plain_lines(frame.layers, len(last.bias))
    split = bound_by_first_layer(inputs, frame.layers, start, lines, splits)
    return split, bound_below(inputs, frame.layers, start, lines)


@pytest.mark.parametrize("scale", [0, 3, 20])
def test_no_bound_exceeds_the_exact_minimum(scale: int) -> None:
    rng = np.random.default_rng(scale)
    for _ in range(60):
        net = random_net(rng, [1, int(rng.integers(1, 14)), 5], scale)
        low = float(rng.normal())
        high = low + float(rng.uniform(0, 2))
        exact = least_on_segment(net, low, high)
        for splits in (1, 4, 64):
            found, _ = bound_outputs(net, Inputs(np.array([low]), np.array([high])), splits)
            assert all(Fraction(a) <= b for a, b in zip(found.tolist(), exact))


def test_one_neuron_is_bounded_by_its_exact_minimum_and_not_above_it() -> None:
    """A ReLU that is on over most of its range, and a constant: its line is far below, both halves are exact."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        u, c = rng.normal(size=2) * 2.0 ** rng.integers(-20, 20, 2)
        c = -abs(c)  # a positive bound is enough, and nothing is split
        net = ReluNetwork.dense([[[abs(u)]], [[1.0]]], [[0.0], [c]])
        inputs = Inputs(np.array([-rng.uniform(0.1, 1)]), np.ones(1))
        found, plain = bound_outputs(net, inputs, 2)
        assert Fraction(float(found[0])) <= Fraction(c)
        assert found[0] >= c - 1e-12 * (abs(c) + abs(u)) > plain[0]


def test_splits_tighten_the_bounds_of_deeper_neurons_and_keep_them_sound() -> None:
    rng = np.random.default_rng(5)
    net = random_net(rng, [6, 16, 12, 10, 1])
    low = np.full(6, -0.5)
    inputs = Inputs(low, -low)
    _, plain = enclose(net, inputs)
    state = rng.uniform(low, -low, (20000, 6)).T
    state[:, :5000] = np.where(rng.uniform(size=(6, 5000)) < 0.5, low[:, None], -low[:, None])
    means = []
    for splits in (4, 32):
        _, split = enclose(net, inputs, None, plain, splits=splits)
        means.append(np.mean([(high - low).mean() for low, high in split]))
        reached = state
        for step, (under, above) in zip(net.steps, split):
            z = step.matrix @ reached + step.offset[:, None]
            assert np.all(under <= z.min(1) + 1e-12) and np.all(z.max(1) <= above + 1e-12)
            reached = np.maximum(z, 0)
        assert all(np.all(b[0] <= a[0]) and np.all(a[1] <= b[1]) for a, b in zip(split, plain))
    assert means[1] < means[0] < np.mean([(high - low).mean() for low, high in plain])


def test_what_leaves_float64_is_not_bounded() -> None:
    net = random_net(np.random.default_rng(0), [2, 6, 3])
    inputs = Inputs(-np.ones(2), np.ones(2))
    frame, _ = enclose(net, inputs)
    lines = plain_lines(frame.layers, 3)
    width = frame.last.weight.shape[1]
    for odd in (np.inf, np.nan):
        start = Start(np.ones((3, width)), np.array([0.0, odd, -odd]), np.zeros(3))
        found = bound_by_first_layer(inputs, frame.layers, start, lines, 4)
        assert np.isfinite(found[0]) and np.all(found[1:] == -np.inf)
