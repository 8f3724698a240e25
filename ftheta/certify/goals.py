r"""The rows of a question as linear functions of a network's outputs and inputs, in float64 with error terms.

The *excess* of a row is its left side minus its right side. A disjunct is excluded over a set if some mixture of its
rows (weights $w\ge0$) has a positive excess all over it: if all rows hold, none does.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.shapes import Bool, Float

from .ball_parts import FloatBall
from .questions import Case, round_up

Array = np.ndarray
SHARED = 0.03  # of the entries, that one step in an ℓ1 ball changes
TINIEST = 1e-300


@dataclass(frozen=True, eq=False)
class Goal:
    """All rows of all disjuncts: `outputs`, `inputs` (None where no row has any) and `bounds`, as floats near them.

    There are r rows, of k disjuncts, about m outputs and d inputs; `member[j, s]` says whether row `s` belongs to
    disjunct `j`.
    """

    outputs: Float[np.ndarray, "r m"]
    inputs: Float[np.ndarray, "r d"] | None
    bounds: Float[np.ndarray, "r"]
    strict: Bool[np.ndarray, "r"]
    member: Bool[np.ndarray, "k r"]

    @property
    def is_plain(self) -> bool:
        """Whether every disjunct is one row."""
        return bool((self.member.sum(1) == 1).all())

    def excess(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n m"]
    ) -> Float[np.ndarray, "n r"]:
        """In float64, for every point and every row."""
        value = y @ self.outputs.T - self.bounds
        return value if self.inputs is None else value + x @ self.inputs.T

    def worst(self, excess: Float[np.ndarray, "n r"]) -> Float[np.ndarray, "n k"]:
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
    return Goal(
        Q, P if has_inputs else None, bounds, np.array([row.strict for row in rows], bool), member
    )


@dataclass(frozen=True, eq=False)
class FloatSet:
    """The inputs of a case as floats: `low ≤ x ≤ high`, entry by entry, and in the `ball` where there is one."""

    low: Float[np.ndarray, "d"]
    high: Float[np.ndarray, "d"]
    ball: FloatBall | None = None

    @classmethod
    def inside(cls, case: Case) -> "FloatSet":
        """The largest box of floats inside that of the case; where no float lies between two ends, the one next to
        them."""
        low, high = (np.array(side, np.float64) for side in case.box.inner())
        middle = np.array([float((a + b) / 2) for a, b in zip(case.box.lo, case.box.hi)])
        ball = None if case.ball is None else FloatBall.around(case.ball)
        return cls(np.where(low <= high, low, middle), np.where(low <= high, high, middle), ball)

    def clip(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The nearest points of the set."""
        return (
            np.clip(x, self.low, self.high)
            if self.ball is None
            else self.ball.project(x, self.low, self.high)
        )

    def stride(self, slopes: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """For each row, the step across the set along which a function with these slopes falls fastest."""
        if self.ball is None:
            return (self.low - self.high) * np.sign(slopes)
        if (
            self.ball.norm == 1
        ):  # the largest entries share the way, so that ties do not take one step each
            count = max(1, round(SHARED * slopes.shape[1]))
            least = -np.partition(-np.abs(slopes), count - 1, axis=1)[:, count - 1 : count]
            slopes = np.where(np.abs(slopes) >= least, np.sign(slopes), 0.0)
        length = np.linalg.norm(slopes, self.ball.norm, axis=1, keepdims=True)
        return -2.0 * self.ball.radius * slopes / np.maximum(length, TINIEST)


def _near(q: Fraction) -> float:
    """The nearest float; what is not zero does not become zero."""
    value = float(q)
    return value if value or not q else round_up(abs(q)) * (1 if q > 0 else -1)
