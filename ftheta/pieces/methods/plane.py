"""Planar slices: the compiled polygon splitter with its arrays, and the exact corners it asks for."""

from functools import cached_property

import numpy as np

from ..enumeration import double_room
from ..kernels import parts as at
from ..kernels.plane import Path, Scratch, Stack, run
from ..plan import Plan
from ..signs import ExactForms, common_zero, orient, polygon_sides
from .compiled_kernel import CompiledKernel

START_DEPTH = 64
START_ROOM = 32


class PlaneKernel(CompiledKernel):
    """One enumeration over a convex polygon `corners` `(m, 2)`, anticlockwise."""

    name = "planar slices"
    compiled = staticmethod(run)
    corners_per_cell = 5

    def __init__(
        self, plan: Plan, corners: np.ndarray, *, ask: bool, store: bool, maps: bool
    ) -> None:
        m = len(corners)
        room = max(START_ROOM, 2 * m + 8)
        super().__init__(plan, float(np.abs(corners).max()), room, ask=ask, store=store, maps=maps)
        self.corners = corners
        self.stack = Stack(
            polygon=np.zeros((START_DEPTH, 3, room)),
            label=np.zeros((START_DEPTH, room), np.int64),
            corners=np.zeros(START_DEPTH, np.int64),
            worst=np.zeros(START_DEPTH),
            **self._slots(START_DEPTH, 3),
        )
        self.path = Path(
            **self._layers(3), **self._measures(), box=np.zeros(4), sides=float_sides(corners)
        )
        self.scratch = Scratch(
            value=np.zeros(room),
            sign=np.zeros(room, np.int8),
            forced=np.zeros(room, np.int8),
            trial=np.zeros((3, room)),
            spare=np.zeros((3, room)),
            spare_label=np.zeros(room, np.int64),
        )
        self.stack.polygon[0, :2, :m] = corners.T
        self.stack.label[0, :m] = -1 - np.arange(m)
        self.stack.corners[0] = m
        self.counters[at.HEIGHT] = 1

    @cached_property
    def sides(self) -> list[tuple[int, int, int]]:
        return polygon_sides(self.corners)

    def grow_width(self) -> None:
        self.room *= 2
        self.stack = self.stack._replace(
            polygon=double_room(self.stack.polygon, 2), label=double_room(self.stack.label, 1)
        )
        self.scratch = Scratch(*(double_room(array, array.ndim - 1) for array in self.scratch))

    def _corner(self, exact: ExactForms, t: int, i: int, pattern: int) -> tuple[int, ...]:
        """Where the edge that leaves corner i meets the one before it."""
        n = int(self.stack.corners[t])
        lines = [int(self.stack.label[t, j]) for j in ((i - 1) % n, i)]
        return orient(
            common_zero(
                [self.sides[-1 - b] if b < 0 else exact.neuron_form(b, pattern) for b in lines]
            )
        )


def float_sides(corners: np.ndarray) -> np.ndarray:
    """The lines through consecutive corners in float64, each with a bound on its error at points of the polygon."""
    after = corners[[*range(1, len(corners)), 0]]
    size = float(np.abs(corners).max())
    sides = np.full((len(corners), 4), 16 * 2.0**-53 * size * size)
    sides[:, 0], sides[:, 1] = corners[:, 1] - after[:, 1], after[:, 0] - corners[:, 0]
    sides[:, 2] = corners[:, 0] * after[:, 1] - after[:, 0] * corners[:, 1]
    return sides
