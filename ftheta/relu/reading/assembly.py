r"""From a flow of affine forms and ReLUs to the steps of a network.

While a program is read, every number in it is an affine form over *variables*: the inputs, the neurons made so far,
and *held* values (affine combinations that were given a name, so that later steps can carry them instead of all they
are made of). A neuron has the level $1+\max$ of the levels it reads, a held value the largest level it reads. The
network's state after step $t$ consists of the neurons of level $t$ and of all older variables that are still needed.

The network is the *real function with the stored weights*: its weights are the floats next to the exact ones, and rows
that float64 cannot hold are handed on in rationals too (`Step.long_rows`). Only where that is impossible (a constant
that the program computes by a root or an exponential, too many numbers) is it another function; then `rounded` says so.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from ..matrices import compact_array, nearest, rational
from ..network import LongRow, ReluNetwork, Step
from ..rounding import product_rows_are_exact, rows_that_pass
from .forms import (
    CONSTANT,
    ONE,
    ZERO,
    Forms,
    Row,
    Written,
    combine_forms,
    constant,
    exact_rows,
    pool_forms,
    widen_matrix,
    written,
)

MOST_TERMS = 500_000  # products of rationals, a second or two; beyond, weights stay rounded
FEW_TERMS = 10_000  # the same where some constants are rounded anyway


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
        self.rounded: list[str] = []  # what was computed with rounding, and nothing can be said of
        self.terms = 0  # so many products of rationals were formed for the weights
        self.gave_up = False  # there were too many

    def input_forms(self, start: int, shape: tuple[int, ...]) -> Forms:
        size = prod(shape)
        columns = np.arange(start, start + size)
        matrix = sparse.csr_array(
            (np.ones(size), columns, np.arange(size + 1)), shape=(size, self.inputs)
        )
        return Forms(shape, matrix, np.zeros(size), names=True)

    def relu(self, forms: Forms) -> Forms:
        r"""$\max\{0,\cdot\}$ of every entry. What is a constant or has a known sign needs no neuron."""
        forms = self.correct(forms)
        matrix = forms.matrix
        offset = forms.offset
        matrix.eliminate_zeros()
        entries = np.diff(matrix.indptr)
        neurons_only = _rows_where(matrix, self.is_neuron[matrix.indices])
        rising = neurons_only & _rows_where(matrix, matrix.data > 0) & (offset >= 0)
        falling = neurons_only & _rows_where(matrix, matrix.data < 0) & (offset <= 0)
        fresh = (entries > 0) & ~rising & ~falling
        kept = rising | ((entries == 0) & (offset > 0))
        made = self._define(forms.taken(np.flatnonzero(fresh)), rectified=True)
        if fresh.all():
            return made.reshape(forms.shape)
        known = forms.taken(np.flatnonzero(kept))
        pool = pool_forms([made, known, constant(np.zeros(1))])
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
        rows = [
            sparse.csr_array((self.inputs, n)),
            *(widen_matrix(block.matrix, n) for block in self.blocks),
        ]
        offset = np.concatenate([np.zeros(self.inputs), *(block.offset for block in self.blocks)])
        clean = np.concatenate(
            [np.ones(self.inputs, bool), *(block.forms.is_clean for block in self.blocks)]
        )
        return Forms((n,), sparse.csr_array(sparse.vstack(rows, format="csr")), offset, clean=clean)

    # ---- without rounding --------------------------------------------------------------------------------------

    def note_rounding(self, what: str) -> None:
        """From here on the network is that of a function with rounded constants."""
        if what not in self.rounded:
            self.rounded.append(what)

    def correct(self, forms: Forms) -> Forms:
        """The forms with every row that was rounded on the way replaced by the floats next to the exact one."""
        wrong = np.flatnonzero(~forms.is_clean)
        if not wrong.size or self.gave_up or isinstance(forms.made, Written):
            return forms
        try:
            rows = exact_rows(forms, wrong.tolist(), self._spend)
        except TooLong:
            self._give_up()
            return forms
        right = np.flatnonzero(forms.is_clean)
        place = np.empty(forms.size, np.int64)
        place[right] = np.arange(right.size)
        place[wrong] = right.size + np.arange(wrong.size)
        return pool_forms([forms.taken(right), written(rows, forms.matrix.shape[1])]).taken(
            place.reshape(forms.shape)
        )

    def _spend(self, terms: int) -> None:
        self.terms += terms
        if self.terms > (FEW_TERMS if self.rounded else MOST_TERMS):
            raise TooLong

    def _give_up(self) -> None:
        """Weights stay rounded from here on."""
        self.gave_up = True
        self.note_rounding("products of many weights, in float64")

    def definition(self, variable: int, spend: Callable[[int], None] | None = None) -> Row:
        """What a variable stands for, or what is under its ReLU."""
        if variable not in self.known:
            block = self.blocks[bisect_right(self.blocks, variable, key=lambda b: b.start) - 1]
            (self.known[variable],) = exact_rows(block.forms, [variable - block.start], spend)
        return self.known[variable]

    def unfold(self, row: Row) -> Row:
        """The row with its held values written out."""
        while held := [v for v in row if v >= self.inputs and not self.is_neuron[v]]:
            others = {v: a for v, a in row.items() if v not in held}
            row = combine_forms([(ONE, others), *((row[v], self.definition(v)) for v in held)])
        return row

    def _define(self, forms: Forms, rectified: bool) -> Forms:
        forms = self.correct(forms)
        start = len(self.level)
        size = forms.size
        self.blocks.append(_Block(start, forms, rectified))
        below = _row_max(forms.matrix, self.level)
        self.level = np.concatenate([self.level, below + rectified])
        self.is_neuron = np.concatenate([self.is_neuron, np.full(size, rectified)])
        matrix = sparse.csr_array(
            (np.ones(size), np.arange(start, start + size), np.arange(size + 1)),
            shape=(size, start + size),
        )
        return Forms(forms.shape, matrix, np.zeros(size), names=True)

    # ---- writing the network ---------------------------------------------------------------------------------

    def finish(self, outputs: Forms) -> ReluNetwork:
        outputs = self.correct(outputs)
        n = len(self.level)
        out = widen_matrix(outputs.matrix, n)
        known = self.definitions()
        D = known.matrix
        b = known.offset
        live = self._live(D, out)
        T = int(self.level[live & self.is_neuron].max(initial=0))
        last = self._last_use(D, out, live, T)
        state = np.arange(self.inputs)
        steps = []
        for t in range(T + 1):
            held = self._express(known, state, live & (self.level == t) & ~self.is_neuron)
            if t == T:
                rows = Forms(outputs.shape, out, outputs.offset, outputs.made, clean=outputs.clean)
                exactly = lambda i: exact_rows(outputs, [i], self._spend)[0]
                steps.append(self._step(rows, exactly, held, state, 0))
                break
            neurons = np.flatnonzero(live & self.is_neuron & (self.level == t + 1))
            carried = np.flatnonzero(live & (self.level <= t) & (last > t + 1))
            given = np.concatenate([neurons, carried])
            itself = sparse.csr_array(
                (np.ones(len(carried)), carried, np.arange(len(carried) + 1)),
                shape=(len(carried), n),
            )
            matrix = sparse.csr_array(sparse.vstack([D[neurons], itself], format="csr"))
            offset = np.concatenate([b[neurons], np.zeros(len(carried))])
            clean = np.concatenate([known.is_clean[neurons], np.ones(len(carried), bool)])
            exactly = lambda i, given=given, k=len(neurons): (
                self.definition(int(given[i]), self._spend) if i < k else {int(given[i]): ONE}
            )
            steps.append(
                self._step(
                    Forms((len(given),), matrix, offset, clean=clean),
                    exactly,
                    held,
                    state,
                    len(neurons),
                )
            )
            state = given
        return ReluNetwork(tuple(steps), "; ".join(self.rounded))

    def _step(
        self,
        rows: Forms,
        exactly: Callable[[int], Row],
        held: Forms,
        state: np.ndarray,
        neurons: int,
    ) -> Step:
        """The step that computes `rows` of variables from the state, where the variables `held` are known there.

        `exactly(i)` is row `i` without rounding; it is asked for where the product of float64 may have been rounded.
        """
        A = rows.matrix
        E = held.matrix
        matrix = sparse.csr_array(A @ E)
        offset = A @ held.offset + rows.offset
        rectified = np.arange(rows.size) < neurons
        if self.gave_up:
            return Step(compact_array(matrix), offset, rectified)
        good = rows.is_clean & rows_that_pass(held.is_clean[A.indices], A.indptr)
        good &= product_rows_are_exact(A, E, held.offset, rows.offset, matrix, offset)
        if good.all():
            return Step(compact_array(matrix), offset, rectified)
        try:
            self._afford(A, E, ~good)
            place = {CONSTANT: CONSTANT, **{int(v): k for k, v in enumerate(state)}}
            found = {i: self._in_state(exactly(i), place) for i in np.flatnonzero(~good).tolist()}
        except TooLong:
            self._give_up()
            return Step(compact_array(matrix), offset, rectified)
        right = sparse.csr_array(
            (good.astype(float), np.arange(len(good)), np.arange(len(good) + 1))
        )
        right.eliminate_zeros()  # a row that is left out may be infinite
        nearer = written([found.get(i, {}) for i in range(len(good))], len(state))
        matrix = sparse.csr_array(right @ matrix + nearer.matrix)
        offset = np.where(good, offset, nearer.offset)
        return Step(
            compact_array(matrix),
            offset,
            rectified,
            {i: _long(row) for i, row in found.items() if _is_long(row)},
        )

    def _afford(self, A: Any, E: Any, wanted: np.ndarray) -> None:
        """Raise at once if the exact rows of a product have more terms than can be spent."""
        sizes = np.concatenate([[0], np.cumsum(np.diff(E.indptr)[A.indices])])
        terms = sizes[A.indptr[1:]] - sizes[A.indptr[:-1]]
        if self.terms + terms[wanted].sum() > (FEW_TERMS if self.rounded else MOST_TERMS):
            raise TooLong

    def _in_state(self, row: Row, place: Mapping[int, int]) -> Row:
        """A row of variables as one of the state, the held values that have no place in it written out."""
        while open_ones := [v for v in row if v not in place]:
            others = {v: a for v, a in row.items() if v in place}
            parts = [(row[v], self.definition(v, self._spend)) for v in open_ones]
            self._spend(sum(len(part) for _, part in parts))
            row = combine_forms([(ONE, others), *parts])
        return {place[v]: a for v, a in row.items()}

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

    def _express(self, known: Forms, state: np.ndarray, held: np.ndarray) -> Forms:
        """Variables as affine forms of the state: themselves, or (held values of this level) what they stand for."""
        D = known.matrix
        b = known.offset
        n = known.size
        E = sparse.csr_array(
            (np.ones(len(state)), (state, np.arange(len(state)))), shape=(n, len(state))
        )
        e = np.zeros(n)
        clean = np.ones(n, bool)
        held = held.copy()
        held[state] = False
        for block in self.blocks:
            rows = block.start + np.flatnonzero(held[block.start : block.start + len(block.offset)])
            if rows.size and not block.rectified:
                spread = sparse.csr_array(
                    (np.ones(rows.size), (rows, np.arange(rows.size))), shape=(n, rows.size)
                )
                read = D[rows]
                matrix = sparse.csr_array(read @ E)
                offset = read @ e + b[rows]
                if not self.gave_up:
                    clean[rows] = known.is_clean[rows] & rows_that_pass(
                        clean[read.indices], read.indptr
                    )
                    clean[rows] &= product_rows_are_exact(read, E, e, b[rows], matrix, offset)
                e[rows] = offset
                E = sparse.csr_array(E + spread @ matrix)
        return Forms((n,), E, e, clean=clean)


class TooLong(Exception):
    """More rationals than are worth their time."""


def _is_long(row: Row) -> bool:
    return any(rational(nearest(a)) != a for a in row.values())


def _long(row: Row) -> LongRow:
    return {k: a for k, a in row.items() if k != CONSTANT}, row.get(CONSTANT, ZERO)


def _rows_where(matrix: Any, holds: np.ndarray) -> np.ndarray:
    """The rows (that are not empty) in which every entry passes."""
    entries = np.diff(matrix.indptr)
    failures = np.bincount(
        np.repeat(np.arange(len(entries)), entries)[~holds], minlength=len(entries)
    )
    return (entries > 0) & (failures == 0)


def _row_max(matrix: Any, values: np.ndarray) -> np.ndarray:
    top = np.zeros(matrix.shape[0], np.int64)
    np.maximum.at(
        top, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), values[matrix.indices]
    )
    return top
