"""The inputs of a network as relaxations need them: the least value of affine functions over a box, or over the part of
it in a ball."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ftheta.certify.ball_parts import FloatBall
from ftheta.certify.questions import Case
from ftheta.shapes import Float

from .kernels import U, bound_corner, take_corner


@dataclass(frozen=True, eq=False)
class Inputs:
    """All inputs with `low ≤ x ≤ high`, entry by entry, that lie in the `ball` where there is one."""

    low: Float[np.ndarray, "inputs"]
    high: Float[np.ndarray, "inputs"]
    ball: FloatBall | None = None

    @classmethod
    def around(cls, case: Case) -> "Inputs":
        """The smallest set of floats that holds the inputs of a case."""
        low, high = (np.array(side, np.float64) for side in case.box.outer())
        return cls(low, high, None if case.ball is None else FloatBall.around(case.ball))

    def bound_below(
        self,
        A: Float[np.ndarray, "rows inputs"],
        constant: Float[np.ndarray, "rows"],
        error: Float[np.ndarray, "rows"],
    ) -> Float[np.ndarray, "rows"]:
        """Proved lower bounds of affine functions with coefficients `A`, which may be off by `error`: −∞ where numbers
        are out of range."""
        value = np.empty(len(A))
        bound_corner(A, self.low, self.high, constant, error, 2.0 * (len(self.low) + 32) * U, value)
        if self.ball is not None:
            gain = self.ball.gain(A, self.low, self.high)
            value = np.where(gain > 0, value + gain - 4.0 * U * (np.abs(value) + gain), value)
        return np.where(np.isfinite(value), value, -np.inf)

    @cached_property
    def rough(self) -> "Inputs":
        """In single precision, for the optimiser."""
        ball = (
            None
            if self.ball is None
            else replace(self.ball, centre=self.ball.centre.astype(np.float32))
        )
        return Inputs(self.low.astype(np.float32), self.high.astype(np.float32), ball)

    def find_lowest(
        self,
        A: Float[np.ndarray, "rows inputs"],
        corner: Float[np.ndarray, "rows inputs"],
        value: Float[np.ndarray, "rows"],
    ) -> None:
        """Where affine functions are least, into `corner`; adds what they are there without their constants."""
        if self.ball is None:
            take_corner(A, self.low, self.high, corner, value)
            return
        corner[:] = self.ball.find_lowest(A, self.low, self.high)
        value += np.einsum("ri,ri->r", A, corner)
