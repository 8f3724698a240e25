"""Finds the formulas of `patterns.py`.

The walk describes each slot, where it can, by what it is in terms of earlier slots (a sum of squares, the root of
one, …), following the spellings of `jax.nn`, equinox, flax and hand-written code; a node that completes a formula
records it. Every step is an identity of real numbers: exact fractions decide whether a factor is really 1/n.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ftheta.graph.exponentials import (
    SlotTerms,
    average,
    log_add_exp,
    log_sum_exp,
    normalise,
    without_shift,
)
from ftheta.graph.graph import Graph, Node
from ftheta.graph.patterns import Centred, Pattern, Softmax, Variance
from ftheta.graph.primitives import IDENTITIES
from ftheta.graph.terms import Atom, Deviation, Exponential, Square, Term, Total


def patterns(graph: Graph) -> dict[int, Pattern]:
    """Slot id → the formula that it completes."""
    walk = SlotTerms(graph)
    for node in graph.nodes:
        if len(node.outputs) == 1 and node.outputs[0].is_real:
            term = DESCRIBE.get(node.primitive, _nothing)(walk, node)
            walk.terms[node.outputs[0].id] = Atom(node.outputs[0].id) if term is None else term
    return walk.found


def _nothing(walk: SlotTerms, node: Node) -> None:
    return None


def _same(walk: SlotTerms, node: Node) -> Term:
    return walk.term(node.inputs[0])


def _convert(walk: SlotTerms, node: Node) -> Term | None:
    return walk.term(node.inputs[0]) if node.inputs[0].is_real else None


# ---- sums and their layout -------------------------------------------------------------------------------------


def _reduce_sum(walk: SlotTerms, node: Node) -> Term:
    shape = node.inputs[0].shape
    axes = tuple(node.params["axes"])
    return Total(
        walk.term(node.inputs[0]), shape, axes, tuple(k for k in range(len(shape)) if k not in axes)
    )


def _broadcast(walk: SlotTerms, node: Node) -> Term | None:
    total = walk.total(node.inputs[0])
    if total is None:
        return None
    places: list[int | None] = [None] * len(node.shape)
    for axis, size, place in zip(
        node.params["broadcast_dimensions"], node.inputs[0].shape, total.places
    ):
        places[axis] = place if size == node.shape[axis] else None
    return replace(total, places=tuple(places))


def _reshape(walk: SlotTerms, node: Node) -> Term | None:
    """Only axes of length 1 may come and go."""
    total = walk.total(node.inputs[0])
    before = node.inputs[0].shape
    if total is None or [n for n in before if n != 1] != [n for n in node.shape if n != 1]:
        return None
    long = iter([place for n, place in zip(before, total.places) if n != 1])
    return replace(total, places=tuple(None if n == 1 else next(long) for n in node.shape))


# ---- one rule for each primitive that takes part ---------------------------------------------------------------


def _square(walk: SlotTerms, node: Node) -> Term | None:
    return Square(walk.term(node.inputs[0]))


def _integer_pow(walk: SlotTerms, node: Node) -> Term | None:
    return _square(walk, node) if node.params["y"] == 2 else None


def _exp(walk: SlotTerms, node: Node) -> Term:
    return Exponential(walk.term(node.inputs[0]))


def _match_scaled_total(walk: SlotTerms, node: Node) -> Term | None:
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


def _mul(walk: SlotTerms, node: Node) -> Term | None:
    a, b = node.inputs
    if walk.term(a) == walk.term(b) and a.shape == b.shape:
        return Square(walk.term(a))
    for c, other in ((a, b), (b, a)):
        total = walk.total(other)
        if total is not None and total.inverse:
            normalise(walk, node, c, total)
    return _match_scaled_total(walk, node)


def _div(walk: SlotTerms, node: Node) -> Term | None:
    a, b = node.inputs
    total = walk.total(b)
    if total is None:
        return _match_scaled_total(walk, node)
    if walk.uniform(a) == 1 and not total.inverse and not total.logarithm and node.shape == b.shape:
        return replace(total, inverse=True)
    if not total.inverse:
        normalise(walk, node, a, total)
    return None


def _sub(walk: SlotTerms, node: Node) -> Term | None:
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
        walk.record(node, Softmax(without_shift(walk, a, mean.axes), mean.axes, logarithm=True))
        return None
    if mean.is_mean and mean.of == term and mean.stands_beside(a.shape):
        walk.record(node, Centred(a, mean.axes))
        return Deviation(term, mean.axes)
    return None


def _variance(walk: SlotTerms, node: Node) -> Term | None:
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


def _add(walk: SlotTerms, node: Node) -> Term | None:
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
            log_sum_exp(walk, node, total, b)
        log_add_exp(walk, node, a, b)
    return None


def _max(walk: SlotTerms, node: Node) -> Term | None:
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


def _abs(walk: SlotTerms, node: Node) -> Term | None:
    total = walk.total(node.inputs[0])
    return total if total is not None and _is_nonnegative(total) else None


def _root(inverse: bool) -> Callable[[SlotTerms, Node], Term | None]:
    def rule(walk: SlotTerms, node: Node) -> Term | None:
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


def _pow(walk: SlotTerms, node: Node) -> Term | None:
    exponent = walk.uniform(node.inputs[1])
    return (
        _root(exponent < 0)(walk, node)
        if exponent in (0.5, -0.5) and node.shape == node.inputs[0].shape
        else None
    )


def _log(walk: SlotTerms, node: Node) -> Term | None:
    total = walk.total(node.inputs[0])
    if (
        total is None
        or not isinstance(total.of, Exponential)
        or not total.is_plain
        or total.scale != 1
    ):
        return None
    return replace(total, logarithm=True)


DESCRIBE: dict[str, Callable[[SlotTerms, Node], Any]] = {
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
    "dot_general": average,
}
