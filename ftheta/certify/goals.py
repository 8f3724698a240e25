r"""The rows of a question as linear functions of a network's outputs and inputs, in float64 with error terms.

The *excess* of a row is its left side minus its right side. A disjunct is excluded over a set if some mixture of its
rows (weights $w\ge0$) has a positive excess all over it: if all rows hold, none does.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .questions import Box, Case, round_up

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Goal:
    """All rows of all disjuncts: `outputs`, `inputs` (None where no row has any) and `bounds`, as floats near them.

    `member[d, s]` says whether row `s` belongs to disjunct `d`.
    """

    outputs: Array
    inputs: Array | None
    bounds: Array
    strict: Array
    member: Array

    @property
    def is_plain(self) -> bool:
        """Whether every disjunct is one row."""
        return bool((self.member.sum(1) == 1).all())

    def excess(self, x: Array, y: Array) -> Array:
        """In float64, for every point and every row."""
        value = y @ self.outputs.T - self.bounds
        return value if self.inputs is None else value + x @ self.inputs.T

    def worst(self, excess: Array) -> Array:
        """For every point and every disjunct the largest excess of its rows: a witness has one that is not positive."""
        spread = np.where(self.member[None], excess[:, None, :], -np.inf)
        return spread.max(2, initial=-np.inf)


def set_goal(case: Case, inputs: int, outputs: int) -> Goal:
    """The rows of a case; numbers that float64 cannot hold are rounded by less than one part in $2^{53}$."""
    rows = [row for disjunct in case.unsafe for row in disjunct]
    Q = np.zeros((len(rows), outputs))
    P = np.zeros((len(rows), inputs))
    for s, row in enumerate(rows):
        for j, q in row.outputs.items():
            Q[s, j] = _near(q)
        for i, p in row.inputs.items():
            P[s, i] = _near(p)
    bounds = np.array([_near(row.bound) for row in rows], np.float64)
    member = np.zeros((len(case.unsafe), len(rows)), bool)
    at = 0
    for d, disjunct in enumerate(case.unsafe):
        member[d, at : at + len(disjunct)] = True
        at += len(disjunct)
    has_inputs = any(row.inputs for row in rows)
    return Goal(Q, P if has_inputs else None, bounds, np.array([row.strict for row in rows], bool), member)


def floats_inside(box: Box) -> tuple[Array, Array]:
    """The ends of the largest box of floats inside; where no float lies between two ends, the one next to them."""
    low, high = (np.array(side, np.float64) for side in box.inner())
    middle = np.array([float((a + b) / 2) for a, b in zip(box.lo, box.hi)])
    return np.where(low <= high, low, middle), np.where(low <= high, high, middle)


def _near(q: Fraction) -> float:
    """The nearest float; what is not zero does not become zero."""
    value = float(q)
    return value if value or not q else round_up(abs(q)) * (1 if q > 0 else -1)
