r"""A network simplex for transport on a sparse set of arcs, in integers, whose basis can be resumed.

Sources $0,\dots,n-1$ with supplies, sinks $n,\dots,n+m-1$ with demands, and a root $n+m$. Arc $e$ goes from
`source[e]` to `target[e]`; the first $n+m$ arcs are artificial, from sources to the root at no cost and from the root
to sinks at a cost above every other. The basis is a spanning tree hung up at the root. It is *strongly feasible*:
arcs without flow point to the root, so that degenerate pivots never cycle (`cunningham1976`). Potentials $\pi$ have
$c_e+\pi_{source}-\pi_{target}=0$ on the tree; an arc with a negative such number, its reduced cost, may enter.

Everything is an integer, so no pivot is decided by rounding. Arcs may be added between two calls of
`pivot_until_optimal`. This module imports numba; nothing imports it before the first problem is solved."""

from typing import NamedTuple

import numpy as np

from ftheta.loops import entry, entry_with_arrays, inner, outlined

Array = np.ndarray
NONE = -1
ARCS, CURSOR, PIVOTS = range(3)  # positions in the counters


class Arcs(NamedTuple):
    """Arcs by number, with room for more; the caches of compiled kernels on disk name this class by its module."""

    source: Array
    target: Array
    cost: Array
    flow: Array
    in_tree: Array


class Tree(NamedTuple):
    """A spanning tree by node: the `arc` to the `parent`, whether it points `up`, children as doubly linked lists."""

    parent: Array
    arc: Array
    up: Array
    depth: Array
    child: Array
    following: Array
    preceding: Array
    potential: Array


def make_arcs(nodes: int, room: int) -> Arcs:
    """Arcs of which the first are artificial; `room` is for others."""
    size = nodes + room
    return Arcs(
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.bool_),
    )


def make_tree(nodes: int) -> Tree:
    """Room for a tree of so many nodes and the root."""
    size = nodes + 1
    links = [np.full(size, NONE, np.int32) for _ in range(6)]
    return Tree(
        links[0],
        links[1],
        np.zeros(size, np.bool_),
        links[2],
        links[3],
        links[4],
        links[5],
        np.zeros(size, np.int64),
    )


# -- the first basis ---------------------------------------------------------------------------------------------------


@entry
def fill_greedily(arcs: Arcs, order: Array, supply: Array, demand: Array) -> None:
    """Send as much as possible along each arc in this order; what is sent over makes a forest, and `supply` and
    `demand` keep what is left. Each arc of the forest uses up one of its ends, so a tree has at most one end left."""
    n = supply.size
    for e in order:
        i = arcs.source[e]
        j = arcs.target[e] - n
        amount = min(supply[i], demand[j])
        if amount > 0:
            arcs.flow[e] = amount
            arcs.in_tree[e] = True
            supply[i] -= amount
            demand[j] -= amount


@entry_with_arrays
def hang_up(
    arcs: Arcs, tree: Tree, supply: Array, demand: Array, order: Array, dearest: int
) -> None:
    """Join the trees of the forest to the root by artificial arcs: at the end that has something left, or at any source
    where nothing is left."""
    n = supply.size
    nodes = n + demand.size
    for v in range(nodes):
        is_source = v < n
        arcs.source[v] = v if is_source else nodes
        arcs.target[v] = nodes if is_source else v
        arcs.cost[v] = 0 if is_source else dearest
        arcs.flow[v] = 0
        arcs.in_tree[v] = False
    starts = np.zeros(nodes + 1, np.int32)
    for e in order:
        if arcs.in_tree[e]:
            starts[arcs.source[e] + 1] += 1
            starts[arcs.target[e] + 1] += 1
    for v in range(nodes):
        starts[v + 1] += starts[v]
    ends = starts[:-1].copy()
    incident = np.empty(starts[-1], np.int32)
    for e in order:
        if arcs.in_tree[e]:
            for v in (arcs.source[e], arcs.target[e]):
                incident[ends[v]] = e
                ends[v] += 1
    tree.depth[nodes] = 0
    queue = np.empty(nodes, np.int32)
    for v in range(nodes):
        left = supply[v] if v < n else demand[v - n]
        if left > 0:
            _hang_component(arcs, tree, v, left, starts, incident, queue)
    for v in range(n):
        if tree.depth[v] < 0:
            _hang_component(arcs, tree, v, 0, starts, incident, queue)


@outlined()
def _hang_component(
    arcs: Arcs, tree: Tree, top: int, left: int, starts: Array, incident: Array, queue: Array
) -> None:
    """Everything that the forest connects with `top`, below it; `top` itself below the root."""
    root = tree.parent.size - 1
    arcs.flow[top] = left
    arcs.in_tree[top] = True
    _hang_node(arcs, tree, top, root, top)
    queue[0] = top
    count = 1
    done = 0
    while done < count:
        u = queue[done]
        done += 1
        for k in range(starts[u], starts[u + 1]):
            e = incident[k]
            v = arcs.target[e] if arcs.source[e] == u else arcs.source[e]
            if tree.depth[v] < 0:
                _hang_node(arcs, tree, v, u, e)
                queue[count] = v
                count += 1


