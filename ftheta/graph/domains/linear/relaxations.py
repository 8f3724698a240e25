r"""What stands in a bound for a slot: affine functions of its operands, below and above it.

A slot $v$ of a node with operands $p$ satisfies, over the box at hand and entry by entry,
$$\underline\Lambda p+\underline\mu\le v\le\overline\Lambda p+\overline\mu.$$
Coefficients $A$ on $v$ become coefficients on $p$: in a lower bound the positive part of $A$ takes the lower function
and the negative part the upper one. `pull` does this and returns an offset and an error besides: for all values in the
box
$$\langle A,v\rangle\ge\textstyle\sum_p\langle A_p,p\rangle+\text{offset}-\text{error}.$$

Coefficients are arrays (boxes, functionals, *shape), bounds and relaxations (boxes, *shape); those that are the same
for all boxes have length 1 there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import HALF_ULP, Array
from ftheta.graph.domains.linear.maps import LinearMap
from ftheta.graph.domains.linear.rounding import lost_to_underflow, sum_doubt, weigh
from ftheta.graph.graph import Slot


@dataclass(frozen=True, eq=False)
class Pulled:
    """Coefficients for each operand (None: none), and the offset and error (boxes, functionals) besides."""

    coefficients: tuple[Array | None, ...]
    offset: Array | float
    error: Array | float


class Relaxation(Protocol):
    """Affine bounds of one slot by its operands."""

    @property
    def operands(self) -> tuple[Slot, ...]: ...

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        """The functionals as functionals of the operands. `slopes` (boxes, functionals, *shape) choose among the lower
        (or upper) functions where there is a choice."""
        ...

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        """The value of the affine functions that `pull` takes for A, at values (boxes, functionals, *shape) of the
        operands, in plain floats."""
        ...


@dataclass(frozen=True, eq=False)
class Affine:
    """A sum of linear maps of the operands: both bounds are the slot itself."""

    operands: tuple[Slot, ...]
    maps: tuple[LinearMap, ...]
    spread: Array  # (boxes, *shape): weighed by |A|, the rounding of what is pulled
    lost: Array  # (boxes,)

    @classmethod
    def of(
        cls, slot: Slot, terms: Sequence[tuple[Slot, LinearMap]], magnitudes: Sequence[Array]
    ) -> "Affine":
        """`magnitudes` (boxes, *shape) bound the absolute values of the operands."""
        boxes = max((len(m) for m in magnitudes), default=1)
        spread = np.zeros((boxes, *slot.shape))
        lost = np.zeros(boxes)
        for (_, linear), magnitude in zip(terms, magnitudes):
            more, more_lost = linear.pull_error(magnitude)
            spread = spread + more
            lost = lost + more_lost
        return cls(tuple(p for p, _ in terms), tuple(m for _, m in terms), spread, lost)

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        flat = A.reshape(A.shape[0] * A.shape[1], *A.shape[2:])  # of an array that may be empty
        back = tuple(_in_boxes(linear.pull(flat), A) for linear in self.maps)
        error = self.lost[:, None]
        return Pulled(
            back, 0.0, error + weigh(np.abs(A), self.spread) if self.spread.any() else error
        )

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        total: Array = np.zeros(1)
        for linear, value in zip(self.maps, values):
            total = total + _in_boxes(linear.push(value.reshape(-1, *value.shape[2:])), value)
        return total


def _in_boxes(flat: Array, like: Array) -> Array:
    return flat.reshape(*like.shape[:2], *flat.shape[1:])


@dataclass(frozen=True, eq=False)
class Lines:
    r"""Entry by entry two lines in one operand: `lower_slope`·p + `lower_offset` ≤ v ≤ `upper_slope`·p +
    `upper_offset`.

    Where `turns` holds, every line through the origin with a slope between `least` and `most` is below v (or above it,
    if `turns_above`), as for a ReLU at its kink.
    """

    operands: tuple[Slot, ...]
    lower_slope: Array
    lower_offset: Array
    upper_slope: Array
    upper_offset: Array
    magnitude: Array  # of the operand
    turns: Array | None = None
    least: float = 0.0
    most: float = 1.0
    turns_above: bool = False

    def _slopes(self, slopes: Array | None) -> tuple[Array, Array]:
        """Lower and upper slopes, to stand beside coefficients."""
        lower = self.lower_slope[:, None]
        upper = self.upper_slope[:, None]
        if slopes is None or self.turns is None:
            return lower, upper
        if self.turns_above:
            return lower, np.where(self.turns[:, None], slopes, upper)
        return np.where(self.turns[:, None], slopes, lower), upper

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        lower, upper = self._slopes(slopes)
        plus = np.maximum(A, 0.0)
        minus = np.minimum(A, 0.0)
        offset: Array | float = 0.0
        if self.lower_offset.any():
            offset = offset - weigh(plus, -self.lower_offset)
        if self.upper_offset.any():
            offset = offset - weigh(minus, -self.upper_offset)
        error = weigh(plus - minus, self._spread) + lost_to_underflow(2, self.magnitude)[:, None]
        return Pulled((plus * lower + minus * upper,), offset, error)

    @cached_property
    def _spread(self) -> Array:
        """The rounding of A·slope, and of the sum of the offsets."""
        steepest = np.maximum(np.abs(self.lower_slope), np.abs(self.upper_slope))
        if self.turns is not None:
            steepest = np.where(self.turns, max(abs(self.least), abs(self.most)), steepest)
        offsets = np.maximum(np.abs(self.lower_offset), np.abs(self.upper_offset))
        entries = int(np.prod(self.lower_slope.shape[1:], dtype=np.int64))
        product = np.where(steepest == 0, 0.0, steepest * self.magnitude)
        return HALF_ULP * product + sum_doubt(entries) * offsets

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        lower, upper = self._slopes(slopes)
        (p,) = values
        below = lower * p + self.lower_offset[:, None]
        return np.where(A > 0, below, upper * p + self.upper_offset[:, None])


@dataclass(frozen=True, eq=False)
class Constant:
    """Two constants: what is left where nothing relates the slot to its operands."""

    enclosure: Interval
    operands: tuple[Slot, ...] = ()

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        plus = np.maximum(A, 0.0)
        minus = np.minimum(A, 0.0)
        offset = -weigh(plus, -self.enclosure.lo) - weigh(minus, -self.enclosure.hi)
        entries = int(np.prod(self.enclosure.shape[1:], dtype=np.int64))
        return Pulled(
            (), offset, sum_doubt(entries) * weigh(plus - minus, self.enclosure.magnitude)
        )

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        return np.where(A > 0, self.enclosure.lo[:, None], self.enclosure.hi[:, None])
