r"""From a flow of affine forms and ReLUs to the steps of a network.

While a program is read, every number in it is an affine form over *variables*: the inputs, the neurons made so far,
and *held* values (affine combinations that were given a name, so that later steps can carry them instead of all they
are made of). A neuron has the level $1+\max$ of the levels it reads, a held value the largest level it reads. The
network's state after step $t$ consists of the neurons of level $t$ and of all older variables that are still needed.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from .matrices import settled
from .network import ReluNetwork, Step


@dataclass(frozen=True, eq=False)
class Forms:
    """An array of affine forms: row $i$ of `matrix` and `offset[i]` belong to entry $i$ of the flattened array."""

    shape: tuple[int, ...]
    matrix: Any  # CSR, (entries, variables known when it was made)
    offset: np.ndarray

    @property
    def size(self) -> int:
        return prod(self.shape)

    def mapped(self, M: Any, shape: tuple[int, ...]) -> "Forms":
        """The forms under the linear map `M` of the flattened array."""
        return Forms(shape, sparse.csr_array(M @ self.matrix), M @ self.offset)

    def scaled(self, factors: Any) -> "Forms":
        c = np.broadcast_to(np.asarray(factors, np.float64), self.shape).ravel()
        return Forms(self.shape, sparse.csr_array(self.matrix.multiply(c[:, None])), c * self.offset)

    def taken(self, rows: np.ndarray) -> "Forms":
        """The entries with these numbers, in an array of the shape of `rows`."""
        flat = rows.ravel()
        return Forms(rows.shape, self.matrix[flat], self.offset[flat])

    def __add__(self, other: "Forms") -> "Forms":
        one, two = stretched([self, other])
        return Forms(self.shape, sparse.csr_array(one + two), self.offset + other.offset)

    def __sub__(self, other: "Forms") -> "Forms":
        return self + other.scaled(-1.0)


def constant(values: Any) -> Forms:
    """An array of numbers as forms without variables."""
    array = np.asarray(values, np.float64)
    return Forms(array.shape, sparse.csr_array((array.size, 0)), array.ravel())


def stretched(forms: list[Forms]) -> list[Any]:
    """Their matrices with a column for every variable that any of them knows."""
    width = max(f.matrix.shape[1] for f in forms)
    return [_widened(f.matrix, width) for f in forms]


def pooled(forms: list[Forms]) -> Forms:
    """All entries of all arrays in one flat array."""
    matrix: Any = sparse.csr_array(sparse.vstack(stretched(forms), format="csr"))
    return Forms((matrix.shape[0],), matrix, np.concatenate([f.offset for f in forms]))


def _widened(matrix: Any, width: int) -> Any:
    wide: Any = sparse.csr_array(matrix)
    return sparse.csr_array((wide.data, wide.indices, wide.indptr), shape=(wide.shape[0], width))


@dataclass(frozen=True, eq=False)
class _Block:
    """Variables defined together."""

    start: int
    matrix: Any
    offset: np.ndarray
    rectified: bool


class Assembly:
    """The variables of one program. `relu` and `hold` make new ones; `finish` writes the network."""

    def __init__(self, inputs: int):
        self.inputs = inputs
        self.level = np.zeros(inputs, np.int64)
        self.is_neuron = np.zeros(inputs, bool)
        self.blocks: list[_Block] = []

    def input_forms(self, start: int, shape: tuple[int, ...]) -> Forms:
        size = prod(shape)
        columns = np.arange(start, start + size)
        matrix = sparse.csr_array((np.ones(size), columns, np.arange(size + 1)), shape=(size, self.inputs))
        return Forms(shape, matrix, np.zeros(size))

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
        made = self._define(Forms((int(fresh.sum()),), matrix[fresh], offset[fresh]), rectified=True)
        known = Forms((int(kept.sum()),), matrix[kept], offset[kept])
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
        rows = [sparse.csr_array((self.inputs, n)), *(_widened(block.matrix, n) for block in self.blocks)]
        offset = np.concatenate([np.zeros(self.inputs), *(block.offset for block in self.blocks)])
        return Forms((n,), sparse.csr_array(sparse.vstack(rows, format="csr")), offset)

    def unfolded(self, forms: Forms) -> Forms:
        """The forms with their held values written out."""
        known = self.definitions()
        matrix, offset = _widened(forms.matrix, known.size), forms.offset
        while (held := ~self.is_neuron[matrix.indices] & (matrix.indices >= self.inputs)).any():
            part = matrix.copy()
            part.data = np.where(held, part.data, 0.0)
            matrix = sparse.csr_array(matrix - part + part @ known.matrix)
            offset = offset + part @ known.offset
            matrix.eliminate_zeros()
        return Forms(forms.shape, matrix, offset)

    def _define(self, forms: Forms, rectified: bool) -> Forms:
        start, size = len(self.level), forms.size
        self.blocks.append(_Block(start, forms.matrix, forms.offset, rectified))
        below = _row_max(forms.matrix, self.level)
        self.level = np.concatenate([self.level, below + rectified])
        self.is_neuron = np.concatenate([self.is_neuron, np.full(size, rectified)])
        matrix = sparse.csr_array(
            (np.ones(size), np.arange(start, start + size), np.arange(size + 1)), shape=(size, start + size)
        )
        return Forms(forms.shape, matrix, np.zeros(size))

    # ---- writing the network ---------------------------------------------------------------------------------

    def finish(self, outputs: Forms) -> ReluNetwork:
        n = len(self.level)
        out = _widened(outputs.matrix, n)
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
