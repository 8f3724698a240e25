r"""The affine maps of many cells at once, in exact integers.

With homogeneous matrices $\hat W_l=\begin{pmatrix}W_l&b_l\\0&1\end{pmatrix}$ the outputs on a cell are
$\hat W_LD_{L-1}\hat W_{L-1}\cdots D_1\hat W_1\hat J$ with the chart $\hat J$. Multiplied from the shorter end, a cell
is some rows, and the rows of all cells go through a step in one product. Weights are integers over one denominator.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np
from flint import fmpz, fmpz_mat

from ftheta.relu.network import Step

from ..plan import Plan
from ..signs import dyadic, exact_sum, step_integers

BATCH = 256
ZERO = fmpz(0)
Form = tuple[int, ...]


class OutputForms:
    """The outputs on cells named by their patterns: forms in the coordinates of the domain times the `denominator`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        steps = [_homogeneous(*_integers(step)) for step in plan.net.steps]
        chart = _homogeneous(*_chart(plan))
        self.denominator = prod(below for _, below in (*steps, chart))
        matrices = [matrix for matrix, _ in (chart, *steps)]
        masks = list(_bits(plan))
        self._from_outputs = plan.outputs <= plan.dimension + 1
        if self._from_outputs:
            matrices = matrices[::-1]
            masks = [*masks[::-1], None]
        else:
            matrices = [matrix.transpose() for matrix in matrices]
            masks = [None, *masks]
        first, *self._others = matrices
        self._height = plan.outputs if self._from_outputs else plan.dimension + 1
        # no homogeneous row of outputs
        self._first = list(map(int, first.entries()[: self._height * first.ncols()]))
        self._masks = masks

    def __call__(self, patterns: Iterable[int], at_once: int = BATCH) -> Iterator[list[Form]]:
        """For every pattern the forms of all outputs; so many are computed `at_once`."""
        waiting = iter(patterns)
        while batch := list(islice(waiting, at_once)):
            yield from self._batch(batch)

    def _batch(self, patterns: Sequence[int]) -> Iterator[list[Form]]:
        n = len(patterns)
        height = self._height
        rows = fmpz_mat(n * height, len(self._first) // height, self._first * n)
        for matrix, bits in zip(self._others, self._masks):
            if bits is not None:
                rows = self._mask(rows, bits, patterns)
            rows = rows * matrix
        width = rows.ncols()
        numbers = list(map(int, rows.entries()))
        for i in range(n):
            mine = [
                numbers[r * width : (r + 1) * width] for r in range(i * height, (i + 1) * height)
            ]
            yield (
                list(map(tuple, mine))
                if self._from_outputs
                else list(zip(*mine))[: self.plan.outputs]
            )

    def _mask(self, rows: fmpz_mat, bits: list[int], patterns: Sequence[int]) -> fmpz_mat:
        """The columns of inactive neurons set to zero, in the rows of each cell."""
        entries: list[Any] = rows.entries()
        width = len(bits) + 1
        for i, pattern in enumerate(patterns):
            off = [k for k, bit in enumerate(bits) if bit and not pattern & bit]
            for begin in range(i * self._height * width, (i + 1) * self._height * width, width):
                for k in off:
                    entries[begin + k] = ZERO
        return fmpz_mat(rows.nrows(), width, entries)


def _bits(plan: Plan) -> Iterator[list[int]]:
    """For every hidden step the bit of each coordinate in a pattern; 0 for those that are passed through."""
    used = 0
    for step in plan.net.steps[:-1]:
        numbers = used + np.cumsum(step.rectified) - 1
        yield [1 << int(i) if r else 0 for i, r in zip(numbers, step.rectified)]
        used += int(step.rectified.sum())


def _integers(step: Step) -> tuple[list[int], int, int]:
    """The matrix with its offset as the last column, row by row; how wide it is; the denominator of its entries."""
    matrix = step.dense()
    n = matrix.shape[1]
    entries, offsets, below, _ = step_integers(step, matrix, 1)
    rows = zip(range(0, len(entries), n), offsets) if n else ((0, b) for b in offsets)
    return [x for begin, b in rows for x in (*entries[begin : begin + n], b)], n + 1, below


def _chart(plan: Plan) -> tuple[list[int], int, int]:
    slopes, exponent = exact_sum(plan.chart.basis, plan.chart.tail)
    origin, other = dyadic(plan.chart.origin)
    top = max(exponent, other)
    d = plan.dimension
    rows = [
        [*(x << (top - exponent) for x in slopes[i * d : (i + 1) * d]), p]
        for i, p in enumerate(origin)
    ]
    return [x for *row, p in rows for x in (*row, p << (top - other))], d + 1, 1 << top


def _homogeneous(numbers: list[int], width: int, below: int) -> tuple[fmpz_mat, int]:
    rows = [*numbers, *[0] * (width - 1), below]
    return fmpz_mat(len(rows) // width, width, rows), below
