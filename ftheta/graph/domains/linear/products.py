r"""Products of two slots that vary: planes of McCormick (1976).

For $x\in[l,u]$ and $y\in[k,h]$ two planes lie below $xy$ and touch it on two edges each,
$$xy\ge kx+ly-lk,\qquad xy\ge hx+uy-uh,$$
and so does every mean $\theta$ of them; above, $-xy=(-x)y$ has the same. All of them have the same gap in the middle
of the box. Of these the default is the mean whose least value over the box is greatest, which is that of the product
itself: so no product is bounded worse than by intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import (
    HALF_ULP,
    Array,
    add_above,
    add_below,
    multiply_below,
)
from ftheta.graph.domains.linear.maps import LinearMap
from ftheta.graph.domains.linear.relaxations import Pulled
from ftheta.graph.domains.linear.rounding import lost_to_underflow, sum_doubt, weigh
from ftheta.graph.graph import Slot


@np.errstate(all="ignore")
def plane_below(x: Interval, y: Interval) -> tuple[Array, Array, Array]:
    """Coefficients p, q and offset c of a plane p·x + q·y + c below x·y, entry by entry."""
    share = _best_share(x, y)
    p = y.hi + share * (y.lo - y.hi)
    q = x.hi + share * (x.lo - x.hi)
    # the plane is a bound if it is one at the four corners: x·y − p·x − q·y is linear in either variable
    offset = np.minimum.reduce([_gap(a, b, p, q) for a in (x.lo, x.hi) for b in (y.lo, y.hi)])
    known = np.isfinite(p) & np.isfinite(q) & np.isfinite(offset)
    least = np.minimum.reduce([multiply_below(a, b) for a in (x.lo, x.hi) for b in (y.lo, y.hi)])
    return np.where(known, p, 0.0), np.where(known, q, 0.0), np.where(known, offset, least)


def _gap(a: Array, b: Array, p: Array, q: Array) -> Array:
    """a·b − p·a − q·b, rounded down."""
    return add_below(add_below(multiply_below(a, b), multiply_below(-p, a)), multiply_below(-q, b))


def _best_share(x: Interval, y: Interval) -> Array:
    """The share of the first plane in the mean whose least value over the box is greatest: a concave function of it,
    with kinks where a coefficient vanishes."""
    candidates = [np.zeros(x.shape), np.ones(x.shape), _zero_of_mean(x), _zero_of_mean(y)]
    best = np.full(x.shape, -np.inf)
    share = np.full(x.shape, 0.5)
    for t in candidates:
        p = y.hi + t * (y.lo - y.hi)
        q = x.hi + t * (x.lo - x.hi)
        c = -(t * x.lo * y.lo + (1 - t) * x.hi * y.hi)
        value = np.minimum(p * x.lo, p * x.hi) + np.minimum(q * y.lo, q * y.hi) + c
        better = value > best
        best = np.where(better, value, best)
        share = np.where(better, t, share)
    return share


def _zero_of_mean(x: Interval) -> Array:
    """The share t with (1 − t)·hi + t·lo = 0, if it is one."""
    t = x.hi / (x.hi - x.lo)
    return np.where(np.isfinite(t), np.clip(t, 0.0, 1.0), 0.5)


@dataclass(frozen=True, eq=False)
class Product:
    """x·y entry by entry, between the plane `below` and the plane `above`: coefficients of x and y, and an offset.

    The maps spread the operands to the shape of the product.
    """

    operands: tuple[Slot, ...]
    spreads: tuple[LinearMap, LinearMap]
    below: tuple[Array, Array, Array]
    above: tuple[Array, Array, Array]
    magnitudes: tuple[Array, Array]

    @classmethod
    def of(
        cls,
        slots: tuple[Slot, Slot],
        spreads: tuple[LinearMap, LinearMap],
        x: Interval,
        y: Interval,
    ) -> "Product":
        p, q, c = plane_below(Interval(-x.hi, -x.lo), y)
        above = (p, -q, -c)
        return cls(slots, spreads, plane_below(x, y), above, (x.magnitude, y.magnitude))

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        plus = np.maximum(A, 0.0)
        minus = np.minimum(A, 0.0)
        back = []
        for k, spread in enumerate(self.spreads):
            wide = plus * self.below[k][:, None] + minus * self.above[k][:, None]
            flat = spread.pull(wide.reshape(-1, *A.shape[2:]))
            back.append(flat.reshape(*A.shape[:2], *flat.shape[1:]))
        offset = -weigh(plus, -self.below[2]) - weigh(minus, -self.above[2])
        return Pulled(tuple(back), offset, weigh(plus - minus, self._error) + self._lost[:, None])

    @cached_property
    def _error(self) -> Array:
        entries = int(np.prod(self.below[2].shape[1:], dtype=np.int64))
        total = sum_doubt(entries) * np.maximum(np.abs(self.below[2]), np.abs(self.above[2]))
        for k, spread in enumerate(self.spreads):
            steepest = np.maximum(np.abs(self.below[k]), np.abs(self.above[k]))
            doubt = HALF_ULP if not spread.pull_terms else sum_doubt(spread.pull_terms)
            total = total + doubt * np.where(steepest == 0, 0.0, steepest * self.magnitudes[k])
        return total

    @cached_property
    def _lost(self) -> Array:
        first, second = (lost_to_underflow(2, magnitude) for magnitude in self.magnitudes)
        return first + second

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        x, y = (
            spread.push(v.reshape(-1, *v.shape[2:])).reshape(A.shape)
            for spread, v in zip(self.spreads, values)
        )
        low, high = (
            p[:, None] * x + q[:, None] * y + c[:, None] for p, q, c in (self.below, self.above)
        )
        return np.where(A > 0, low, high)


@dataclass(frozen=True, eq=False)
class Contraction:
    r"""$z_{sij}=\sum_kx_{sik}y_{skj}$ for stacks of matrices that vary both: a sum of products, each between its
    planes.

    Planes are arrays (boxes, stacks, rows, inner, columns).
    """

    operands: tuple[Slot, ...]
    layouts: tuple[LinearMap, LinearMap]  # to (stacks, rows, inner) and (stacks, inner, columns)
    below: tuple[Array, Array, Array]
    above: tuple[Array, Array, Array]
    magnitudes: tuple[Array, Array]  # (boxes, stacks, rows, inner), (boxes, stacks, inner, columns)

    @classmethod
    def of(
        cls,
        slots: tuple[Slot, Slot],
        layouts: tuple[LinearMap, LinearMap],
        x: Interval,
        y: Interval,
    ) -> "Contraction":
        left = x.map(lambda end: layouts[0].push(end)[..., None])
        right = y.map(lambda end: layouts[1].push(end)[:, :, None])
        shape = np.broadcast_shapes(left.shape, right.shape)
        wide_x, wide_y = (
            part.map(lambda end: np.broadcast_to(end, shape)) for part in (left, right)
        )
        p, q, c = plane_below(Interval(-wide_x.hi, -wide_x.lo), wide_y)
        magnitudes = left.magnitude[..., 0], right.magnitude[:, :, 0]
        return cls(slots, layouts, plane_below(wide_x, wide_y), (p, -q, -c), magnitudes)

    def pull(self, A: Array, slopes: Array | None = None) -> Pulled:
        stacks, count, _, columns = self.below[0].shape[1:]
        wide = A.reshape(*A.shape[:2], stacks, count, columns)
        plus = np.maximum(wide, 0.0)
        minus = np.minimum(wide, 0.0)
        first = _over_columns(plus, self.below[0]) + _over_columns(minus, self.above[0])
        second = _over_rows(plus, self.below[1]) + _over_rows(minus, self.above[1])
        back = []
        for layout, part in zip(self.layouts, (first, second)):
            flat = layout.pull(part.reshape(-1, *part.shape[2:]))
            back.append(flat.reshape(*A.shape[:2], *flat.shape[1:]))
        offset = -weigh(plus, -self._offsets[0]) - weigh(minus, -self._offsets[1])
        return Pulled(tuple(back), offset, weigh(plus - minus, self._error) + self._lost[:, None])

    @cached_property
    def _offsets(self) -> tuple[Array, Array]:
        """Sums of the offsets over the inner axis, below rounded down, above rounded up."""
        inner = self.below[2].shape[3]
        doubt = sum_doubt(inner) * np.maximum(np.abs(self.below[2]), np.abs(self.above[2])).sum(3)
        doubt = doubt * (1 + 2.0**-20)
        return add_below(self.below[2].sum(3), -doubt), add_above(self.above[2].sum(3), doubt)

    @cached_property
    def _error(self) -> Array:
        """Coefficients of x are sums over columns, of y over rows, each of two products."""
        _, _, rows, _, columns = self.below[0].shape
        low, high = self._offsets
        total = sum_doubt(low[0].size) * np.maximum(np.abs(low), np.abs(high))
        steepest = [np.maximum(np.abs(self.below[k]), np.abs(self.above[k])) for k in (0, 1)]
        x, y = self.magnitudes
        total = total + sum_doubt(2 * columns) * _size(steepest[0], x[..., None])
        return total + sum_doubt(2 * rows) * _size(steepest[1], y[:, :, None])

    @cached_property
    def _lost(self) -> Array:
        _, _, rows, _, columns = self.below[0].shape
        return lost_to_underflow(2 * columns, self.magnitudes[0]) + lost_to_underflow(
            2 * rows, self.magnitudes[1]
        )

    def push(self, A: Array, values: Sequence[Array], slopes: Array | None = None) -> Array:
        stacks, count, _, columns = self.below[0].shape[1:]
        x, y = (
            layout.push(v.reshape(-1, *v.shape[2:])).reshape(*v.shape[:2], *shape)
            for layout, v, shape in zip(
                self.layouts, values, (self.magnitudes[0].shape[1:], self.magnitudes[1].shape[1:])
            )
        )
        plane = lambda p, q, c: (
            np.einsum("bsaik,baikj->bsaij", x, p)
            + np.einsum("bsakj,baikj->bsaij", y, q)
            + c.sum(3)[:, None]
        )
        positive = A.reshape(*A.shape[:2], stacks, count, columns) > 0
        return np.where(positive, plane(*self.below), plane(*self.above)).reshape(A.shape)


def _size(steepest: Array, magnitude: Array) -> Array:
    return np.where(steepest == 0, 0.0, steepest * magnitude).sum(3)


def _over_columns(A: Array, p: Array) -> Array:
    """Σ_j A_ij p_ikj: (boxes, functionals, stacks, rows, inner)."""
    return np.moveaxis(np.moveaxis(A, 1, 3) @ p.swapaxes(-1, -2), 3, 1)


def _over_rows(A: Array, q: Array) -> Array:
    """Σ_i A_ij q_ikj: (boxes, functionals, stacks, inner, columns)."""
    # (boxes, stacks, columns, functionals, inner)
    by_column = A.transpose(0, 2, 4, 1, 3) @ q.transpose(0, 1, 4, 2, 3)
    return by_column.transpose(0, 3, 1, 4, 2)
