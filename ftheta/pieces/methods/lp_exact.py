r"""Linear programs over a cell in rational arithmetic: what float64 leaves open, decided without a tolerance.

Forms are integer tuples $(a,c)$ for $a\cdot x+c$; a cell is a box of rationals and rows that are $\ge0$ on it.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat

from ..enumeration import clock
from ..signs import dyadic

Form = Sequence[int]
ZERO = fmpq(0)


def rationals(values: np.ndarray) -> list[fmpq]:
    """Float64 numbers at their exact values."""
    numbers, exponent = dyadic(values)
    return [fmpq(x, 1 << exponent) for x in numbers]


class Bounds(NamedTuple):
    """The box of a cell, exactly."""

    low: list[fmpq]
    high: list[fmpq]

    def least(self, rest: Sequence[fmpq]) -> fmpq:
        """The least value of an affine form on the box."""
        total = fmpq(rest[-1])
        for a, low, high in zip(rest, self.low, self.high):
            total += a * (low if a >= 0 else high)
        return total


def bounded_by(form: Form, rows: Sequence[Form], free: Sequence[int], box: Bounds) -> bool:
    r"""Whether $\varphi\ge0$ follows from given rows: $\varphi-\sum_iy_ig_i\ge0$ on the box.

    The $y$ is that which cancels the `free` coordinates, as many as there are rows. Any $y\ge0$ is a proof.
    """
    y: list[fmpq] = []
    if rows:
        matrix = fmpz_mat([[row[j] for row in rows] for j in free])
        target = fmpz_mat([[form[j]] for j in free])
        try:
            y = list(matrix.solve(target).entries()) if len(rows) == len(free) else []
        except ZeroDivisionError:
            return False
        if len(y) != len(rows) or any(v < 0 for v in y):
            return False
    rest = [
        fmpq(a) - sum((v * row[c] for v, row in zip(y, rows)), ZERO) for c, a in enumerate(form)
    ]
    return box.least(rest) >= 0


def meeting_point(rows: Sequence[Form], fixed: dict[int, fmpq], box: Bounds) -> list[fmpq] | None:
    """Where rows vanish and the other coordinates are `fixed`; None unless that is one point of the box."""
    n = len(box.low)
    free = [j for j in range(n) if j not in fixed]
    point = [fixed.get(j, ZERO) for j in range(n)]
    if rows:
        if len(rows) != len(free):
            return None
        matrix = fmpq_mat([[fmpq(row[j]) for j in free] for row in rows])
        try:
            found = matrix.solve(fmpq_mat([[-value_at(row, point)] for row in rows])).entries()
        except ZeroDivisionError:
            return None
        for j, x in zip(free, found):
            point[j] = x
    return (
        point if all(low <= x <= high for low, x, high in zip(box.low, point, box.high)) else None
    )


def value_at(form: Sequence[Any], point: Sequence[fmpq]) -> fmpq:
    """The affine `form` (the constant last) at a rational `point`."""
    return sum((a * x for a, x in zip(form, point)), fmpq(form[-1]))


class _Dictionary:
    """The basic variables as affine functions of the nonbasic ones, each measured from one of its bounds."""

    def __init__(self, form: Form, rows: Sequence[Form], box: Bounds) -> None:
        n = len(box.low)
        self.n = n
        self.box = box
        self.width = [b - a for a, b in zip(box.low, box.high)]
        # every coordinate where the form is least: dual feasible
        self.flipped = [a < 0 for a in form[:-1]]
        self.nonbasic = list(range(n))
        self.basic = list(range(n, n + len(rows)))
        self.lines = [self._line(row) for row in [*rows, form]]

    def _line(self, form: Form) -> list[fmpq]:
        start = [high if flip else low for flip, low, high in zip(self.flipped, *self.box)]
        value = sum((a * x for a, x in zip(form, start)), fmpq(form[-1]))
        return [*(fmpq(-a if flip else a) for a, flip in zip(form, self.flipped)), value]

    def find_violated(self) -> int | None:
        """The row, of least variable, that leaves its bounds; turned so that it is below zero."""
        rows = [i for i, v in enumerate(self.basic) if self._outside(i, v)]
        if not rows:
            return None
        r = min(rows, key=self.basic.__getitem__)
        if self.lines[r][-1] > 0:
            v = self.basic[r]
            self.lines[r] = [-a for a in self.lines[r]]
            self.lines[r][-1] += self.width[v]
            self.flipped[v] = not self.flipped[v]
        return r

    def _outside(self, i: int, v: int) -> bool:
        value = self.lines[i][-1]
        return value < 0 or (v < self.n and value > self.width[v])

    def entering(self, r: int) -> int:
        line = self.lines[r]
        costs = self.lines[-1]
        usable = [q for q in range(self.n) if line[q] > 0]
        assert usable, "a cell is never empty"
        return min(usable, key=lambda q: (costs[q] / line[q], self.nonbasic[q]))

    def exchange(self, r: int, q: int) -> None:
        inverse = 1 / self.lines[r][q]
        row = [-a * inverse for a in self.lines[r]]
        row[q] = inverse
        for i, line in enumerate(self.lines):
            factor = line[q]
            if i != r and factor != 0:
                line[q] = ZERO
                self.lines[i] = [a + factor * b for a, b in zip(line, row)]
        self.lines[r] = row
        self.basic[r], self.nonbasic[q] = self.nonbasic[q], self.basic[r]

    def vertex(self) -> list[fmpq]:
        t = [ZERO] * self.n
        for v, line in zip(self.basic, self.lines):
            if v < self.n:
                t[v] = line[-1]
        return [b - s if flip else a + s for s, flip, a, b in zip(t, self.flipped, *self.box)]


def least(
    form: Form, rows: Sequence[Form], box: Bounds, enough: int | None = None, deadline: float = inf
) -> tuple[fmpq, list[fmpq]]:
    """The least value of a form on a cell and where it is attained; stops early at a bound that is at least `enough`.

    The dual simplex method from the corner of the box where the form is least, by Bland's rule: it ends, or raises
    `TimeoutError` once `clock` has passed the deadline.
    """
    table = _Dictionary(form, rows, box)
    while (r := table.find_violated()) is not None and (
        enough is None or table.lines[-1][-1] < enough
    ):
        if clock() > deadline:
            raise TimeoutError("an exact linear program")
        table.exchange(r, table.entering(r))
    return table.lines[-1][-1], table.vertex()


def deepest(rows: Sequence[Form], box: Bounds) -> list[fmpq]:
    r"""A point of the interior: the largest $s$ with $g_i(x)\ge s\|g_i\|_1$ in all rows, the box's sides included."""
    n = len(box.low)
    widest = max(b - a for a, b in zip(box.low, box.high))
    sides = []
    for i, (low, high) in enumerate(zip(box.low, box.high)):
        for sign, at in ((1, low), (-1, high)):
            sides.append(
                [fmpq(sign) if j == i else ZERO for j in range(n)] + [fmpq(-1), -sign * at]
            )
    raised = [[*row[:-1], -sum(map(abs, row[:-1])), row[-1]] for row in rows]
    higher = Bounds([*box.low, ZERO], [*box.high, widest])
    depth, point = least([0] * n + [-1, 0], [*raised, *sides], higher)  # type: ignore[list-item]
    assert depth < 0, "a cell has an interior"
    return point[:-1]
