"""Primitives that move entries and compute nothing.

The common ones are NumPy's. The rest (gather, pad, scatter, dynamic slices) are evaluated by JAX once on the
*positions* of the entries instead of the entries: whatever the parameters mean, the result says which entry goes
where.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.graph.domains.interval.intervals import FILE, UNDECIDED, WHOLE_LINE, Interval
from ftheta.graph.domains.interval.rounding import Array, above, below, sum_error
from ftheta.graph.graph import Node
from ftheta.graph.interpret import missing_rule
from ftheta.graph.layout import MOVES

Rule = Callable[..., Any]


def _each(move: Callable[[Node, Array], Array]) -> Rule:
    return lambda node, x: x.map(lambda end: move(node, end))


def reshape(node: Node, x: Interval) -> Interval:
    """The same entries in the node's shape."""
    if node.params.get("dimensions") is not None:
        raise missing_rule("interval", FILE, node, "with `dimensions`")
    return x.map(lambda end: end.reshape(node.shape))


def concatenate(node: Node, *pieces: Interval) -> Interval:
    """The pieces one after the other along the node's axis."""
    axis = node.params["dimension"]
    return Interval(
        np.concatenate([p.lo for p in pieces], axis), np.concatenate([p.hi for p in pieces], axis)
    )


def split(node: Node, x: Interval) -> Any:
    """The parts of x along the node's axis; one interval where there is one part."""
    cuts = np.cumsum(node.params["sizes"])[:-1]
    axis = node.params["axis"]
    parts = [
        Interval(lo, hi) for lo, hi in zip(np.split(x.lo, cuts, axis), np.split(x.hi, cuts, axis))
    ]
    return parts if len(node.outputs) > 1 else parts[0]


def stack(node: Node, *pieces: Interval) -> Interval:
    """The pieces side by side along a new axis."""
    axis = node.params["axis"]
    return Interval(np.stack([p.lo for p in pieces], axis), np.stack([p.hi for p in pieces], axis))


def unstack(node: Node, x: Interval) -> Any:
    """The entries of x along the node's axis; one interval where there is one."""
    axis = node.params["axis"]
    parts = [x.map(lambda end, k=k: np.take(end, k, axis)) for k in range(x.shape[axis])]
    return parts if len(node.outputs) > 1 else parts[0]


def _positions(shape: tuple[int, ...], start: int = 0) -> Array:
    return np.arange(start, start + math.prod(shape), dtype=np.int32).reshape(shape)


def _known_indices(node: Node, values: Mapping[int, Interval]) -> dict[int, Array]:
    """Index operands, by their place, that are known exactly, in their own dtypes."""
    return {place: value.lo.astype(node.inputs[place].dtype) for place, value in values.items()}


def places_of(node: Node, moved: Sequence[int], indices: Mapping[int, Array]) -> Array:
    """Which entry of the operands number `moved`, all in a row, each entry of the result is; −1 where it is a fill
    value, which does not change with the positions. `indices` are the other operands by their place."""
    shapes = [node.inputs[place].shape for place in moved]
    starts = np.cumsum([0, *map(math.prod, shapes)])

    def evaluate(shift: int) -> Array:
        positions = {
            k: _positions(shape, int(start) + shift)
            for k, shape, start in zip(moved, shapes, starts)
        }
        (result,) = node.evaluate(
            *[{**positions, **indices}[place] for place in range(len(node.inputs))]
        )
        return np.asarray(result)

    total = int(starts[-1])
    where = evaluate(0)
    return np.where(evaluate(total) - where == total, where, -1)


def _take(entries: list[Interval], where: Array) -> Interval:
    """Entry number `where` of all the entries in a row."""
    lo, hi = (np.concatenate([getattr(e, side).ravel() for e in entries]) for side in ("lo", "hi"))
    return Interval(lo[where], hi[where])


def _nothing_known(like: Interval) -> Interval:
    return UNDECIDED if like.is_bool else WHOLE_LINE


def _any_entry(entries: list[Interval], shape: tuple[int, ...]) -> Interval:
    """The hull of all entries: what is left when the index is not known."""
    lo = min(e.lo.min() for e in entries)
    hi = max(e.hi.max() for e in entries)
    return Interval(np.full(shape, lo), np.full(shape, hi))


