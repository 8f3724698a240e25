"""Boxes of many dimensions: the compiled splitter by linear programming, and the exact decisions it asks for."""

from math import inf
from typing import Any

import numpy as np
from flint import fmpq

from ..enumeration import ANSWER, CHUNK, Chunk, Tally, compile_for, double_room
from ..kernels import parts as at
from ..kernels.lp import FRESH, run
from ..kernels.lp_cells import ACTIVE, BOTH, INACTIVE, SIDE, Cells, Path, Stack
from ..plan import UNIT_ROUNDOFF, Plan
from ..signs import ExactForms
from .lp_exact import Bounds, Form, bounded_by, deepest, least, meeting_point, rationals, value_at

START_DEPTH = 64
START_ROOM = 32


class LPKernel:
    """One enumeration over a box. With `rational`, every decision is made in rational arithmetic."""

    name = "boxes of many dimensions"

    def __init__(
        self,
        plan: Plan,
        domain: Any,
        *,
        ask: bool,
        store: bool,
        maps: bool,
        rational: bool = False,
        deadline: float = inf,
    ) -> None:
        self.plan = plan
        self.ask = ask
        self.store = store
        self.maps = store and maps
        self.deadline = deadline  # of one exact linear program, which may be long
        self.low = np.asarray(domain.lower, float)
        self.high = np.asarray(domain.upper, float)
        self.size = float(np.abs([self.low, self.high]).max())
        self.tally = Tally(volume=float("nan"))
        self.stack, self.path = self._stack(), self._path()
        self.cells = self._buffers(CHUNK if store else 1)
        self.counters = np.zeros(10, np.int64)
        self.gauges = np.array([0.0, inf, 0.0])
        self._exact: ExactForms | None = None
        self._begin(rational)

    def _stack(self) -> Stack:
        n = self.plan.dimension
        depth = START_DEPTH
        room = START_ROOM
        return Stack(
            table=np.zeros((depth, room + 1, n + 1)),
            basic=np.zeros((depth, room + 1), np.int64),
            nonbasic=np.zeros((depth, n), np.int64),
            flipped=np.zeros((depth, n), np.int8),
            rows=np.zeros((depth, room + 1, n + 1)),
            error=np.zeros((depth, room + 1)),
            label=np.zeros((depth, room), np.int64),
            count=np.zeros(depth, np.int64),
            point=np.zeros((depth, n)),
            thin=np.zeros(depth, np.bool_),
            layer=np.zeros(depth, np.int64),
            position=np.zeros(depth, np.int64),
            partial=np.zeros((depth, n + 1, int(self.plan.weights.sizes.max()))),
            name=np.zeros(depth, np.uint64),
            pattern=np.zeros((depth, self.plan.words), np.uint64),
        )

    def _path(self) -> Path:
        n = self.plan.dimension
        widths = self.plan.weights.sizes
        layers = len(widths) - 1
        width = int(widths.max())
        centre = 0.5 * self.low + 0.5 * self.high
        half = np.maximum(self.high - centre, centre - self.low) * (1 + 4 * UNIT_ROUNDOFF)
        return Path(
            forms=np.zeros((layers + 1, n + 1, width)),
            candidate=np.zeros((layers + 1, width), np.int64),
            candidates=np.zeros(layers + 1, np.int64),
            zero=self.plan.zero_coordinates(layers + 1),
            form_error=np.zeros(layers + 1),
            row_size=np.zeros(layers + 1),
            active=np.zeros(width + 1, np.int64),
            middle=np.zeros(width),
            gap=np.zeros(width),
            box=np.column_stack([centre, half]).ravel(),
            low=self.low,
            high=self.high,
            width=self.high - self.low,
            unit=np.eye(n + 1)[-1],
            progress=np.zeros(6, np.int64),
            form=np.zeros(n + 1),
            rest=np.zeros(n + 1),
            vertex=np.zeros(n),
            other=np.zeros(n),
            mean=np.zeros(n),
            sides=np.zeros((2, n)),
            wanted=np.zeros(n + START_ROOM + 1, np.int64),
        )

    def _begin(self, rational: bool) -> None:
        self.stack.nonbasic[0] = np.arange(self.plan.dimension)
        self.stack.point[0] = 0.5 * self.low + 0.5 * self.high
        self.stack.thin[0] = rational
        self.stack.position[0] = FRESH
        self.path.forms[0, :, : len(self.plan.chart.origin)] = self.plan.chart_forms()
        self.path.form_error[0] = self.plan.chart_error(self.size)
        self.counters[at.HEIGHT] = 1

    def _buffers(self, cells: int) -> Cells:
        n = self.plan.dimension
        return Cells(
            point=np.empty((cells, n)),
            thin=np.zeros(cells, np.bool_),
            name=np.empty(cells, np.uint64),
            pattern=np.empty((cells, self.plan.words), np.uint64),
            maps=np.empty((cells if self.maps else 1, self.plan.outputs, n + 1)),
        )

    def prepare(self) -> None:
        """Compile the kernel, which then runs at once."""
        compile_for(run, self.name, self._arguments(-1, 0))

    def _arguments(self, max_cells: int, pause: int) -> tuple[Any, ...]:
        arrays = (self.plan.weights, self.stack, self.path, self.cells, self.counters, self.gauges)
        return (*arrays, self.size, self.ask, self.store, self.maps, max_cells, pause)

    def run(self, max_cells: int, pause: int) -> int:
        reason = run(*self._arguments(max_cells, pause))
        self.tally.work += int(self.counters[at.WORK])
        counters = self.counters
        tally = self.tally
        tally.cells, tally.cuts, tally.guessed = (
            int(counters[i]) for i in (at.CELLS, at.CUTS, at.GUESSED)
        )
        tally.margin = float(self.gauges[at.MARGIN])
        return reason

    def grow_depth(self) -> None:
        self.stack = Stack(*(double_room(array) for array in self.stack))

    def grow_width(self) -> None:
        names = ("table", "basic", "rows", "error", "label")
        self.stack = self.stack._replace(
            **{name: double_room(getattr(self.stack, name), 1) for name in names}
        )
        self.path = self.path._replace(wanted=double_room(self.path.wanted))

    def take(self) -> Chunk | None:
        """The finished cells since the last call: one interior point each, no corners and no labels."""
        cells = self.cells
        n = int(self.counters[at.KEPT])
        if not n:
            return None
        self.counters[at.KEPT] = 0
        self.cells = self._buffers(CHUNK)
        for i in np.flatnonzero(cells.thin[:n]):
            pattern = int.from_bytes(cells.pattern[i].tobytes(), "little")
            cells.point[i] = floats(self._interior(pattern))
        maps = cells.maps[:n] if self.maps else None
        empty = (np.zeros(n), np.zeros((n, 0), np.int32), np.arange(n + 1))
        return Chunk(cells.point[:n], *empty, cells.name[:n], cells.pattern[:n], maps)

    # -- rational arithmetic ----------------------------------------------------------------------

    @property
    def exact(self) -> ExactForms:
        if self._exact is None:
            self._exact = ExactForms(self.plan)
            self._box = Bounds(rationals(self.low), rationals(self.high))
        return self._exact

    def _row(self, neuron: int, pattern: int) -> Form:
        form = self.exact.neuron_form(neuron, pattern)
        return form if pattern >> neuron & 1 else [-a for a in form]

    def _interior(self, pattern: int) -> list[fmpq]:
        rows = [self._row(neuron, pattern) for neuron in range(self.plan.neurons)]
        return deepest([row for row in rows if any(row[:-1])], self._box)

    def answer(self) -> None:
        """Decide the sign of one neuron on the cell on top of the stack; `TimeoutError` leaves it open."""
        exact = self.exact
        stack = self.stack
        t = int(self.counters[at.HEIGHT]) - 1
        pattern = int.from_bytes(stack.pattern[t].tobytes(), "little")
        form = exact.form(int(stack.layer[t]), int(self.counters[at.ASKED]), pattern)
        self.tally.answered += 1
        self.tally.work += 20 * ANSWER  # a linear program
        self.counters[at.FORCED] = self._sign(t, form, pattern)

    def _sign(self, t: int, form: Form, pattern: int) -> int:
        if not any(form):
            self.tally.vanished += 1
            return INACTIVE
        stack = self.stack
        m = int(self.stack.count[t])
        rows = [self._row(neuron, pattern) for neuron in stack.label[t, :m].tolist()]
        opposite = [-a for a in form]
        side = int(self.path.progress[SIDE])
        if side and (found := self._by_basis(t, form if side > 0 else opposite, rows)):
            return found if found == BOTH or side > 0 else INACTIVE
        below, where_below = least(form, rows, self._box, enough=0, deadline=self.deadline)
        if below >= 0:
            return ACTIVE
        above, where_above = least(opposite, rows, self._box, enough=0, deadline=self.deadline)
        if above >= 0:
            return INACTIVE
        self.path.sides[:] = [floats(where_above), floats(where_below)]
        return BOTH

    def _by_basis(self, t: int, form: Form, rows: list[Form]) -> int | None:
        """What the last dictionary of the kernel proves about a form that is positive at the cell's interior point."""
        n = self.plan.dimension
        nonbasic = self.stack.nonbasic[t].tolist()
        basic = self.stack.basic[t, : len(rows)]
        tight = [rows[v - n] for v in nonbasic if v >= n]
        if bounded_by(form, tight, [v for v in basic.tolist() if v < n], self._box):
            return ACTIVE
        fixed = {
            v: (self._box.high if self.stack.flipped[t, v] else self._box.low)[v]
            for v in nonbasic
            if v < n
        }
        vertex = meeting_point(tight, fixed, self._box)
        if (
            vertex is None
            or value_at(form, vertex) >= 0
            or any(value_at(row, vertex) < 0 for row in rows)
        ):
            return None
        self.path.sides[:] = floats(vertex)  # a vertex across; the interior point is on this side
        return BOTH


def floats(point: list[fmpq]) -> list[float]:
    """The rational coordinates of a `point`, each rounded once to float64."""
    return [int(x.p) / int(x.q) for x in point]
