"""Primitives that move entries, as linear maps.

The common ones are NumPy's. The rest (gather, pad, scatter, dynamic slices) are read off the *positions* of the
entries, as in the interval domain: whatever the parameters mean, the result says which entry goes where.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from scipy import sparse

from ftheta.graph.domains.interval.moves import landing_places
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.maps import LinearMap, Shape, adding, moving
from ftheta.graph.graph import Node


def reshape(source: Shape, target: Shape) -> LinearMap:
    """The same entries in another shape."""
    return moving(lambda x: x.reshape(len(x), *target), lambda A: A.reshape(len(A), *source))


def transpose(order: Shape) -> LinearMap:
    """The axes in another order."""
    there = (0, *(a + 1 for a in order))
    back = tuple(int(a) for a in np.argsort(there))
    return moving(lambda x: x.transpose(there), lambda A: A.transpose(back))


def flip(axes: Shape) -> LinearMap:
    """Some axes backwards."""
    turn = lambda x: np.flip(x, tuple(a + 1 for a in axes))
    return moving(turn, turn)


def repeat(node: Node) -> LinearMap:
    """`broadcast_in_dim`: pulled back, an entry gets the sum over its copies."""
    source = node.inputs[0].shape
    kept = dict(zip(node.params["broadcast_dimensions"], source))
    summed = tuple(1 + axis for axis, size in enumerate(node.shape) if kept.get(axis) != size)
    copies = max(1, prod(node.shape) // max(1, prod(source)))
    shape = [1] * len(node.shape)
    for axis, size in kept.items():
        shape[axis] = size

    def push(x: Array) -> Array:
        return np.broadcast_to(x.reshape(len(x), *shape), (len(x), *node.shape))

    return moving(push, lambda A: A.sum(summed).reshape(len(A), *source), copies)


def cut_out(source: Shape, cut: tuple[slice, ...]) -> LinearMap:
    """A strided slice."""
    there = (slice(None), *cut)

    def pull(A: Array) -> Array:
        back = np.zeros((len(A), *source))
        back[there] = A
        return back

    return moving(lambda x: x[there], pull)


def slice_of(node: Node) -> LinearMap:
    """The slice that a `slice` node takes."""
    p = node.params
    strides = p["strides"] or (1,) * len(node.shape)
    cut = tuple(slice(a, b, s) for a, b, s in zip(p["start_indices"], p["limit_indices"], strides))
    return cut_out(node.inputs[0].shape, cut)


def place_along(target: Shape, axis: int, start: int, length: int) -> LinearMap:
    """A piece of a concatenation: entries `start` to `start + length` along the axis."""
    there = (slice(None),) * (1 + axis) + (slice(start, start + length),)

    def push(x: Array) -> Array:
        whole = np.zeros((len(x), *target))
        whole[there] = x
        return whole

    return moving(push, lambda A: A[there])


def keep_where(mask: Array, spread: LinearMap) -> LinearMap:
    """Entries where the mask holds, 0 elsewhere."""
    keep = lambda x: np.where(mask, x, 0.0)
    return moving(
        lambda x: keep(spread.push(x)), lambda A: spread.pull(keep(A)), max(1, spread.pull_terms)
    )


def taken_from(source: Shape, where: Array) -> LinearMap:
    """Entry `where[i]` of the flat operand at place i, 0 where that is negative."""
    count = prod(source)
    target = where.shape
    flat = where.ravel()
    inside = flat >= 0
    numbers = np.where(inside, flat, 0)
    copies = int(np.bincount(flat[inside], minlength=1).max())

    def push(x: Array) -> Array:
        return np.where(inside, x.reshape(len(x), -1)[:, numbers], 0.0).reshape(len(x), *target)

    if copies <= 1:

        def pull(A: Array) -> Array:
            back = np.zeros((len(A), count))
            back[:, flat[inside]] = A.reshape(len(A), -1)[:, inside]
            return back.reshape(len(A), *source)

        return moving(push, pull)
    ones = np.ones(int(inside.sum()))
    gathering = sparse.csr_array(
        (ones, (np.flatnonzero(inside), flat[inside])), shape=(flat.size, count)
    )
    return moving(
        push, lambda A: (A.reshape(len(A), -1) @ gathering).reshape(len(A), *source), copies
    )


def taken_by_node(node: Node, moved: Sequence[int], where: Array) -> list[tuple[int, LinearMap]]:
    """The maps of the operands number `moved`, whose entries, all in a row, are at the places `where`."""
    maps = []
    start = 0
    for place in moved:
        slot = node.inputs[place]
        mine = (where >= start) & (where < start + slot.size)
        maps.append((place, taken_from(slot.shape, np.where(mine, where - start, -1))))
        start += slot.size
    return maps


def scatter_sum(node: Node, index: Array) -> LinearMap:
    """The updates of `scatter-add`: each is added to the entry where it lands."""
    source = node.inputs[2].shape
    target = landing_places(node, node.shape, index, source)
    inside = target >= 0
    most = int(np.bincount(target[inside], minlength=1).max())

    def push(x: Array) -> Array:
        sums = np.zeros((prod(node.shape), len(x)))
        np.add.at(sums, target[inside], x.reshape(len(x), -1)[:, inside].T)
        return sums.T.reshape(len(x), *node.shape)

    def pull(A: Array) -> Array:
        gathered = A.reshape(len(A), -1)[:, np.where(inside, target, 0)]
        return np.where(inside, gathered, 0.0).reshape(len(A), *source)

    return adding(push, pull, push_terms=max(1, most))
