"""Boxes in d >= 3 and cones of all of space: the compiled polytope splitter and the exact signs it asks for."""

from math import inf
from typing import Any

import numpy as np

from . import kernel_parts as at
from .box_corners import Cells, Path, Scratch, Stack
from .box_kernel import run
from .enumeration import Chunk, Tally, announce_compilation, doubled
from .exact import ExactForms, common_zero, dyadic, oriented, sign_at
from .plan import UNIT_ROUNDOFF, Plan

START_DEPTH = 32
BUFFER_CORNERS = 1 << 17


def box_body(domain: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Homogeneous corners of a box, its sides as exact forms, the sides at each corner, the neighbour leaving each."""
    corners = np.asarray(domain.corners)
    d = corners.shape[1]
    low, high = corners.min(axis=0), corners.max(axis=0)
    upper = (corners == high).astype(np.int64)
    order = np.argsort(upper @ (1 << np.arange(d)))
    corners, upper = corners[order], upper[order]
    sides = np.zeros((2 * d, d + 1))
    for i in range(d):
        sides[2 * i, i], sides[2 * i, -1] = 1.0, -low[i]
        sides[2 * i + 1, i], sides[2 * i + 1, -1] = -1.0, high[i]
    labels = -1 - (2 * np.arange(d) + upper)
    along = np.arange(len(corners))[:, None] ^ (1 << np.arange(d))
    return np.hstack([corners, np.ones((len(corners), 1))]), sides, labels, along


def simplex_body(generators: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same of a cone spanned by d+1 generators: side i misses generator i. Small integers throughout."""
    n = len(generators)
    dual = np.linalg.inv(generators.T)
    sides = np.round(dual * round(abs(np.linalg.det(generators))))
    others = np.array([[j for j in range(n) if j != i] for i in range(n)])
    return generators, sides, -1 - others, others


class BoxKernel:
    """One enumeration over a simple polytope, or a simplicial cone in homogeneous coordinates."""

    name = "boxes"

    def __init__(
        self,
        plan: Plan,
        corners: np.ndarray,
        sides: np.ndarray,
        labels: np.ndarray,
        along: np.ndarray,
        *,
        ask: bool,
        store: bool,
        maps: bool,
    ) -> None:
        self.plan, self.sides, self.ask, self.store, self.maps = plan, sides, ask, store, store and maps
        self.size = float(np.abs(corners[:, :-1]).max())
        self.tally = Tally()
        d = plan.dimension
        room = max(64, 4 * len(corners))
        widths = plan.weights.sizes
        layers, width = len(widths) - 1, int(widths.max())
        depth = START_DEPTH
        self.stack = Stack(
            point=np.zeros((depth, room, d + 1)),
            radius=np.zeros((depth, room)),
            facet=np.zeros((depth, room, d), np.int32),
            along=np.zeros((depth, room, d), np.int32),
            corners=np.zeros(depth, np.int64),
            worst=np.zeros(depth),
            layer=np.zeros(depth, np.int64),
            position=np.zeros(depth, np.int64),
            partial=np.zeros((depth, d + 1, width)),
            name=np.zeros(depth, np.uint64),
            pattern=np.zeros((depth, plan.words), np.uint64),
        )
        rounding = np.full((len(sides), 1), 4 * UNIT_ROUNDOFF * self.size)
        self.path = Path(
            forms=np.zeros((layers + 1, d + 1, width)),
            candidate=np.zeros((layers + 1, width), np.int64),
            candidates=np.zeros(layers + 1, np.int64),
            form_error=np.zeros(layers + 1),
            row_size=np.zeros(layers + 1),
            active=np.zeros(width + 1, np.int64),
            middle=np.zeros(width),
            gap=np.zeros(width),
            box=np.zeros(2 * (d + 1)),
            sides=np.hstack([sides, rounding]),
            matrix=np.zeros((d, d)),
        )
        self.scratch = self._scratch(room)
        self.cells = self._buffers() if store else self._buffers(1, 1)
        self.counters = np.zeros(10, np.int64)
        self.gauges = np.array([0.0, inf, 0.0])
        self._exact: ExactForms | None = None
        self._begin(corners, labels, along)

    def _begin(self, corners: np.ndarray, labels: np.ndarray, along: np.ndarray) -> None:
        n = len(corners)
        self.stack.point[0, :n], self.stack.facet[0, :n], self.stack.along[0, :n] = corners, labels, along
        self.stack.corners[0], self.stack.position[0] = n, -1
        self.path.forms[0, :, : len(self.plan.chart.origin)] = self.plan.chart_forms()
        self.path.form_error[0] = self.plan.chart_error(self.size)
        self.counters[at.HEIGHT] = 1

    def _scratch(self, room: int) -> Scratch:
        d, table = self.plan.dimension, 1 << (room * self.plan.dimension * 2).bit_length()
        ints = lambda *shape: np.zeros(shape, np.int32)
        keys = np.random.default_rng(7).integers(1, 2**63, 2 * (self.plan.neurons + len(self.sides)), dtype=np.uint64)
        return Scratch(
            value=np.zeros(room),
            sign=np.zeros(room, np.int8),
            forced=np.zeros(room, np.int8),
            place=ints(room),
            point=np.zeros((room, d + 1)),
            radius=np.zeros(room),
            facet=ints(room, d),
            along=ints(room, d),
            origin=ints(room, 4),
            new_point=np.zeros((room, d + 1)),
            new_radius=np.zeros(room),
            new_facet=ints(room, d),
            new_along=ints(room, d),
            table_key=np.zeros(table, np.uint64),
            table_corner=ints(table),
            table_edge=ints(table),
            table_stamp=np.zeros(table, np.int64),
            facet_key=keys,
            stamp=np.zeros(1, np.int64),
        )

    def _buffers(self, cells: int = 1 << 14, corners: int = BUFFER_CORNERS) -> Cells:
        d = self.plan.dimension
        corners = max(corners, 2 * self.stack.radius.shape[1])
        return Cells(
            vertices=np.empty((corners, d)),
            radius=np.empty(corners),
            label=np.empty((corners, d), np.int32),
            ends=np.zeros(cells + 1, np.int64),
            name=np.empty(cells, np.uint64),
            pattern=np.empty((cells, self.plan.words), np.uint64),
            maps=np.empty((cells if self.maps else 1, self.plan.outputs, d + 1)),
        )

    def run(self, max_cells: int, pause: int) -> int:
        announce_compilation(run, self.name)
        arrays = (self.plan.weights, self.stack, self.path, self.scratch, self.cells, self.counters, self.gauges)
        reason = run(*arrays, self.size, self.ask, self.store, self.maps, max_cells, pause)
        counters, tally = self.counters, self.tally
        tally.cells, tally.corners, tally.cuts = (int(counters[i]) for i in (at.CELLS, at.CORNERS, at.CUTS))
        tally.guessed, tally.margin = int(counters[at.GUESSED]), float(self.gauges[at.MARGIN])
        tally.volume = float("nan")
        return reason

    def grow_depth(self) -> None:
        self.stack = Stack(*(doubled(array) for array in self.stack))

    def grow_width(self) -> None:
        names = ("point", "radius", "facet", "along")
        self.stack = self.stack._replace(**{name: doubled(getattr(self.stack, name), 1) for name in names})
        larger = self._scratch(self.stack.radius.shape[1])
        larger.forced[: len(self.scratch.forced)] = self.scratch.forced
        self.scratch = larger

    def take(self) -> Chunk | None:
        """The finished cells since the last call; the kernel goes on with fresh buffers."""
        cells, n, m = self.cells, int(self.counters[at.KEPT]), int(self.counters[at.KEPT_CORNERS])
        if self.store:
            self.cells = self._buffers()
        if not n:
            return None
        self.counters[[at.KEPT, at.KEPT_CORNERS]] = 0
        maps = cells.maps[:n] if self.maps else None
        corners = (cells.vertices[:m], cells.radius[:m], cells.label[:m])
        return Chunk(*corners, cells.ends[: n + 1], cells.name[:n], cells.pattern[:n], maps)

    def answer(self) -> None:
        """Decide the open signs of one neuron at the corners of the polytope on top of the stack, exactly."""
        if self._exact is None:
            self._exact = ExactForms(self.plan)
            numbers, _ = dyadic(self.sides)
            width = self.sides.shape[1]
            self._sides = [tuple(numbers[i : i + width]) for i in range(0, len(numbers), width)]
            self._inside = tuple(map(sum, zip(*self._sides)))  # positive on the whole body, directions included
        exact = self._exact
        t = int(self.counters[at.HEIGHT]) - 1
        pattern = int.from_bytes(self.stack.pattern[t].tobytes(), "little")
        form = exact.form(int(self.stack.layer[t]), int(self.counters[at.ASKED]), pattern)
        if not any(form):
            self.counters[at.FORCED] = at.VANISHES
            self.tally.vanished += 1
            self.tally.answered += 1
            return
        n = int(self.stack.corners[t])
        for i in np.flatnonzero(np.abs(self.scratch.value[:n]) <= self.gauges[at.ALLOWED]).tolist():
            labels = self.stack.facet[t, i].tolist()
            planes = [self._sides[-1 - b] if b < 0 else exact.neuron_form(b, pattern) for b in labels]
            corner = oriented(common_zero(planes), self._inside)
            self.scratch.forced[i] = sign = sign_at(form, corner)
            self.tally.answered += 1
            self.tally.vanished += sign == 0
        self.counters[at.FORCED] = at.SIGNS
