"""Depth-first search through boxes of inputs for one that may hold a counter-example, as one compiled function.

A box is closed if all disjuncts are excluded over it. Else the bounds say which part of the box can hold a
counter-example: the box is clipped to that part, and what is left is bisected along the input that carries most of the
relaxation error.
"""

import numpy as np

from .arrays import compiled
from .relaxations import measure_reach, tighten_row
from .rows import best_row, bound_rows, clip_box, is_excluded, mix_rows
from .zonotopes import HUGE, enclose_box

CLOSED = 0  # nothing is left
FOUND = 1  # a point that looks like a counter-example
PAUSED = 2  # the steps are used up
FULL = 3  # there is no room for another box
SHRUNK = 0.6  # a box that is clipped to less than this share of its volume is looked at again before it is split
SLOPE = 0.1  # how much the slope along an input counts beside the relaxation error that it is to blame for


@compiled
def search_boxes(net, rows, zonotope, bounds, scratch, lower, upper, top, steps, margin, witness, counts):
    """Look through the boxes `lower[:top]`, `upper[:top]`, the last one first; returns the status and the new top.

    At most `steps` boxes are looked at. A point counts as found if each excess of a disjunct is at most −`margin` in
    float64; it is put into `witness`. `counts` are the boxes looked at, and those too small to be split: these are
    left out.
    """
    inputs = net.widths[0]
    lo = np.empty(inputs)
    hi = np.empty(inputs)
    score = np.empty(inputs)
    part_lo = np.empty(inputs)
    part_hi = np.empty(inputs)
    while top > 0:
        if counts[0] >= steps:
            return PAUSED, top
        if top + 2 > len(lower):
            return FULL, top
        top -= 1
        lo[:] = lower[top]
        hi[:] = upper[top]
        counts[0] += 1
        if not _bound_box(net, rows, lo, hi, zonotope, bounds, scratch):
            continue
        if _try_points(net, rows, lo, hi, bounds, margin, scratch, witness):
            lower[top] = lo  # the box stays open until the point has been checked
            upper[top] = hi
            return FOUND, top + 1
        if not _clip_to_hull(rows, lo, hi, bounds, part_lo, part_hi, score):
            continue
        left = 1.0
        for i in range(inputs):
            if hi[i] > lo[i]:
                left *= (part_hi[i] - part_lo[i]) / (hi[i] - lo[i])
        if left < SHRUNK:
            lower[top] = part_lo
            upper[top] = part_hi
            top += 1
            continue
        side = _side_to_split(part_lo, part_hi, score)
        if side < 0:
            counts[1] += 1
            continue
        middle = 0.5 * part_lo[side] + 0.5 * part_hi[side]
        for half in range(2):
            lower[top] = part_lo
            upper[top] = part_hi
            if half == 0:
                lower[top, side] = middle
            else:
                upper[top, side] = middle
            top += 1
    return CLOSED, 0


@compiled
def _bound_box(net, rows, lo, hi, zonotope, bounds, scratch):
    """Bound all rows over a box; returns whether it is open. Beyond the range of floats nothing is known of it."""
    disjuncts = len(rows.disjuncts) - 1
    generators = enclose_box(net, lo, hi, zonotope)
    is_known = generators >= 0
    if is_known:
        bound_rows(rows, lo, hi, generators, zonotope, bounds)
        for d in range(disjuncts):
            mix_rows(rows, d, generators, zonotope.share, bounds)
        for s in range(len(bounds.least)):
            is_known = is_known and abs(bounds.least[s]) < HUGE
    if not is_known:
        for s in range(len(bounds.least)):
            bounds.least[s] = -HUGE
            for i in range(len(lo)):
                bounds.slopes[s, i] = 0.0
                bounds.blame[s, i] = 0.5 * hi[i] - 0.5 * lo[i]
        return True
    is_open = False
    is_measured = False
    for d in range(disjuncts):
        if is_excluded(rows, d, bounds):
            continue
        if not is_measured:
            measure_reach(net, zonotope.lines, lo, hi, scratch.reach)
            is_measured = True
        for s in range(rows.disjuncts[d], rows.disjuncts[d + 1]):
            tighten_row(net, rows, s, lo, hi, zonotope.lines, bounds, scratch)
            if bounds.least[s] > 0.0:
                break
        if not is_excluded(rows, d, bounds):
            is_open = True
    return is_open


@compiled
def _try_points(net, rows, lo, hi, bounds, margin, scratch, witness):
    """Whether the centre, or the corner where a row has its least excess, looks like a counter-example."""
    for s in range(-1, len(rows.bounds)):
        for i in range(len(lo)):
            if s < 0:
                witness[i] = min(hi[i], max(lo[i], 0.5 * lo[i] + 0.5 * hi[i]))
            else:
                witness[i] = lo[i] if bounds.slopes[s, i] > 0.0 else hi[i]
        if meets(net, rows, witness, margin, scratch):
            return True
    return False


@compiled
def _clip_to_hull(rows, lo, hi, bounds, part_lo, part_hi, score):
    """The smallest box that may hold a counter-example of any disjunct, and how much each input is worth splitting;
    False if there is no such box."""
    inputs = len(lo)
    a = np.empty(inputs)
    b = np.empty(inputs)
    score[:] = 0.0
    is_empty = True
    for d in range(len(rows.disjuncts) - 1):
        if is_excluded(rows, d, bounds):
            continue
        best = best_row(rows, d, bounds)
        for i in range(inputs):
            score[i] += SLOPE * abs(bounds.slopes[best, i]) + bounds.blame[best, i]
        a[:] = lo
        b[:] = hi
        if clip_box(rows, d, bounds, lo, hi, a, b):
            continue
        for i in range(inputs):
            part_lo[i] = a[i] if is_empty else min(part_lo[i], a[i])
            part_hi[i] = b[i] if is_empty else max(part_hi[i], b[i])
        is_empty = False
    return not is_empty


@compiled
def _side_to_split(lo, hi, score):
    """The input with the largest score that can be split in two; −1 if there is none."""
    side = -1
    for i in range(len(lo)):
        middle = 0.5 * lo[i] + 0.5 * hi[i]
        if lo[i] < middle < hi[i] and (side < 0 or score[i] > score[side]):
            side = i
    return side


@compiled
def meets(net, rows, x, margin, scratch):
    """Whether, in float64, all rows of some disjunct hold at `x` with an excess of at most −`margin`."""
    state = scratch.state
    other = scratch.other
    layers = len(net.widths) - 1
    for i in range(len(x)):
        state[i] = x[i]
    for k in range(layers):
        count = net.widths[k + 1]
        for r in range(count):
            other[r] = net.biases[net.offsets[k] + r]
        for i in range(net.widths[k]):
            h = state[i]
            if h != 0.0:
                at = net.starts[k] + i * count
                for r in range(count):
                    other[r] += h * net.weights[at + r]
        for r in range(count):
            state[r] = max(other[r], 0.0) if net.rectified[net.offsets[k] + r] else other[r]
    for d in range(len(rows.disjuncts) - 1):
        is_met = True
        for s in range(rows.disjuncts[d], rows.disjuncts[d + 1]):
            excess = -rows.bounds[s]
            for r in range(net.widths[layers]):
                excess += rows.outputs[s, r] * state[r]
            for i in range(len(x)):
                excess += rows.inputs[s, i] * x[i]
            if not excess <= -margin:
                is_met = False
                break
        if is_met:
            return True
    return False
