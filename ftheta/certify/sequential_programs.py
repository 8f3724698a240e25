r"""Attacks on conjunctions by sequential linear programming.

Where several rows must hold at once, the largest excess has a kink at every point worth finding, and gradients of one
row after another zigzag. Here all rows are linearised together: within a trust region around a point, the step that
makes the largest linearised excess least is a linear program in the inputs. The region grows where the network follows
its linearisation and shrinks where it does not.
"""

from collections.abc import Callable
from math import inf
from time import monotonic, thread_time
from typing import TypeAlias

import numpy as np

from ftheta.shapes import Float, Int

from .attacks import Attacked, Propose, propagate, pull_back
from .boxes.mixtures import find_lowest_point
from .goals import Array, FloatSet, Goal, set_goal
from .questions import Case

IsOver: TypeAlias = Callable[[], bool]

STARTS = 512  # random points, of which the best of each disjunct are moved
BEST = 3
STEPS = 30
FIRST_REACH = 0.1  # of the sides of the box
LEAST_REACH = 1e-7
GROW = 2.0
SHRINK = 0.35
SMALL = 400  # entries of a program, up to which a simplex method of our own is quicker


def attack_by_programs(
    net: Attacked,
    case: Case,
    rng: np.random.Generator,
    seconds: float,
    propose: Propose,
    disjuncts: Int[np.ndarray, "k"] | None = None,
    work: float = inf,
) -> Float[np.ndarray, "d"] | None:
    """A point of the set for which `propose` says True, or None; ends after `seconds`, and after `work` seconds of the
    processor, so that a busy machine tries as much as others. `disjuncts` restricts the search to some of them."""
    low, high = (np.array(side, np.float64) for side in case.box.inner())
    inside = FloatSet.inside(case)
    goal = set_goal(case, net.widths[0], net.widths[-1])
    joint = np.flatnonzero(goal.member.sum(1) > 1)
    if disjuncts is not None:
        joint = np.intersect1d(joint, disjuncts)
    if not len(joint) or not np.all(low <= high):
        return None
    end = monotonic() + seconds
    work_end = thread_time() + work
    is_over: IsOver = lambda: monotonic() > end or thread_time() > work_end
    while not is_over():
        points = inside.clip(rng.uniform(low, high, (STARTS, len(low))))
        outputs, _ = propagate(net, points)
        worst = goal.worst(goal.excess(points, outputs))
        for d in joint:
            for r in np.argsort(worst[:, d])[:BEST]:
                found = _descend(net, goal, inside, points[r], int(d), propose, is_over)
                if found is not None:
                    return found
    return None


def needs_solver(case: Case) -> bool:
    """Whether some program is too large for a simplex method of our own."""
    inputs = len(case.box.lo)
    return any(len(rows) > 1 and not _is_small(len(rows), inputs) for rows in case.unsafe)


def _is_small(rows: int, inputs: int) -> bool:
    return inputs * (rows + inputs) <= SMALL


def _descend(
    net: Attacked,
    goal: Goal,
    inside: FloatSet,
    start: Array,
    d: int,
    propose: Propose,
    is_over: IsOver,
) -> Array | None:
    """Steps from one point towards disjunct `d`."""
    rows = np.flatnonzero(goal.member[d])
    low, high = inside.low, inside.high
    x = start
    reach = FIRST_REACH
    excess, slopes = _linearise(net, goal, rows, x)
    for _ in range(STEPS):
        if excess.max() <= 0 and propose(x):
            return x
        if is_over() or reach < LEAST_REACH:
            return None
        step = _step(excess, slopes, low - x, high - x, reach * (high - low))
        if step is None:
            return None
        moved = inside.clip((x + step)[None])[0]
        there, tilted = _linearise(net, goal, rows, moved)
        hoped = excess.max() - (excess + slopes @ (moved - x)).max()
        if excess.max() - there.max() > 0.1 * hoped:
            x = moved
            excess = there
            slopes = tilted
            reach = min(1.0, GROW * reach)
        else:
            reach *= SHRINK
    return None


def _linearise(net: Attacked, goal: Goal, rows: Array, x: Array) -> tuple[Array, Array]:
    """The excesses of some rows at a point, and their gradients."""
    copies = np.repeat(x[None], len(rows), axis=0)
    y, passed = propagate(net, copies)
    slopes = pull_back(net, passed, goal.outputs[rows])
    if goal.inputs is not None:
        slopes = slopes + goal.inputs[rows]
    return goal.excess(copies[:1], y[:1])[0, rows], slopes


def _step(excess: Array, slopes: Array, low: Array, high: Array, reach: Array) -> Array | None:
    """The step within reach that makes the largest linearised excess least."""
    least = np.maximum(low, -reach)
    most = np.minimum(high, reach)
    count, size = slopes.shape
    if _is_small(count, size):  # sooner solved than handed to a solver, which is slow to import
        middle = (least + most) / 2
        radius = (most - least) / 2
        return middle + radius * find_lowest_point(slopes * radius, excess + slopes @ middle)
    from scipy.optimize import linprog  # slow to import, and seldom needed

    cost = np.zeros(size + 1)
    cost[-1] = 1.0
    sides = [*zip(least, most), (None, None)]
    A = np.hstack([slopes, -np.ones((count, 1))])
    found = linprog(cost, A_ub=A, b_ub=-excess, bounds=sides, method="highs")
    return found.x[:-1] if found.status == 0 else None
