r"""Whether a neuron has any influence on the outputs on a cell.

Two neighbours whose patterns differ in one neuron $k$ have maps that differ by $g\,\ell_k$, where $\ell_k$ is the form
of the neuron, not zero, and $g$ sums the products of weights over all ways of active neurons from it to the outputs.
Most often where $g=0$ no way is left, or the ways cancel one another soon: $\max(a,b)=a+\max(b-a,0)$ hides $a$ where
$b>a$. So few numbers tell, long before the maps themselves are compared.
"""

from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy import sparse

from ftheta.relu.matrices import rational
from ftheta.shapes import Bool

from ..plan import Plan

FEW = 64  # coordinates whose gains are followed in rationals; of more it is only seen whether ways lead on


class Ways:
    """The ways through a network, cell by cell."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._columns = [_columns(step.matrix) for step in plan.net.steps]
        self._long_rows = [step.long_rows for step in plan.net.steps]
        self._exact: dict[tuple[int, int], list[tuple[int, fmpq]]] = {}
        first = plan.weights.first[1:]
        self._neurons = [
            plan.weights.neuron[a : a + len(s.offset)] for a, s in zip(first, plan.net.steps)
        ]

    def may_lead_out(self, neuron: int, active: Bool[np.ndarray, "neurons"]) -> bool:
        """False only if the neuron has no influence on any output where the neurons of the mask are active."""
        # coordinates that are passed through count as the last neuron
        passing = np.append(active, True)
        step, coordinate = self.plan.units[neuron].tolist()
        reached = np.array([coordinate])
        gains = {coordinate: fmpq(1)}
        for i in range(step + 1, len(self._columns)):
            if len(reached) <= FEW and gains:
                gains = self._gains(i, gains)
                met = np.array(sorted(gains), np.int64)
            else:
                gains = {}
                met = _met(self._columns[i], reached)
            reached = met[passing[self._neurons[i][met]]]
            gains = {k: gains[k] for k in reached.tolist()} if gains else {}
            if not len(reached):
                return False
        return True

    def _gains(self, step: int, before: dict[int, fmpq]) -> dict[int, fmpq]:
        """The gains one step later, in rationals; what cancels is left out."""
        after: dict[int, fmpq] = {}
        for k, gain in before.items():
            for row, weight in self._exact_column(step, k):
                after[row] = after[row] + gain * weight if row in after else gain * weight
        return {row: gain for row, gain in after.items() if gain}

    def _exact_column(self, step: int, k: int) -> list[tuple[int, fmpq]]:
        """The rows of a step with a weight in column `k`, and these weights in rationals: kept, for many cells ask."""
        if (step, k) not in self._exact:
            long_rows = self._long_rows[step]
            found = zip(*(part.tolist() for part in _column(self._columns[step], k)))
            exact = [
                (row, long_rows[row][0][k] if row in long_rows else rational(weight))
                for row, weight in found
            ]
            self._exact[step, k] = exact
        return self._exact[step, k]


def _columns(matrix: Any) -> Any:
    """The matrix, to be looked at by columns."""
    if not sparse.issparse(matrix):
        return matrix
    found = sparse.csc_array(matrix, copy=True)
    found.eliminate_zeros()
    return found


def _column(columns: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows with a weight in a column, and these weights."""
    if not sparse.issparse(columns):
        rows = np.flatnonzero(columns[:, k])
        return rows, columns[rows, k]
    part = slice(columns.indptr[k], columns.indptr[k + 1])
    return columns.indices[part], columns.data[part]


def _met(columns: Any, reached: np.ndarray) -> np.ndarray:
    """The rows with a weight in one of the columns."""
    if not sparse.issparse(columns):
        return np.flatnonzero(columns[:, reached].any(axis=1))
    return np.unique(np.concatenate([_column(columns, k)[0] for k in reached]))
