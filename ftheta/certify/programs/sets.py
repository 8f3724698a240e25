"""Sets of inputs of a traced network: boxes, or the parts of boxes in a ball."""

from dataclasses import dataclass

import numpy as np

from ftheta.certify.ball_parts import FloatBall
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.rounding import rows, sum_doubt
from ftheta.graph.domains.linear.sets import BoxSet, Functionals, InputSet, Least
from ftheta.shapes import Float


@dataclass(frozen=True, eq=False)
class BallPart:
    """All x with lo ≤ x ≤ hi in a ball, the same one for all boxes."""

    box: BoxSet
    ball: FloatBall

    @property
    def hull(self) -> Interval:
        return self.box.hull

    @property
    def is_box(self) -> bool:
        return False

    def least(self, A: Functionals) -> Least:
        """The least value of each functional over the boxes, raised by what the ball gains."""
        value, error = self.box.least(A)
        gain = self.ball.gain(rows(A), *self._ends())
        return value + gain, error + sum_doubt(2) * np.abs(value + gain)

    def lowest_point(self, A: Functionals) -> Functionals:
        return self.ball.find_lowest(rows(A), *self._ends()).reshape(A.shape)

    def part(self, chosen: slice) -> "BallPart":
        return BallPart(self.box.part(chosen), self.ball)

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """(boxes, 1, entries) each."""
        lo, hi = (end.reshape(len(end), 1, -1) for end in (self.hull.lo, self.hull.hi))
        return lo, hi


def make_set(
    low: Float[np.ndarray, "boxes inputs"],
    high: Float[np.ndarray, "boxes inputs"],
    shape: tuple[int, ...],
    ball: FloatBall | None,
) -> InputSet:
    """The inputs of this shape between `low` and `high`, for each box of a batch, that lie in the ball if there is
    one."""
    ends = (end.reshape(len(end), *shape) for end in (low, high))
    box = BoxSet(Interval(*ends))
    return box if ball is None else BallPart(box, ball)
