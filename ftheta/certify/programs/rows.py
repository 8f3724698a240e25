r"""The rows of a case over a batch of boxes: which disjuncts are excluded, and where a counter-example can still be.

A form $\langle A,x\rangle+c-e$ lies below the excess of a row. Where the excess is to be at most 0 and the least value
of the form over the box is $v<0$, a coordinate with $A_i>0$ is at most $l_i+(-v)/A_i$, and one with $A_i<0$ at least
$u_i-(-v)/|A_i|$: the box is clipped, for each disjunct by all of its rows, which may show that it is empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftheta.certify.goals import set_goal
from ftheta.certify.questions import Case
from ftheta.graph.domains.interval.rounding import Array, above, below, gamma
from ftheta.graph.domains.linear.backward import Relaxed
from ftheta.graph.domains.linear.sets import BoxSet, InputSet
from ftheta.graph.domains.linear.slopes import bound_below
from ftheta.shapes import Bool, Float, Int

from .network import TracedNetwork

UNIT = 2.0**-53
CLIPS = 3
"""Rounds of clipping: what one row cuts off makes another cut off more."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that differ, once each: `outputs`, `inputs` (None: no row has any), `bounds`, `strict`; `members[d]` are the
    numbers of the rows of disjunct d."""

    outputs: Float[np.ndarray, "r m"]
    inputs: Float[np.ndarray, "r d"] | None
    bounds: Float[np.ndarray, "r"]
    strict: Bool[np.ndarray, "r"]
    members: tuple[Int[np.ndarray, "_r"], ...]

    @classmethod
    def of(cls, net: TracedNetwork, case: Case) -> "Rows":
        goal = set_goal(case, *net.widths)
        parts = [goal.outputs, goal.bounds[:, None], goal.strict[:, None]]
        whole = np.concatenate(parts if goal.inputs is None else [*parts, goal.inputs], axis=1)
        _, first, number = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        number = number.reshape(-1)
        members = tuple(np.unique(number[np.flatnonzero(own)]) for own in goal.member)
        inputs = None if goal.inputs is None else goal.inputs[first]
        return cls(goal.outputs[first], inputs, goal.bounds[first], goal.strict[first], members)

    def used_by(self, disjuncts: Int[np.ndarray, "k"]) -> Int[np.ndarray, "s"]:
        """The numbers of the rows of some disjuncts."""
        found = [self.members[d] for d in disjuncts]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, int)

    def excess(
        self, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n m"]
    ) -> Float[np.ndarray, "n r"]:
        """In floats, for points (n, inputs) and outputs (n, outputs)."""
        value = y @ self.outputs.T - self.bounds
        return value if self.inputs is None else value + x @ self.inputs.T


@dataclass(frozen=True, eq=False)
class Bounded:
    """Excesses of the rows `numbers` over boxes: proved least values `least` (boxes, rows), and forms below them:
    coefficients (boxes, rows, inputs) with the least value `form_least` of the form over the box, whatever ball the
    inputs lie in."""

    numbers: Int[np.ndarray, "s"]
    least: Float[np.ndarray, "n s"]
    coefficients: Float[np.ndarray, "n s d"]
    form_least: Float[np.ndarray, "n s"]


def bound_rows(
    net: TracedNetwork,
    rows: Rows,
    numbers: Int[np.ndarray, "s"],
    relaxed: Relaxed,
    sets: Sequence[InputSet],
    steps: int = 0,
) -> Bounded:
    """Lower bounds of the excesses of some rows."""
    boxes = len(sets[0].hull.lo)
    Q = rows.outputs[numbers].reshape(len(numbers), *net.output_shape)
    P = None if rows.inputs is None else rows.inputs[numbers].reshape(len(numbers), *net.shape)
    best = bound_below(relaxed, sets, Q, P, steps=steps)
    (A,) = best.form.coefficients
    coefficients = (
        np.zeros((boxes, len(numbers), net.widths[0]))
        if A is None
        else A.reshape(boxes, len(numbers), -1)
    )
    doubt = doubt_of_rows(net, rows, numbers, relaxed, sets)
    least = below(below(best.value - rows.bounds[numbers]) - doubt)
    form_least = below(
        below(best.form.least([BoxSet(part.hull) for part in sets]) - rows.bounds[numbers]) - doubt
    )
    return Bounded(numbers, least, coefficients, form_least)


@np.errstate(all="ignore")
def doubt_of_rows(
    net: TracedNetwork,
    rows: Rows,
    numbers: Int[np.ndarray, "s"],
    relaxed: Relaxed,
    sets: Sequence[InputSet],
) -> Float[np.ndarray, "n s"]:
    """What the numbers of the rows, each next to a rational, can make of an excess."""
    y = relaxed.enclosures[relaxed.program.graph.outputs[0].id].magnitude
    size = y.reshape(len(y), -1) @ np.abs(rows.outputs[numbers]).T + np.abs(rows.bounds[numbers])
    if rows.inputs is not None:
        x = sets[0].hull.magnitude
        size = size + x.reshape(len(x), -1) @ np.abs(rows.inputs[numbers]).T
    size = np.where(np.isfinite(size), size, np.inf)
    return 4 * UNIT * size


# ---- disjuncts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Excluded:
    """Which disjuncts are `open` (boxes, disjuncts), the hull `low`, `high` (boxes, inputs) of where they can hold, the
    least of their best bounds, `bound` (boxes,), and the number `row` of the row that gives it."""

    open: Bool[np.ndarray, "n k"]
    low: Float[np.ndarray, "n d"]
    high: Float[np.ndarray, "n d"]
    bound: Float[np.ndarray, "n"]
    row: Int[np.ndarray, "n"]

    def first(self, count: int) -> "Excluded":
        """Those of the first boxes."""
        return Excluded(
            *(part[:count] for part in (self.open, self.low, self.high, self.bound, self.row))
        )


@np.errstate(all="ignore")
def exclude(
    rows: Rows,
    found: Bounded,
    was_open: Bool[np.ndarray, "n k"],
    low: Float[np.ndarray, "n d"],
    high: Float[np.ndarray, "n d"],
) -> Excluded:
    """What the bounds say of the disjuncts that were open. `low` and `high` are the boxes (boxes, inputs)."""
    boxes = len(low)
    place = np.full(len(rows.bounds), -1)
    place[found.numbers] = np.arange(len(found.numbers))
    is_open = was_open.copy()
    hull_low = np.full_like(low, np.inf)
    hull_high = np.full_like(high, -np.inf)
    bound = np.full(boxes, np.inf)
    row = np.zeros(boxes, int)
    for d in np.flatnonzero(was_open.any(0)):
        own = place[rows.members[d]]
        least = found.least[:, own]
        best = least.max(1)
        closed = (best > 0) | ((least >= 0) & rows.strict[rows.members[d]]).any(1)
        tight_low, tight_high, empty = _clip_often(
            found.coefficients[:, own], found.form_least[:, own], low, high
        )
        is_open[:, d] &= ~(closed | empty)
        stays = is_open[:, d]
        hull_low[stays] = np.minimum(hull_low[stays], tight_low[stays])
        hull_high[stays] = np.maximum(hull_high[stays], tight_high[stays])
        worse = stays & (best < bound)
        bound[worse] = best[worse]
        row[worse] = rows.members[d][least.argmax(1)][worse]
    return Excluded(is_open, hull_low, hull_high, bound, row)


def _clip_often(A: Array, least: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """The boxes clipped by all forms, several times, and which of them hold no point where all forms are at most 0."""
    tight_low, tight_high = low, high
    now = least
    empty = np.zeros(len(low), bool)
    for _ in range(CLIPS if A.shape[1] > 1 else 1):
        tight_low, tight_high = _clip(A, now, tight_low, tight_high)
        now = _least_within(A, least, low, high, tight_low, tight_high)
        empty |= (tight_low > tight_high).any(1) | (now > 0).any(1)
    return tight_low, tight_high, empty


def _clip(A: Array, least: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The part of each box where all forms (boxes, rows, inputs) with these least values over it can be at most 0."""
    reach = above(-least[..., None] / np.abs(A))
    reach = np.where(np.isnan(reach) | (A == 0) | ~np.isfinite(A), np.inf, np.maximum(reach, 0.0))
    top = np.where(A > 0, above(low[:, None] + reach), np.inf).min(1)
    bottom = np.where(A < 0, below(high[:, None] - reach), -np.inf).max(1)
    return np.maximum(low, bottom), np.minimum(high, top)


def _least_within(
    A: Array, least: Array, low: Array, high: Array, tight_low: Array, tight_high: Array
) -> Array:
    """The least values over the clipped boxes, from those over the whole ones, rounded down."""
    up = np.maximum(A, 0.0) * (tight_low - low)[:, None]
    down = np.maximum(-A, 0.0) * (high - tight_high)[:, None]
    gain = (up + down).sum(2)
    gain = np.where(np.isfinite(gain), gain * (1 - gamma(2 * A.shape[2] + 8)), 0.0)
    return below(least + below(np.maximum(gain, 0.0)))
