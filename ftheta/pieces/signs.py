r"""Affine forms of a network on a cell in exact integer arithmetic, and the signs that float64 leaves open.

Weights in float64 are integers times a power of two, those of `Step.long_rows` rationals. The forms of layer $l$ are
kept as integers over one denominator $q_l>0$, so signs are signs of integers: no rounding, no tolerance. Forms depend
on the activation pattern of earlier layers only and are remembered by that prefix.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np
from flint import fmpz, fmpz_mat
from scipy import sparse

from ftheta.relu.network import Step

from .plan import Plan

REMEMBERED = 256  # prefixes whose forms are kept
SPARSE = 4  # a matrix with fewer than one non-zero weight in so many is read row by row
Form = tuple[int, ...]


def dyadic(values: Any) -> tuple[list[int], int]:
    r"""Integers $m_i$ and one $e\ge0$ with $x_i=m_i2^{-e}$ exactly."""
    pairs = [float(x).as_integer_ratio() for x in np.asarray(values, np.float64).ravel()]
    exponent = max((q.bit_length() - 1 for _, q in pairs), default=0)
    return [p << (exponent - q.bit_length() + 1) for p, q in pairs], exponent


def exact_sum(a: np.ndarray, b: np.ndarray) -> tuple[list[int], int]:
    """`a + b` as integers over one power of two."""
    (p, e) = dyadic(a)
    (q, f) = dyadic(b)
    top = max(e, f)
    return [(x << (top - e)) + (y << (top - f)) for x, y in zip(p, q)], top


def step_integers(step: Step, matrix: Any, before: int) -> tuple[list[int], list[int], int, int]:
    r"""A step over the integers: its matrix $M$ and offset $c$ with $q'$ and $q$ such that $A=M/q'$ and $b=c/q$.

    `matrix` is that of the step, dense or CSR; its entries are listed as they are stored. Forms before the step have
    the denominator $q_0$ `before`, and those after it $q=q_0q'$.
    """
    is_sparse = sparse.issparse(matrix)
    entries, exponent = dyadic(matrix.data if is_sparse else matrix)
    offsets, offset_exponent = dyadic(step.offset)
    if not step.long_rows:
        lift = max(0, offset_exponent - exponent - ((before & -before).bit_length() - 1))
        after = before << (exponent + lift)
        return (
            [m << lift for m in entries],
            [m * (after >> offset_exponent) for m in offsets],
            1 << (exponent + lift),
            after,
        )
    rationals = [q for row, b in step.long_rows.values() for q in (*row.values(), b)]
    common = lcm(1 << exponent, 1 << offset_exponent, *(int(q.q) for q in rationals))
    entries = [m * (common >> exponent) for m in entries]
    offsets = [m * (common >> offset_exponent) * before for m in offsets]
    for i, (row, b) in step.long_rows.items():
        if is_sparse:
            span = range(int(matrix.indptr[i]), int(matrix.indptr[i + 1]))
            place = {int(matrix.indices[e]): e for e in span}
        else:
            place = {j: i * matrix.shape[1] + j for j in range(matrix.shape[1])}
        for j, q in row.items():
            entries[place[j]] = int(q.p) * (common // int(q.q))
        offsets[i] = int(b.p) * (common // int(b.q)) * before
    return entries, offsets, common, before * common


@dataclass(eq=False)
class _ExactStep:
    """One step over the integers: `denominator` is that of its result."""

    step: Step
    before: int
    denominator: int = field(init=False)

    def __post_init__(self) -> None:
        matrix: Any = self.step.matrix
        if not sparse.issparse(matrix) and SPARSE * np.count_nonzero(matrix) < matrix.size:
            matrix = sparse.csr_array(matrix)
        self.sparse = sparse.issparse(matrix)
        entries, self.offsets, _, self.denominator = step_integers(self.step, matrix, self.before)
        n = matrix.shape[1]
        if self.sparse:
            ends = matrix.indptr.tolist()
            columns = matrix.indices.tolist()
            self.rows: list[Any] = [
                list(zip(columns[a:b], entries[a:b])) for a, b in pairwise(ends)
            ]
        else:
            self.rows = [
                fmpz_mat(1, n, entries[k * n : (k + 1) * n]) for k in range(matrix.shape[0])
            ]

    def row(self, k: int, state: "_State") -> Form:
        """The form of coordinate `k` from the (masked) state before."""
        if self.sparse:
            entries = [(w, form) for j, w in self.rows[k] if (form := state.row(j)) is not None]
            total = [sum(w * form[c] for w, form in entries) for c in range(state.columns)]
        else:
            total = [int(x) for x in (self.rows[k] * state.matrix).entries()]
        total[-1] += self.offsets[k]
        return tuple(total)


class _State:
    """Masked forms of one layer: each computed when it is asked for (None where the coordinate is off)."""

    def __init__(self, columns: int, width: int, form: Callable[[int], Form | None]) -> None:
        self.columns = columns
        self.width = width
        self._form = form
        self._rows: dict[int, Form | None] = {}
        self._matrix: fmpz_mat | None = None
        self.wanted: dict[int, Form] = {}  # forms of the next layer that were asked for

    def row(self, j: int) -> Form | None:
        if j not in self._rows:
            self._rows[j] = self._form(j)
        return self._rows[j]

    @property
    def matrix(self) -> fmpz_mat:
        """All of them as one flint matrix."""
        if self._matrix is None:
            zero = (0,) * self.columns
            entries = [x for j in range(self.width) for x in self.row(j) or zero]
            self._matrix = fmpz_mat(self.width, self.columns, entries)
        return self._matrix


class ExactForms:
    """Exact affine forms on cells named by their patterns (an integer whose bit `i` says that neuron `i` is active)."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        entries, exponent = exact_sum(plan.chart.basis, plan.chart.tail)
        origin, origin_exponent = dyadic(plan.chart.origin)
        top = max(exponent, origin_exponent)
        entries = [m << (top - exponent) for m in entries]
        origin = [m << (top - origin_exponent) for m in origin]
        d = plan.dimension
        inputs = [(*entries[i * d : (i + 1) * d], origin[i]) for i in range(len(origin))]
        self._chart = _State(d + 1, len(inputs), inputs.__getitem__)
        self.steps: list[_ExactStep] = []
        denominator = 1 << top
        for step in plan.net.steps:
            self.steps.append(_ExactStep(step, denominator))
            denominator = self.steps[-1].denominator
        weights = plan.weights
        self._numbers = [
            weights.neuron[
                weights.first[layer] : weights.first[layer] + weights.sizes[layer]
            ].tolist()
            for layer in range(len(weights.sizes))
        ]
        self._ends = [0]  # neurons in the layers up to each one
        for ids in self._numbers[1:]:
            self._ends.append(max([self._ends[-1], *(i + 1 for i in ids if i < plan.neurons)]))
        self._states: OrderedDict[tuple[int, int], _State] = OrderedDict()

    def form(self, layer: int, k: int, pattern: int) -> Form:
        """Coordinate `k` of a layer before its ReLU, on the cell of the pattern: integers over one denominator."""
        state = self._state(layer - 1, pattern)
        if k not in state.wanted:
            state.wanted[k] = self.steps[layer - 1].row(k, state)
        return state.wanted[k]

    def neuron_form(self, neuron: int, pattern: int) -> Form:
        step, k = self.plan.units[neuron].tolist()
        return self.form(step + 1, k, pattern)

    def denominator(self, layer: int) -> int:
        """The number under the forms of a layer."""
        return self.steps[layer - 1].denominator

    def _state(self, layer: int, pattern: int) -> _State:
        if layer == 0:
            return self._chart
        key = (layer, pattern & ((1 << self._ends[layer]) - 1))
        if key not in self._states:
            numbers = self._numbers[layer]
            total = self.plan.neurons
            is_on = lambda k: numbers[k] == total or pattern >> numbers[k] & 1
            form = lambda k: self.form(layer, k, pattern) if is_on(k) else None
            self._states[key] = _State(self.plan.dimension + 1, len(numbers), form)
            if len(self._states) > REMEMBERED:
                self._states.popitem(last=False)
        else:
            self._states.move_to_end(key)
        return self._states[key]


