"""Planar slices: the compiled polygon splitter with its arrays, and the exact signs it asks for."""

from math import inf

import numpy as np

from . import kernel_parts as at
from .enumeration import CHUNK, Chunk, Tally, announce_compilation, doubled
from .exact import ExactForms, common_zero, oriented, polygon_sides, sign_at
from .plan import Plan
from .plane_kernel import Cells, Path, Stack, run

START_DEPTH = 64
START_ROOM = 32


class PlaneKernel:
    """One enumeration over a convex polygon `corners` `(m, 2)`, anticlockwise."""

    name = "planar slices"

    def __init__(self, plan: Plan, corners: np.ndarray, *, ask: bool, store: bool, maps: bool) -> None:
        self.plan, self.corners, self.ask, self.store, self.maps = plan, corners, ask, store, store and maps
        self.size = float(np.abs(corners).max())
        self.tally = Tally()
        room = max(START_ROOM, 2 * len(corners) + 8)
        widths = plan.weights.sizes
        layers, width = len(widths) - 1, int(widths.max())
        self.stack = Stack(
            polygon=np.zeros((START_DEPTH, 3, room)),
            label=np.zeros((START_DEPTH, room), np.int64),
            corners=np.zeros(START_DEPTH, np.int64),
            worst=np.zeros(START_DEPTH),
            layer=np.zeros(START_DEPTH, np.int64),
            position=np.zeros(START_DEPTH, np.int64),
            partial=np.zeros((START_DEPTH, 3, width)),
            name=np.zeros(START_DEPTH, np.uint64),
            pattern=np.zeros((START_DEPTH, plan.words), np.uint64),
        )
        self.path = Path(
            forms=np.zeros((layers + 1, 3, width)),
            candidate=np.zeros((layers + 1, width), np.int64),
            candidates=np.zeros(layers + 1, np.int64),
            form_error=np.zeros(layers + 1),
            row_size=np.zeros(layers + 1),
            active=np.zeros(width + 1, np.int64),
            middle=np.zeros(width),
            gap=np.zeros(width),
            value=np.zeros(room),
            sign=np.zeros(room, np.int8),
            forced=np.zeros(room, np.int8),
            spare=np.zeros((3, room)),
            spare_label=np.zeros(room, np.int64),
            sides=float_sides(corners),
        )
        self.cells = self._buffers(CHUNK if store else 1)
        self.counters = np.zeros(10, np.int64)
        self.gauges = np.array([0.0, inf, 0.0])
        self._exact: ExactForms | None = None
        self._begin()

    def _begin(self) -> None:
        m = len(self.corners)
        self.stack.polygon[0, :2, :m] = self.corners.T
        self.stack.label[0, :m] = -1 - np.arange(m)
        self.stack.corners[0], self.stack.position[0] = m, -1
        self.path.forms[0, :, : len(self.plan.chart.origin)] = self.plan.chart_forms()
        self.path.form_error[0] = self.plan.chart_error(self.size)
        self.counters[at.HEIGHT] = 1

    def _buffers(self, cells: int) -> Cells:
        corners = 5 * cells + self.stack.label.shape[1]
        return Cells(
            vertices=np.empty((corners, 2)),
            radius=np.empty(corners),
            label=np.empty(corners, np.int32),
            ends=np.zeros(cells + 1, np.int64),
            name=np.empty(cells, np.uint64),
            pattern=np.empty((cells, self.plan.words), np.uint64),
            maps=np.empty((cells if self.maps else 1, self.plan.outputs, 3)),
        )

    def run(self, max_cells: int, pause: int) -> int:
        announce_compilation(run, self.name)
        arrays = (self.plan.weights, self.stack, self.path, self.cells, self.counters, self.gauges)
        reason = run(*arrays, self.size, self.ask, self.store, self.maps, max_cells, pause)
        counters, tally = self.counters, self.tally
        tally.cells, tally.corners, tally.cuts = (int(counters[i]) for i in (at.CELLS, at.CORNERS, at.CUTS))
        tally.guessed, tally.volume = int(counters[at.GUESSED]), float(self.gauges[at.VOLUME])
        tally.margin = float(self.gauges[at.MARGIN])
        return reason

    def grow_depth(self) -> None:
        self.stack = Stack(*(doubled(array) for array in self.stack))

    def grow_width(self) -> None:
        self.stack = self.stack._replace(polygon=doubled(self.stack.polygon, 2), label=doubled(self.stack.label, 1))
        names = ("value", "sign", "forced", "spare_label")
        longer = {name: doubled(getattr(self.path, name)) for name in names}
        self.path = self.path._replace(spare=doubled(self.path.spare, 1), **longer)
        if self.store and self.counters[at.KEPT] == 0:
            self.cells = self._buffers(CHUNK)

    def take(self) -> Chunk | None:
        """The finished cells since the last call; the kernel goes on with fresh buffers."""
        cells, n, m = self.cells, int(self.counters[at.KEPT]), int(self.counters[at.KEPT_CORNERS])
        if not n:
            return None
        self.counters[[at.KEPT, at.KEPT_CORNERS]] = 0
        self.cells = self._buffers(CHUNK)
        maps = cells.maps[:n] if self.maps else None
        corners = (cells.vertices[:m], cells.radius[:m], cells.label[:m])
        return Chunk(*corners, cells.ends[: n + 1], cells.name[:n], cells.pattern[:n], maps)

    def answer(self) -> None:
        """Decide the open signs of one neuron at the corners of the polygon on top of the stack, exactly."""
        if self._exact is None:
            self._exact = ExactForms(self.plan)
            self._sides = polygon_sides(self.corners)
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
        labels = self.stack.label[t, :n].tolist()
        lines = {label: self._line(label, pattern) for label in set(labels)}
        for i in np.flatnonzero(np.abs(self.path.value[:n]) <= self.gauges[at.ALLOWED]).tolist():
            corner = oriented(common_zero((lines[labels[i - 1]], lines[labels[i]])))
            self.path.forced[i] = sign = sign_at(form, corner)
            self.tally.answered += 1
            self.tally.vanished += sign == 0
        self.counters[at.FORCED] = at.SIGNS

    def _line(self, label: int, pattern: int) -> tuple[int, ...]:
        if label < 0:
            return self._sides[-1 - label]
        assert self._exact is not None
        return self._exact.neuron_form(label, pattern)


def float_sides(corners: np.ndarray) -> np.ndarray:
    """The lines through consecutive corners in float64, each with a bound on its error at points of the polygon."""
    after = np.roll(corners, -1, axis=0)
    normal = np.column_stack([corners[:, 1] - after[:, 1], after[:, 0] - corners[:, 0]])
    constant = corners[:, 0] * after[:, 1] - after[:, 0] * corners[:, 1]
    size = float(np.abs(corners).max())
    return np.column_stack([normal, constant, np.full(len(corners), 16 * 2.0**-53 * size * size)])
