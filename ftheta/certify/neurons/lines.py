r"""Lower bounds of linear functions of a layer's outputs, by lines around the ReLUs below it.

One row of a batch is one function $\sum_ja_jh_j+c$ of the outputs of layer $k$, over the box and, where neurons are
*split*, over the part of the box where their pre-activations have the given signs. `Lines` holds, for each row, the
slopes `lower` of the lines below the undecided ReLUs, the lines `upper`, `offset` above them, the `sign` of the split
neurons (0: not split), and `push`: a multiplier $\beta\ge0$ adds $-\beta z$ where $z\ge0$ and $+\beta z$ where
$z\le0$ is known. Every choice of slopes in $[0,1]$ and of multipliers gives a bound; the best is that of a linear
program. `optimise` looks for it in single precision, `bound_below` proves what was found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ftheta.processes.compilation import clock
from ftheta.shapes import Bool, Float, Int

from .frames import Array, Frame, Layer, times
from .inputs import Inputs
from .kernels import bound_lines, climb, keep_best, lift_states, take_lines

DECAY = np.float32(0.9)
SQUARE_DECAY = np.float32(0.98)


@dataclass(eq=False)
class Start:
    """Coefficients `outputs` of the last layer's outputs and `inputs` of the inputs (None: zero), `constant`, `error`.

    The function is at least what these say, minus `error`.
    """

    outputs: Float[np.ndarray, "n h"]
    constant: Float[np.ndarray, "n"]
    error: Float[np.ndarray, "n"]
    inputs: Float[np.ndarray, "n d"] | None = None

    def select(self, rows: Int[np.ndarray, "n"]) -> "Start":
        inputs = None if self.inputs is None else self.inputs[rows]
        return Start(self.outputs[rows], self.constant[rows], self.error[rows], inputs)


@dataclass(eq=False)
class Lines:
    """One row for each function, one column for each undecided neuron (see above)."""

    lower: Float[np.ndarray, "n u"]
    upper: Float[np.ndarray, "n u"]
    offset: Float[np.ndarray, "n u"]
    push: Float[np.ndarray, "n u"]
    sign: Int[np.ndarray, "n u"]

    def select(self, rows: Int[np.ndarray, "n"]) -> "Lines":
        return Lines(*(getattr(self, f.name)[rows] for f in fields(self)))


def draw_lines(
    layers: Sequence[Layer],
    lower: Float[np.ndarray, "n u"],
    push: Float[np.ndarray, "n u"],
    sign: Int[np.ndarray, "n u"],
    kind: Any = np.float64,
) -> Lines:
    """The lines of rows with these slopes, multipliers and signs; in single precision they prove nothing."""
    slope = np.concatenate([np.zeros(0), *(layer.slope for layer in layers)]).astype(kind)
    offset = np.concatenate([np.zeros(0), *(layer.offset for layer in layers)]).astype(kind)
    is_free = sign == 0
    upper = np.where(is_free, slope, (sign > 0).astype(kind))
    above = np.where(is_free, offset, kind(0))
    below = np.where(is_free, lower.astype(kind, copy=False), upper)
    return Lines(below, upper, above, push.astype(kind, copy=False), sign)


def guess_slopes(layers: Sequence[Layer]) -> Float[np.ndarray, "u"]:
    """1 for the neurons that are on over most of their range, 0 for the others."""
    return np.concatenate(
        [np.zeros(0), *((layer.high > -layer.low).astype(np.float64) for layer in layers)]
    )


def plain_lines(layers: Sequence[Layer], rows: int) -> Lines:
    """The same guessed slopes for every row."""
    guess = guess_slopes(layers)
    lower = np.repeat(guess[None], rows, axis=0)
    return draw_lines(layers, lower, np.zeros_like(lower), np.zeros(lower.shape, np.int8))


def bound_below(
    inputs: Inputs, layers: Sequence[Layer], start: Start, lines: Lines
) -> Float[np.ndarray, "n"]:
    """Proved lower bounds, one for each row: −∞ where numbers are out of range."""
    A = np.ascontiguousarray(start.outputs)
    constant = start.constant.copy()
    error = start.error.copy()
    with np.errstate(all="ignore"):
        for layer in reversed(layers):
            G = np.empty_like(A)
            bound_lines(
                A, layer.first, layer.undecided, lines.lower, lines.upper, lines.offset, lines.push, layer.error,
                G, constant, error, layer.gamma,
            )  # fmt: skip
            error += layer.gamma * np.abs(constant)
            constant += G @ layer.bias
            A = times(G, layer.weight)
        if start.inputs is not None:
            A = A + start.inputs
        return inputs.bound_below(A, constant, error)


@dataclass(eq=False)
class Optimum:
    """The best value met (not proved) with its slopes and multipliers, and what was seen last.

    `coefficients` are those of the undecided neurons' outputs, `states` their pre-activations at the `corner`.
    """

    best: Float[np.ndarray, "n"]
    lower: Float[np.ndarray, "n u"]
    push: Float[np.ndarray, "n u"]
    weights: Float[np.ndarray, "n r"] | None
    coefficients: Float[np.ndarray, "_n u"]
    states: Float[np.ndarray, "_n u"]
    corner: Float[np.ndarray, "n d"]


@dataclass(frozen=True)
class Climb:
    """How long and how fast to climb; `deadline` is a time of `clock`, `enough` a bound to stop at."""

    steps: int
    rate: float = 0.1
    fade: float = 0.96
    push_rate: float = 0.1
    deadline: float = np.inf
    enough: float | None = None


@dataclass(eq=False)
class Mixture:
    """Rows whose convex mixture is the function of each row of a batch; `weights` `(rows of the batch, rows)`.

    `outputs`, `constant` and `inputs` are those of a `Start` with one row for each. Where `member` is False the weight
    stays zero.
    """

    outputs: Float[np.ndarray, "r h"]
    constant: Float[np.ndarray, "r"]
    inputs: Float[np.ndarray, "r d"] | None
    weights: Float[np.ndarray, "n r"]
    member: Bool[np.ndarray, "n r"]

    def select(self, rows: Int[np.ndarray, "n"]) -> "Mixture":
        return Mixture(
            self.outputs, self.constant, self.inputs, self.weights[rows], self.member[rows]
        )

    def mix(
        self,
    ) -> tuple[Float[np.ndarray, "n h"], Float[np.ndarray, "n"], Float[np.ndarray, "n d"] | None]:
        inputs = None if self.inputs is None else self.weights @ self.inputs
        return self.weights @ self.outputs, self.weights @ self.constant, inputs

    def shift(self, excess: Float[np.ndarray, "n r"], rate: float) -> None:
        """A step of multiplicative weights towards the rows with the larger excess."""
        least = np.where(self.member, excess, np.inf).min(1, keepdims=True)
        most = np.where(self.member, excess, -np.inf).max(1, keepdims=True)
        share = np.where(self.member, (excess - least) / np.maximum(most - least, 1e-30), 0.0)
        grown = np.where(self.member, np.maximum(self.weights, 1e-6) * np.exp(rate * share), 0.0)
        self.weights = (grown / grown.sum(1, keepdims=True)).astype(np.float32)


class _Rough:
    """A batch in single precision, and its passes back to the inputs and forth to the last layer."""

    def __init__(self, region: Inputs, layers: Sequence[Layer], start: Start, lines: Lines) -> None:
        self.region = region.rough
        self.layers = layers
        self.outputs = np.ascontiguousarray(start.outputs, np.float32)
        self.constant = start.constant.astype(np.float32)
        self.inputs = None if start.inputs is None else start.inputs.astype(np.float32)
        rough = (
            np.ascontiguousarray(getattr(lines, f.name), np.float32) for f in fields(Lines)[:4]
        )
        self.lower, self.upper, self.offset, self.push = rough
        self.sign = lines.sign
        self.corner = np.empty((len(self.outputs), len(region.low)), np.float32)
        self.passed: list[Array] = []

    def go_back(self) -> Array:
        """The bounds that the lines give."""
        A = self.outputs
        value = self.constant.copy()
        self.passed = []
        for layer in reversed(self.layers):
            self.passed.append(A)
            G = np.empty_like(A)
            take_lines(
                A,
                layer.first,
                layer.undecided,
                self.lower,
                self.upper,
                self.offset,
                self.push,
                G,
                value,
            )
            value += G @ layer.rough_bias
            A = times(G, layer.rough)
        self.passed.reverse()
        if self.inputs is not None:
            A = A + self.inputs
        self.region.find_lowest(A, self.corner, value)
        return value


def estimate(
    inputs: Inputs, layers: Sequence[Layer], start: Start, lines: Lines
) -> Float[np.ndarray, "n"]:
    """The bounds that the lines give, in single precision: no proof."""
    with np.errstate(all="ignore"):
        return _Rough(inputs, layers, start, lines).go_back()


def optimise(
    inputs: Inputs,
    layers: Sequence[Layer],
    start: Start,
    lines: Lines,
    plan: Climb,
    mixture: Mixture | None = None,
) -> Optimum:
    """Climb along slopes and multipliers, and along the weights of a `mixture`, in single precision."""
    with np.errstate(
        all="ignore"
    ):  # multipliers of a part of the box that is empty grow without bound
        return _climb(_Rough(inputs, layers, start, lines), plan, mixture)


def _climb(batch: _Rough, plan: Climb, mixture: Mixture | None) -> Optimum:
    layers = batch.layers
    mean = np.zeros_like(batch.lower)
    square = np.zeros_like(batch.lower)
    best = np.full(len(batch.outputs), -np.inf, np.float32)
    best_lower = batch.lower.copy()
    best_push = batch.push.copy()
    best_weights = None if mixture is None else mixture.weights.copy()
    states: list[Array] = []
    rate = plan.rate
    for step in range(1, plan.steps + 1):
        if mixture is not None:
            batch.outputs, batch.constant, batch.inputs = mixture.mix()
        value = batch.go_back()
        if mixture is not None and best_weights is not None:
            better = value > best
            best_weights[better] = mixture.weights[better]
        keep_best(value, best, batch.lower, batch.push, best_lower, best_push)
        is_last = (
            step == plan.steps
            or clock() > plan.deadline
            or (plan.enough is not None and best.min() > plan.enough)
        )
        H = batch.corner
        states = []
        for layer, coefficients in zip(layers, batch.passed):
            Z = times(H, layer.rough.T)
            Z += layer.rough_bias
            states.append(Z)
            H = np.empty_like(Z)
            lift_states(
                Z,
                coefficients,
                layer.first,
                layer.undecided,
                batch.lower,
                batch.upper,
                batch.offset,
                H,
            )
            if not is_last:
                scale = (
                    float(np.abs(coefficients[:, : layer.undecided]).mean())
                    if layer.undecided
                    else 0.0
                )
                climb(
                    Z, coefficients, layer.first, layer.undecided, batch.sign, batch.lower, batch.push, mean, square,
                    np.float32(rate), np.float32(plan.push_rate / plan.rate * rate * scale), DECAY, SQUARE_DECAY, step,
                )  # fmt: skip
        if is_last:
            break
        if mixture is not None:
            excess = H @ mixture.outputs.T + mixture.constant
            mixture.shift(
                excess if mixture.inputs is None else excess + batch.corner @ mixture.inputs.T,
                5 * rate,
            )
        rate *= plan.fade
    seen = _join(batch.passed, layers)
    return Optimum(
        best, best_lower, best_push, best_weights, seen, _join(states, layers), batch.corner
    )


def _join(parts: Sequence[Array], layers: Sequence[Layer]) -> Array:
    """The columns of the undecided neurons, side by side."""
    columns = [part[:, : layer.undecided] for part, layer in zip(parts, layers)]
    return np.concatenate(columns, axis=1) if columns else np.zeros((0, 0), np.float32)


def prove(frame: Frame, start: Start, lines: Lines) -> Float[np.ndarray, "n"]:
    """Proved lower bounds of the rows of `start` on the box of the frame, with these lines around its neurons."""
    return bound_below(frame.inputs, frame.layers, start, lines)
