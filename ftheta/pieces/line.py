"""Segments: the compiled interval splitter with its arrays, and the exact signs it asks for."""

from math import inf

import numpy as np

from . import kernel_parts as at
from .enumeration import CHUNK, Chunk, Tally, announce_compilation, doubled
from .exact import ExactForms, common_zero, dyadic, oriented, sign_at
from .line_kernel import Cells, Path, Stack, run
from .plan import Plan

START_DEPTH = 64


class LineKernel:
    """One enumeration over an interval `ends` of the domain's coordinate."""

    name = "segments"

    def __init__(self, plan: Plan, ends: np.ndarray, *, ask: bool, store: bool, maps: bool) -> None:
        self.plan, self.ends, self.ask, self.store, self.maps = plan, ends, ask, store, store and maps
        self.size = float(np.abs(ends).max())
        self.tally = Tally()
        widths = plan.weights.sizes
        layers, width = len(widths) - 1, int(widths.max())
        self.stack = Stack(
            ends=np.zeros((START_DEPTH, 2)),
            radius=np.zeros((START_DEPTH, 2)),
            label=np.zeros((START_DEPTH, 2), np.int64),
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
            sign=np.zeros(2, np.int64),
            forced=np.zeros(2, np.int64),
        )
        self.cells = self._buffers(CHUNK if store else 1)
        self.counters = np.zeros(10, np.int64)
        self.gauges = np.array([0.0, inf, 0.0])
        self._exact: ExactForms | None = None
        self._begin()

    def _begin(self) -> None:
        inputs = len(self.plan.chart.origin)
        self.stack.ends[0], self.stack.label[0], self.stack.position[0] = self.ends, (-1, -2), -1
        self.path.forms[0, :2, :inputs] = self.plan.chart_forms()
        self.path.forms[0, 2, :inputs] = 1.001 * self.size * np.abs(self.plan.chart.tail[:, 0])
        self.counters[at.HEIGHT] = 1

    def _buffers(self, cells: int) -> Cells:
        return Cells(
            ends=np.empty((cells, 2)),
            radius=np.empty((cells, 2)),
            label=np.empty((cells, 2), np.int32),
            name=np.empty(cells, np.uint64),
            pattern=np.empty((cells, self.plan.words), np.uint64),
            maps=np.empty((cells if self.maps else 1, self.plan.outputs, 2)),
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
        raise AssertionError("an interval has two ends")

    def take(self) -> Chunk | None:
        cells, n = self.cells, int(self.counters[at.KEPT])
        if not n:
            return None
        self.counters[at.KEPT] = 0
        self.cells = self._buffers(CHUNK)
        corners = (cells.ends[:n].reshape(-1, 1), cells.radius[:n].ravel(), cells.label[:n].ravel())
        maps = cells.maps[:n] if self.maps else None
        return Chunk(*corners, 2 * np.arange(n + 1), cells.name[:n], cells.pattern[:n], maps)

    def answer(self) -> None:
        """Decide the open signs of one neuron at the ends of the interval on top of the stack, exactly."""
        if self._exact is None:
            self._exact = ExactForms(self.plan)
        t = int(self.counters[at.HEIGHT]) - 1
        pattern = int.from_bytes(self.stack.pattern[t].tobytes(), "little")
        form = self._exact.form(int(self.stack.layer[t]), int(self.counters[at.ASKED]), pattern)
        self.tally.answered += 1
        if not any(form):
            self.counters[at.FORCED] = at.VANISHES
            self.tally.vanished += 1
            return
        for i, label in enumerate(self.stack.label[t].tolist()):
            self.path.forced[i] = sign = sign_at(form, self._point(label, pattern))
            self.tally.vanished += sign == 0
        self.counters[at.FORCED] = at.SIGNS

    def _point(self, label: int, pattern: int) -> tuple[int, ...]:
        if label < 0:
            numbers, exponent = dyadic(self.ends[-1 - label])
            return numbers[0], 1 << exponent
        assert self._exact is not None
        return oriented(common_zero((self._exact.neuron_form(label, pattern),)))
