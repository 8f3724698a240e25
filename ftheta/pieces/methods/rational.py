r"""The complex in rational arithmetic throughout, in any dimension: slow, simple, and nothing to trust but integers.

A cell is the list of its vertices. A vertex is a homogeneous integer point $(x,w)$, $w\ge0$ (rays have $w=0$), with the
set of hyperplanes through it, as bits. Two vertices span an edge if no third one lies on all hyperplanes the two have
in common; this holds for simple and non-simple polyhedra alike.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, inf

import numpy as np

from ..enumeration import ANSWER, CHUNK, NO_LABEL, Budget, Chunk, Tally
from ..plan import Plan
from ..signs import ExactForms, sign_at


@dataclass(frozen=True, slots=True)
class Vertex:
    point: tuple[int, ...]
    tight: int


@dataclass(slots=True)
class _Pending:
    cell: list[Vertex]
    layer: int
    k: int
    pattern: int


class RationalEnumeration:
    """All cells of a polyhedron, depth first. It has so many `sides`; bit `i` of a vertex is side `i`."""

    def __init__(self, plan: Plan, vertices: Sequence[Vertex], sides: int) -> None:
        self.plan = plan
        self.sides = sides
        self.exact = ExactForms(plan)
        self.tally = Tally(volume=float("nan"))
        self.stack = [_Pending(list(vertices), 1, 0, 0)]
        weights = plan.weights
        self.numbers = [
            weights.neuron[begin : begin + size].tolist()
            for begin, size in zip(weights.first, weights.sizes)
        ]

    def cells(self, budget: Budget, deadline: float) -> Iterator[tuple[list[Vertex], int]]:
        """Cells with their patterns, until the stack is empty or the budget spent."""
        begun = time.perf_counter()
        last = len(self.numbers) - 1
        total = self.plan.neurons
        while self.stack:
            if budget.max_cells is not None and self.tally.cells >= budget.max_cells:
                self.tally.stopped_by = f"max_cells = {budget.max_cells:,}"
                break
            if spent := budget.spent(self.tally.work, deadline):
                self.tally.stopped_by = spent
                break
            now = self.stack.pop()
            while now.layer < last:
                if now.k == len(self.numbers[now.layer]):
                    now.layer = now.layer + 1
                    now.k = 0
                    continue
                number = self.numbers[now.layer][now.k]
                if number < total:
                    self._decide(now, number)
                now.k += 1
            self.tally.cells += 1
            self.tally.corners += len(now.cell)
            yield now.cell, now.pattern
        self.tally.complete = not self.tally.stopped_by
        self.tally.seconds = time.perf_counter() - begun

    def _decide(self, now: _Pending, number: int) -> None:
        """Split the cell by a neuron if it takes both signs; go on with the active part and put the other aside."""
        form = self.exact.form(now.layer, now.k, now.pattern)
        values = [sum(a * x for a, x in zip(form, v.point)) for v in now.cell]
        self.tally.answered += len(values)
        self.tally.work += ANSWER // 10 * len(values)  # of a form that is known already
        self.tally.vanished += values.count(0)
        positive = any(v > 0 for v in values)
        negative = any(v < 0 for v in values)
        if positive and negative:
            above, below = split(now.cell, values, 1 << (self.sides + number), self.plan.dimension)
            self.stack.append(_Pending(below, now.layer, now.k + 1, now.pattern))
            now.cell = above
            self.tally.cuts += 1
        if positive:  # a neuron that vanishes on the whole cell counts as inactive
            now.pattern |= 1 << number


def split(
    cell: list[Vertex], values: list[int], bit: int, d: int
) -> tuple[list[Vertex], list[Vertex]]:
    """The parts of a cell where a form is at least and at most zero."""
    above = [v for v, z in zip(cell, values) if z > 0]
    below = [v for v, z in zip(cell, values) if z < 0]
    on = [Vertex(v.point, v.tight | bit) for v, z in zip(cell, values) if z == 0]
    for u, p in zip(cell, values):
        if p <= 0:
            continue
        for v, q in zip(cell, values):
            if q < 0 and _adjacent(u, v, cell, d):
                point = [p * b - q * a for a, b in zip(u.point, v.point)]
                common = gcd(*point)
                on.append(Vertex(tuple(x // common for x in point), u.tight & v.tight | bit))
    return above + on, below + on


def _adjacent(u: Vertex, v: Vertex, cell: list[Vertex], d: int) -> bool:
    common = u.tight & v.tight
    if common.bit_count() < d - 1:
        return False
    return d <= 2 or not any(w.tight & common == common for w in cell if w is not u and w is not v)


def initial_vertices(
    corners: Sequence[Sequence[int]], sides: Sequence[Sequence[int]]
) -> list[Vertex]:
    """Homogeneous integer corners of a polyhedron with the bits of the sides they lie on."""
    found = []
    for corner in corners:
        tight = sum(1 << i for i, side in enumerate(sides) if sign_at(side, corner) == 0)
        common = gcd(*corner)
        found.append(Vertex(tuple(x // common for x in corner), tight))
    return found


def chunks(
    run: RationalEnumeration, budget: Budget, deadline: float, maps: bool
) -> Iterator[Chunk]:
    """The cells as float64 arrays, as the compiled kernels give them."""
    waiting: list[tuple[list[Vertex], int]] = []
    for cell in run.cells(budget, deadline):
        waiting.append(cell)
        if len(waiting) == CHUNK:
            yield _chunk(run, waiting, maps)
            waiting = []
    if waiting:
        yield _chunk(run, waiting, maps)


def _chunk(run: RationalEnumeration, cells: list[tuple[list[Vertex], int]], maps: bool) -> Chunk:
    d = run.plan.dimension
    sides = run.sides
    plan = run.plan
    if d == 1:
        cells = [
            (sorted(cell, key=lambda v: Fraction(*v.point)), pattern) for cell, pattern in cells
        ]
    rings = [
        _ring(cell) if d == 2 else (cell, [_labels(v.tight, sides) for v in cell])
        for cell, _ in cells
    ]
    points = [v.point for ring, _ in rings for v in ring]
    vertices = (
        np.array([[x / p[-1] for x in p[:-1]] for p in points])
        if all(p[-1] for p in points)
        else np.zeros((0, d))
    )
    width = max(len(row) for _, rows in rings for row in rows)
    rows = [[*row, *[NO_LABEL] * (width - len(row))] for _, ring in rings for row in ring]
    if d == 1:
        rows = [row[0] for row in rows]
    elif d == 2:
        rows = [_labels(row[0], sides)[0] for _, ring in rings for row in ring]
    patterns = [pattern for _, pattern in cells]
    packed = b"".join(p.to_bytes(8 * plan.words, "little") for p in patterns)
    words = np.frombuffer(packed, np.uint64).reshape(-1, plan.words)
    return Chunk(
        vertices=vertices,
        radius=2.0**-52 * np.abs(vertices).max(axis=1, initial=0.0),
        labels=np.array(rows, np.int32),
        ends=np.concatenate([[0], np.cumsum([len(ring) for ring, _ in rings])]),
        names=pattern_names(words, plan),
        patterns=words,
        maps=exact_maps(run.exact, patterns) if maps else None,
    )


def _labels(tight: int, sides: int) -> list[int]:
    """The hyperplanes of a set of bits: sides as -1-i, neurons by number."""
    found = [i for i in range(tight.bit_length()) if tight >> i & 1]
    return [i - sides if i >= sides else -1 - i for i in found]


def _ring(cell: list[Vertex]) -> tuple[list[Vertex], list[tuple[int]]]:
    """The corners of a polygon in order, and the bit of the edge that leaves each."""
    ring = [cell[0]]
    edges = []
    left = cell[1:]
    while left:
        after = next(v for v in left if v.tight & ring[-1].tight)
        edges.append((_lowest(after.tight & ring[-1].tight),))
        left.remove(after)
        ring.append(after)
    edges.append((_lowest(ring[-1].tight & ring[0].tight),))
    (a, b, c), (p, q, r), (x, y, z) = (v.point for v in ring[:3])
    if (
        a * (q * z - r * y) - b * (p * z - r * x) + c * (p * y - q * x) < 0
    ):  # clockwise: turn the ring around
        ring = ring[::-1]
        edges = [*edges[-2::-1], edges[-1]]
    return ring, edges


def _lowest(bits: int) -> int:
    return bits & -bits


def pattern_names(words: np.ndarray, plan: Plan) -> np.ndarray:
    """The xor of the keys of the active neurons, as the compiled kernels compute it."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : plan.neurons].astype(
        bool
    )
    keys = np.where(bits, plan.weights.keys[: plan.neurons], np.uint64(0))
    return np.bitwise_xor.reduce(keys, axis=1)


def exact_maps(exact: ExactForms, patterns: Sequence[int]) -> np.ndarray:
    """The output forms of cells, each entry the float64 nearest to its exact value: `(cells, outputs, d+1)`."""
    layer = len(exact.steps)
    one = exact.denominator(layer)
    outputs = exact.plan.outputs
    return np.array(
        [
            [[_ratio(x, one) for x in exact.form(layer, j, p)] for j in range(outputs)]
            for p in patterns
        ]
    )


def _ratio(top: int, bottom: int) -> float:
    """The nearest float64 number; infinite where it is too large."""
    try:
        return top / bottom
    except OverflowError:
        return inf if top > 0 else -inf
