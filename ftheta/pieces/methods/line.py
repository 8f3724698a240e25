"""Segments: the compiled interval splitter with its arrays, and the exact ends it asks for."""

from collections.abc import Iterable

import numpy as np

from ..kernels import parts as at
from ..kernels.line import TINY, Path, Scratch, Stack, run
from ..plan import Plan
from ..signs import ExactForms, common_zero, dyadic, orient
from .compiled_kernel import CompiledKernel

START_DEPTH = 64


class LineKernel(CompiledKernel):
    """One enumeration over an interval `ends` of the domain's coordinate."""

    name = "segments"
    compiled = staticmethod(run)
    corners_per_cell = 2
    can_be_shared = False  # cells come from left to right

    def __init__(self, plan: Plan, ends: np.ndarray, *, ask: bool, store: bool, maps: bool) -> None:
        super().__init__(plan, float(np.abs(ends).max()), 2, ask=ask, store=store, maps=maps)
        self.ends = ends
        self.stack = Stack(
            ends=np.zeros((START_DEPTH, 2)),
            radius=np.zeros((START_DEPTH, 2)),
            label=np.zeros((START_DEPTH, 2), np.int64),
            **self._slots(START_DEPTH, 3),
        )
        self.path = Path(**self._layers(3))
        tail = np.abs(plan.chart.tail[:, 0])
        self.path.forms[0, 2, : len(tail)] = np.where(
            tail > 0, np.maximum(1.001 * self.size * tail, TINY), 0.0
        )
        self.scratch = Scratch(sign=np.zeros(2, np.int64), forced=np.zeros(2, np.int64))
        self.stack.ends[0], self.stack.label[0] = ends, (-1, -2)
        self.counters[at.HEIGHT] = 1

    def grow_width(self) -> None:
        raise AssertionError("an interval has two ends")

    def _open_corners(self, t: int) -> Iterable[int]:
        return range(2)

    def _corner(self, exact: ExactForms, t: int, i: int, pattern: int) -> tuple[int, ...]:
        label = int(self.stack.label[t, i])
        if label >= 0:
            return orient(common_zero((exact.neuron_form(label, pattern),)))
        numbers, exponent = dyadic(self.ends[-1 - label])
        return numbers[0], 1 << exponent
