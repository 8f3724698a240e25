r"""Points that almost meet a disjunct, moved until they meet it exactly.

Rows that hold with equality only, such as the two halves of $y_0=1/2$ or a tie at the least value of an output, are met
by no point that a search in float64 finds. Around a point the excesses of rows are affine in the inputs: a few
Newton steps in float64 bring those that are violated to almost zero, and one linear system in rationals, in as many
inputs as there are rows, does the rest. Whether the point is a counter-example then is for the caller to decide.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.relu.matrices import fraction, rational
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.shapes import Float

from .attacks import propagate, pull_back
from .goals import Array, set_goal
from .questions import Case, Row

NEWTON_STEPS = 12
NEAR = 1e-10  # of the size of a row's terms, to which Newton's method brings its excess
RANK = 1e-9  # of the largest pivot, below which rows depend on one another
RELAXED = 1e-3  # of the size of a row, by which equations may be missed while points are looked for


def has_equations(rows: Sequence[Row]) -> bool:
    """Whether a disjunct has two rows that are opposite: together an equation."""
    keys = {_key(row) for row in rows if not row.strict}
    return any(_opposite(key) in keys for key in keys)


def relax_equations(case: Case) -> Case | None:
    """The same case with equations that may be missed by a little; None where there are none."""
    if not any(map(has_equations, case.unsafe)):
        return None
    return replace(case, unsafe=tuple(_relax(rows) for rows in case.unsafe))


def _relax(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    keys = {_key(row) for row in rows if not row.strict}
    relaxed = list[Row]()
    for row in rows:
        if not row.strict and _opposite(_key(row)) in keys:
            size = max(map(abs, (*row.inputs.values(), *row.outputs.values(), row.bound)))
            row = replace(row, bound=row.bound + Fraction(RELAXED) * size)
        relaxed.append(row)
    return tuple(relaxed)


def _key(row: Row) -> tuple:
    return frozenset(row.inputs.items()), frozenset(row.outputs.items()), row.bound


def _opposite(key: tuple) -> tuple:
    inputs, outputs, bound = key
    return frozenset((i, -p) for i, p in inputs), frozenset((j, -q) for j, q in outputs), -bound


def repair(
    net: ReluNetwork,
    in_rationals: ExactNetwork,
    case: Case,
    rows: tuple[Row, ...],
    point: Float[np.ndarray, "d"],
) -> tuple[Fraction, ...] | None:
    """A rational point near this one at which the rows that are not strict hold, or None."""
    one = replace(case, unsafe=(rows,))
    goal = set_goal(one, net.widths[0], net.widths[-1])
    low, high = (np.array(side, np.float64) for side in case.box.outer())
    x = np.clip(point, low, high)
    loose = np.flatnonzero(~goal.strict)
    if not len(loose):
        return None
    chosen = np.zeros(0, int)
    slopes = np.zeros((0, len(x)))
    for _ in range(NEWTON_STEPS):
        y, passed = propagate(net, x[None])
        excess = goal.excess(x[None], y)[0]
        chosen = np.union1d(chosen, loose[excess[loose] > 0])
        if not len(chosen):
            break
        slopes = pull_back(
            net, [np.repeat(on, len(chosen), axis=0) for on in passed], goal.outputs[chosen]
        )
        if goal.inputs is not None:
            slopes = slopes + goal.inputs[chosen]
        size = np.abs(goal.outputs[chosen]) @ np.abs(y[0]) + np.abs(goal.bounds[chosen])
        if (np.abs(excess[chosen]) <= NEAR * size).all():
            break
        x = _step(x, slopes, excess[chosen], low, high)
    exactly = tuple(
        min(max(Fraction(float(v)), a), b) for v, a, b in zip(x, case.box.lo, case.box.hi)
    )
    if not len(chosen):
        return exactly
    return _solve(in_rationals, case, [rows[r] for r in chosen], slopes, exactly)


def _step(x: Array, slopes: Array, excess: Array, low: Array, high: Array) -> Array:
    """The shortest step to where the excesses vanish, with inputs that would leave the box kept at its faces."""
    free = high > low
    moved = x
    for _ in range(3):
        if not free.any():
            break
        rest = excess + slopes @ (moved - x)
        step = np.zeros(len(x))
        step[free] = np.linalg.lstsq(slopes[:, free], -rest, rcond=None)[0]
        outside = (moved + step < low) | (moved + step > high)
        moved = np.clip(moved + step, low, high)
        if not outside.any():
            break
        free = free & ~outside
    return moved


def _solve(
    net: ExactNetwork, case: Case, rows: Sequence[Row], slopes: Array, x: tuple[Fraction, ...]
) -> tuple[Fraction, ...] | None:
    """Move as few inputs as there are independent rows, so that all of them hold with equality where the network is the
    affine function that it is at `x`."""
    inside = np.array([a < v < b for v, a, b in zip(x, case.box.lo, case.box.hi)])
    if not inside.any():
        return None
    usable = np.flatnonzero(inside)
    order, rank = _pivots(slopes[:, usable].T)
    kept = sorted(order[:rank])
    order, rank = _pivots(slopes[kept][:, usable])
    columns = usable[order[:rank]]
    kept = kept[:rank]
    if not rank:
        return None
    states = net.states(x)
    y = tuple(fraction(v) for v in states[-1])
    images = [_push(net, states, int(j)) for j in columns]
    system = fmpq_mat(
        [[_slope(rows[r], int(j), image) for j, image in zip(columns, images)] for r in kept]
    )
    right = fmpq_mat([[rational(-rows[r].excess(x, y))] for r in kept])
    try:
        step = system.solve(right)
    except ZeroDivisionError:
        return None
    moved = list(x)
    for k, j in enumerate(columns):
        moved[j] += fraction(step[k, 0])
    return tuple(moved)


def _pivots(matrix: Array) -> tuple[list[int], int]:
    """The columns of a matrix, independent ones first, and how many of them there are."""
    from scipy.linalg import qr  # slow to import, and seldom needed

    factors: Any = qr(matrix, mode="economic", pivoting=True)
    _, triangle, order = factors
    diagonal = np.abs(np.diag(triangle))
    rank = int((diagonal > RANK * max(diagonal.max(initial=0.0), 1e-300)).sum())
    return [int(j) for j in order], rank


def _push(net: ExactNetwork, states: Sequence[Sequence[fmpq]], j: int) -> Sequence[fmpq]:
    """How the outputs change with input `j`, where every neuron keeps its state."""
    zero = fmpq(0)
    change: Sequence[fmpq] = [fmpq(int(i == j)) for i in range(net.widths[0])]
    for step, state in zip(net.steps, states):
        change = [
            v if not has_relu or s > 0 else zero
            for v, has_relu, s in zip(step.matrix.apply(change), step.rectified, state)
        ]
    return change


def _slope(row: Row, j: int, image: Sequence[fmpq]) -> fmpq:
    own = rational(row.inputs.get(j, Fraction(0)))
    return sum((rational(q) * image[k] for k, q in row.outputs.items()), own)
