r"""The linear program of triangles, and the slopes that its multipliers are.

Every ReLU $h=r(z)$ whose operand lies in $[l,u]$, $l<0<u$, is replaced by its convex hull
$$h\ge0,\qquad h\ge z,\qquad h\le\tfrac u{u-l}(z-l).$$
With multipliers $\mu_0,\mu_1\ge0$ of the first two, the line $\alpha z$ with $\alpha=\mu_1/(\mu_0+\mu_1)$ lies below
the ReLU, and back-substitution with these lines is the dual of the program: its bound is the optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ftheta.graph.domains.interval import Interval
from ftheta.relu.network import ReluNetwork


@dataclass(frozen=True, eq=False)
class Optimum:
    """The least value, and for every layer of ReLUs the slope of each (NaN where the multipliers say nothing)."""

    value: float
    slopes: tuple[np.ndarray, ...]


@dataclass(eq=False)
class _Rows:
    """Rows of a sparse matrix with their right sides."""

    columns: int
    places: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    right: list[np.ndarray]
    count: int = 0

    def add(self, parts: Sequence[tuple[np.ndarray, object]], right: np.ndarray) -> slice:
        """Rows $\\sum_kM_kv_{c_k}$ for matrices $M_k$ and columns $c_k$; returns their numbers."""
        for columns, matrix in parts:
            entries = sparse.coo_array(matrix)
            self.places.append((entries.row + self.count, columns[entries.col], entries.data))
        self.right.append(right)
        self.count += len(right)
        return slice(self.count - len(right), self.count)

    def matrix(self) -> sparse.csr_array:
        rows, columns, data = (
            np.concatenate([place[k] for place in self.places]) for k in range(3)
        )
        return sparse.csr_array((data, (rows, columns)), shape=(self.count, self.columns))


def solve_triangles(
    g: ReluNetwork, lo: np.ndarray, hi: np.ndarray, operands: Sequence[Interval]
) -> Optimum | None:
    """The least output over the box when every ReLU is its triangle; None where the solver finds none.

    `operands` are the enclosures of the operands of the ReLUs, layer by layer.
    """
    hidden = g.steps[:-1]
    sizes = [len(lo), *(size for step in hidden for size in (len(step.offset), len(step.offset)))]
    ends = np.cumsum([0, *sizes])
    columns = [np.arange(a, b) for a, b in pairwise(ends)]
    equal = _Rows(int(ends[-1]), [], [])
    above = _Rows(int(ends[-1]), [], [])
    marks = []
    before = columns[0]
    ranges = iter(operands)
    for k, step in enumerate(hidden):
        z = columns[2 * k + 1]
        h = columns[2 * k + 2]
        equal.add([(z, sparse.eye_array(len(z))), (before, -step.matrix)], step.offset)
        low = np.zeros(len(z))
        high = np.zeros(len(z))
        if step.rectified.any():
            x = next(ranges)
            low[step.rectified] = x.lo.ravel()
            high[step.rectified] = x.hi.ravel()
        marks.append(_add_layer(equal, above, z, h, low, high))
        before = h
    last = g.steps[-1]
    cost = np.zeros(int(ends[-1]))
    cost[before] = last.dense()[0]
    limits = [(a, b) for a, b in zip(lo.tolist(), hi.tolist())] + [(None, None)] * int(
        ends[-1] - len(lo)
    )
    found = linprog(
        cost,
        above.matrix() if above.count else None,
        np.concatenate(above.right) if above.count else None,
        equal.matrix() if equal.count else None,
        np.concatenate(equal.right) if equal.count else None,
        limits,
        method="highs",
    )
    if found.status != 0:
        return None
    slopes = tuple(
        _read_slopes(mark, found.ineqlin.marginals, len(step.offset))[step.rectified]
        for step, mark in zip(hidden, marks)
        if step.rectified.any()
    )
    return Optimum(float(found.fun + last.offset[0]), slopes)


class _Triangles(NamedTuple):
    """The neurons of a layer whose sign is open, and the rows of the two sides of their triangles below."""

    free: np.ndarray
    at_zero: slice
    at_slope_one: slice


def _add_layer(
    equal: _Rows, above: _Rows, z: np.ndarray, h: np.ndarray, low: np.ndarray, high: np.ndarray
) -> _Triangles:
    """What is known of the values `h` (columns) of neurons whose operands `z` lie between `low` and `high`."""
    kept = np.flatnonzero(low >= 0)  # also what is not rectified
    unit = sparse.eye_array(len(kept))
    equal.add([(h[kept], unit), (z[kept], -unit)], np.zeros(len(kept)))
    off = np.flatnonzero((high <= 0) & (low < 0))
    equal.add([(h[off], sparse.eye_array(len(off)))], np.zeros(len(off)))
    free = np.flatnonzero((low < 0) & (high > 0))
    unit = sparse.eye_array(len(free))
    at_zero = above.add([(h[free], -unit)], np.zeros(len(free)))
    at_slope_one = above.add([(z[free], unit), (h[free], -unit)], np.zeros(len(free)))
    secant = high[free] / (high[free] - low[free])
    above.add([(h[free], unit), (z[free], -sparse.diags_array(secant))], -secant * low[free])
    return _Triangles(free, at_zero, at_slope_one)


def _read_slopes(mark: _Triangles, multipliers: np.ndarray, count: int) -> np.ndarray:
    """The slopes of lower lines that the multipliers mix; NaN where no line is open."""
    slope = np.full(count, np.nan)
    zero = np.abs(multipliers[mark.at_zero])
    one = np.abs(multipliers[mark.at_slope_one])
    with np.errstate(invalid="ignore"):
        slope[mark.free] = one / (zero + one)
    return slope
