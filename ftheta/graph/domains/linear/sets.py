r"""Sets of inputs, and the least value of a linear functional over them.

For a box $\{l\le x\le h\}$ it is $\sum_jA_j^+l_j+A_j^-h_j$, for a ball $\{\|x-c\|_p\le r\}$ it is
$\langle A,c\rangle-r\|A\|_q$ with $\frac1p+\frac1q=1$. Linear constraints have multipliers. Every set is a batch:
arrays (boxes, *shape).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import SMALLEST_NORMAL, Array
from ftheta.graph.domains.linear.rounding import (
    least_over,
    lost_to_underflow,
    rows,
    sum_doubt,
    weigh,
)
from ftheta.shapes import Float

Functionals = Float[np.ndarray, "#boxes functionals *shape"]
Least = tuple[Float[np.ndarray, "#boxes functionals"], Float[np.ndarray, "#boxes functionals"]]
"""The value (boxes, functionals), and an error to take off it."""


class InputSet(Protocol):
    """A set of inputs for each box of a batch."""

    @property
    def hull(self) -> Interval:
        """The smallest boxes that hold the sets, (boxes, *shape)."""
        ...

    @property
    def is_box(self) -> bool: ...

    def least(self, A: Functionals) -> Least:
        """The least value of each functional A (boxes, functionals, *shape), before the error is taken off."""
        ...

    def lowest_point(self, A: Functionals) -> Functionals:
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

    def least(self, A: Functionals) -> Least:
        return least_over(A, self.hull.lo, self.hull.hi)

    def lowest_point(self, A: Functionals) -> Functionals:
        return np.where(A > 0, self.hull.lo[:, None], self.hull.hi[:, None])

    def part(self, chosen: slice) -> "BoxSet":
        return BoxSet(self.hull.map(lambda end: end[chosen]))


@dataclass(frozen=True, eq=False)
class BallSet:
    """All x with ‖x − centre‖ ≤ radius in ℓ1 or ℓ2, one radius (boxes,) each."""

    centre: Float[np.ndarray, "boxes *shape"]
    radius: Float[np.ndarray, "boxes"]
    norm: int  # 1 or 2

    @property
    def hull(self) -> Interval:
        return Interval.around(self.centre, _beside(self.radius, self.centre))

    @property
    def is_box(self) -> bool:
        return False

    def least(self, A: Functionals) -> Least:
        middle, error = least_over(A, self.centre, self.centre)
        size, size_error = self._dual_norm(A)
        radius = self.radius[:, None]
        return middle - radius * size, error + radius * (
            size_error + 2 * sum_doubt(2) * size
        ) + sum_doubt(2) * np.abs(middle)

    def _dual_norm(self, A: Array) -> Least:
        flat = rows(np.abs(A))
        if self.norm == 1:
            return flat.max(-1, initial=0.0), np.zeros(A.shape[:2])
        # scaled by a power of two, so that squares neither overflow nor vanish
        largest = flat.max(-1, initial=0.0)
        scale = np.exp2(
            np.ceil(np.log2(np.where((largest > 0) & np.isfinite(largest), largest, 1.0)))
        )
        scaled = flat / scale[..., None]
        size = scale * np.sqrt(np.einsum("bsn,bsn->bs", scaled, scaled))
        return size, sum_doubt(flat.shape[-1] + 4) * size + flat.shape[-1] * SMALLEST_NORMAL * scale

    def lowest_point(self, A: Functionals) -> Functionals:
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


@dataclass(frozen=True, eq=False)
class PolytopeSet:
    r"""All x of a box with $\langle G_i,x\rangle\le h_i$ for the `rows` $G$ (constraints, *shape) and the `limits` $h$
    (constraints,), the same for all boxes.

    For every $\lambda\ge0$ the least value of $\langle A,x\rangle$ is at least that of
    $\langle A+\sum_i\lambda_iG_i,x\rangle-\sum_i\lambda_ih_i$ over the box. The multipliers are chosen one after
    another, each of them as well as it can be.
    """

    box: BoxSet
    rows: Float[np.ndarray, "constraints *shape"]
    limits: Float[np.ndarray, "constraints"]

    SWEEPS = 3

    @property
    def hull(self) -> Interval:
        return self.box.hull

    @property
    def is_box(self) -> bool:
        return False

    @np.errstate(all="ignore")
    def least(self, A: Functionals) -> Least:
        multipliers = self._multipliers(A)
        moved = self._move(A, multipliers)
        value, error = self.box.least(moved)
        paid = multipliers @ self.limits
        total = value - paid
        sizes = np.abs(A) + np.tensordot(multipliers, np.abs(self.rows), 1)
        terms = len(self.limits) + 2
        doubt = sum_doubt(terms) * (
            weigh(sizes, self.hull.magnitude) + multipliers @ np.abs(self.limits)
        )
        underflow = lost_to_underflow(terms, self.hull.magnitude)[:, None] + terms * SMALLEST_NORMAL
        return total, error + doubt + underflow + sum_doubt(2) * np.abs(total)

    def _move(self, A: Array, multipliers: Array) -> Array:
        return A + np.tensordot(multipliers, self.rows, 1)

    def _multipliers(self, A: Array) -> Array:
        """(boxes, functionals, constraints), in plain floats: each choice gives a bound."""
        multipliers = np.zeros((*A.shape[:2], len(self.limits)))
        for _ in range(self.SWEEPS if len(self.limits) > 1 else 1):
            for i in range(len(self.limits)):
                multipliers[..., i] = 0.0
                multipliers[..., i] = self._best(rows(self._move(A, multipliers)), i)
        return multipliers

    def _best(self, a: Array, i: int) -> Array:
        r"""The multiplier of one row where the slope of the concave bound changes its sign.

        At 0 the slope is the excess of the row at the lowest corner; at $-a_j/G_j$ entry $j$ of the corner moves to its
        other end, which lowers the slope.
        """
        g = self.rows[i].ravel()
        lo, hi = (end.reshape(len(end), 1, -1) for end in (self.hull.lo, self.hull.hi))
        turns = np.where(g * a < 0, -a / np.where(g == 0, 1.0, g), np.inf)
        at_low = (a > 0) | ((a == 0) & (g > 0))
        slope = (g * np.where(at_low, lo, hi)).sum(-1) - self.limits[i]
        order = np.argsort(turns, axis=-1)
        turns = np.take_along_axis(turns, order, -1)
        drops = np.take_along_axis(np.broadcast_to(np.abs(g) * (hi - lo), a.shape), order, -1)
        left = slope[..., None] - np.cumsum(np.where(np.isfinite(turns), drops, 0.0), -1)
        reached = (left <= 0) & np.isfinite(turns)
        first = np.take_along_axis(turns, reached.argmax(-1)[..., None], -1)[..., 0]
        last = np.where(np.isfinite(turns), turns, 0.0).max(-1)
        # no input meets the row: any large multiplier shows it
        best = np.where(reached.any(-1), first, 2 * last)
        return np.where((slope > 0) & np.isfinite(best), best, 0.0)

    def lowest_point(self, A: Functionals) -> Functionals:
        with np.errstate(all="ignore"):
            return self.box.lowest_point(self._move(A, self._multipliers(A)))

    def part(self, chosen: slice) -> "PolytopeSet":
        return PolytopeSet(self.box.part(chosen), self.rows, self.limits)


def _beside(numbers: Array, x: Array) -> Array:
    """One number a box, shaped to stand beside arrays (boxes, *shape)."""
    return numbers.reshape(-1, *[1] * (x.ndim - 1))


def least_of_all(
    sets: Sequence[InputSet], coefficients: Sequence[Array | None]
) -> tuple[Array, Array]:
    """The least value of a sum of functionals of several inputs, each in its own set; plain zeros if none occurs."""
    value: Array | float = 0.0
    error: Array | float = 0.0
    for part, A in zip(sets, coefficients):
        if A is not None:
            more, more_error = part.least(A)
            value = value + more
            error = error + more_error + sum_doubt(2) * np.abs(value)
    return np.asarray(value), np.asarray(error)