@inner()
def _hang_node(arcs: Arcs, tree: Tree, node: int, parent: int, e: int) -> None:
    up = arcs.source[e] == node
    _link(tree, node, parent, e, up)
    tree.depth[node] = tree.depth[parent] + 1
    tree.potential[node] = tree.potential[parent] + (-arcs.cost[e] if up else arcs.cost[e])


@inner()
def _link(tree: Tree, node: int, parent: int, e: int, up: bool) -> None:
    tree.parent[node] = parent
    tree.arc[node] = e
    tree.up[node] = up
    first = tree.child[parent]
    tree.following[node] = first
    tree.preceding[node] = NONE
    if first != NONE:
        tree.preceding[first] = node
    tree.child[parent] = node


@inner()
def _unlink(tree: Tree, node: int) -> None:
    before = tree.preceding[node]
    after = tree.following[node]
    if before == NONE:
        tree.child[tree.parent[node]] = after
    else:
        tree.following[before] = after
    if after != NONE:
        tree.preceding[after] = before


# -- pivots ------------------------------------------------------------------------------------------------------------


@entry
def pivot_until_optimal(arcs: Arcs, tree: Tree, counters: Array, block: int, most: int) -> bool:
    """Let arcs enter until no reduced cost is negative, or so many pivots were made; whether none is negative."""
    for _ in range(most):
        entering = _find_entering(arcs, tree, counters, block)
        if entering == NONE:
            return True
        _pivot(arcs, tree, entering)
        counters[PIVOTS] += 1
    return False


@inner()
def _find_entering(arcs: Arcs, tree: Tree, counters: Array, block: int) -> int:
    """The arc with the least reduced cost of the next block that has a negative one."""
    first = tree.parent.size - 1
    count = counters[ARCS]
    at = counters[CURSOR]
    best = 0
    found = NONE
    looked = 0
    for _ in range(count - first):
        if at >= count:
            at = first
        reduced = arcs.cost[at] + tree.potential[arcs.source[at]] - tree.potential[arcs.target[at]]
        if reduced < best:
            best = reduced
            found = at
        at += 1
        looked += 1
        if looked >= block:
            if found != NONE:
                break
            looked = 0
    counters[CURSOR] = at
    return found


@inner()
def _pivot(arcs: Arcs, tree: Tree, entering: int) -> None:
    """Send as much as possible around the cycle that the entering arc closes. Of the arcs that this empties the last
    one on the way around from the top of the cycle leaves: so the tree stays strongly feasible."""
    source = arcs.source[entering]
    target = arcs.target[entering]
    top = source
    other = target
    while top != other:
        if tree.depth[top] >= tree.depth[other]:
            top = tree.parent[top]
        else:
            other = tree.parent[other]
    amount = np.int64(0x7FFFFFFFFFFFFFFF)
    leaving = NONE
    on_source_side = True
    node = source
    while node != top:
        e = tree.arc[node]
        if tree.up[node] and arcs.flow[e] < amount:
            amount = arcs.flow[e]
            leaving = node
        node = tree.parent[node]
    node = target
    while node != top:
        e = tree.arc[node]
        if not tree.up[node] and arcs.flow[e] <= amount:
            amount = arcs.flow[e]
            leaving = node
            on_source_side = False
        node = tree.parent[node]
    if amount > 0:
        _send(arcs, tree, source, top, -amount)
        _send(arcs, tree, target, top, amount)
        arcs.flow[entering] += amount
    arcs.in_tree[tree.arc[leaving]] = False
    arcs.in_tree[entering] = True
    reduced = arcs.cost[entering] + tree.potential[source] - tree.potential[target]
    if on_source_side:
        _rehang(tree, source, target, entering, True, leaving)
        _shift(tree, source, -reduced)
    else:
        _rehang(tree, target, source, entering, False, leaving)
        _shift(tree, target, reduced)


@inner()
def _send(arcs: Arcs, tree: Tree, node: int, top: int, amount: int) -> None:
    """Change the flow on the way up from a node: arcs that point up gain the amount, the others lose it."""
    while node != top:
        arcs.flow[tree.arc[node]] += amount if tree.up[node] else -amount
        node = tree.parent[node]


@outlined()
def _rehang(tree: Tree, node: int, parent: int, e: int, up: bool, last: int) -> None:
    """Cut the arc above `last` and turn round the way from there down to `node`, which gets the new parent."""
    while True:
        old_parent = tree.parent[node]
        old_arc = tree.arc[node]
        old_up = tree.up[node]
        _unlink(tree, node)
        _link(tree, node, parent, e, up)
        if node == last:
            return
        parent = node
        e = old_arc
        up = not old_up
        node = old_parent


@outlined()
def _shift(tree: Tree, top: int, amount: int) -> None:
    """Add to the potentials below `top`, and count the depths there again."""
    node = top
    while True:
        tree.potential[node] += amount
        tree.depth[node] = tree.depth[tree.parent[node]] + 1
        if tree.child[node] != NONE:
            node = tree.child[node]
            continue
        while node != top and tree.following[node] == NONE:
            node = tree.parent[node]
        if node == top:
            return
        node = tree.following[node]
