"""Softmax and log-sum-exp, in the spellings that occur: with a shift against overflow or without one."""

import numpy as np

from ftheta.graph.graph import Axes, Graph, Node, Slot
from ftheta.graph.patterns import (
    LogAddExp,
    LogSumExp,
    Normalised,
    Pattern,
    Softmax,
    WeightedAverage,
)
from ftheta.graph.primitives import IDENTITIES
from ftheta.graph.terms import Atom, Deviation, Exponential, Square, Term, Total


class SlotTerms:
    """What slots are in terms of earlier ones, as far as a walk has come, and the formulas it found."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.terms = dict[int, Term]()
        self.found = dict[int, Pattern]()

    def term(self, slot: Slot) -> Term:
        return self.terms.get(slot.id, Atom(slot.id))

    def total(self, slot: Slot) -> Total | None:
        term = self.term(slot)
        return term if isinstance(term, Total) else None

    def uniform(self, slot: Slot) -> float | None:
        """The value of a constant that is the same everywhere."""
        value = self.graph.constants.get(slot.id)
        if value is None or not slot.is_real:
            return None
        values = np.unique(np.asarray(value, np.float64))
        return float(values[0]) if values.size == 1 and np.isfinite(values[0]) else None

    def record(self, node: Node, pattern: Pattern) -> None:
        self.found[node.outputs[0].id] = pattern

    def producer(self, slot: Slot, primitive: str) -> Node | None:
        node = self.graph.producers.get(slot.id)
        while node is not None and node.primitive in IDENTITIES:
            node = self.graph.producers.get(node.inputs[0].id)
        return node if node is not None and node.primitive == primitive else None

    def origin(self, slot: Slot) -> Slot:
        """The slot behind copies and `stop_gradient`."""
        node = self.graph.producers.get(slot.id)
        return (
            self.origin(node.inputs[0])
            if node is not None and node.primitive in IDENTITIES
            else slot
        )


def normalise(walk: SlotTerms, node: Node, c: Slot, total: Total) -> None:
    """c over a total of its own squares or exponentials."""
    if total.logarithm or not total.stands_beside(c.shape) or node.shape != c.shape:
        return
    term = walk.term(c)
    if total.root and total.of == Square(term) and total.scale > 0:
        centred = isinstance(term, Deviation) and term.axes == total.axes
        walk.record(
            node, Normalised(c, centred, total.axes, total.scale, total.shift, total.offset)
        )
    elif (
        isinstance(term, Exponential)
        and total.of == term
        and total.shift == total.offset == 0
        and not total.root
        and total.scale == 1
    ):
        logits = _logits(walk, c, total.axes)
        if logits is not None:
            walk.record(node, Softmax(logits, total.axes))


def _logits(walk: SlotTerms, exponential: Slot, axes: Axes) -> Slot | None:
    node = walk.producer(exponential, "exp")
    return None if node is None else without_shift(walk, node.inputs[0], axes)


def without_shift(walk: SlotTerms, slot: Slot, axes: Axes) -> Slot:
    """x for x − t with t constant along the axes: softmax does not change."""
    node = walk.producer(slot, "sub")
    if (
        node is None
        or not _constant_along(walk, node.inputs[1], axes, node.shape)
        or node.inputs[0].shape != slot.shape
    ):
        return slot
    return without_shift(walk, node.inputs[0], axes)


def _constant_along(walk: SlotTerms, slot: Slot, axes: Axes, beside: tuple[int, ...]) -> bool:
    if slot.shape == () or (
        len(slot.shape) == len(beside) and all(slot.shape[a] == 1 for a in axes)
    ):
        return True
    node = walk.producer(slot, "broadcast_in_dim")
    if node is None or slot.shape != beside:
        return False
    source = dict(zip(node.params["broadcast_dimensions"], node.inputs[0].shape))
    return all(source.get(a, 1) == 1 for a in axes)


def log_sum_exp(walk: SlotTerms, node: Node, total: Total, shift: Slot) -> None:
    """log Σ exp(x − t) + t, where the t added is the t taken away."""
    if not isinstance(total.of, Exponential) or not isinstance(total.of.of, Atom):
        return
    taken = walk.producer(walk.graph.slots[total.of.of.slot], "sub")
    if taken is None or taken.inputs[0].shape != total.shape or node.shape != shift.shape:
        return
    x, t = taken.inputs
    kept = tuple(k for k in range(len(total.shape)) if k not in total.axes)
    spread = walk.producer(t, "broadcast_in_dim")
    same = walk.origin(t) == walk.origin(shift) and _constant_along(
        walk, t, total.axes, total.shape
    )
    respread = (
        spread is not None
        and spread.params["broadcast_dimensions"] == kept
        and walk.origin(spread.inputs[0]) == walk.origin(shift)
        and total.keeps_axes is False
    )
    if (same and total.stands_beside(total.shape)) or respread:
        walk.record(node, LogSumExp(x, total.axes, keeps_axes=len(node.shape) == len(total.shape)))


def log_add_exp(walk: SlotTerms, node: Node, a: Slot, b: Slot) -> None:
    """max(x, y) + log1p(exp(−|x − y|))."""
    largest = walk.producer(a, "max")
    inner = b
    for primitive in ("log1p", "exp", "neg", "abs", "sub"):
        step = walk.producer(inner, primitive)
        if step is None or largest is None:
            return
        if primitive == "sub" and set(map(walk.origin, step.inputs)) == set(
            map(walk.origin, largest.inputs)
        ):
            walk.record(node, LogAddExp(*largest.inputs))
        inner = step.inputs[0]


def average(walk: SlotTerms, node: Node) -> None:
    """Softmax weights, summed over their own axes."""
    contracted, _ = node.params["dimension_numbers"]
    for first, slot, axes in zip((True, False), node.inputs, contracted):
        weights = walk.found.get(walk.origin(slot).id)
        if (
            isinstance(weights, Softmax)
            and not weights.logarithm
            and sorted(weights.axes) == sorted(axes)
        ):
            walk.record(node, WeightedAverage(weights_first=first))
            return
