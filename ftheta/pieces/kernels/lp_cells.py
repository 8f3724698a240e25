"""Cells as half-spaces: the sign of a neuron on a cell, with its proof, and the two parts of a cell (compiled)."""

from math import frexp, inf, ldexp
from typing import NamedTuple

import numpy as np

from ftheta.loops import inner, outlined

from .parts import WORK, loose, note_margin
from .simplex import CROSSED, OPTIMAL, exchange, load, minimise, rebuild, vertex

OPEN, ACTIVE, INACTIVE, BOTH = range(4)
# the state of one layer's sorting, and of the last decision
NEXT, ACTIVES, WAITING, VISITED, COLUMN, SIDE = range(6)
NOTHING = 1e-14


class Stack(NamedTuple):
    """Cells to be split, one a slot."""

    table: np.ndarray  # (depth, room + 1, n + 1): the dictionary, and one row for a form under way
    basic: np.ndarray  # (depth, room + 1): variables, coordinates first, then slacks
    nonbasic: np.ndarray  # (depth, n)
    flipped: np.ndarray  # (depth, n): coordinates measured from their upper bounds
    rows: np.ndarray  # (depth, room, n + 1): forms that are ≥ 0 on the cell, scaled to size one
    error: np.ndarray  # (depth, room): bounds on their errors on the box
    label: np.ndarray  # (depth, room): their neurons
    count: np.ndarray
    point: np.ndarray  # (depth, n): an interior point, unless the cell is thin
    thin: np.ndarray
    layer: np.ndarray
    position: np.ndarray
    partial: np.ndarray
    name: np.ndarray
    pattern: np.ndarray


class Path(NamedTuple):
    """What belongs to the layers on the way to the top of the stack."""

    forms: np.ndarray
    candidate: np.ndarray
    candidates: np.ndarray
    zero: np.ndarray  # (layers, width): coordinates that nothing reaches
    form_error: np.ndarray
    row_size: np.ndarray
    active: np.ndarray
    middle: np.ndarray
    gap: np.ndarray
    box: np.ndarray  # centre and half width, rounded up, of every coordinate
    low: np.ndarray
    high: np.ndarray
    width: np.ndarray
    unit: np.ndarray  # the constant one as a form
    progress: np.ndarray
    form: np.ndarray  # the form under way, scaled, positive at the interior point
    rest: np.ndarray
    vertex: np.ndarray
    other: np.ndarray  # the interior point of the part across
    mean: np.ndarray
    sides: np.ndarray  # (2, n): points of the parts above and below that an exact answer names
    wanted: np.ndarray


class Cells(NamedTuple):
    """Finished cells."""

    point: np.ndarray
    thin: np.ndarray
    name: np.ndarray
    pattern: np.ndarray
    maps: np.ndarray


@inner(fastmath=loose)
def value(form, point):
    """The affine `form` (the constant last) at a `point`."""
    n = point.shape[0]
    total = form[n]
    for c in range(n):
        total += form[c] * point[c]
    return total


@inner()
def take_form(forms, k, form):
    """One form, scaled by a power of two to size one; the power."""
    n = form.shape[0] - 1
    largest = 0.0
    for c in range(n + 1):
        form[c] = forms[c, k]
        if c < n:
            largest = max(largest, abs(form[c]))
    if not 1e-140 < largest < 1e140:  # else the constant could overflow
        return 1.0
    scale = ldexp(1.0, -frexp(largest)[1])
    for c in range(n + 1):
        form[c] *= scale
    return scale


@inner()
def least_margin(stack, path, t, point):
    """How far a point is inside all rows and the box beyond their errors; negative if it is not known to be inside."""
    n = point.shape[0]
    margin = inf
    for c in range(n):
        margin = min(margin, point[c] - path.low[c], path.high[c] - point[c])
    for i in range(stack.count[t]):
        margin = min(margin, value(stack.rows[t, i], point) - stack.error[t, i])
        if not margin > 0.0:
            return -1.0
    return margin


@inner()
def across(stack, path, t, error):
    """An interior point of the part where the form is negative, between the interior point and a vertex there."""
    n = path.vertex.shape[0]
    here = value(path.form, stack.point[t])
    there = value(path.form, path.vertex)
    if not there < 0.0 < here:
        return False
    share = 0.5 * (1.0 + here / (here - there))
    for c in range(n):
        path.other[c] = stack.point[t, c] + share * (path.vertex[c] - stack.point[t, c])
    return value(path.form, path.other) < -error and least_margin(stack, path, t, path.other) > 0.0


