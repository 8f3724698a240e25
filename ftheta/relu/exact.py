r"""Networks with rational weights: the same steps, no rounding.

`exact(net)` takes the float64 weights at their exact binary values. `rounded(net)` goes back and says whether every
weight survived; `in_floats(net)` goes back and keeps, beside the nearest floats, the rationals that did not. All
constructions of this package are made in rationals first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Description

from .calculus import Operators
from .matrices import RATIONALS, Algebra, ExactMatrix, compact_array, fraction, nearest, rational, vector
from .network import ReluNetwork, Step, require_chain

ZERO = fmpq(0)


@dataclass(frozen=True, eq=False)
class ExactStep:
    r"""$z\mapsto Az+b$ in rationals, then ReLU on the coordinates in `rectified`."""

    matrix: ExactMatrix
    offset: tuple[fmpq, ...]
    rectified: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", ExactMatrix.of(self.matrix))
        object.__setattr__(self, "offset", vector(self.offset))
        object.__setattr__(self, "rectified", np.asarray(self.rectified, bool))
        if not self.matrix.shape[0] == len(self.offset) == len(self.rectified):
            raise SubjectError(
                "A step needs a matrix (out, in), an offset (out,) and a mask (out,).",
                got=f"matrix {self.matrix.shape}, offset {len(self.offset)}, mask {self.rectified.shape}",
            )

    def __call__(self, x: Sequence[fmpq]) -> tuple[fmpq, ...]:
        values = RATIONALS.add(self.matrix.apply(x), self.offset)
        return tuple(max(v, ZERO) if r else v for v, r in zip(values, self.rectified))


@dataclass(frozen=True, eq=False, repr=False)
class ExactNetwork(Operators):
    """Rational steps in order; on the last one nothing is rectified. `rounded` is as in `ReluNetwork`."""

    steps: tuple[ExactStep, ...]
    rounded: str = ""

    def __post_init__(self) -> None:
        require_chain(self.steps)

    @classmethod
    def dense(cls, weights: Sequence[Any], biases: Sequence[Any]) -> "ExactNetwork":
        r"""A plain multi-layer perceptron $W_L\circ r\circ\cdots\circ r\circ W_1$: ReLU on every hidden coordinate."""
        last = len(weights) - 1
        return cls(tuple(ExactStep(W, b, np.full(len(b), i < last)) for i, (W, b) in enumerate(zip(weights, biases))))

    @classmethod
    def affine(cls, A: Any, b: Any = None) -> "ExactNetwork":
        r"""$x\mapsto Ax+b$: one affine map, no neurons."""
        matrix = ExactMatrix.of(A)
        return cls.dense([matrix], [[0] * matrix.shape[0] if b is None else b])

    @property
    def algebra(self) -> Algebra:
        return RATIONALS

    def rebuilt(self, parts: Sequence[tuple[Any, Any, np.ndarray]], *others: "ExactNetwork") -> "ExactNetwork":
        notes = dict.fromkeys(net.rounded for net in (self, *others) if net.rounded)
        return ExactNetwork(tuple(ExactStep(*part) for part in parts), "; ".join(notes))

    @property
    def widths(self) -> tuple[int, ...]:
        """State sizes, from the input to the output."""
        return (self.steps[0].matrix.shape[1], *(step.matrix.shape[0] for step in self.steps))

    def __call__(self, x: Any) -> tuple[Fraction, ...]:
        """The realisation at one rational point."""
        return tuple(fraction(v) for v in self.states(x)[-1])

    def states(self, x: Any) -> list[tuple[fmpq, ...]]:
        """The state after every step, at one rational point."""
        state = vector(x if isinstance(x, (Iterable, np.ndarray)) else [x])
        if len(state) != self.widths[0]:
            raise SubjectError("The point has another dimension than the input.", got=len(state))
        states = []
        for step in self.steps:
            state = step(state)
            states.append(state)
        return states


@dataclass(frozen=True, eq=False)
class Rounded:
    """A float64 network and whether its weights equal the rational ones; `largest_error` is that of one weight."""

    network: ReluNetwork
    is_exact: bool
    largest_error: float


def exact(net: ReluNetwork | ExactNetwork | Description) -> ExactNetwork:
    """The network with its weights at their exact binary values."""
    if isinstance(net, ExactNetwork):
        return net
    if isinstance(net, Description):
        return exact(from_description(net))
    return ExactNetwork(tuple(map(_exact_step, net.steps)), net.rounded)


def _exact_step(step: Step) -> ExactStep:
    matrix = ExactMatrix.of(step.matrix)
    offset = vector(step.offset.tolist())
    if step.long_rows:
        rows = [step.long_rows[i][0] if i in step.long_rows else row for i, row in enumerate(matrix.rows)]
        matrix = ExactMatrix(tuple(rows), matrix.shape)
        offset = tuple(step.long_rows[i][1] if i in step.long_rows else b for i, b in enumerate(offset))
    return ExactStep(matrix, offset, step.rectified)


def in_floats(net: ExactNetwork) -> ReluNetwork:
    """The same network with float64 weights, and the rationals of the rows that these cannot hold."""
    steps = []
    for step in net.steps:
        offset = np.array([nearest(b) for b in step.offset], np.float64)
        given = list(zip(step.matrix.rows, step.offset))
        long = {i: (row, b) for i, (row, b) in enumerate(given) if not all(map(_is_float, (*row.values(), b)))}
        steps.append(Step(_csr(step.matrix), offset, step.rectified, long))
    return ReluNetwork(tuple(steps), net.rounded)


def _is_float(q: fmpq) -> bool:
    return rational(nearest(q)) == q


def from_description(description: Description) -> ReluNetwork:
    """The normal form of a list of ReLU (or identity) layers."""
    words = {layer.activation for layer in description.layers} - {"relu", "identity"}
    if words:
        raise SubjectError(
            "Only ReLU and identity layers have a ReLU normal form.",
            got=", ".join(sorted(words)),
            remedy="replace the activation by a piecewise-affine one",
        )
    steps = [Step(y.weight, y.bias, np.full(len(y.bias), y.activation == "relu")) for y in description.layers]
    if steps[-1].rectified.any():
        m = len(steps[-1].offset)
        steps.append(Step(np.eye(m), np.zeros(m), np.zeros(m, bool)))
    return ReluNetwork(tuple(steps))


def round_weights(net: ExactNetwork) -> Rounded:
    """The network with every weight rounded to the nearest float64 number (and none to zero that is not)."""
    steps = []
    errors = [Fraction(0)]
    for step in net.steps:
        offset = np.array([nearest(b) for b in step.offset], np.float64)
        steps.append(Step(_csr(step.matrix), offset, step.rectified))
        numbers = (*step.offset, *(a for row in step.matrix.rows for a in row.values()))
        errors.append(max((abs(fraction(a) - Fraction(nearest(a))) for a in numbers), default=Fraction(0)))
    error = max(errors)
    return Rounded(ReluNetwork(tuple(steps)), error == 0, float(error))


def _csr(matrix: ExactMatrix) -> Any:
    ends = np.cumsum([0, *map(len, matrix.rows)])
    columns = np.array([j for row in matrix.rows for j in row], np.int64)
    data = np.array([nearest(a) for row in matrix.rows for a in row.values()], np.float64)
    return compact_array(sparse.csr_array((data, columns, ends), shape=matrix.shape))
