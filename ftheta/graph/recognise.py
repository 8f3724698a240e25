"""Finds the formulas of `patterns.py`.

The walk describes each slot, where it can, by what it is in terms of earlier slots (a sum of squares, the root of
one, …), following the spellings of `jax.nn`, equinox, flax and hand-written code; a node that completes a formula
records it. Every step is an identity of real numbers: exact fractions decide whether a factor is really 1/n.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.graph.graph import Axes, Graph, Node, Slot
from ftheta.graph.patterns import (
    Centred,
    LogAddExp,
    LogSumExp,
    Normalised,
    Pattern,
    Softmax,
    Variance,
    WeightedAverage,
)
from ftheta.graph.primitives import IDENTITIES
from ftheta.graph.terms import Atom, Deviation, Exponential, Square, Term, Total


def patterns(graph: Graph) -> dict[int, Pattern]:
    """Slot id → the formula that it completes."""
    walk = _Walk(graph)
    for node in graph.nodes:
        if len(node.outputs) == 1 and node.outputs[0].is_real:
            term = DESCRIBE.get(node.primitive, _nothing)(walk, node)
            walk.terms[node.outputs[0].id] = Atom(node.outputs[0].id) if term is None else term
    return walk.found


class _Walk:
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


def _nothing(walk: _Walk, node: Node) -> None:
    return None


def _same(walk: _Walk, node: Node) -> Term:
    return walk.term(node.inputs[0])


def _convert(walk: _Walk, node: Node) -> Term | None:
    return walk.term(node.inputs[0]) if node.inputs[0].is_real else None


# ---- sums and their layout -------------------------------------------------------------------------------------


def _reduce_sum(walk: _Walk, node: Node) -> Term:
    shape = node.inputs[0].shape
    axes = tuple(node.params["axes"])
    return Total(
        walk.term(node.inputs[0]), shape, axes, tuple(k for k in range(len(shape)) if k not in axes)
    )


def _broadcast(walk: _Walk, node: Node) -> Term | None:
    total = walk.total(node.inputs[0])
    if total is None:
        return None
    places: list[int | None] = [None] * len(node.shape)
    for axis, size, place in zip(
        node.params["broadcast_dimensions"], node.inputs[0].shape, total.places
    ):
        places[axis] = place if size == node.shape[axis] else None
    return replace(total, places=tuple(places))


def _reshape(walk: _Walk, node: Node) -> Term | None:
    """Only axes of length 1 may come and go."""
    total = walk.total(node.inputs[0])
    before = node.inputs[0].shape
    if total is None or [n for n in before if n != 1] != [n for n in node.shape if n != 1]:
        return None
    long = iter([place for n, place in zip(before, total.places) if n != 1])
    return replace(total, places=tuple(None if n == 1 else next(long) for n in node.shape))


# ---- one rule for each primitive that takes part ---------------------------------------------------------------


def _square(walk: _Walk, node: Node) -> Term | None:
    return Square(walk.term(node.inputs[0]))


def _integer_pow(walk: _Walk, node: Node) -> Term | None:
    return _square(walk, node) if node.params["y"] == 2 else None


def _exp(walk: _Walk, node: Node) -> Term:
    return Exponential(walk.term(node.inputs[0]))


def _match_scaled_total(walk: _Walk, node: Node) -> Term | None:
    """A total times, or divided by, a number."""
    a, b = node.inputs
    if node.primitive == "mul" and walk.total(a) is None:
        a, b = b, a
    total = walk.total(a)
    factor = walk.uniform(b)
    if total is None or not factor or not total.is_plain or node.shape != a.shape:
        return None
    number = Fraction(factor)
    return replace(
        total, scale=total.scale * number if node.primitive == "mul" else total.scale / number
    )


def _mul(walk: _Walk, node: Node) -> Term | None:
    a, b = node.inputs
    if walk.term(a) == walk.term(b) and a.shape == b.shape:
        return Square(walk.term(a))
    for c, other in ((a, b), (b, a)):
        total = walk.total(other)
        if total is not None and total.inverse:
            _quotient(walk, node, c, total)
    return _match_scaled_total(walk, node)


def _div(walk: _Walk, node: Node) -> Term | None:
    a, b = node.inputs
    total = walk.total(b)
    if total is None:
        return _match_scaled_total(walk, node)
    if walk.uniform(a) == 1 and not total.inverse and not total.logarithm and node.shape == b.shape:
        return replace(total, inverse=True)
    if not total.inverse:
        _quotient(walk, node, a, total)
    return None


def _quotient(walk: _Walk, node: Node, c: Slot, total: Total) -> None:
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


def _logits(walk: _Walk, exponential: Slot, axes: Axes) -> Slot | None:
    node = walk.producer(exponential, "exp")
    return None if node is None else _without_shift(walk, node.inputs[0], axes)


def _without_shift(walk: _Walk, slot: Slot, axes: Axes) -> Slot:
    """x for x − t with t constant along the axes: softmax does not change."""
    node = walk.producer(slot, "sub")
    if (
        node is None
        or not _constant_along(walk, node.inputs[1], axes, node.shape)
        or node.inputs[0].shape != slot.shape
    ):
        return slot
    return _without_shift(walk, node.inputs[0], axes)


def _constant_along(walk: _Walk, slot: Slot, axes: Axes, beside: tuple[int, ...]) -> bool:
    if slot.shape == () or (
        len(slot.shape) == len(beside) and all(slot.shape[a] == 1 for a in axes)
    ):
        return True
    node = walk.producer(slot, "broadcast_in_dim")
    if node is None or slot.shape != beside:
        return False
    source = dict(zip(node.params["broadcast_dimensions"], node.inputs[0].shape))
    return all(source.get(a, 1) == 1 for a in axes)


def _sub(walk: _Walk, node: Node) -> Term | None:
    a, b = node.inputs
    mean = walk.total(b)
    term = walk.term(a)
    if mean is None or node.shape != a.shape:
        return None
    if (
        mean.logarithm
        and isinstance(mean.of, Exponential)
        and mean.of.of == term
        and mean.stands_beside(a.shape)
    ):
        walk.record(node, Softmax(_without_shift(walk, a, mean.axes), mean.axes, logarithm=True))
        return None
    if mean.is_mean and mean.of == term and mean.stands_beside(a.shape):
        walk.record(node, Centred(a, mean.axes))
        return Deviation(term, mean.axes)
    return None


def _variance(walk: _Walk, node: Node) -> Term | None:
    """mean(x²) − mean(x)² is the mean of (x − mean(x))²."""
    squares = walk.total(node.inputs[0])
    other = walk.term(node.inputs[1])
    if squares is None or not isinstance(other, Square) or not isinstance(other.of, Total):
        return None
    mean = other.of
    matches = (
        squares.is_mean
        and mean.is_mean
        and squares.of == Square(mean.of)
        and squares.axes == mean.axes
        and squares.shape == mean.shape
        and squares.places == mean.places
    )
    if not matches:
        return None
    layout = squares.keeps_axes
    if isinstance(mean.of, Atom) and layout is not None:
        walk.record(
            node, Variance(walk.graph.slots[mean.of.slot], mean.axes, squares.scale, layout)
        )
    return replace(squares, of=Square(Deviation(mean.of, mean.axes)))


def _add(walk: _Walk, node: Node) -> Term | None:
    for a, b in (node.inputs, node.inputs[::-1]):
        total = walk.total(a)
        number = walk.uniform(b)
        if (
            total is not None
            and number is not None
            and number >= 0
            and node.shape == a.shape
            and isinstance(total.of, Square)
            and not total.inverse
        ):
            if total.root and total.offset == 0:
                return replace(total, offset=number)
            if not total.root and total.shift == 0:
                return replace(total, shift=number)
        if total is not None and total.logarithm and isinstance(total.of, Exponential):
            _log_sum_exp(walk, node, total, b)
        _log_add_exp(walk, node, a, b)
    return None


def _log_sum_exp(walk: _Walk, node: Node, total: Total, shift: Slot) -> None:
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


def _log_add_exp(walk: _Walk, node: Node, a: Slot, b: Slot) -> None:
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


def _max(walk: _Walk, node: Node) -> Term | None:
    """A mean of squares is at least 0 already."""
    for a, b in (node.inputs, node.inputs[::-1]):
        total = walk.total(a)
        number = walk.uniform(b)
        if (
            total is not None
            and number is not None
            and number <= 0
            and _is_nonnegative(total)
            and node.shape == a.shape
        ):
            return total
    return None


def _is_nonnegative(total: Total) -> bool:
    return isinstance(total.of, Square | Exponential) and total.scale > 0 and not total.logarithm


def _abs(walk: _Walk, node: Node) -> Term | None:
    total = walk.total(node.inputs[0])
    return total if total is not None and _is_nonnegative(total) else None


def _root(inverse: bool) -> Callable[[_Walk, Node], Term | None]:
    def rule(walk: _Walk, node: Node) -> Term | None:
        total = walk.total(node.inputs[0])
        if (
            total is None
            or not isinstance(total.of, Square)
            or total.root
            or total.inverse
            or total.scale <= 0
        ):
            return None
        return replace(total, root=True, inverse=inverse)

    return rule


def _pow(walk: _Walk, node: Node) -> Term | None:
    exponent = walk.uniform(node.inputs[1])
    return (
        _root(exponent < 0)(walk, node)
        if exponent in (0.5, -0.5) and node.shape == node.inputs[0].shape
        else None
    )


def _log(walk: _Walk, node: Node) -> Term | None:
    total = walk.total(node.inputs[0])
    if (
        total is None
        or not isinstance(total.of, Exponential)
        or not total.is_plain
        or total.scale != 1
    ):
        return None
    return replace(total, logarithm=True)


def _dot_general(walk: _Walk, node: Node) -> None:
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


DESCRIBE: dict[str, Callable[[_Walk, Node], Any]] = {
    **dict.fromkeys(IDENTITIES, _same),
    "convert_element_type": _convert,
    "reduce_sum": _reduce_sum,
    "broadcast_in_dim": _broadcast,
    **dict.fromkeys(("reshape", "squeeze"), _reshape),
    "square": _square,
    "integer_pow": _integer_pow,
    "exp": _exp,
    "mul": _mul,
    "div": _div,
    "sub": lambda walk, node: _variance(walk, node) or _sub(walk, node),
    "add": _add,
    "max": _max,
    "abs": _abs,
    "sqrt": _root(inverse=False),
    "rsqrt": _root(inverse=True),
    "pow": _pow,
    "log": _log,
    "dot_general": _dot_general,
}
