"""Functions of one variable (see `ftheta/graph/regions.py`), enclosed piece by piece.

The variable's range is cut at the knots of the function and then halved again and again where the enclosure is
attained, so that the hull of the pieces converges to the true range. Between knots the comparisons with them are
decided, because the piece is taken without its ends; the knots themselves are pieces of one point each.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.decisions import strict_compare
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.graph import Graph, Node
from ftheta.graph.regions import Region, compares_variable

Evaluate = Callable[[Interval], Interval]

FIRST_PIECES = 8
ROUNDS = 14
HALVED = 2
"""Pieces halved in each round at either end of the range."""

ENOUGH = 1e-3
"""Halving ends when a round shrinks no range by more than this share of it."""

CHUNK = 1 << 14
"""Entries treated at a time, to bound memory."""

FARTHEST = 700.0
"""asinh of the farthest cut: sinh(700) is about 5e303."""


def enclose(
    region: Region, graph: Graph, rules: Mapping[str, Any], values: Mapping[int, Interval]
) -> Interval:
    """The range of the region's function over the variable's interval, entry by entry."""
    x = values[region.variable.id].map(np.ravel)
    lo = np.empty(x.shape)
    hi = np.empty(x.shape)
    for start in range(0, x.lo.size, CHUNK):
        part = slice(start, start + CHUNK)
        evaluate = _evaluator(region, graph, rules, values, part)
        found = _range(evaluate, x.map(lambda end, part=part: end[part]), region.knots)
        lo[part], hi[part] = found.lo, found.hi
    return Interval(lo.reshape(region.variable.shape), hi.reshape(region.variable.shape))


def _evaluator(
    region: Region,
    graph: Graph,
    rules: Mapping[str, Any],
    values: Mapping[int, Interval],
    part: slice,
) -> Evaluate:
    """The function as interval arithmetic on an array (pieces, entries)."""
    last = region.nodes[-1].outputs[0].id
    shape = region.variable.shape
    constants = {
        slot.id: _entries(values[slot.id], shape, part)
        for node in region.nodes
        for slot in node.inputs
        if slot.id in graph.fixed
    }

    def rule(node: Node) -> Any:
        return (
            strict_compare
            if compares_variable(graph, region.variable, node)
            else rules[node.primitive]
        )

    def evaluate(x: Interval) -> Interval:
        known = {**constants, region.variable.id: x}
        for node in region.nodes:
            known[node.outputs[0].id] = rule(node)(node, *[known[slot.id] for slot in node.inputs])
        return known[last]

    return evaluate


def _entries(constant: Interval, shape: tuple[int, ...], part: slice) -> Interval:
    """Scalars stay scalars; arrays are laid out as the entries are."""
    if constant.shape == ():
        return constant
    return constant.map(lambda end: np.broadcast_to(end, shape).ravel()[part])


def _range(evaluate: Evaluate, x: Interval, knots: tuple[float, ...]) -> Interval:
    edges = [x.lo, *(np.clip(k, x.lo, x.hi) for k in knots), x.hi]
    cuts = [cut for a, b in pairwise(edges) for cut in asinh_cuts(a, b, FIRST_PIECES)] + [x.hi]
    left = np.stack([*cuts[:-1], *edges[1:-1]])  # the pieces, and the knots as pieces of one point
    right = np.stack([*cuts[1:], *edges[1:-1]])
    found = evaluate(Interval(left, right))
    lo = found.lo
    hi = found.hi
    for _ in range(ROUNDS):
        chosen = np.concatenate([_first(lo), _first(-hi)])
        a = np.take_along_axis(left, chosen, 0)
        b = np.take_along_axis(right, chosen, 0)
        middle = _middle(a, b)
        halves = evaluate(Interval(np.concatenate([a, middle]), np.concatenate([middle, b])))
        count = len(chosen)
        left = _replace_pieces(left, chosen, a, middle)
        right = _replace_pieces(right, chosen, middle, b)
        before = hi.max(axis=0) - lo.min(axis=0)
        lo = _replace_pieces(lo, chosen, halves.lo[:count], halves.lo[count:])
        hi = _replace_pieces(hi, chosen, halves.hi[:count], halves.hi[count:])
        after = hi.max(axis=0) - lo.min(axis=0)
        if bool(np.all(before - after <= ENOUGH * after)):
            break
    return Interval(lo.min(axis=0), hi.max(axis=0))


def _first(bounds: Array) -> Array:
    """The pieces with the smallest bounds, entry by entry."""
    return np.argpartition(bounds, HALVED - 1, axis=0)[:HALVED]


def _replace_pieces(old: Array, chosen: Array, first: Array, second: Array) -> Array:
    """The first halves in place of the chosen pieces, the second halves at the end."""
    new = old.copy()
    np.put_along_axis(new, chosen, first, 0)
    return np.concatenate([new, second])


def asinh_cuts(a: Array, b: Array, pieces: int) -> list[Array]:
    """a and the inner cuts of [a, b], evenly spaced in asinh: even near 0, geometric far away."""
    s, t = (np.clip(np.arcsinh(end), -FARTHEST, FARTHEST) for end in (a, b))
    cuts = [a]
    for k in range(1, pieces):  # in order, also where sinh rounds out of order
        cuts.append(np.maximum(cuts[-1], np.clip(np.sinh(s + (t - s) * k / pieces), a, b)))
    return cuts


def _middle(a: Array, b: Array) -> Array:
    return asinh_cuts(a, b, 2)[1]
