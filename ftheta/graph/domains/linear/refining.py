"""Enclosures of every slot: intervals first, and where a non-linear node reads a slot, the bounds by back-substitution
from there, met with the intervals. All in the order of the nodes, so that every later enclosure profits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any, Literal, TypeAlias

import numpy as np

from ftheta.graph.domains.interval import INTERVAL
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.backward import Relaxed
from ftheta.graph.domains.linear.forward import Forward
from ftheta.graph.domains.linear.planning import plan_slot
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.sets import InputSet
from ftheta.graph.domains.linear.slopes import optimise
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import forward, precision

CHUNK = 1 << 22
"""Coefficients of one slot that are held at a time."""

FEW_OPEN = 256
"""Open entries of a slot that are worth a functional each, where forms are carried forward besides."""

WIDE = 1024
"""Entries of a slot from which on that is dear."""

Carry: TypeAlias = Literal["nothing", "most", "all"]
"""What is bounded by forms that are carried forward."""


def enclose(
    program: Program,
    sets: Sequence[InputSet],
    *,
    refine: bool = True,
    steps: int = 0,
    carry: Carry = "nothing",
    until: float = inf,
    before: Mapping[int, Interval] | None = None,
) -> Relaxed:
    """Enclosures of all slots over a batch of sets of inputs; without `refine`, by intervals alone. Free slopes are
    chosen by so many steps of ascent, for each bound by itself. `carry` "all": forms are carried forward
    instead. "most": forms are carried forward, and back-substitution follows for slots with few entries that are open
    then. After `until`, a time of the monotonic clock, what is left is enclosed by intervals.
    `before` are enclosures (boxes, *shape) over the same sets that were found before."""
    boxes = len(sets[0].hull.lo)
    if boxes > 1 and program.has_branches:
        raise GraphError(
            "boxes are bounded one at a time where a `cond` depends on the inputs",
            got=f"{boxes} boxes",
        )
    known = _Known(program, boxes)
    relaxed = Relaxed(program, known)
    carried = None if carry == "nothing" else Forward(relaxed, sets)
    graph = known.graph
    hulls = [part.hull if boxes > 1 else _without_axis(part.hull) for part in sets]
    wanted = _slots_to_refine(program, all(part.is_box for part in sets)) if refine else {}
    here = {known.slot_there(number): number for number in wanted}

    def prepare(_: Graph) -> Any:
        sharpen = INTERVAL.refine(graph) if INTERVAL.refine is not None else None

        def at_node(
            node: Node, values: Mapping[int, Interval], outputs: tuple[Interval, ...]
        ) -> tuple[Interval, ...]:
            outputs = outputs if sharpen is None else sharpen(node, values, outputs)
            known.values = values
            return tuple(at_slot(slot, x) for slot, x in zip(node.outputs, outputs))

        return at_node

    def at_slot(there: Slot, x: Interval) -> Interval:
        number = here.get(there.id)
        if number is None:
            return x
        if before is not None:
            x = x.meet(known.as_found(before[number]))
        if monotonic() > until:
            return x
        slot = program.graph.slots[number]
        if carried is not None:
            known.put(number, x)
            x = known.as_found(carried.refine(slot))
            known.put(number, x)
            if carry == "all" or _count_open(known[number], wanted[number]) > FEW_OPEN:
                return x
        for count in (0, steps) if steps and before is None else (steps,):
            known.put(number, x)
            x = known.as_found(refine_slot(relaxed, sets, slot, wanted[number], count, until))
        known.put(number, x)
        return x

    domain = replace(INTERVAL, refine=prepare)
    with precision(program.graph):
        known.values = forward(domain, graph, *hulls).values
    return relaxed


class _Known(Mapping[int, Interval]):
    """The enclosures found so far, by the slots of the program, with an axis for the boxes in front."""

    def __init__(self, program: Program, boxes: int):
        self.boxes = boxes
        self.values: Mapping[int, Interval] = {}
        self._varying = program.varying
        self._constants = program.constants
        self._there: dict[int, int] = {}
        self._with_axis: dict[int, Interval] = {}
        self.graph = program.graph
        if boxes > 1:
            self.graph, self._there = program.batch(boxes)

    def slot_there(self, number: int) -> int:
        """The slot of the batched graph."""
        return self._there.get(number, number)

    def put(self, number: int, x: Interval) -> None:
        self._with_axis[number] = x if self.boxes > 1 else _with_axis(x)

    def as_found(self, x: Interval) -> Interval:
        """As it stands in the graph that is interpreted."""
        return x if self.boxes > 1 else _without_axis(x)

    def __getitem__(self, number: int) -> Interval:
        if number not in self._with_axis:
            if number not in self._varying:
                self._with_axis[number] = _with_axis(self._constants[number])
            else:
                self.put(number, self.values[self.slot_there(number)])
        return self._with_axis[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._with_axis)

    def __len__(self) -> int:
        return len(self._with_axis)


def _with_axis(x: Interval) -> Interval:
    return x.map(lambda end: end[None])


def _without_axis(x: Interval) -> Interval:
    return x.map(lambda end: end[0])


MOVED = ("reshape", "transpose", "squeeze", "slice", "rev", "neg", "copy")
"""Primitives after which entries are those of the operand, each once, or their negatives."""

MAPPED = ("dot_general", "conv_general_dilated", "reduce_sum", "mul", "div")
"""Primitives whose intervals are sharp if the entries of the operand vary independently."""


# ---- one slot -------------------------------------------------------------------------------------------------------


def refine_slot(
    relaxed: Relaxed,
    sets: Sequence[InputSet],
    slot: Slot,
    only_signs: bool,
    steps: int = 0,
    until: float = inf,
) -> Interval:
    """The enclosure of a slot, met with bounds by back-substitution: of all its entries, or with `only_signs` of those
    alone whose sign is open."""
    x = relaxed.enclosures[slot.id]
    lo = x.lo.reshape(len(x.lo), -1).copy()
    hi = x.hi.reshape(len(x.hi), -1).copy()
    is_open = _find_open(lo, hi, only_signs)
    entries = _numbers_of(is_open)
    for part in _chunks(relaxed.program.graph, len(lo), entries.shape[1]):
        if monotonic() > until:
            break
        chosen = entries[:, part]
        seeds = one_entry_each(slot, chosen)
        both = {slot.id: np.concatenate([seeds, -seeds], 1)}
        found = optimise(relaxed, sets, both, steps).value
        asked = np.take_along_axis(is_open, chosen, 1)  # a bound of a box depends on that box alone
        below, above = (np.where(asked, bounds, -np.inf) for bounds in np.split(found, 2, axis=1))
        least, most = (np.take_along_axis(end, chosen, 1) for end in (lo, hi))
        np.put_along_axis(lo, chosen, np.fmax(least, below), 1)
        np.put_along_axis(hi, chosen, np.fmin(most, -above), 1)
    return x.meet(Interval(lo.reshape(x.shape), hi.reshape(x.shape)))


def _find_open(lo: Array, hi: Array, only_signs: bool) -> Array:
    """Entries that a sharper bound is worth something for."""
    return (lo < 0) & (hi > 0) if only_signs else lo < hi


def _count_open(x: Interval, only_signs: bool) -> int:
    """The number of open entries of the box that has most."""
    is_open = _find_open(x.lo, x.hi, only_signs)
    return int(is_open.reshape(len(is_open), -1).sum(1).max(initial=0))


def _numbers_of(is_open: Array) -> Array:
    """The numbers of the open entries, (boxes, functionals); boxes with fewer than others have further ones."""
    count = int(is_open.sum(1).max(initial=0))
    return np.argsort(~is_open, axis=1, kind="stable")[:, :count]


def one_entry_each(slot: Slot, chosen: Array) -> Array:
    """Functionals (boxes, functionals, *shape) that are one entry of a slot each."""
    A = np.zeros((*chosen.shape, slot.size))
    np.put_along_axis(A, chosen[..., None], 1.0, 2)
    return A.reshape(*chosen.shape, *slot.shape)


def _chunks(graph: Graph, boxes: int, functionals: int) -> list[slice]:
    """Functionals to take back at a time, so that the coefficients of no slot take too much memory."""
    largest = max((slot.size for slot in graph.slots if slot.is_real), default=1)
    step = max(1, CHUNK // (2 * boxes * max(1, largest)))
    return [slice(k, k + step) for k in range(0, functionals, step)]


# ---- which slots ----------------------------------------------------------------------------------------------------


def has_wide_slots(program: Program) -> bool:
    """Whether back-substitution from every entry that is read is dear: then forms are better carried forward first."""
    graph = program.graph
    return any(graph.slots[number].size >= WIDE for number in _slots_to_refine(program, boxes=True))


def _slots_to_refine(program: Program, boxes: bool) -> dict[int, bool]:
    """Slots that the relaxations on the way from the outputs read, and whether it is only their sign that matters."""
    exact = _exact_in_intervals(program) if boxes else frozenset[int]()
    live = {slot.id for slot in program.graph.outputs}
    wanted: dict[int, bool] = {}
    for slot in reversed(program.graph.slots):
        if (
            slot.id not in live
            or slot.id not in program.output_of
            or slot.id not in program.varying
        ):
            continue
        plan = plan_slot(program, slot)
        live.update(operand.id for operand in plan.operands)
        live.update(operand.id for operand in plan.reads)
        for operand in plan.reads:
            if (
                operand.id in program.output_of
                and operand.id in program.varying
                and operand.id not in exact
            ):
                wanted[operand.id] = wanted.get(operand.id, True) and plan.only_signs
    return wanted


def _exact_in_intervals(program: Program) -> frozenset[int]:
    """Slots whose intervals over a box are sharp already: inputs moved about, at most one product with constants, and
    constants added."""
    graph = program.graph
    moved = {slot.id for slot in graph.inputs}
    mapped: set[int] = set()
    for node in graph.nodes:
        varying = [slot.id for slot in node.inputs if slot.id in program.varying]
        if len(varying) != 1 or len(node.outputs) != 1 or program.linear_terms(node, 0) is None:
            continue
        (source,), out = varying, node.outputs[0].id
        if node.primitive in MOVED and source in moved:
            moved.add(out)
        elif (node.primitive in MAPPED and source in moved) or (
            node.primitive in (*MOVED, "add", "sub", "broadcast_in_dim")
            and source in moved | mapped
        ):
            mapped.add(out)
    return frozenset(moved | mapped)
