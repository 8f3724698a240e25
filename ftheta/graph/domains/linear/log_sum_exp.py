r"""$\log\sum_ie^{x_i}$ over some axes: convex, so above its tangent plane in the middle of the box; below, each
exponential is under its secant, and the logarithm under its tangent.

With $p=\mathrm{softmax}(m)$ and any $s$, $S>0$, writing $T=\sum_ie^{x_i-s}$,
$$\mathrm{lse}(m)+\langle p,x-m\rangle\;\le\;\mathrm{lse}(x)=s+\log T\;\le\;s+\log S-1+T/S .$$
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from ftheta.graph.domains.interval.arithmetic import add, div, sub
from ftheta.graph.domains.interval.functions import MONOTONE
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import (
    HALF_ULP,
    Array,
    add_above,
    add_below,
    multiply_above,
    sum_above,
)
from ftheta.graph.domains.interval.sums import reduce_sum
from ftheta.graph.domains.linear.relaxations import Pulled
from ftheta.graph.domains.linear.rounding import lost_to_underflow, sum_doubt, weigh
from ftheta.graph.graph import Slot

EXP = MONOTONE["exp"]
LOG = MONOTONE["log"]


@dataclass(frozen=True, eq=False)
class Reduction:
    """Planes in the entries of one operand along some axes: `below` and `above` are coefficients (boxes, *operand) and
    offsets (boxes, *slot)."""

    operands: tuple[Slot, ...]
    axes: tuple[int, ...]  # of the operand
    below: tuple[Array, Array]
    above: tuple[Array, Array]
    magnitude: Array

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        wide = self._widen(A)
        plus = np.maximum(wide, 0.0)
        minus = np.minimum(wide, 0.0)
        back = plus * self.below[0][:, None] + minus * self.above[0][:, None]
        offset = -weigh(np.maximum(A, 0.0), -self.below[1]) - weigh(
            np.minimum(A, 0.0), -self.above[1]
        )
        return Pulled(
            (back,),
            offset,
            weigh(np.abs(A), self._error) + lost_to_underflow(2, self.magnitude)[:, None],
        )

    def _widen(self, A: Array) -> Array:
        """Functionals of the slot beside the entries of the operand."""
        shape = self.below[0].shape[1:]
        kept = [1 if a in self.axes else n for a, n in enumerate(shape)]
        return np.broadcast_to(A.reshape(*A.shape[:2], *kept), (*A.shape[:2], *shape))

    @cached_property
    def _error(self) -> Array:
        offsets = np.maximum(np.abs(self.below[1]), np.abs(self.above[1]))
        steepest = np.maximum(np.abs(self.below[0]), np.abs(self.above[0]))
        size = np.where(steepest == 0, 0.0, steepest * self.magnitude)
        total = size.sum(tuple(1 + a for a in self.axes)).reshape(offsets.shape)
        return 2 * HALF_ULP * total + sum_doubt(prod(offsets.shape[1:])) * offsets

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        (x,) = values
        axes = tuple(2 + a for a in self.axes)
        low, high = (
            (p[:, None] * x).sum(axes).reshape(A.shape) + c[:, None]
            for p, c in (self.below, self.above)
        )
        return np.where(A > 0, low, high)


@np.errstate(all="ignore")
def log_sum_exp(
    operand: Slot, axes: tuple[int, ...], shape: tuple[int, ...], x: Interval
) -> Reduction:
    """Planes for x in its enclosure (boxes, *shape); `shape` is that of the result."""
    here = tuple(1 + a for a in axes)
    laid_out = (len(x.lo), *shape)
    below, above = _plane_below(x, here), _plane_above(x, here)
    return Reduction(
        (operand,),
        axes,
        (below[0], below[1].reshape(laid_out)),
        (above[0], above[1].reshape(laid_out)),
        x.magnitude,
    )


def _plane_below(x: Interval, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """The tangent plane in the middle, less what its rounded gradient can be off by over the box."""
    middle = x.middle
    point = Interval(middle, middle)
    top = middle.max(axes, keepdims=True)
    terms = EXP(sub(point, Interval(top, top)))
    total = _keep(reduce_sum(terms, axes), axes)
    share = div(terms, total)
    p = np.where(x.hi == -np.inf, 0.0, np.clip(share.lo / 2 + share.hi / 2, 0.0, 1.0))
    gone = x.hi == -np.inf  # its exponential is 0
    doubt = np.where(gone, 0.0, np.maximum(add_above(share.hi, -p), add_above(p, -share.lo)))
    reach = np.maximum(add_above(x.hi, -middle), add_above(middle, -x.lo))
    loss = sum_above(add_above(multiply_above(doubt, reach), multiply_above(p, middle)), axes)
    value = add(
        LOG(reduce_sum(terms, axes)), Interval(np.squeeze(top, axes), np.squeeze(top, axes))
    )
    offset = add_below(value.lo, -loss)
    known = np.isfinite(offset)
    return np.where(_spread(known, axes), p, 0.0), np.where(known, offset, _value_at(x.lo, axes).lo)


def _plane_above(x: Interval, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """The secants of the exponentials, under the tangent of the logarithm at their sum in the middle."""
    shift = x.hi.max(axes, keepdims=True)
    at_lo, at_hi = (EXP(sub(Interval(end, end), Interval(shift, shift))) for end in (x.lo, x.hi))
    anchor = ((at_lo.hi + at_hi.hi) / 2).sum(axes, keepdims=True)
    rise = (at_hi.hi - at_lo.hi) / (x.hi - x.lo) / anchor
    slope = np.where(np.isfinite(rise), rise, 0.0)
    high, low = (div(part, Interval(anchor, anchor)).hi for part in (at_hi, at_lo))
    heights = np.maximum(
        add_above(high, multiply_above(-slope, x.hi)), add_above(low, multiply_above(-slope, x.lo))
    )
    constant = sub(
        add(Interval(shift, shift), LOG(Interval(anchor, anchor))), Interval.point(1.0)
    ).hi
    offset = add_above(np.squeeze(constant, axes), sum_above(heights, axes))
    known = np.isfinite(offset)
    return np.where(_spread(known, axes), slope, 0.0), np.where(
        known, offset, _value_at(x.hi, axes).hi
    )


def _value_at(end: Array, axes: tuple[int, ...]) -> Interval:
    top = end.max(axes, keepdims=True)
    shift = Interval.point(np.where(np.isfinite(top), top, 0.0))
    total = reduce_sum(EXP(sub(Interval.point(end), shift)), axes)
    return add(LOG(total), shift.map(lambda e: np.squeeze(e, axes)))


def _keep(x: Interval, axes: tuple[int, ...]) -> Interval:
    return x.map(lambda end: np.expand_dims(end, axes))


def _spread(mask: Array, axes: tuple[int, ...]) -> Array:
    return np.expand_dims(mask, axes)
