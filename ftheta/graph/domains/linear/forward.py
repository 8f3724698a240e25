r"""Affine bounds carried forward: every slot between affine functions of the inputs, made from those of its operands.

A relaxation bounds an entry of a slot by functionals $\sum_jA_jp_j+c-e$ of its operands (`relaxations.py`). With forms
$\langle L_j,x\rangle+l_j\le p_j$ and $\langle N_j,x\rangle+n_j\le-p_j$ it is bounded below by
$$\sum_jA_j^+(\langle L_j,x\rangle+l_j)+A_j^-(\langle N_j,x\rangle+n_j),\qquad A=A^+-A^-.$$
Linear maps are applied to the forms of their operands, one map for each input, and so are lines and planes; other
relaxations are asked for the functionals of every entry. One pass bounds all slots, at a cost that grows with the
number of inputs and not with that of the entries: it pays where few inputs reach wide layers. Back-substitution is
sharper as a rule: it takes lower or upper functions for a whole functional, where here the choice is made anew for
every entry on the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import HALF_ULP, SMALLEST_NORMAL, Array
from ftheta.graph.domains.linear.backward import Form, Relaxed
from ftheta.graph.domains.linear.maps import LinearMap
from ftheta.graph.domains.linear.products import Product
from ftheta.graph.domains.linear.relaxations import Affine, Lines
from ftheta.graph.domains.linear.rounding import least_over, lost_to_underflow, sum_doubt, weigh
from ftheta.graph.domains.linear.sets import InputSet
from ftheta.graph.graph import Slot

CHUNK = 1 << 21
"""Coefficients on the operands that are held at a time."""


@dataclass(frozen=True, eq=False)
class Sides:
    """Forms below the entries of a slot, and below their negatives: (boxes, 2·entries) of them, one after another.

    `slopes` (boxes, 2·entries, all inputs), `offset` and `error` (boxes, 2·entries).
    """

    slopes: Array
    offset: Array
    error: Array


class Forward:
    """The forms of all slots, made in the order of the program."""

    def __init__(self, relaxed: Relaxed, sets: Sequence[InputSet]) -> None:
        self._relaxed = relaxed
        self._sets = sets
        self._boxes = len(sets[0].hull.lo)
        inputs = relaxed.program.graph.inputs
        self._ends = np.cumsum([0, *(slot.size for slot in inputs)])
        magnitude = [np.maximum(np.abs(part.hull.lo), np.abs(part.hull.hi)) for part in sets]
        self._magnitude = np.concatenate([m.reshape(self._boxes, -1) for m in magnitude], 1)
        self._known: dict[int, Sides] = {}
        for slot, start in zip(inputs, self._ends.tolist()):
            self._known[slot.id] = self._of_input(slot, start)

    def _of_input(self, slot: Slot, start: int) -> Sides:
        slopes = np.zeros((self._boxes, 2 * slot.size, int(self._ends[-1])))
        entries = np.arange(slot.size)
        slopes[:, entries, start + entries] = 1.0
        slopes[:, slot.size + entries, start + entries] = -1.0
        return Sides(slopes, np.zeros(slopes.shape[:2]), np.zeros(slopes.shape[:2]))

    @np.errstate(all="ignore")
    def refine(self, slot: Slot) -> Interval:
        """The enclosure of a slot, met with the bounds by its forms, which are made and kept."""
        x = self._relaxed.enclosures[slot.id]
        least = self.form(self._sides(slot)).least(self._sets)
        below, above = (side.reshape(x.shape) for side in np.split(least, 2, axis=1))
        return x.meet(Interval(np.fmax(x.lo, below), np.fmin(x.hi, -above)))

    @np.errstate(all="ignore")
    def of_rows(self, slot: Slot, rows: Array) -> Form:
        """Forms below functionals `rows` (functionals, *shape) of a slot."""
        A = np.broadcast_to(rows.reshape(1, len(rows), -1), (self._boxes, len(rows), slot.size))
        return self.form(
            self._compose(A, self._of_operand(slot), np.zeros(A.shape[:2]), np.zeros(A.shape[:2]))
        )

    @np.errstate(all="ignore")
    def of_entries(self, slot: Slot) -> tuple[Form, Form]:
        """Forms below the entries of a slot, and below their negatives."""
        sides = self._of_operand(slot)
        halves = (slice(None, slot.size), slice(slot.size, None))
        lower, upper = (
            self.form(Sides(sides.slopes[:, half], sides.offset[:, half], sides.error[:, half]))
            for half in halves
        )
        return lower, upper

    def form(self, sides: Sides) -> Form:
        inputs = self._relaxed.program.graph.inputs
        parts = np.split(sides.slopes, self._ends[1:-1].tolist(), axis=2)
        slopes = tuple(
            part.reshape(*part.shape[:2], *slot.shape) for part, slot in zip(parts, inputs)
        )
        return Form(slopes, sides.offset, sides.error)

    # ---- forms of one slot -------------------------------------------------------------------------------------------

    def _sides(self, slot: Slot) -> Sides:
        """The forms of a slot; those that they are made of are made first, in the order of the program."""
        open = [slot]
        missing: dict[int, Slot] = {}
        while open:
            there = open.pop()
            if (
                there.id in self._known
                or there.id in missing
                or there.id not in self._relaxed.program.varying
            ):
                continue
            missing[there.id] = there
            open.extend(self._relaxed.relaxation(there).operands)
        for number in sorted(missing):
            self._known[number] = self._with_ends(missing[number], self._make(missing[number]))
        return self._known[slot.id]

    def _make(self, slot: Slot) -> Sides:
        relaxation = self._relaxed.relaxation(slot)
        if isinstance(relaxation, Affine):
            return self._map(slot, relaxation)
        if isinstance(relaxation, Lines):
            (operand,) = (self._of_operand(p) for p in relaxation.operands)
            part = self._scale(operand, relaxation.lower_slope, relaxation.upper_slope)
            return self._shift(part, relaxation.lower_offset, relaxation.upper_offset)
        if isinstance(relaxation, Product):
            total = None
            for k, (p, spread) in enumerate(zip(relaxation.operands, relaxation.spreads)):
                wide = self._push(spread, p)
                part = self._scale(wide, relaxation.below[k], relaxation.above[k])
                total = part if total is None else self._sum(total, part)
            assert total is not None
            return self._shift(total, relaxation.below[2], relaxation.above[2])
        seeds = np.eye(slot.size).reshape(slot.size, *slot.shape)
        return self._pull(slot, np.concatenate([seeds, -seeds]))

    def _of_operand(self, slot: Slot) -> Sides:
        """The forms of what a relaxation reads; those of a constant are its ends."""
        if slot.id in self._relaxed.program.varying:
            return self._sides(slot)
        x = self._relaxed.enclosures[slot.id]
        ends = np.concatenate([x.lo.reshape(len(x.lo), -1), -x.hi.reshape(len(x.hi), -1)], 1)
        offset = np.broadcast_to(ends.astype(np.float64), (self._boxes, 2 * slot.size))
        return Sides(np.zeros((*offset.shape, int(self._ends[-1]))), offset, np.zeros(offset.shape))

    def _map(self, slot: Slot, relaxation: Affine) -> Sides:
        """A sum of linear maps of the operands."""
        total = None
        for p, linear in zip(relaxation.operands, relaxation.maps):
            part = self._push(linear, p)
            total = part if total is None else self._sum(total, part)
        if total is None:
            zero = np.zeros((self._boxes, 2 * slot.size))
            return Sides(np.zeros((*zero.shape, int(self._ends[-1]))), zero, zero)
        return total

    def _push(self, linear: LinearMap, operand: Slot) -> Sides:
        r"""The forms behind a linear map $P-N$ with $P,N\ge0$: below $(P-N)p$ lie $P$ times those below $p$ plus $N$
        times those below $-p$. What it sums is a stack: the slopes of each input, the offset, the error, and the size
        that rounding is measured by."""
        sides = self._of_operand(operand)
        columns = sides.slopes.shape[2]
        stack = np.concatenate([sides.slopes, sides.offset[..., None], sides.error[..., None]], 2)
        stack = np.concatenate([stack, self._size(sides)[..., None]], 2)
        below, minus_above = (
            np.moveaxis(side, 2, 1).reshape(-1, *operand.shape)
            for side in np.split(stack, 2, axis=1)
        )
        plus, minus = linear.split()
        low, high = 0.0, 0.0
        if plus is not None:
            low, high = plus.push(below), plus.push(minus_above)
        if minus is not None:
            low, high = low - minus.push(minus_above), high - minus.push(below)
        both = [
            np.moveaxis(np.reshape(side, (self._boxes, columns + 3, -1)), 1, 2)
            for side in (low, high)
        ]
        found = np.concatenate(both, 1)
        error = found[..., columns + 1]
        if linear.push_terms:
            error = error + sum_doubt(linear.push_terms) * found[..., columns + 2]
            error = error + self._lost(linear.push_terms)[:, None]
        if linear.doubt is not None:
            unsure = linear.doubt(self._relaxed.enclosures[operand.id].magnitude)
            unsure = np.broadcast_to(
                unsure.reshape(len(unsure), -1), (self._boxes, error.shape[1] // 2)
            )
            error = error + np.concatenate([unsure, unsure], 1)
        return Sides(found[..., :columns], found[..., columns], error)

    def _scale(self, sides: Sides, below: Array, above: Array) -> Sides:
        """Entry by entry: forms below `below`·p, and below −`above`·p."""
        lower, upper = (
            np.broadcast_to(part.reshape(len(part), -1), (self._boxes, part[0].size))
            for part in (below, above)
        )
        entries = lower.shape[1]
        order = np.concatenate([lower >= 0, upper >= 0], 1)
        factor = np.abs(np.concatenate([lower, upper], 1))
        same = np.arange(2 * entries)
        other = np.concatenate([same[entries:], same[:entries]])
        chosen = np.where(order, same, other)
        slopes = np.take_along_axis(sides.slopes, chosen[..., None], 1)
        offset, error, size = (
            np.take_along_axis(part, chosen, 1)
            for part in (sides.offset, sides.error, self._size(sides))
        )
        doubt = (
            np.where(factor == 0, 0.0, factor * (error + HALF_ULP * size)) + self._lost(1)[:, None]
        )
        return Sides(factor[..., None] * slopes, factor * offset, doubt)

    def _shift(self, sides: Sides, below: Array, above: Array) -> Sides:
        """Offsets added: `below` to the forms below, −`above` to those below the negatives."""
        more = np.concatenate([below.reshape(len(below), -1), -above.reshape(len(above), -1)], 1)
        offset = sides.offset + more
        return Sides(sides.slopes, offset, sides.error + HALF_ULP * np.abs(offset))

    def _sum(self, one: Sides, other: Sides) -> Sides:
        total = Sides(one.slopes + other.slopes, one.offset + other.offset, one.error + other.error)
        return Sides(total.slopes, total.offset, total.error + HALF_ULP * self._size(total))

    def _size(self, sides: Sides) -> Array:
        """Bounds of |⟨slopes, x⟩| and |offset| together."""
        return (np.abs(sides.slopes) @ self._magnitude[..., None])[..., 0] + np.abs(sides.offset)

    def _lost(self, terms: int) -> Array:
        """What underflow can take off a form whose coefficients are sums of so many products."""
        return lost_to_underflow(terms, self._magnitude) + 2 * terms * SMALLEST_NORMAL

    def _with_ends(self, slot: Slot, sides: Sides) -> Sides:
        """Forms that say nothing (infinite, or not a number) give their place to the ends of the interval."""
        x = self._relaxed.enclosures[slot.id]
        ends = np.concatenate([x.lo.reshape(self._boxes, -1), -x.hi.reshape(self._boxes, -1)], 1)
        good = np.isfinite(sides.slopes).all(2) & np.isfinite(sides.offset + sides.error)
        if good.all():
            return sides
        return Sides(
            np.where(good[..., None], sides.slopes, 0.0),
            np.where(good, sides.offset, np.where(np.isfinite(ends), ends, 0.0)),
            np.where(good, sides.error, np.where(np.isfinite(ends), 0.0, np.inf)),
        )

    # ---- functionals of a slot ---------------------------------------------------------------------------------------

    def _pull(self, slot: Slot, seeds: Array) -> Sides:
        """The functionals `seeds` (functionals, *shape) of a slot, by those of its operands."""
        relaxation = self._relaxed.relaxation(slot)
        largest = max([slot.size, *(operand.size for operand in relaxation.operands)])
        step = max(1, CHUNK // (self._boxes * largest))
        made = []
        for k in range(0, len(seeds), step):
            A = np.broadcast_to(
                seeds[None, k : k + step], (self._boxes, *seeds[k : k + step].shape)
            )
            pulled = relaxation.pull(np.ascontiguousarray(A))
            total = Sides(
                np.zeros((*A.shape[:2], int(self._ends[-1]))),
                np.broadcast_to(pulled.offset, A.shape[:2]),
                np.broadcast_to(pulled.error, A.shape[:2]),
            )
            for operand, more in zip(relaxation.operands, pulled.coefficients):
                if more is not None:
                    total = self._add(total, operand, more)
            made.append(total)
        return Sides(
            *(
                np.concatenate([getattr(part, name) for part in made], 1)
                for name in Sides.__annotations__
            )
        )

    def _add(self, total: Sides, operand: Slot, coefficients: Array) -> Sides:
        if operand.id not in self._relaxed.program.varying:
            x = self._relaxed.enclosures[operand.id]
            value, doubt = least_over(coefficients, x.lo, x.hi)
            offset = total.offset + value
            return Sides(total.slopes, offset, total.error + doubt + HALF_ULP * np.abs(offset))
        A = coefficients.reshape(*coefficients.shape[:2], -1)
        more = self._compose(A, self._sides(operand), total.offset, total.error)
        slopes = total.slopes + more.slopes
        rounding = HALF_ULP * (np.abs(slopes) @ self._magnitude[..., None])[..., 0]
        return Sides(slopes, more.offset, more.error + rounding)

    def _compose(self, A: Array, sides: Sides, offset: Array, error: Array) -> Sides:
        """Functionals A (boxes, functionals, entries) of a slot with these forms, plus an offset with its error."""
        weights = np.concatenate([np.maximum(A, 0.0), np.maximum(-A, 0.0)], 2)
        slopes = weights @ sides.slopes
        total = (weights @ sides.offset[..., None])[..., 0] + offset
        size = (np.abs(sides.slopes) @ self._magnitude[..., None])[..., 0] + np.abs(sides.offset)
        doubt = sum_doubt(weights.shape[2] + 2)
        more = weigh(weights, sides.error + doubt * size) + doubt * np.abs(offset)
        more = more + lost_to_underflow(weights.shape[2], self._magnitude)[:, None]
        return Sides(slopes, total, error + more)