def common_zero(forms: Sequence[Sequence[int]]) -> tuple[int, ...]:
    r"""The homogeneous point $(x,w)$ where $d$ independent forms in $d+1$ coordinates vanish, up to its sign."""
    d = len(forms)
    if d == 1:
        return -forms[0][1], forms[0][0]
    if d == 2:
        (a, b, c), (p, q, r) = forms
        return b * r - c * q, c * p - a * r, a * q - b * p
    minors = (
        fmpz_mat([[fmpz(x) for j, x in enumerate(form) if j != i] for form in forms]).det()
        for i in range(d + 1)
    )
    return tuple(int(m) if i % 2 == 0 else -int(m) for i, m in enumerate(minors))


def orient(point: tuple[int, ...], inside: Sequence[int] = ()) -> tuple[int, ...]:
    """The point with the sign that makes the form `inside`, by default the last coordinate, positive at it."""
    value = sum(a * x for a, x in zip(inside, point)) if inside else point[-1]
    return point if value > 0 else tuple(-x for x in point)


def sign_at(form: Sequence[int], point: Sequence[int]) -> int:
    """The sign of a `form` at a `point` in homogeneous whole numbers: 1, 0 or -1."""
    value = sum(a * x for a, x in zip(form, point))
    return (value > 0) - (value < 0)


def polygon_sides(corners: np.ndarray) -> list[tuple[int, int, int]]:
    """The lines through consecutive corners, over the integers; positive inside."""
    numbers, exponent = dyadic(corners)
    points = list(zip(numbers[::2], numbers[1::2]))
    one = 1 << exponent
    return [
        ((ay - by) * one, (bx - ax) * one, ax * by - bx * ay)
        for (ax, ay), (bx, by) in zip(points, points[1:] + points[:1])
    ]


def exact_body(domain: Any) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Corners (homogeneous) and sides (forms, positive inside) of a bounded domain, over the integers."""
    corners = np.asarray(domain.corners)
    d = corners.shape[1]
    numbers, exponent = dyadic(corners)
    one = 1 << exponent
    points = [(*numbers[i * d : (i + 1) * d], one) for i in range(len(corners))]
    if d == 2:
        return points, [tuple(side) for side in polygon_sides(corners)]
    lower = [min(p[i] for p in points) for i in range(d)]
    upper = [max(p[i] for p in points) for i in range(d)]
    unit = [tuple(one if j == i else 0 for j in range(d)) for i in range(d)]
    sides = []
    for i in range(d):
        sides.append((*unit[i], -lower[i]))
        sides.append((*(-x for x in unit[i]), upper[i]))
    return points, sides
