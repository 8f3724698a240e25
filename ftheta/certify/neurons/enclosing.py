"""Bounds of all neurons over a box, layer by layer: intervals, then lines, then lines with optimised slopes."""

from collections.abc import Sequence

import numpy as np

from ftheta.certify.goals import Goal
from ftheta.lazy import is_sparse
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float

from .first_layer import bound_by_first_layer
from .frames import Array, Frame, Layer, Sums, enclose_sums, enter_box, make_layer, take_step, times
from .inputs import Inputs
from .kernels import TINY, U
from .lines import Climb, Start, bound_below, draw_lines, optimise, plain_lines
from .refining import Effort, refine_rows

ROOM = 2_000_000  # entries of one array of parameters: more rows than fit are taken in turns

Bounds = Sequence[tuple[Float[np.ndarray, "_n"], Float[np.ndarray, "_n"]]]


def enclose(
    net: ReluNetwork,
    inputs: Inputs,
    plan: Climb | None = None,
    known: Bounds | None = None,
    effort: Effort | None = None,
    splits: int = 0,
) -> tuple[Frame, list[tuple[Float[np.ndarray, "_n"], Float[np.ndarray, "_n"]]]]:
    """The frame of a network over its inputs, and the bounds of all neurons of every hidden step.

    With a `plan` the slopes are optimised for each bound of a neuron whose sign is open, with an
    `effort` the neurons below it are split too. `known` are bounds that were proved before.
    """
    states = enter_box(inputs)
    layers: list[Layer] = []
    bounds = []
    first = 0
    for k, step in enumerate(net.steps[:-1]):
        sums = take_step(step, states)
        under, above = enclose_sums(sums, states)
        if known is not None:
            under = np.maximum(under, known[k][0])
            above = np.minimum(above, known[k][1])
        if layers or inputs.ball is not None:
            open_rows = np.flatnonzero(step.rectified & (under < 0) & (above > 0))
            if known is None:
                _tighten(inputs, layers, sums, open_rows, under, above, None, None)
                open_rows = open_rows[(under[open_rows] < 0) & (above[open_rows] > 0)]
            if layers and (plan is not None or splits):
                _tighten(inputs, layers, sums, open_rows, under, above, plan, effort, splits)
        layer, states = make_layer(step, sums, under, above, first)
        layers.append(layer)
        bounds.append((under, above))
        first += layer.undecided
    return Frame(inputs, tuple(layers), take_step(net.steps[-1], states)), bounds


def _tighten(
    inputs: Inputs,
    layers: list[Layer],
    sums: Sums,
    rows: Array,
    under: Array,
    above: Array,
    plan: Climb | None,
    effort: Effort | None,
    splits: int = 0,
) -> None:
    """Raise `under` and lower `above` for some rows of a step."""
    neurons = sum(layer.undecided for layer in layers)
    widest = max(neurons, sums.weight.shape[1], len(inputs.low))
    chunk = max(16, ROOM // (2 * widest))
    for begin in range(0, len(rows), chunk):
        part = rows[begin : begin + chunk]
        weight = sums.weight[part]
        weight = weight.toarray() if is_sparse(weight) else weight
        start = Start(
            np.concatenate([weight, -weight]),
            np.concatenate([sums.bias[part], -sums.bias[part]]),
            np.concatenate([sums.slack[part]] * 2),
        )
        lines = plain_lines(layers, 2 * len(part))
        if plan is not None:
            found = optimise(inputs, layers, start, lines, plan)
            lines = draw_lines(layers, found.lower, found.push, lines.sign)
        value = bound_below(inputs, layers, start, lines)
        if splits:
            value = np.maximum(value, bound_by_first_layer(inputs, layers, start, lines, splits))
        if effort is not None:
            value = np.maximum(value, refine_rows(inputs, layers, start, lines.lower, effort))
        under[part] = np.maximum(under[part], value[: len(part)])
        above[part] = np.minimum(above[part], -value[len(part) :])


def begin_rows(goal: Goal, frame: Frame, weights: Float[np.ndarray, "n r"]) -> Start:
    """Mixtures of the rows of a goal as functions of what enters the last step, with all errors of rounding so far."""
    last = frame.last
    coefficients = weights @ goal.outputs
    constant = coefficients @ last.bias - weights @ goal.bounds
    total = np.abs(goal.outputs) @ last.reach + np.abs(goal.bounds)  # all that a row can add up to
    of_inputs = None
    if goal.inputs is not None:
        total += np.abs(goal.inputs) @ np.maximum(
            np.abs(frame.inputs.low), np.abs(frame.inputs.high)
        )
        of_inputs = weights @ goal.inputs
    # of the rows to floats, of the mixture, of the constant
    rounding = 2.0 * (sum(goal.outputs.shape) + 32) * U
    error = 1.01 * (np.abs(coefficients) @ last.error + rounding * (np.abs(weights) @ total)) + TINY
    return Start(times(coefficients, last.weight), constant, error, of_inputs)