def gather(node: Node, x: Interval, index: Interval) -> Interval:
    """Places out of bounds hold the fill value, which is NaN unless the program says otherwise."""
    value = node.params.get("fill_value")
    fill = _nothing_known(x) if value is None else Interval.point(value)
    if not index.is_point:
        may_leave = node.params["mode"] == lax.GatherScatterMode.FILL_OR_DROP
        return _any_entry([x, fill] if may_leave else [x], node.shape)
    where = places_of(node, [0], _known_indices(node, {1: index}))
    return _take([x, fill], np.where(where >= 0, where, x.lo.size))


def dynamic_slice(node: Node, x: Interval, *start: Interval) -> Interval:
    """The slice at `start`; where that is not one point, any entry of x may be any entry of it."""
    if not all(s.is_point for s in start):
        return _any_entry([x], node.shape)
    return _take([x], places_of(node, [0], _known_indices(node, dict(enumerate(start, 1)))))


def dynamic_update_slice(node: Node, x: Interval, update: Interval, *start: Interval) -> Interval:
    """x with `update` at `start`; where that is not one point, every entry may be old or new."""
    if not all(s.is_point for s in start):
        news = _any_entry([update], x.shape)
        return x.hull(news)
    return _take(
        [x, update], places_of(node, [0, 1], _known_indices(node, dict(enumerate(start, 2))))
    )


def pad(node: Node, x: Interval, fill: Interval) -> Interval:
    """x with `fill` around and between its entries."""
    return _take([x, fill], places_of(node, [0, 1], {}))


def scatter(node: Node, x: Interval, index: Interval, update: Interval) -> Interval:
    """x with `update` at `index`; where that is not one point, every entry may be old or new."""
    if not index.is_point:
        return x.hull(_any_entry([update], x.shape))
    where = places_of(node, [0, 2], _known_indices(node, {1: index}))
    if not node.params["unique_indices"] and loses_updates(node, where):
        raise missing_rule("interval", FILE, node, "where updates collide or fall outside")
    return _take([x, update], where)


def loses_updates(node: Node, where: Array) -> bool:
    """Does some update of `scatter` get lost because another one lands on the same entry, or outside?"""
    x, _, update = node.inputs
    return int((where >= x.size).sum()) < update.size


def scatter_add(node: Node, x: Interval, index: Interval, update: Interval) -> Interval:
    """x plus the updates that land on each entry: increasing in every entry, so ends go to ends."""
    if not index.is_point:
        raise missing_rule("interval", FILE, node, "with an index that is not concrete")
    target = landing_places(node, x.shape, index.lo.astype(node.inputs[1].dtype), update.shape)

    def total(base: Array, more: Array) -> Array:
        sums = np.bincount(target[target >= 0], more.ravel()[target >= 0], minlength=base.size)
        return base + sums.reshape(base.shape)

    terms = 1 + int(np.bincount(target[target >= 0], minlength=1).max())
    lo_error = sum_error(total(np.abs(x.lo), np.abs(update.lo)), terms)
    hi_error = sum_error(total(np.abs(x.hi), np.abs(update.hi)), terms)
    return Interval(
        below(total(x.lo, update.lo) - lo_error), above(total(x.hi, update.hi) + hi_error)
    )


def landing_places(
    node: Node, shape: tuple[int, ...], index: Array, updates: tuple[int, ...]
) -> Array:
    """The entry that each update is added to (−1: none), read off the transposed map, which gathers positions."""
    dtype = node.dtype
    if not node.outputs[0].is_real:
        raise missing_rule("interval", FILE, node, "on whole numbers")
    if math.prod(shape) >= 1 / np.finfo(dtype).eps:
        raise missing_rule("interval", FILE, node, f"on more entries than {dtype} can count")
    numbers = (1 + _positions(shape)).astype(dtype)
    transpose = jax.vjp(
        lambda u: node.evaluate(np.zeros(shape, dtype), index, u)[0], jnp.zeros(updates, dtype)
    )[1]
    return np.asarray(transpose(numbers)[0]).astype(np.int64).ravel() - 1


RULES: dict[str, Rule] = {
    **{name: _each(move) for name, move in MOVES.items()},
    "reshape": reshape,
    "concatenate": concatenate,
    "split": split,
    "stack": stack,
    "unstack": unstack,
    "pad": pad,
    "gather": gather,
    "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice,
    "scatter": scatter,
    "scatter-add": scatter_add,
}
