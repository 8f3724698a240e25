r"""Which neuron to split next: scores read off the last pass, then a look at both halves of the best few.

A coefficient $a$ of the output of an undecided ReLU costs the bound $|a|$ times the distance of its line from the ReLU.
Two scores say how much a split may gain: BaBSR's (from bias and intercept) and the distance at the relaxed point
itself. Of each the best are tried: the bounds of both halves with the parent's slopes, at one pass each.
"""

from collections.abc import Sequence

import numpy as np

from ftheta.shapes import Float, Int

from .frames import Layer
from .inputs import Inputs
from .lines import Lines, Optimum, Start, draw_lines, estimate

POOLS = (2, 2)  # candidates of each score


def score_neurons(
    layers: Sequence[Layer], found: Optimum, lines: Lines
) -> list[Float[np.ndarray, "n u"]]:
    """For every domain and undecided neuron two scores; −∞ for split neurons."""
    slope = np.concatenate([layer.slope for layer in layers]).astype(np.float32)
    offset = np.concatenate([layer.offset for layer in layers]).astype(np.float32)
    bias = np.concatenate([layer.rough_bias[: layer.undecided] for layer in layers])
    a = found.coefficients
    z = found.states
    negative = np.minimum(a, 0)
    intercept = negative * offset
    shifted = np.maximum(bias * a * (slope - 1), bias * a * slope)
    relu = np.maximum(z, 0)
    distance = np.where(a > 0, a * (relu - found.lower * z), negative * (relu - slope * z - offset))
    is_split = lines.sign != 0
    return [
        np.where(is_split, -np.inf, score)
        for score in (np.abs(shifted + intercept), distance)
    ]  # fmt: skip


def choose_splits(
    inputs: Inputs, layers: Sequence[Layer], start: Start, lines: Lines, found: Optimum
) -> Int[np.ndarray, "n"]:
    """For every domain the column of the neuron to split; −1 where all are."""
    domains = len(found.best)
    candidates = []
    scores = score_neurons(layers, found, lines)
    for size, score in zip(POOLS, scores):
        count = min(size, score.shape[1])
        for _ in range(count):
            pick = score.argmax(1)
            candidates.append(pick)
            for other in scores:
                other[np.arange(domains), pick] = -np.inf
    picks = np.stack(candidates, axis=1)
    tried = picks.shape[1]
    rows = np.repeat(np.arange(domains), 2 * tried)
    columns = np.repeat(picks.ravel(), 2)
    sign = lines.sign[rows]
    is_free = sign[np.arange(len(rows)), columns] == 0
    sign[np.arange(len(rows)), columns] = np.tile(np.array([1, -1], np.int8), domains * tried)
    trial = draw_lines(layers, found.lower[rows], found.push[rows], sign, np.float32)
    value = estimate(inputs, layers, start.select(rows), trial).reshape(domains, tried, 2)
    # gains beyond what closes a half count no more; the product wants both halves to gain
    parent = found.best[:, None, None]
    gain = np.maximum(
        np.minimum(value, np.maximum(parent, 0) + 1e-6) - parent, 1e-6 * (1 + np.abs(parent))
    )
    merit = np.where(
        is_free.reshape(domains, tried, 2)[..., 0], gain[..., 0] * gain[..., 1], -np.inf
    )
    at = merit.argmax(1)
    chosen = picks[np.arange(domains), at]
    return np.where(np.isneginf(merit[np.arange(domains), at]), -1, chosen)