@inner(fastmath={"contract"})
def lagrange_bound(stack, path, t, error):
    """The least value of (form - Σ y·rows) on the box by the multipliers of the dictionary, and its error bound."""
    rest = path.rest
    n = rest.shape[0] - 1
    line = stack.table[t, stack.count[t]]
    for c in range(n + 1):
        rest[c] = path.form[c]
    for q in range(n):
        i = stack.nonbasic[t, q] - n
        if i >= 0 and line[q] > 0.0:
            y = line[q]
            source = stack.rows[t, i]
            error += y * stack.error[t, i]
            for c in range(n + 1):
                rest[c] -= y * source[c]
    bound = rest[n]
    for c in range(n):
        bound += rest[c] * path.box[2 * c] - abs(rest[c]) * path.box[2 * c + 1]
    return bound, 1.01 * error


@inner()
def lower(stack, path, counters, t, goal):
    """Lower the form under way from the vertex of the cell's dictionary; note the vertex where it ends."""
    m = stack.count[t]
    table = stack.table[t]
    basic = stack.basic[t]
    nonbasic = stack.nonbasic[t]
    flipped = stack.flipped[t]
    status, q, step, pivots = minimise(table, m, basic, nonbasic, flipped, path.width, goal)
    counters[WORK] += (pivots + 2) * (m + 4) * table.shape[1]
    vertex(table, m, basic, nonbasic, flipped, path.low, path.high, q, step, path.vertex)
    path.progress[COLUMN] = q
    return status


@inner()
def load_form(stack, path, t):
    """Write the form under way into the last row of the table of cell `t`."""
    arrays = (stack.table[t], stack.count[t], stack.basic[t], stack.nonbasic[t], stack.flipped[t])
    load(*arrays, path.low, path.high, path.form)


@outlined()
def refresh(stack, path, t):
    """Compute the table of cell `t` anew from its rows, which rounding has worn."""
    table = stack.table[t]
    basic = stack.basic[t]
    nonbasic = stack.nonbasic[t]
    flipped = stack.flipped[t]
    given = (path.low, path.high, path.width, stack.rows[t], path.wanted, path.rest)
    rebuild(table, stack.count[t], basic, nonbasic, flipped, *given)


@inner()
def turn_form(path):
    """Multiply the form under way by minus one."""
    for c in range(path.form.shape[0]):
        path.form[c] = -path.form[c]


@outlined()
def leave_zero(stack, path, counters, t, error):
    """Move the interior point to where the form under way has a certain sign, halfway to a vertex, if it can."""
    n = path.vertex.shape[0]
    for _ in range(2):
        turn_form(path)
        load_form(stack, path, t)
        lower(stack, path, counters, t, -inf)
        for c in range(n):
            path.other[c] = 0.5 * (stack.point[t, c] + path.vertex[c])
        if value(path.form, path.other) < -error and least_margin(stack, path, t, path.other) > 0.0:
            for c in range(n):
                stack.point[t, c] = path.other[c]
            return True
    return False


@outlined()
def deepen(stack, path, counters, t):
    """Draw the interior point towards the mean of the vertices that are farthest from each row and each near side."""
    n = path.vertex.shape[0]
    m = stack.count[t]
    for c in range(n):
        path.mean[c] = 0.0
    for i in range(m + n):
        for c in range(n + 1):
            path.form[c] = -stack.rows[t, i, c] if i < m else 0.0
        if i >= m:  # away from the nearer side of the box
            path.form[i - m] = 1.0 if stack.point[t, i - m] > path.box[2 * (i - m)] else -1.0
        load_form(stack, path, t)
        lower(stack, path, counters, t, -inf)
        for c in range(n):
            path.mean[c] += path.vertex[c] / (m + n)
    draw(stack, path, t)


@inner()
def draw(stack, path, t):
    """Move the interior point half of the way to `path.mean`, if that takes it deeper inside."""
    n = path.vertex.shape[0]
    for c in range(n):
        path.other[c] = 0.5 * (stack.point[t, c] + path.mean[c])
    if least_margin(stack, path, t, path.other) > least_margin(stack, path, t, stack.point[t]):
        for c in range(n):
            stack.point[t, c] = path.other[c]


@inner()
def face(stack, path, counters, t, layer, k, error):
    """Take up the form of neuron `k`, turned to be positive at the interior point; False if it is zero there."""
    take_form(path.forms[layer], k, path.form)
    if abs(value(path.form, stack.point[t])) <= error:
        if not leave_zero(stack, path, counters, t, error):
            return False
        take_form(path.forms[layer], k, path.form)  # it may have been turned
    path.progress[SIDE] = 1
    if value(path.form, stack.point[t]) < 0.0:
        turn_form(path)
        path.progress[SIDE] = -1
    return True


