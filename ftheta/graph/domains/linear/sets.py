r"""Sets of inputs, and the least value of a linear functional over them.

For a box $\{l\le x\le h\}$ it is $\sum_jA_j^+l_j+A_j^-h_j$, for a ball $\{\|x-c\|_p\le r\}$ it is
$\langle A,c\rangle-r\|A\|_q$ with $\frac1p+\frac1q=1$. Every set is a batch: arrays (boxes, *shape).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import SMALLEST_NORMAL, Array
from ftheta.graph.domains.linear.rounding import least_over, rows, sum_doubt

Least = tuple[Array, Array]
"""The value (boxes, functionals), and an error to take off it."""


class InputSet(Protocol):
    """A set of inputs for each box of a batch."""

    @property
    def hull(self) -> Interval:
        """The smallest boxes that hold the sets, (boxes, *shape)."""
        ...

    @property
    def is_box(self) -> bool: ...

    def least(self, A: Array) -> Least:
        """The least value of each functional A (boxes, functionals, *shape), before the error is taken off."""
        ...

    def lowest_point(self, A: Array) -> Array:
        """Where it is attained, as far as floats say: (boxes, functionals, *shape)."""
        ...

    def part(self, chosen: slice) -> "InputSet":
        """The sets of some boxes of the batch."""
        ...


@dataclass(frozen=True, eq=False)
class BoxSet:
    """All x with lo ≤ x ≤ hi."""

    hull: Interval

    @property
    def is_box(self) -> bool:
        return True

    def least(self, A: Array) -> Least:
        return least_over(A, self.hull.lo, self.hull.hi)

    def lowest_point(self, A: Array) -> Array:
        return np.where(A > 0, self.hull.lo[:, None], self.hull.hi[:, None])

    def part(self, chosen: slice) -> "BoxSet":
        return BoxSet(self.hull.map(lambda end: end[chosen]))


@dataclass(frozen=True, eq=False)
class BallSet:
    """All x with ‖x − centre‖ ≤ radius in ℓ1 or ℓ2, one radius (boxes,) each."""

    centre: Array
    radius: Array
    norm: int  # 1 or 2

    @property
    def hull(self) -> Interval:
        return Interval.around(self.centre, _beside(self.radius, self.centre))

    @property
    def is_box(self) -> bool:
        return False

    def least(self, A: Array) -> Least:
        middle, error = least_over(A, self.centre, self.centre)
        size, size_error = self._dual_norm(A)
        radius = self.radius[:, None]
        return middle - radius * size, error + radius * (size_error + 2 * sum_doubt(2) * size) + sum_doubt(2) * np.abs(
            middle
        )

    def _dual_norm(self, A: Array) -> Least:
        flat = rows(np.abs(A))
        if self.norm == 1:
            return flat.max(-1, initial=0.0), np.zeros(A.shape[:2])
        # scaled by a power of two, so that squares neither overflow nor vanish
        largest = flat.max(-1, initial=0.0)
        scale = np.exp2(np.ceil(np.log2(np.where((largest > 0) & np.isfinite(largest), largest, 1.0))))
        scaled = flat / scale[..., None]
        size = scale * np.sqrt(np.einsum("bsn,bsn->bs", scaled, scaled))
        return size, sum_doubt(flat.shape[-1] + 4) * size + flat.shape[-1] * SMALLEST_NORMAL * scale

    def lowest_point(self, A: Array) -> Array:
        flat = rows(A)
        if self.norm == 1:
            step = np.zeros_like(flat)
            place = np.abs(flat).argmax(-1, keepdims=True)
            np.put_along_axis(step, place, np.sign(np.take_along_axis(flat, place, -1)), -1)
        else:
            step = flat / np.maximum(np.linalg.norm(flat, axis=-1, keepdims=True), 1e-300)
        moved = self.radius[:, None, None] * step
        return self.centre[:, None] - moved.reshape(A.shape)

    def part(self, chosen: slice) -> "BallSet":
        return BallSet(self.centre[chosen], self.radius[chosen], self.norm)


def _beside(numbers: Array, x: Array) -> Array:
    """One number a box, shaped to stand beside arrays (boxes, *shape)."""
    return numbers.reshape(-1, *[1] * (x.ndim - 1))


def least_of_all(sets: Sequence[InputSet], coefficients: Sequence[Array | None]) -> Least:
    """The least value of a sum of functionals of several inputs, each in its own set."""
    value: Array | float = 0.0
    error: Array | float = 0.0
    for part, A in zip(sets, coefficients):
        if A is not None:
            more, more_error = part.least(A)
            value = value + more
            error = error + more_error + sum_doubt(2) * np.abs(value)
    return np.asarray(value), np.asarray(error)
