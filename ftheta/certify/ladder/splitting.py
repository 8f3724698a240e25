r"""Local constants by parts: a set of inputs is cut at neurons of open sign, or a box into halves.

On a convex set the Lipschitz constant is the supremum of $\|J\|$, so it is the largest over parts that cover the set,
whether or not the parts are convex. Where a neuron is on (or off), its slope is fixed, and so is the sign of an affine
function above (below) its input: one more row of a polytope, over which all other neurons are bounded again. The part
with the largest bound is cut next, until that bound is no larger than the steepest slope found or the work is done.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np
from scipy.optimize import linprog

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.backward import Relaxed
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.refining import enclose, one_entry_each
from ftheta.graph.domains.linear.sets import BoxSet, InputSet, PolytopeSet
from ftheta.graph.domains.linear.slopes import optimise
from ftheta.graph.errors import GraphError

from ..norms import gamma
from .chains import Chain, Ranges
from .climbing import Steep, look_at
from .curves import slope_range
from .rungs import bound_part, prepare_setting
from .sectors import reduce_chain

ASCENT = 8  # steps on the free slopes of linear bounds
MOST_HALVED_INPUTS = 10  # boxes of up to so many inputs are halved, ...
SIGNS = 8  # ... if so many neurons per input have more than one slope, or all are smooth
ENOUGH = 1 + 1e-9
DUAL = {1: inf, 2: 2, inf: 1}
Sign = tuple[int, int, float]


@dataclass(order=True)
class InputPart:
    """Inputs with some neurons' `signs` given (layer, entry, sign): `key` is minus the bound, so that a heap yields the
    steepest."""

    key: float
    number: int
    region: InputSet = field(compare=False)
    relaxed: Relaxed = field(compare=False)
    ranges: Ranges = field(compare=False)
    signs: tuple[Sign, ...] = field(compare=False)

    @property
    def bound(self) -> float:
        return -self.key


@dataclass(frozen=True)
class Cover:
    """A bound that holds on all parts, how many parts were bounded, how many of them are left and not empty, and
    whether the largest cannot be lowered any more."""

    bound: float
    bounded: int
    left: int
    is_final: bool


class Splitter:
    """The parts of one set of inputs, in the norm 1, 2 or ∞."""

    def __init__(self, chain: Chain, program: Program, region: InputSet, norm: float) -> None:
        self.chain = chain
        self.program = program
        self.norm = norm
        self.count = 0
        self.slots = program.graph.outputs[: len(chain.words)]
        self.steepest = Steep(region.hull.lo[0].ravel(), np.ones(chain.inputs), 0.0, 0)
        self.is_halved = False
        first = self._bound(region, {})
        if first is not None and isinstance(region, BoxSet):
            moving = sum(int((high > low).sum()) for low, high in first.ranges)
            has_signs = chain.is_piecewise_affine and moving <= SIGNS * chain.inputs
            self.is_halved = chain.inputs <= MOST_HALVED_INPUTS and not has_signs
        self.parts = [] if first is None else [first]

    def cover(self, least: float, most_parts: int) -> Cover:
        """Cut parts until no bound exceeds `least`, or so many parts were bounded."""
        settled = 0.0
        while self.parts and self.count < most_parts:
            if max(self.parts[0].bound, settled) <= max(least, self.steepest.slope) * ENOUGH:
                break
            part = heapq.heappop(self.parts)
            if isinstance(part.region, PolytopeSet) and not self._visit(part.region):
                continue
            children = list(self._cut(part))
            if not children:
                settled = max(settled, self._settle(part))
                continue
            for child in children:
                bounded = self._bound(*child, parent=part)
                if bounded is not None:
                    heapq.heappush(self.parts, bounded)
        top = max([settled, *(part.bound for part in self.parts)], default=0.0)
        return Cover(top, self.count, len(self.parts), settled >= top)

    # ---- bounds ----

    def _settle(self, part: InputPart) -> float:
        """The bound of a part with one affine map, which is attained if there is an input; 0 where there is none.

        The rows of its polytope are those of relaxations. Now that all signs are given they are affine, and a linear
        program tells."""
        region = part.region
        if isinstance(region, PolytopeSet):
            for sign in part.signs:
                region = self._with_row(region, part.relaxed, sign)
            if not self._visit(region):
                return 0.0
        return part.bound

    def _bound(
        self,
        region: InputSet,
        narrowed: Mapping[int, Interval],
        signs: tuple[Sign, ...] = (),
        parent: InputPart | None = None,
    ) -> InputPart | None:
        """A part with its bound; None where it is empty."""
        self.count += 1
        try:
            if parent is None or self.is_halved:
                relaxed = enclose(self.program, [region], steps=ASCENT)
            else:
                relaxed = enclose(
                    self.program, [region], before=_Narrowed(parent.relaxed, narrowed)
                )
        except GraphError as error:
            if parent is not None and _is_contradiction(error):
                return None
            raise
        ranges = self._ranges(relaxed)
        bound = bound_part(prepare_setting(self.chain, ranges, self.norm, is_local=True))
        if parent is not None:
            bound = min(bound, parent.bound)
        return InputPart(-bound, self.count, region, relaxed, ranges, signs)

    def _ranges(self, relaxed: Relaxed) -> Ranges:
        found = []
        for word, slot in zip(self.chain.words, self.slots):
            z = relaxed.enclosures[slot.id]
            found.append(slope_range(word, z.lo[0].ravel(), z.hi[0].ravel()))
        return tuple(found)

    def _visit(self, region: PolytopeSet) -> bool:
        """Look at an input in the middle of a polytope, as far from its faces as a linear program finds one; False
        where multipliers prove that there is none."""
        lo, hi = (end[0].ravel() for end in (region.hull.lo, region.hull.hi))
        rows = region.rows.reshape(len(region.rows), -1)
        lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        free = hi > lo
        fixed = rows[:, ~free] @ lo[~free]
        found = linprog(
            np.append(np.zeros(int(free.sum())), 1.0),
            A_ub=np.column_stack([rows[:, free] / lengths[:, None], -np.ones(len(rows))]),
            b_ub=(region.limits - fixed) / lengths,
            bounds=[*zip(lo[free], hi[free]), (-inf, inf)],
            method="highs",
        )
        if found.status != 0:
            return True
        if found.fun > 0:
            return not _is_empty(region, np.maximum(-found.ineqlin.marginals, 0.0) / lengths)
        x = lo.copy()
        x[free] = np.clip(found.x[:-1], lo[free], hi[free])
        steep = look_at(self.chain, x, self.norm)
        if steep.slope > self.steepest.slope:
            self.steepest = steep
        return True

    # ---- cuts ----

    def _cut(
        self, part: InputPart
    ) -> Iterator[tuple[InputSet, Mapping[int, Interval], tuple[Sign, ...]]]:
        if isinstance(part.region, BoxSet) and self.is_halved:
            yield from self._halve(part.region)
            return
        chosen = self._choose(part)
        if chosen is None or not isinstance(part.region, (BoxSet, PolytopeSet)):
            return
        layer, entry = chosen
        slot = self.slots[layer]
        z = part.relaxed.enclosures[slot.id]
        for sign in (1.0, -1.0):
            lo, hi = z.lo.copy(), z.hi.copy()
            end = hi if sign < 0 else lo
            end.reshape(-1)[entry] = 0.0
            given = (layer, entry, sign)
            yield (
                self._with_row(part.region, part.relaxed, given),
                {slot.id: Interval(lo, hi)},
                (*part.signs, given),
            )

    def _halve(
        self, region: BoxSet
    ) -> Iterator[tuple[InputSet, Mapping[int, Interval], tuple[Sign, ...]]]:
        lo, hi = region.hull.lo, region.hull.hi
        weight = np.abs(self.chain.weights[0]).sum(0)
        k = int(((hi - lo)[0].ravel() * weight).argmax())
        middle = (lo.reshape(-1)[k] + hi.reshape(-1)[k]) / 2
        if not lo.reshape(-1)[k] < middle < hi.reshape(-1)[k]:
            return
        for upper in (False, True):
            ends = lo.copy(), hi.copy()
            ends[0 if upper else 1].reshape(-1)[k] = middle
            yield BoxSet(Interval(*ends)), {}, ()

    def _choose(self, part: InputPart) -> tuple[int, int] | None:
        """The neuron of open sign whose switching moves the Jacobian most, in a rough estimate; those of the first
        layers count more, since they tell about all others."""
        system = reduce_chain(self.chain.weights, part.ranges)
        best = None
        most = 0.0
        offset = system.inputs
        for layer, (Z, (low, high)) in enumerate(zip(system.rows, part.ranges)):
            moving = np.flatnonzero(high > low)
            columns = slice(offset, offset + len(moving))
            offset += len(moving)
            after = np.linalg.norm(system.out[:, columns], self.norm, axis=0)
            for later in system.rows[layer + 1 :]:
                after = after + np.linalg.norm(later[:, columns], self.norm, axis=0)
            scores = np.linalg.norm(Z, DUAL[self.norm], axis=1) * after
            z = part.relaxed.enclosures[self.slots[layer].id]
            is_open = (z.lo.ravel()[moving] < 0) & (z.hi.ravel()[moving] > 0)
            scores = np.where(is_open, scores, 0.0)
            if len(scores) and scores.max() > most:
                most = float(scores.max())
                best = (layer, int(moving[scores.argmax()]))
        return best

    def _with_row(self, region: BoxSet | PolytopeSet, relaxed: Relaxed, given: Sign) -> PolytopeSet:
        """The region, with the affine function on the side of 0 on which the neuron's input lies."""
        layer, entry, sign = given
        slot = self.slots[layer]
        box = region if isinstance(region, BoxSet) else region.box
        seeds = -sign * one_entry_each(slot, np.array([[entry]]))
        form = optimise(relaxed, [region], {slot.id: seeds}, 0).form
        row = form.coefficients[0]
        row = np.zeros((1, *box.hull.shape[1:])) if row is None else row[0]
        # −s·z ≥ ⟨row, x⟩ + offset − error, and −s·z ≤ 0
        limit = form.paid_error[0] - form.offset[0]
        limit = np.nextafter(limit, inf)
        if not isinstance(region, PolytopeSet):
            return PolytopeSet(box, row, limit)
        return PolytopeSet(
            box, np.concatenate([region.rows, row]), np.concatenate([region.limits, limit])
        )


