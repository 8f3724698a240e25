r"""Affine bounds carried forward: every slot between affine functions of the inputs, made from those of its operands.

A relaxation bounds an entry of a slot by functionals $\sum_jA_jp_j+c-e$ of its operands (`relaxations.py`). With forms
$\langle L_j,x\rangle+l_j\le p_j$ and $\langle N_j,x\rangle+n_j\le-p_j$ it is bounded below by
$$\sum_jA_j^+(\langle L_j,x\rangle+l_j)+A_j^-(\langle N_j,x\rangle+n_j),\qquad A=A^+-A^-.$$
One pass bounds all slots, at a cost that grows with the number of inputs. Back-substitution is sharper as a rule: it
takes lower or upper functions for a whole functional, where here the choice is made anew for every entry on the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import HALF_ULP, Array
from ftheta.graph.domains.linear.backward import Form, Relaxed
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
        return self.form(self._compose(A, self._sides(slot), np.zeros(A.shape[:2]), np.zeros(A.shape[:2])))

    def form(self, sides: Sides) -> Form:
        inputs = self._relaxed.program.graph.inputs
        parts = np.split(sides.slopes, self._ends[1:-1].tolist(), axis=2)
        slopes = tuple(part.reshape(*part.shape[:2], *slot.shape) for part, slot in zip(parts, inputs))
        return Form(slopes, sides.offset, sides.error)

    def _pull(self, slot: Slot, seeds: Array) -> Sides:
        """The functionals `seeds` (functionals, *shape) of a slot, by those of its operands."""
        relaxation = self._relaxed.relaxation(slot)
        largest = max([slot.size, *(operand.size for operand in relaxation.operands)])
        step = max(1, CHUNK // (self._boxes * largest))
        made = []
        for k in range(0, len(seeds), step):
            A = np.broadcast_to(seeds[None, k : k + step], (self._boxes, *seeds[k : k + step].shape))
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
        return Sides(*(np.concatenate([getattr(part, name) for part in made], 1) for name in Sides.__annotations__))

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

    def _sides(self, slot: Slot) -> Sides:
        """The forms of a slot; those that they are made of are made first, in the order of the program."""
        open = [slot]
        missing: dict[int, Slot] = {}
        while open:
            there = open.pop()
            if there.id in self._known or there.id in missing or there.id not in self._relaxed.program.varying:
                continue
            missing[there.id] = there
            open.extend(self._relaxed.relaxation(there).operands)
        for number in sorted(missing):
            there = missing[number]
            seeds = np.eye(there.size).reshape(there.size, *there.shape)
            self._known[number] = self._with_ends(there, self._pull(there, np.concatenate([seeds, -seeds])))
        return self._known[slot.id]

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
