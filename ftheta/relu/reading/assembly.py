r"""From a flow of affine forms and ReLUs to the steps of a network.

While a program is read, every number in it is an affine form over *variables*: the inputs, the neurons made so far,
and *held* values (affine combinations that were given a name, so that later steps can carry them instead of all they
are made of). A neuron has the level $1+\max$ of the levels it reads, a held value the largest level it reads. The
network's state after step $t$ consists of the neurons of level $t$ and of all older variables that are still needed.
"""

from bisect import bisect_right
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from ..matrices import settled
from ..network import ReluNetwork, Step
from .forms import ONE, Forms, Row, combined, constant, exact_rows, pooled, widened


@dataclass(frozen=True, eq=False)
class _Block:
    """Variables defined together."""

    start: int
    forms: Forms
    rectified: bool

    @property
    def matrix(self) -> Any:
        return self.forms.matrix

    @property
    def offset(self) -> np.ndarray:
        return self.forms.offset


class Assembly:
    """The variables of one program. `relu` and `hold` make new ones; `finish` writes the network."""

    def __init__(self, inputs: int):
        self.inputs = inputs
        self.level = np.zeros(inputs, np.int64)
        self.is_neuron = np.zeros(inputs, bool)
        self.blocks: list[_Block] = []
        self.known: dict[int, Row] = {}  # what variables stand for, without rounding

    def input_forms(self, start: int, shape: tuple[int, ...]) -> Forms:
        size = prod(shape)
        columns = np.arange(start, start + size)
        matrix = sparse.csr_array((np.ones(size), columns, np.arange(size + 1)), shape=(size, self.inputs))
        return Forms(shape, matrix, np.zeros(size), names=True)

    def relu(self, forms: Forms) -> Forms:
        r"""$\max\{0,\cdot\}$ of every entry. What is a constant or has a known sign needs no neuron."""
        matrix, offset = forms.matrix, forms.offset
        matrix.eliminate_zeros()
        entries = np.diff(matrix.indptr)
        neurons_only = _rows_where(matrix, self.is_neuron[matrix.indices])
        rising = neurons_only & _rows_where(matrix, matrix.data > 0) & (offset >= 0)
        falling = neurons_only & _rows_where(matrix, matrix.data < 0) & (offset <= 0)
        fresh = (entries > 0) & ~rising & ~falling
        kept = rising | ((entries == 0) & (offset > 0))
        made = self._define(forms.taken(np.flatnonzero(fresh)), rectified=True)
        if fresh.all():
            return made.reshaped(forms.shape)
        known = forms.taken(np.flatnonzero(kept))
        pool = pooled([made, known, constant(np.zeros(1))])
        place = np.full(forms.size, pool.size - 1)
        place[fresh] = np.arange(made.size)
        place[kept] = made.size + np.arange(known.size)
        return pool.taken(place.reshape(forms.shape))

    def hold(self, forms: Forms, always: bool = False) -> Forms:
        """The same forms; given names if they are fewer than the variables that they read (or `always`)."""
        named = always or np.unique(forms.matrix.indices).size > forms.size
        return self._define(forms, rectified=False) if named else forms

    def definitions(self) -> Forms:
        """For every variable what it stands for, or what is under its ReLU; nothing for inputs."""
        n = len(self.level)
        rows = [sparse.csr_array((self.inputs, n)), *(widened(block.matrix, n) for block in self.blocks)]
        offset = np.concatenate([np.zeros(self.inputs), *(block.offset for block in self.blocks)])
        return Forms((n,), sparse.csr_array(sparse.vstack(rows, format="csr")), offset)

    # ---- without rounding --------------------------------------------------------------------------------------

    def definition(self, variable: int) -> Row:
        """What a variable stands for, or what is under its ReLU."""
        if variable not in self.known:
            block = self.blocks[bisect_right(self.blocks, variable, key=lambda b: b.start) - 1]
            (self.known[variable],) = exact_rows(block.forms, [variable - block.start])
        return self.known[variable]

    def unfolded(self, row: Row) -> Row:
        """The row with its held values written out."""
        while held := [v for v in row if v >= self.inputs and not self.is_neuron[v]]:
            others = {v: a for v, a in row.items() if v not in held}
            row = combined([(ONE, others), *((row[v], self.definition(v)) for v in held)])
        return row

    def _define(self, forms: Forms, rectified: bool) -> Forms:
        start, size = len(self.level), forms.size
        self.blocks.append(_Block(start, forms, rectified))
        below = _row_max(forms.matrix, self.level)
        self.level = np.concatenate([self.level, below + rectified])
        self.is_neuron = np.concatenate([self.is_neuron, np.full(size, rectified)])
        matrix = sparse.csr_array(
            (np.ones(size), np.arange(start, start + size), np.arange(size + 1)), shape=(size, start + size)
        )
        return Forms(forms.shape, matrix, np.zeros(size), names=True)

    # ---- writing the network ---------------------------------------------------------------------------------

    def finish(self, outputs: Forms) -> ReluNetwork:
        n = len(self.level)
        out = widened(outputs.matrix, n)
        known = self.definitions()
        D, b = known.matrix, known.offset
        live = self._live(D, out)
        T = int(self.level[live & self.is_neuron].max(initial=0))
        last = self._last_use(D, out, live, T)
        state, steps = np.arange(self.inputs), []
        for t in range(T + 1):
            E, e = self._expressed(D, b, state, live & (self.level == t) & ~self.is_neuron, n)
            if t == T:
                steps.append(Step(settled(out @ E), out @ e + outputs.offset, np.zeros(outputs.size, bool)))
                break
            neurons = np.flatnonzero(live & self.is_neuron & (self.level == t + 1))
            carried = np.flatnonzero(live & (self.level <= t) & (last > t + 1))
            matrix = sparse.vstack([D[neurons] @ E, E[carried]], format="csr")
            offset = np.concatenate([D[neurons] @ e + b[neurons], e[carried]])
            steps.append(Step(settled(matrix), offset, np.arange(len(offset)) < len(neurons)))
            state = np.concatenate([neurons, carried])
        return ReluNetwork(tuple(steps))

    def _live(self, D: Any, out: Any) -> np.ndarray:
        """Which variables the outputs depend on."""
        live = np.zeros(D.shape[0], bool)
        live[out.indices[out.data != 0]] = True
        for block in reversed(self.blocks):
            rows = block.start + np.flatnonzero(live[block.start : block.start + len(block.offset)])
            live[D[rows].indices] = True
        return live

    def _last_use(self, D: Any, out: Any, live: np.ndarray, T: int) -> np.ndarray:
        """The last step that reads each variable: step $t$ computes state $t$, step $T+1$ the outputs."""
        last = np.zeros(len(self.level), np.int64)
        last[out.indices] = T + 1
        users = np.flatnonzero(live)
        step = self.level[users] + np.where(self.is_neuron[users], 0, 1)
        part = D[users]
        np.maximum.at(last, part.indices, np.repeat(step, np.diff(part.indptr)))
        return last

    def _expressed(self, D: Any, b: np.ndarray, state: np.ndarray, held: np.ndarray, n: int) -> tuple[Any, np.ndarray]:
        """Variables as affine forms of the state: themselves, or (held values of this level) what they stand for."""
        E = sparse.csr_array((np.ones(len(state)), (state, np.arange(len(state)))), shape=(n, len(state)))
        e, held = np.zeros(n), held.copy()
        held[state] = False
        for block in self.blocks:
            rows = block.start + np.flatnonzero(held[block.start : block.start + len(block.offset)])
            if rows.size and not block.rectified:
                spread = sparse.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))), shape=(n, rows.size))
                e[rows] = D[rows] @ e + b[rows]
                E = sparse.csr_array(E + spread @ (D[rows] @ E))
        return E, e


def _rows_where(matrix: Any, holds: np.ndarray) -> np.ndarray:
    """The rows (that are not empty) in which every entry passes."""
    entries = np.diff(matrix.indptr)
    failures = np.bincount(np.repeat(np.arange(len(entries)), entries)[~holds], minlength=len(entries))
    return (entries > 0) & (failures == 0)


def _row_max(matrix: Any, values: np.ndarray) -> np.ndarray:
    top = np.zeros(matrix.shape[0], np.int64)
    np.maximum.at(top, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), values[matrix.indices])
    return top
