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
"""Pieces halved in each round at either end of the range, as `_first` finds them."""

ENOUGH = 1e-3
"""Halving ends when a round shrinks no range by more than this share of it."""

CHUNK = 1 << 14
"""Entries treated at a time, to bound memory: halving ends for all of them at once."""

BLOCK = 1 << 11
"""Entries computed at a time, so that they stay in the processor's cache."""

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
        stop = min(start + CHUNK, x.lo.size)
        parts = [slice(at, min(at + BLOCK, stop)) for at in range(start, stop, BLOCK)]
        blocks = [
            _Pieces(
                _evaluator(region, graph, rules, values, part),
                x.map(lambda end, part=part: end[part]),
                region.knots,
            )
            for part in parts
        ]
        for _ in range(ROUNDS):
            shrunk = [block.halve() for block in blocks]
            if not any(shrunk):
                break
        for part, block in zip(parts, blocks):
            lo[part] = block.lo.min(axis=0)
            hi[part] = block.hi.max(axis=0)
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


class _Pieces:
    """The pieces of a block of entries, one row a piece, and what is known of the function on each."""

    def __init__(self, evaluate: Evaluate, x: Interval, knots: tuple[float, ...]) -> None:
        edges = [x.lo, *(np.clip(k, x.lo, x.hi) for k in knots), x.hi]
        cuts = [cut for a, b in pairwise(edges) for cut in asinh_cuts(a, b, FIRST_PIECES)] + [x.hi]
        left = np.stack([*cuts[:-1], *edges[1:-1]])  # the knots are pieces of one point
        right = np.stack([*cuts[1:], *edges[1:-1]])
        found = evaluate(Interval(left, right))
        self.evaluate = evaluate
        self.count = len(left)
        self.rows = [_with_room(known) for known in (left, right, found.lo, found.hi)]
        self.width = found.hi.max(axis=0) - found.lo.min(axis=0)

    @property
    def lo(self) -> Array:
        return self.rows[2][: self.count]

    @property
    def hi(self) -> Array:
        return self.rows[3][: self.count]

    def halve(self) -> bool:
        """Halve the pieces at either end of the range; whether this shrank the range of an entry by enough."""
        chosen = np.concatenate([_first(self.lo), _first(-self.hi)])
        a, b = (np.take_along_axis(ends[: self.count], chosen, 0) for ends in self.rows[:2])
        middle = _middle(a, b)
        left = np.concatenate([a, middle])
        right = np.concatenate([middle, b])
        halves = self.evaluate(Interval(left, right))
        new = len(chosen)
        for rows, found in zip(self.rows, (left, right, halves.lo, halves.hi)):
            _replace_pieces(rows[: self.count + new], chosen, found)
        self.count += new
        before = self.width
        self.width = self.hi.max(axis=0) - self.lo.min(axis=0)
        return not bool(np.all(before - self.width <= ENOUGH * self.width))


def _with_room(rows: Array) -> Array:
    """Rows for the second halves of all rounds behind these."""
    room = np.empty((len(rows) + 2 * HALVED * ROUNDS, rows.shape[1]))
    room[: len(rows)] = rows
    return room


def _replace_pieces(rows: Array, chosen: Array, found: Array) -> None:
    """The first halves in place of the chosen pieces, the second halves at the end."""
    new = len(chosen)
    np.put_along_axis(rows, chosen, found[:new], 0)
    rows[-new:] = found[new:]


def _first(bounds: Array) -> Array:
    """The two pieces with the smallest bounds, entry by entry; of equal ones the first."""
    entries = np.arange(bounds.shape[1])
    least = bounds.argmin(axis=0)
    others = bounds.copy()
    others[least, entries] = np.inf
    second = others.argmin(axis=0)
    return np.stack([least, np.where(second == least, (least + 1) % len(bounds), second)])


def asinh_cuts(a: Array, b: Array, pieces: int) -> list[Array]:
    """a and the inner cuts of [a, b], evenly spaced in asinh: even near 0, geometric far away."""
    s, t = (np.clip(np.arcsinh(end), -FARTHEST, FARTHEST) for end in (a, b))
    cuts = [a]
    for k in range(1, pieces):  # in order, also where sinh rounds out of order
        cuts.append(np.maximum(cuts[-1], np.clip(np.sinh(s + (t - s) * k / pieces), a, b)))
    return cuts


def _middle(a: Array, b: Array) -> Array:
    return asinh_cuts(a, b, 2)[1]
