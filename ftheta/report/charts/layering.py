"""Where the nodes of a directed acyclic graph stand: layers by longest path, few crossings, short edges.

This is the method of Sugiyama, Tagawa and Toda (1981): nodes are put into layers, long edges get a bend in every layer
they pass, the order inside the layers is improved by the mean place of the neighbours, and the places themselves by
moving every node towards its neighbours as far as the others allow.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from .labels import spread

_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """`layers[k]` lists the nodes of layer k in order (bends included); `place` is the middle of each node across the
    layers; `routes` the nodes that each edge passes, ends included."""

    layers: tuple[tuple[str, ...], ...]
    place: Mapping[str, float]
    routes: tuple[tuple[str, ...], ...]


def layout(
    nodes: Sequence[str], edges: Sequence[tuple[str, str]], size: Mapping[str, float], gap: float
) -> Layout:
    """Lay out a graph; `size` is the extent of each node across the layers, `gap` the room between two of them."""
    return _lay_out(tuple(nodes), tuple(edges), tuple(size.get(n, 0.0) for n in nodes), gap)


@lru_cache(64)  # a graph whose numbers change keeps its nodes, and mostly the sizes of them
def _lay_out(
    nodes: tuple[str, ...], edges: tuple[tuple[str, str], ...], sizes: tuple[float, ...], gap: float
) -> Layout:
    rows, routes = _assign_layers(nodes, edges)
    size = dict(zip(nodes, sizes))
    steps = [step for route in routes for step in pairwise(route)]
    place = _places(rows, steps, {n: size.get(n, 0.0) + gap for row in rows for n in row})
    return Layout(rows, place, routes)


@lru_cache(16)
def _assign_layers(
    nodes: tuple[str, ...], edges: tuple[tuple[str, str], ...]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """The layers in order, and the routes of the edges."""
    known = set(nodes)
    forward = _without_cycles(
        nodes, [(a, b) for a, b in dict.fromkeys(edges) if a in known and b in known and a != b]
    )
    layer = _longest_paths(nodes, forward)
    rows: list[list[str]] = [[] for _ in range(1 + max(layer.values(), default=-1))]
    for node in nodes:
        rows[layer[node]].append(node)
    routes = [_route(a, b, layer, rows, i) for i, (a, b) in enumerate(forward)]
    _order(rows, [step for route in routes for step in pairwise(route)])
    return tuple(map(tuple, rows)), tuple(routes)


def _without_cycles(nodes: Sequence[str], edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges that go forward in a depth-first order; a graph without cycles keeps them all."""
    after: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        after[a].append(b)
    finished: dict[str, int] = {}
    for root in nodes:
        stack = [(root, iter(after[root]))]
        seen = {root} | set(finished)
        while stack and root not in finished:
            node, rest = stack[-1]
            following = next((n for n in rest if n not in seen), None)
            if following is None:
                finished[node] = len(finished)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(after[following])))
    return [(a, b) for a, b in edges if finished[a] > finished[b]]


def _longest_paths(nodes: Sequence[str], edges: list[tuple[str, str]]) -> dict[str, int]:
    """Every node one layer after its latest parent; a node without parents right before its earliest child."""
    parents = defaultdict(list)
    children = defaultdict(list)
    for a, b in edges:
        parents[b].append(a)
        children[a].append(b)
    waiting = {n: len(parents[n]) for n in nodes}
    ready = [n for n in nodes if not waiting[n]]
    layer = dict.fromkeys(nodes, 0)
    for node in ready:  # grows while it is walked through
        for child in children[node]:
            layer[child] = max(layer[child], layer[node] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    for node in nodes:
        if not parents[node] and children[node]:
            layer[node] = min(layer[c] for c in children[node]) - 1
    return layer


def _route(
    a: str, b: str, layer: Mapping[str, int], rows: list[list[str]], index: int
) -> tuple[str, ...]:
    """The edge from a to b with a bend in every layer between."""
    bends = []
    for k in range(layer[a] + 1, layer[b]):
        bends.append(f"\0{index}:{k}")
        rows[k].append(bends[-1])
    return (a, *bends, b)


def _order(rows: list[list[str]], steps: list[tuple[str, str]]) -> None:
    """Sweep down and up, sorting each layer by the mean place of its neighbours; keep the order that crosses least."""
    before = defaultdict(list)
    after = defaultdict(list)
    for a, b in steps:
        before[b].append(a)
        after[a].append(b)
    best = [list(row) for row in rows]
    fewest = _crossings(rows, after)
    for sweep in range(_SWEEPS):
        turned, neighbours = (rows, before) if sweep % 2 == 0 else (rows[::-1], after)
        for fixed, row in pairwise(turned):
            at = {n: i for i, n in enumerate(fixed)}
            mean = {n: _mean([at[m] for m in neighbours[n]], i) for i, n in enumerate(row)}
            row.sort(key=mean.__getitem__)
        crossings = _crossings(rows, after)
        if crossings < fewest:
            best = [list(row) for row in rows]
            fewest = crossings
    for row, chosen in zip(rows, best):
        row[:] = chosen


def _crossings(rows: list[list[str]], after: Mapping[str, list[str]]) -> int:
    """How many pairs of steps between neighbouring layers cross."""
    total = 0
    for row, following in pairwise(rows):
        at = {n: i for i, n in enumerate(following)}
        ends = [end for n in row for end in sorted(at[m] for m in after.get(n, ()) if m in at)]
        total += (
            sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :]) if len(ends) < 400 else 0
        )
    return total


def _mean(values: list[int] | list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _places(
    rows: Sequence[Sequence[str]], steps: list[tuple[str, str]], room: Mapping[str, float]
) -> dict[str, float]:
    """Middles of the nodes: each drawn to the mean of its neighbours, without overlap."""
    before = defaultdict(list)
    after = defaultdict(list)
    for a, b in steps:
        before[b].append(a)
        after[a].append(b)
    place: dict[str, float] = {}
    for row in rows:
        start = -sum(room[n] for n in row) / 2
        for n in row:
            place[n] = start + room[n] / 2
            start += room[n]
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            first, second = (before, after) if down else (after, before)
            wanted = [_mean([place[m] for m in first[n] or second[n]], place[n]) for n in row]
            place.update(zip(row, spread(wanted, [room[n] for n in row], -1e9, 1e9)))
    return place
