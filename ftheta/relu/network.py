r"""The ReLU normal form: a state, an affine map on it, a ReLU on chosen coordinates, and again.

Every continuous piecewise-affine program can be written so. The description is kept apart from its
realisation: `ReluNetwork` is data with float64 weights, `ExactNetwork` the same with rational ones; calling realises.

A network stands for a *real function*: its weights are the numbers that were stored, and sums and products are those of
real numbers. Calling it computes that function in float64, with rounding; nothing here is said of the float program.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.lazy import is_sparse, sparse
from ftheta.logic.enclosure import Basis
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Bool, Float

from .calculus import Operators
from .matrices import (
    FLOATS,
    RATIONALS,
    Algebra,
    ExactMatrix,
    compact_array,
    fraction,
    nearest,
    rational,
    vector,
)

LongRow: TypeAlias = tuple[Mapping[int, fmpq], fmpq]
"""A row in rationals: its weights that are not zero, by column, and its offset."""

ZERO = fmpq(0)
REAL = "the real function with the stored weights"


@dataclass(frozen=True, eq=False)
class Step:
    r"""$z\mapsto Az+b$ followed by ReLU on the coordinates in `rectified`.

    `matrix` $A$ is a dense array or a SciPy CSR array of shape `(out, in)`, `offset` $b$ has shape `(out,)`,
    `rectified` is a Boolean mask of shape `(out,)`. `long_rows` are the rows with a number that float64 cannot hold: of
    these, matrix and offset have the nearest floats (and none that is zero where the number is not).
    """

    matrix: Any
    offset: Float[np.ndarray, "out"]
    rectified: Bool[np.ndarray, "out"]
    long_rows: Mapping[int, LongRow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        thin = is_sparse(self.matrix)
        matrix: Any = (
            sparse.csr_array(self.matrix, dtype=np.float64)
            if thin
            else np.atleast_2d(np.asarray(self.matrix, np.float64))
        )
        offset = np.asarray(self.offset, np.float64)
        rectified = np.asarray(self.rectified, bool)
        if offset.shape != matrix.shape[:1] or rectified.shape != matrix.shape[:1]:
            raise SubjectError(
                "A step needs a matrix (out, in), an offset (out,) and a mask (out,).",
                got=f"matrix {matrix.shape}, offset {offset.shape}, mask {rectified.shape}",
            )
        entries = matrix.data if thin else matrix
        if not (np.isfinite(entries).all() and np.isfinite(offset).all()):
            raise SubjectError(
                "A step needs finite numbers.", got="NaN or infinity among its weights"
            )
        for name, value in (("matrix", matrix), ("offset", offset), ("rectified", rectified)):
            object.__setattr__(self, name, value)

    def dense(self) -> Float[np.ndarray, "out in"]:
        return self.matrix.toarray() if is_sparse(self.matrix) else self.matrix

    def in_rationals(self) -> "ExactStep":
        """The same step, every number at its exact value."""
        matrix = ExactMatrix.of(self.matrix)
        offset = vector(self.offset.tolist())
        if self.long_rows:
            rows = [
                self.long_rows[i][0] if i in self.long_rows else row
                for i, row in enumerate(matrix.rows)
            ]
            matrix = ExactMatrix(tuple(rows), matrix.shape)
            offset = tuple(
                self.long_rows[i][1] if i in self.long_rows else b for i, b in enumerate(offset)
            )
        return ExactStep(matrix, offset, self.rectified)


def require_chain(steps: Sequence[Any]) -> None:
    """Raise unless the steps chain and end in an affine map."""
    if not steps or steps[-1].rectified.any():
        raise SubjectError("A ReLU network ends in an affine map.", got=f"{len(steps)} steps")
    for i, (before, after) in enumerate(pairwise(steps)):
        if before.matrix.shape[0] != after.matrix.shape[1]:
            raise SubjectError(
                "The shapes of consecutive steps do not chain.",
                where=f"steps {i} and {i + 1}",
                got=f"{before.matrix.shape} then {after.matrix.shape}",
            )


@dataclass(frozen=True, eq=False, repr=False)
class ReluNetwork(Operators):
    """Steps in order; on the last one nothing is rectified, so that its output is affine in the last state.

    `rounded` says what was rounded on the way from the function that the network was read from, if something was: then
    the network is another function than that one, and nothing exact of it is exact of the other.
    """

    steps: tuple[Step, ...]
    rounded: str = ""

    def __post_init__(self) -> None:
        require_chain(self.steps)

    @classmethod
    def dense(cls, weights: Sequence[Any], biases: Sequence[Any]) -> "ReluNetwork":
        r"""A plain multi-layer perceptron $W_L\circ r\circ\cdots\circ r\circ W_1$: ReLU on every hidden coordinate."""
        last = len(weights) - 1
        return cls(
            tuple(
                Step(W, b, np.full(len(b), i < last))
                for i, (W, b) in enumerate(zip(weights, biases))
            )
        )

    @property
    def algebra(self) -> Algebra:
        return FLOATS

    def rebuilt(
        self, parts: Sequence[tuple[Any, Any, np.ndarray]], *others: "ReluNetwork"
    ) -> "ReluNetwork":
        """A network of these parts, made of this one and the others, in float64."""
        notes = [
            net.rounded or "weights rounded to float64"
            for net in (self, *others)
            if net.rounded or net.is_long
        ]
        return ReluNetwork(tuple(Step(*part) for part in parts), "; ".join(dict.fromkeys(notes)))

    @property
    def is_long(self) -> bool:
        """Whether some weights are rationals that float64 cannot hold."""
        return any(step.long_rows for step in self.steps)

    @property
    def basis(self) -> Basis:
        """Exact if what is exact of the network is exact of the function that it was read from."""
        return Basis.FLOAT if self.rounded else Basis.EXACT

    @property
    def meaning(self) -> str:
        """The function that this network is."""
        return f"{REAL}, but for rounded constants ({self.rounded})" if self.rounded else REAL

    @property
    def widths(self) -> tuple[int, ...]:
        """State sizes, from the input to the output."""
        return (self.steps[0].matrix.shape[1], *(step.matrix.shape[0] for step in self.steps))

    def in_rationals(self) -> "ExactNetwork":
        """The same network with its weights at their exact values."""
        return ExactNetwork(tuple(step.in_rationals() for step in self.steps), self.rounded)

    def in_floats(self) -> "ReluNetwork":
        """This network: its weights are floats already."""
        return self

    def __call__(self, x: Any) -> Float[np.ndarray, "*n out"]:
        """The realisation in float64 at one point `(d,)` or at many `(n, d)`."""
        state = np.asarray(x, np.float64).T
        for step in self.steps:
            state = (step.matrix @ state).T + step.offset
            state = np.where(step.rectified, np.maximum(state, 0.0), state).T
        return state.T


# ---- in rationals --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExactStep:
    r"""$z\mapsto Az+b$ in rationals, then ReLU on the coordinates in `rectified`."""

    matrix: ExactMatrix
    offset: tuple[fmpq, ...]
    rectified: Bool[np.ndarray, "out"]

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

    def in_floats(self) -> Step:
        """The same step with float64 weights, and the rationals of the rows that these cannot hold."""
        offset = np.array([nearest(b) for b in self.offset], np.float64)
        given = list(zip(self.matrix.rows, self.offset))
        long = {
            i: (row, b)
            for i, (row, b) in enumerate(given)
            if not all(map(_is_float, (*row.values(), b)))
        }
        return Step(compact_rows(self.matrix), offset, self.rectified, long)


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
        return cls(
            tuple(
                ExactStep(W, b, np.full(len(b), i < last))
                for i, (W, b) in enumerate(zip(weights, biases))
            )
        )

    @classmethod
    def affine(cls, A: Any, b: Any = None) -> "ExactNetwork":
        r"""$x\mapsto Ax+b$: one affine map, no neurons."""
        matrix = ExactMatrix.of(A)
        return cls.dense([matrix], [[0] * matrix.shape[0] if b is None else b])

    @property
    def algebra(self) -> Algebra:
        return RATIONALS

    def rebuilt(
        self, parts: Sequence[tuple[Any, Any, np.ndarray]], *others: "ExactNetwork"
    ) -> "ExactNetwork":
        notes = dict.fromkeys(net.rounded for net in (self, *others) if net.rounded)
        return ExactNetwork(tuple(ExactStep(*part) for part in parts), "; ".join(notes))

    @property
    def widths(self) -> tuple[int, ...]:
        """State sizes, from the input to the output."""
        return (self.steps[0].matrix.shape[1], *(step.matrix.shape[0] for step in self.steps))

    def in_rationals(self) -> "ExactNetwork":
        """This network: its weights are rationals already."""
        return self

    def in_floats(self) -> ReluNetwork:
        """The same network with float64 weights, and the rationals of the rows that these cannot hold."""
        return ReluNetwork(tuple(step.in_floats() for step in self.steps), self.rounded)

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


def _is_float(q: fmpq) -> bool:
    return rational(nearest(q)) == q


def compact_rows(matrix: ExactMatrix) -> Any:
    """A rational matrix as the nearest floats: sparse, or dense where that costs little."""
    ends = np.cumsum([0, *map(len, matrix.rows)])
    columns = np.array([j for row in matrix.rows for j in row], np.int64)
    data = np.array([nearest(a) for row in matrix.rows for a in row.values()], np.float64)
    return compact_array(sparse.csr_array((data, columns, ends), shape=matrix.shape))