@inner()
def decide(stack, path, counters, gauges, t, layer, k, allowance):
    """Which sign neuron `k` takes on a cell. After BOTH, `path.other` is an interior point of the part across."""
    path.progress[SIDE] = 0
    if stack.thin[t]:
        return OPEN
    error = allowance * take_form(path.forms[layer], k, path.form)
    for attempt in range(2):
        if attempt == 1:
            refresh(stack, path, t)
            deepen(stack, path, counters, t)
        if not face(stack, path, counters, t, layer, k, error):
            return OPEN
        load_form(stack, path, t)
        status = lower(stack, path, counters, t, -64.0 * error)
        if status == CROSSED:
            if across(stack, path, t, error):
                note_margin(gauges, value(path.form, stack.point[t]), error)
                return BOTH
            status = lower(stack, path, counters, t, -inf)
        if status == OPTIMAL:
            bound, doubt = lagrange_bound(stack, path, t, error)
            if bound >= doubt:
                note_margin(gauges, bound, doubt)
                return ACTIVE if path.progress[SIDE] > 0 else INACTIVE
            if across(stack, path, t, error):
                return BOTH
    return OPEN


@inner()
def cut(stack, path, counters, t):
    """Bring the dictionary to a vertex on the hyperplane of the form under way: a vertex of both parts."""
    m = stack.count[t]
    n = path.vertex.shape[0]
    table = stack.table[t]
    q = path.progress[COLUMN]
    turned = False
    if (
        q < 0
    ):  # go on from the last vertex, on whichever side it lies, until the hyperplane is crossed
        load_form(stack, path, t)
        turned = table[m, n] < 0.0
        if turned:
            turn_form(path)
            load_form(stack, path, t)
        lower(stack, path, counters, t, -NOTHING)
        q = path.progress[COLUMN]
        if turned:
            turn_form(path)
    stack.basic[t, m] = n + m
    if q < 0 or abs(table[m, q]) < NOTHING:
        load_form(stack, path, t)
        return
    table[m, n] = max(table[m, n], 0.0)
    exchange(table, m + 1, stack.basic[t], stack.nonbasic[t], m, q)
    if turned:
        turn_slack(stack, t, m)


@inner()
def turn_slack(stack, t, i):
    """The slack of row `i` changes its sign."""
    n = stack.nonbasic.shape[1]
    for q in range(n):
        if stack.nonbasic[t, q] == n + i:
            for r in range(stack.count[t] + 1):
                stack.table[t, r, q] = -stack.table[t, r, q]
    for r in range(stack.count[t] + 1):
        if stack.basic[t, r] == n + i:
            for j in range(n + 1):
                stack.table[t, r, j] = -stack.table[t, r, j]


@inner()
def copy_cell(stack, t, up):
    """Copy cell `t` of the stack to the place `up`."""
    n = stack.nonbasic.shape[1]
    m = stack.count[t] + 1
    for i in range(m):
        stack.basic[up, i] = stack.basic[t, i]
        stack.error[up, i] = stack.error[t, i]
        stack.label[up, i] = stack.label[t, i]
        for j in range(n + 1):
            stack.table[up, i, j] = stack.table[t, i, j]
            stack.rows[up, i, j] = stack.rows[t, i, j]
    for j in range(n):
        stack.nonbasic[up, j] = stack.nonbasic[t, j]
        stack.flipped[up, j] = stack.flipped[t, j]
        stack.point[up, j] = stack.point[t, j]
    stack.count[up], stack.thin[up], stack.layer[up] = stack.count[t], stack.thin[t], stack.layer[t]
    stack.name[up] = stack.name[t]
    for w in range(stack.pattern.shape[1]):
        stack.pattern[up, w] = stack.pattern[t, w]


@inner()
def split(stack, path, counters, t, number, error, proved):
    """Slot t keeps the part where the neuron is negative; slot t+1 gets the other.

    The form under way is positive at the interior point of slot t; `proved` says that `path.other` is one across.
    """
    m = stack.count[t]
    n = path.vertex.shape[0]
    up = t + 1
    for c in range(n + 1):
        stack.rows[t, m, c] = path.form[c]
    stack.error[t, m], stack.label[t, m] = error, number
    if not proved:
        path.progress[COLUMN] = -1
    cut(stack, path, counters, t)
    copy_cell(stack, t, up)
    there = t if path.progress[SIDE] >= 0 else up
    turn_slack(stack, there, m)
    for c in range(n + 1):
        stack.rows[there, m, c] = -path.form[c]
    stack.count[t] = stack.count[up] = m + 1
    if proved:
        for c in range(n):
            stack.point[there, c] = path.other[c]
    elif not stack.thin[t]:
        place(stack, path, up, 0)
        place(stack, path, t, 1)


@inner()
def place(stack, path, t, side):
    """A certified interior point of a part that an exact answer found, or the mark that there is none in float64."""
    n = path.vertex.shape[0]
    share = 0.5
    while least_margin(stack, path, t, stack.point[t]) <= 0.0:
        if share > 0.999:
            stack.thin[t] = True
            return
        for c in range(n):
            stack.point[t, c] += share * (path.sides[side, c] - stack.point[t, c])
        share = 0.5 * (1.0 + share)
