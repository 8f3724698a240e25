r"""The ReLU normal form: a state, an affine map on it, a ReLU on chosen coordinates, and again.

Every continuous piecewise-affine program can be written so. The description is kept apart from its
realisation: `ReluNetwork` is data, calling it realises it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ftheta.logic import SubjectError

from .calculus import Operators
from .matrices import FLOATS, Algebra


@dataclass(frozen=True, eq=False)
class Step:
    r"""$z\mapsto Az+b$ followed by ReLU on the coordinates in `rectified`.

    `matrix` $A$ is a dense array or a SciPy CSR array of shape `(out, in)`, `offset` $b$ has shape `(out,)`,
    `rectified` is a Boolean mask of shape `(out,)`.
    """

    matrix: Any
    offset: np.ndarray
    rectified: np.ndarray

    def __post_init__(self) -> None:
        is_sparse = sparse.issparse(self.matrix)
        matrix: Any = (
            sparse.csr_array(self.matrix, dtype=np.float64)
            if is_sparse
            else np.atleast_2d(np.asarray(self.matrix, np.float64))
        )
        offset, rectified = np.asarray(self.offset, np.float64), np.asarray(self.rectified, bool)
        if offset.shape != matrix.shape[:1] or rectified.shape != matrix.shape[:1]:
            raise SubjectError(
                "A step needs a matrix (out, in), an offset (out,) and a mask (out,).",
                got=f"matrix {matrix.shape}, offset {offset.shape}, mask {rectified.shape}",
            )
        entries = matrix.data if is_sparse else matrix
        if not (np.isfinite(entries).all() and np.isfinite(offset).all()):
            raise SubjectError("A step needs finite numbers.", got="NaN or infinity among its weights")
        for name, value in (("matrix", matrix), ("offset", offset), ("rectified", rectified)):
            object.__setattr__(self, name, value)

    def dense(self) -> np.ndarray:
        return self.matrix.toarray() if sparse.issparse(self.matrix) else self.matrix


def chained(steps: Sequence[Any]) -> None:
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
    """Steps in order; on the last one nothing is rectified, so that its output is affine in the last state."""

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        chained(self.steps)

    @classmethod
    def dense(cls, weights: Sequence[Any], biases: Sequence[Any]) -> "ReluNetwork":
        r"""A plain multi-layer perceptron $W_L\circ r\circ\cdots\circ r\circ W_1$: ReLU on every hidden coordinate."""
        last = len(weights) - 1
        return cls(tuple(Step(W, b, np.full(len(b), i < last)) for i, (W, b) in enumerate(zip(weights, biases))))

    @property
    def algebra(self) -> Algebra:
        return FLOATS

    def rebuilt(self, parts: Sequence[tuple[Any, Any, np.ndarray]]) -> "ReluNetwork":
        return ReluNetwork(tuple(Step(*part) for part in parts))

    @property
    def widths(self) -> tuple[int, ...]:
        """State sizes, from the input to the output."""
        return (self.steps[0].matrix.shape[1], *(step.matrix.shape[0] for step in self.steps))

    def __call__(self, x: Any) -> np.ndarray:
        """The realisation in float64 at one point `(d,)` or at many `(n, d)`."""
        state = np.asarray(x, np.float64).T
        for step in self.steps:
            state = (step.matrix @ state).T + step.offset
            state = np.where(step.rectified, np.maximum(state, 0.0), state).T
        return state.T