def _is_empty(region: PolytopeSet, multipliers: np.ndarray) -> bool:
    """Whether the sum of the rows, times the multipliers, exceeds that of the limits on all of the box, for certain."""
    combined = np.tensordot(multipliers, region.rows, 1)
    limit = float(multipliers @ region.limits)
    value, error = region.box.least(combined[None, None])
    terms = len(multipliers) + 2
    sizes = np.tensordot(multipliers, np.abs(region.rows), 1) * np.maximum(
        np.abs(region.hull.lo[0]), np.abs(region.hull.hi[0])
    )
    doubt = gamma(2 * terms) * (
        float(sizes.sum()) * 1.001 + float(multipliers @ np.abs(region.limits))
    )
    return bool(value[0, 0] - limit > 2 * (float(error[0, 0]) + doubt) + 2.0**-900)


def _is_contradiction(error: GraphError) -> bool:
    """Whether two enclosures of one number do not meet: there is no input then."""
    return "do not meet" in error.what or "lo ≤ hi" in error.what


class _Narrowed(Mapping[int, Interval]):
    """Enclosures of all slots, some of them narrowed by the signs that are given."""

    def __init__(self, relaxed: Relaxed, narrowed: Mapping[int, Interval]) -> None:
        self.enclosures = relaxed.enclosures
        self.narrowed = narrowed

    def __getitem__(self, number: int) -> Interval:
        x = self.enclosures[number]
        return x.meet(self.narrowed[number]) if number in self.narrowed else x

    def __iter__(self) -> Iterator[int]:
        return iter(self.enclosures)

    def __len__(self) -> int:
        return len(self.enclosures)
