r"""The kinks of a program: maxima, minima, absolute values, and the order of a few numbers."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ftheta.graph.graph import Node

from .assembly import Assembly
from .entries import Positions, as_forms, pair, refuse, spread
from .forms import Forms, pool_forms
from .linear_maps import axis_windows, groups, overlaps, windows

MOST_COMPARATORS = 50_000


def larger(assembly: Assembly, x: Forms, y: Forms) -> Forms:
    r"""$\max\{x,y\}=y+r(x-y)$: one neuron per entry."""
    return assembly.hold(y + assembly.relu(x - y))


def smaller(assembly: Assembly, x: Forms, y: Forms) -> Forms:
    r"""$\min\{x,y\}=y-r(y-x)$."""
    return assembly.hold(y - assembly.relu(y - x))


def maximum(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    """The rule for the larger of two arrays."""
    return larger(assembly, *pair(node, x, y))


def minimum(assembly: Assembly, node: Node, x: Any, y: Any) -> Forms:
    """The rule for the smaller of two arrays."""
    return smaller(assembly, *pair(node, x, y))


def clamp(assembly: Assembly, node: Node, lowest: Any, x: Any, highest: Any) -> Forms:
    """The rule for `clamp`: `x` between `lowest` and `highest`; the latter where they are in the wrong order."""
    low, high = (spread(as_forms(v), node.shape) for v in (lowest, highest))
    return smaller(assembly, larger(assembly, as_forms(x), low), high)


def absolute(assembly: Assembly, node: Node, x: Any) -> Forms:
    r"""$|x|=2r(x)-x$."""
    return assembly.relu(as_forms(x)).scale(2.0) - as_forms(x)


# ---- the largest of several ------------------------------------------------------------------------------------------


def tournament(
    assembly: Assembly, x: Forms, table: np.ndarray, shape: tuple[int, ...], sign: float
) -> Forms:
    """The largest (`sign` 1) or smallest (-1) entry in every row of the table, by a binary tree.

    A pair that meets in several rows meets once: overlapping windows share its neuron.
    """
    first = np.take_along_axis(table, (table >= 0).argmax(axis=1)[:, None], axis=1)
    # padding is replaced by an entry of the window, which changes nothing
    ids = np.where(table >= 0, table, first)
    pool = pool_forms([x.scale(sign)])
    while ids.shape[1] > 1:
        even = ids.shape[1] // 2 * 2
        pairs, place = np.unique(
            np.sort(ids[:, :even].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        kept, rest = np.unique(ids[:, even:], return_inverse=True)
        apart = pairs[:, 0] != pairs[:, 1]
        met = larger(assembly, *(pool.taken(column) for column in pairs[apart].T))
        pool = pool_forms([met, pool.taken(pairs[~apart, 0]), pool.taken(kept)])
        number = np.where(apart, np.cumsum(apart) - 1, met.size + np.cumsum(~apart) - 1)
        winners = number[place.ravel()].reshape(len(ids), -1)
        ids = np.concatenate([winners, len(pairs) + rest.reshape(len(ids), -1)], axis=1)
    return pool.taken(ids[:, 0].reshape(shape)).scale(sign)


def reduce(sign: float) -> Callable[..., Forms]:
    """The rule for a maximum (`sign` 1) or a minimum (-1) over axes."""
    return lambda assembly, node, x: tournament(
        assembly, x, groups(x.shape, node.params["axes"]), node.shape, sign
    )


def pool(sign: float) -> Callable[..., Forms]:
    """Windows that overlap are taken axis by axis, so that rows are shared by the windows above and below."""

    def rule(assembly: Assembly, node: Node, x: Any) -> Forms:
        table = windows(node.params, x.shape)
        if (table < 0).all(axis=1).any():
            raise refuse(node, "A pooling window lies entirely in the padding.", "use less padding")
        if not overlaps(node.params):
            return tournament(assembly, x, table, node.shape, sign)
        for axis in range(len(node.shape)):
            shape = (*node.shape[: axis + 1], *x.shape[axis + 1 :])
            x = tournament(assembly, x, axis_windows(node.params, x.shape, axis), shape, sign)
        return x

    return rule


# ---- the order of several --------------------------------------------------------------------------------------------


def comparators(n: int) -> list[list[tuple[int, int]]]:
    """Batcher's odd-even merge sort of n numbers: rounds of disjoint pairs $(i,j)$, the smaller number going to $i$."""
    rounds = []
    p = 1
    while p < n:
        k = p
        while k:
            blocks = product(range(k % p, n - k, 2 * k), range(k))
            pairs = [(i + j, i + j + k) for j, i in blocks]
            rounds.append([(a, b) for a, b in pairs if b < n and a // (2 * p) == b // (2 * p)])
            k //= 2
        p *= 2
    return [pairs for pairs in rounds if pairs]


def ascending(assembly: Assembly, node: Node, x: Forms, axis: int) -> Forms:
    r"""Sorted along the axis. One neuron a comparator: $d=r(a-b)$, then $\min=a-d$ and $\max=b+d$."""
    n = x.shape[axis]
    lines = np.moveaxis(np.arange(x.size).reshape(x.shape), axis, 0).reshape(n, -1)
    rounds = comparators(n)
    total = sum(map(len, rounds)) * lines.shape[1]
    if total > MOST_COMPARATORS:
        what = f"Sorting {n:,} numbers, {lines.shape[1]:,} times, takes {total:,} comparators."
        raise refuse(
            node, what, f"at most {MOST_COMPARATORS:,}: sort fewer numbers, or take a maximum"
        )
    state = pool_forms([x])
    for pairs in rounds:
        low, high = (lines[side].ravel() for side in np.array(pairs).T)
        a = state.taken(low)
        b = state.taken(high)
        d = assembly.relu(a - b)
        place = np.arange(state.size)
        place[low], place[high] = (
            state.size + np.arange(low.size),
            state.size + low.size + np.arange(high.size),
        )
        state = assembly.hold(pool_forms([state, a - d, b + d]).taken(place))
    return state.reshape(x.shape)


def sort(assembly: Assembly, node: Node, x: Any, *others: Any) -> Any:
    """The rule for sorting along an axis, without the order."""
    if others:
        raise refuse(
            node,
            "The order of a sort is not continuous; only the sorted numbers are.",
            "use jnp.sort",
        )
    return ascending(assembly, node, x, node.params["dimension"])


def largest(assembly: Assembly, node: Node, x: Forms) -> list[Any]:
    """`top_k`: the numbers, from the largest; where they were is not continuous."""
    axis = node.params.get("axis", -1) % len(x.shape)
    k = node.params["k"]
    last = np.flip(np.arange(x.size).reshape(x.shape), axis)
    where = refuse(
        node, "Where the largest numbers are is not continuous.", "use the numbers alone"
    )
    return [ascending(assembly, node, x, axis).taken(last.take(range(k), axis)), Positions(where)]
