"""A compiled kernel with its arrays: what the splitters of intervals, polygons and polytopes have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy, deepcopy
from math import inf
from typing import Any

import numpy as np

from ..enumeration import ANSWER, CHUNK, Chunk, Tally, compile_for, double_room
from ..kernels import parts as at
from ..kernels.calling import Cells
from ..plan import Plan
from ..signs import ExactForms, sign_at


class CompiledKernel(ABC):
    """One enumeration over a convex body of the given `size` (its largest coordinate).

    A kernel fills in `stack`, `path` and `scratch`. What is left to do lies in the stack and the path alone, so a
    kernel can be copied and its stack be shared out.
    """

    name: str
    compiled: Any  # the jitted function
    can_be_shared = True  # whether threads may divide the work: the order of the cells is not kept
    chunk = CHUNK  # cells the buffers have room for
    corners_per_cell: int  # a guess, for the same purpose
    labels_per_corner: tuple[int, ...] = ()
    room: int  # corners a cell can have at present
    stack: Any
    path: Any
    scratch: Any

    def __init__(
        self, plan: Plan, size: float, room: int, *, ask: bool, store: bool, maps: bool
    ) -> None:
        self.plan = plan
        self.size = size
        self.room = room
        self.ask = ask
        self.store = store
        self.maps = store and maps
        self.tally = Tally()
        self.counters = np.zeros(at.COUNTERS, np.int64)
        self.gauges = np.array([0.0, inf, 0.0])
        self.cells = self._buffers()
        self._exact: ExactForms | None = None

    def _slots(self, depth: int, rows: int) -> dict[str, np.ndarray]:
        """The part of a stack that does not depend on the shape of its cells; maps have so many rows."""
        return {
            "layer": np.zeros(depth, np.int64),
            "position": np.full(depth, -1),
            "partial": np.zeros((depth, rows, int(self.plan.weights.sizes.max()))),
            "name": np.zeros(depth, np.uint64),
            "pattern": np.zeros((depth, self.plan.words), np.uint64),
        }

    def _layers(self, rows: int) -> dict[str, np.ndarray]:
        """The part of a path that does not depend on the shape of the cells: forms and candidates of every layer."""
        layers = len(self.plan.weights.sizes)
        width = int(self.plan.weights.sizes.max())
        forms = np.zeros((layers, rows, width))
        chart = self.plan.chart_forms()
        forms[0, : len(chart), : chart.shape[1]] = chart
        return {
            "forms": forms,
            "candidate": np.zeros((layers, width), np.int64),
            "candidates": np.zeros(layers, np.int64),
            "zero": self.plan.zero_coordinates(layers),
        }

    def _measures(self) -> dict[str, np.ndarray]:
        """Arrays over the layers and the neurons of one layer, for error bounds and quick tests."""
        layers = len(self.plan.weights.sizes)
        width = int(self.plan.weights.sizes.max())
        form_error = np.zeros(layers)
        form_error[0] = self.plan.chart_error(self.size)
        return {
            "form_error": form_error,
            "row_size": np.zeros(layers),
            "active": np.zeros(width + 1, np.int64),
            "middle": np.zeros(width),
            "gap": np.zeros(width),
        }

    def _buffers(self) -> Cells:
        d = self.plan.dimension
        cells = self.chunk if self.store else 1
        corners = max(self.corners_per_cell * cells, self.room)
        return Cells(
            vertices=np.empty((corners, d)),
            radius=np.empty(corners),
            label=np.empty((corners, *self.labels_per_corner), np.int32),
            ends=np.zeros(cells + 1, np.int64),
            name=np.empty(cells, np.uint64),
            pattern=np.empty((cells, self.plan.words), np.uint64),
            maps=np.empty((cells if self.maps else 1, self.plan.outputs, d + 1)),
        )

    def prepare(self) -> None:
        """Compile the kernel, which then runs at once."""
        compile_for(self.compiled, self.name, self._arguments(-1, 0))

    def _arguments(self, max_cells: int, pause: int) -> tuple[Any, ...]:
        arrays = (
            self.plan.weights,
            self.stack,
            self.path,
            self.scratch,
            self.cells,
            self.counters,
            self.gauges,
        )
        return (*arrays, self.size, self.ask, self.store, self.maps, max_cells, pause)

    def run(self, max_cells: int, pause: int) -> int:
        reason = self.compiled(*self._arguments(max_cells, pause))
        count = self.counters.tolist()
        tally = self.tally
        tally.work += count[at.WORK]
        tally.cells = count[at.CELLS]
        tally.corners = count[at.CORNERS]
        tally.cuts = count[at.CUTS]
        tally.guessed = count[at.GUESSED]
        tally.margin = float(self.gauges[at.MARGIN])
        tally.volume = float(self.gauges[at.VOLUME]) if self.store else float("nan")
        return reason

    def grow_depth(self) -> None:
        self.stack = type(self.stack)(*(double_room(array) for array in self.stack))

    def take(self) -> Chunk | None:
        """The finished cells since the last call; the kernel goes on with fresh buffers."""
        cells = self.cells
        n = int(self.counters[at.KEPT])
        m = int(self.counters[at.KEPT_CORNERS])
        if self.counters[at.HEIGHT] > self.counters[at.BASE]:
            self.cells = self._buffers()
        if not n:
            return None
        self.counters[[at.KEPT, at.KEPT_CORNERS]] = 0
        maps = cells.maps[:n] if self.maps else None
        corners = (cells.vertices[:m], cells.radius[:m], cells.label[:m])
        return Chunk(*corners, cells.ends[: n + 1], cells.name[:n], cells.pattern[:n], maps)

    # -- open signs -------------------------------------------------------------------------------

    def answer(self) -> None:
        """Decide the open signs of one neuron at the corners of the cell on top of the stack, exactly."""
        if self._exact is None:
            self._exact = ExactForms(self.plan)
        t = int(self.counters[at.HEIGHT]) - 1
        pattern = int.from_bytes(self.stack.pattern[t].tobytes(), "little")
        form = self._exact.form(int(self.stack.layer[t]), int(self.counters[at.ASKED]), pattern)
        if not any(form):
            self.counters[at.FORCED] = at.VANISHES
            self.tally.vanished += 1
            self.tally.answered += 1
            self.tally.work += ANSWER
            return
        for i in self._open_corners(t):
            self.scratch.forced[i] = sign = sign_at(form, self._corner(self._exact, t, i, pattern))
            self.tally.answered += 1
            self.tally.work += ANSWER
            self.tally.vanished += sign == 0
        self.counters[at.FORCED] = at.SIGNS

    def _open_corners(self, t: int) -> Iterable[int]:
        values = self.scratch.value[: self.stack.corners[t]]
        return np.flatnonzero(np.abs(values) <= self.gauges[at.ALLOWED]).tolist()

    @abstractmethod
    def _corner(self, exact: ExactForms, t: int, i: int, pattern: int) -> tuple[int, ...]:
        """Corner i of slot t, homogeneous, over the integers."""

    @abstractmethod
    def grow_width(self) -> None:
        """More room for the corners of a cell."""

    # -- sharing ----------------------------------------------------------------------------------

    def split_off(self) -> "CompiledKernel | None":
        """A second kernel that takes over the lowest slot of the stack (the most work); None if there is but one."""
        if self.counters[at.HEIGHT] - self.counters[at.BASE] < 2:
            return None
        other = copy(self)
        other.stack, other.path, other.scratch = deepcopy((self.stack, self.path, self.scratch))
        other.tally = Tally()
        other.gauges = np.array([0.0, inf, 0.0])
        other._exact = None
        other.counters = np.zeros_like(self.counters)
        other.counters[at.BASE] = self.counters[at.BASE]
        self.counters[at.BASE] += 1
        other.counters[at.HEIGHT] = self.counters[at.BASE]
        other.cells = self._buffers()
        return other
