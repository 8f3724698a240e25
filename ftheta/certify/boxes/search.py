"""Depth-first search through parts of boxes of inputs for one that may hold a counter-example, in compiled code.

A part is a box, and the signs of some neurons. It is closed if all disjuncts are excluded over it. Else the bounds say
where in it a counter-example can be: the box is clipped to that, and what is left is split, either at the input that
carries most of the relaxation error or, where few signs are open, at the neuron whose relaxation costs most.

Where there are many inputs, to halve one gains little. Signs are fixed then, however many are open, and a part is
looked at again with the bounds of its rows as cuts: they bound the neurons where a counter-example can be.
"""

from ftheta.certify.loading import kernel

from .arrays import HUGE, compiled, copy
from .ball_kernels import bring_inside, gain_of_form, place_in_ball
from .products import apply_layer
from .relaxations import measure_reach, tighten_row, weigh_gaps
from .rows import (
    best_row,
    blame_for_gaps,
    blame_inputs,
    bound_rows,
    clip_box,
    is_excluded,
    keep_rows,
    mix_rows,
)
from .zonotopes import EMPTY, enclose_box

CLOSED = 0  # nothing is left
FOUND = 1  # a point that looks like a counter-example
PAUSED = 2  # the steps are used up
FULL = 3  # there is no room for another part
LEAF = 4  # a part in which every sign is known
SHRUNK = 0.6  # a box that is clipped to less than this share of its volume is looked at again before it is split
SLOPE = 0.1  # how much the slope along an input counts beside the relaxation error that it is to blame for
FEW = 60  # neurons of open sign, up to which one of them may be split
FEWEST = 6  # up to which one is split in any case, so that sets of ties are not cut into ever smaller boxes
FAVOUR = 1.0  # how much the error of one neuron counts beside that of an input
MANY_INPUTS = 16  # beyond which signs are fixed rather than inputs halved:
FAVOUR_WITH_MANY = 4.0  # how much the error of one neuron counts there
# how often a part is bounded there, each time with the rows of the last as cuts
LOOKS_WITH_MANY = 4


@kernel
def search_boxes(
    net,
    rows,
    zonotope,
    bounds,
    scratch,
    lower,
    upper,
    signs,
    top,
    finest,
    steps,
    margin,
    witness,
    counts,
):
    """Look through the parts `lower[:top]`, `upper[:top]`, `signs[:top]`, the last one first; returns the status and
    the new top.

    No side is split that is not longer than its entry of `finest`: then signs are fixed. At most `steps` parts are
    looked at. A point counts as found if each excess of a disjunct is at most −`margin` in
    float64; it is put into `witness`. With `LEAF`, the last part is one in which every sign is known: `zonotope.lines`
    has them. `counts` are the parts looked at, and those that cannot be split: these are left out.
    """
    inputs = net.widths[0]
    lo = scratch.sides[0]
    hi = scratch.sides[1]
    score = scratch.sides[2]
    part_lo = scratch.sides[3]
    part_hi = scratch.sides[4]
    sign = scratch.sign
    while top > 0:
        if counts[0] >= steps:
            return PAUSED, top
        if top + 2 > len(lower):
            return FULL, top
        top -= 1
        copy(lower[top], lo)
        copy(upper[top], hi)
        copy(signs[top], sign)
        counts[0] += 1
        if place_in_ball(lo, hi, zonotope.ball):
            continue
        generators = _bound_part(net, rows, lo, hi, sign, zonotope, bounds, scratch)
        if generators == 0:
            continue
        if _try_points(net, rows, lo, hi, zonotope.ball, bounds, margin, scratch, witness):
            copy(lo, lower[top])  # the part stays open until the point has been checked
            copy(hi, upper[top])
            return FOUND, top + 1
        if not _clip_to_hull(
            rows,
            lo,
            hi,
            bounds,
            zonotope.cuts,
            part_lo,
            part_hi,
            score,
            scratch.sides[5],
            scratch.sides[6],
        ):
            continue
        left = 1.0
        for i in range(inputs):
            if hi[i] > lo[i]:
                left *= (part_hi[i] - part_lo[i]) / (hi[i] - lo[i])
        side = _side_to_split(part_lo, part_hi, finest, score)
        if left < SHRUNK and side >= 0:
            copy(part_lo, lower[top])
            copy(part_hi, upper[top])
            top += 1
            continue
        if generators == inputs:
            copy(lo, lower[top])
            copy(hi, upper[top])
            return LEAF, top + 1
        neuron = _neuron_to_split(
            rows, generators, -1.0 if side < 0 else score[side], bounds, zonotope.owner
        )
        if neuron < 0 and side < 0:
            counts[1] += 1
            continue
        for half in range(2):
            copy(part_lo, lower[top])
            copy(part_hi, upper[top])
            copy(sign, signs[top])
            if neuron >= 0:
                signs[top, neuron] = 1 - 2 * half
            elif half == 0:
                lower[top, side] = 0.5 * part_lo[side] + 0.5 * part_hi[side]
            else:
                upper[top, side] = 0.5 * part_lo[side] + 0.5 * part_hi[side]
            top += 1
    return CLOSED, 0


@compiled
def _bound_part(net, rows, lo, hi, sign, zonotope, bounds, scratch):
    """Bound all rows over a part of a box, once or, with many inputs, some times over; returns what `_bound_once`
    does."""
    generators = 0
    kept = 0
    for look in range(LOOKS_WITH_MANY if len(lo) > MANY_INPUTS else 1):
        if look > 0:
            kept = keep_rows(rows, generators, bounds, zonotope.cuts) if generators > 0 else 0
            if kept == 0:
                break
        generators = _bound_once(net, rows, lo, hi, sign, kept, zonotope, bounds, scratch)
    return generators


@compiled
def _bound_once(net, rows, lo, hi, sign, kept, zonotope, bounds, scratch):
    """Bound all rows where the first `kept` cuts are not positive; returns the number of generators if the part is
    open, else 0, and −1 where numbers are beyond the range of floats: then nothing is known."""
    disjuncts = len(rows.disjuncts) - 1
    generators = enclose_box(net, lo, hi, sign, kept, zonotope)
    if generators == EMPTY:
        return 0
    is_known = generators >= 0
    if is_known:
        bound_rows(rows, lo, hi, generators, zonotope, bounds)
        for d in range(disjuncts):
            mix_rows(rows, d, generators, zonotope, bounds)
        for s in range(len(bounds.least)):
            is_known = is_known and abs(bounds.least[s]) < HUGE
    if not is_known:
        zonotope.cuts.count[0] = 0
        for s in range(len(bounds.least)):
            bounds.least[s] = -HUGE
            bounds.box_least[s] = -HUGE
            for i in range(len(lo)):
                bounds.slopes[s, i] = 0.0
        for d in range(disjuncts):
            for i in range(len(lo)):
                bounds.blame[d, i] = 0.5 * hi[i] - 0.5 * lo[i]
                bounds.points[d, i] = 0.0
        return -1
    is_open = False
    is_measured = False
    for d in range(disjuncts):
        if is_excluded(rows, d, bounds):
            continue
        blame_inputs(rows, d, generators, zonotope.share, bounds)
        if not is_measured:
            measure_reach(net, zonotope.lines, lo, hi, scratch)
            is_measured = True
        for s in range(rows.disjuncts[d], rows.disjuncts[d + 1]):
            tighten_row(net, rows, s, lo, hi, zonotope.lines, zonotope.ball, bounds, scratch)
            if bounds.least[s] > 0.0:
                break
        if is_excluded(rows, d, bounds):
            continue
        if len(lo) > MANY_INPUTS and rows.disjuncts[d + 1] - rows.disjuncts[d] == 1:
            weigh_gaps(net, lo, hi, zonotope, scratch, zonotope.form)
            blame_for_gaps(d, generators, zonotope.share, zonotope.form, bounds)
        if rows.disjuncts[d + 1] - rows.disjuncts[d] > 1 or zonotope.cuts.count[0] > 0:
            mix_rows(rows, d, generators, zonotope, bounds)
        if not is_excluded(rows, d, bounds):
            is_open = True
    return generators if is_open else 0


@compiled
def _try_points(net, rows, lo, hi, ball, bounds, margin, scratch, witness):
    """Whether the centre, the corner where a row has its least excess, or the point where a disjunct is nearest to
    being met looks like a counter-example."""
    count = len(rows.bounds)
    for s in range(-1, count + len(rows.disjuncts) - 1):
        if s >= count and is_excluded(rows, s - count, bounds):
            continue
        for i in range(len(lo)):
            centre = 0.5 * lo[i] + 0.5 * hi[i]
            if s < 0:
                value = centre
            elif s < count:
                value = lo[i] if bounds.slopes[s, i] > 0.0 else hi[i]
            else:
                value = centre + bounds.points[s - count, i] * max(hi[i] - centre, centre - lo[i])
            witness[i] = min(hi[i], max(lo[i], value))
        if 0 <= s < count and ball.used[0] > 0:
            gain_of_form(bounds.slopes[s], ball)
            for i in range(len(lo)):
                witness[i] = min(hi[i], max(lo[i], ball.centre[i] + ball.at[i]))
        bring_inside(witness, lo, hi, ball)
        if meets(net, rows, witness, margin, scratch):
            return True
    return False


@compiled
def _clip_to_hull(rows, lo, hi, bounds, cuts, part_lo, part_hi, score, a, b):
    """The smallest box that may hold a counter-example of any disjunct, and how much each input is worth splitting;
    False if there is no such box."""
    inputs = len(lo)
    for i in range(inputs):
        score[i] = 0.0
    is_empty = True
    for d in range(len(rows.disjuncts) - 1):
        if is_excluded(rows, d, bounds):
            continue
        best = best_row(rows, d, bounds)
        for i in range(inputs):
            score[i] += SLOPE * abs(bounds.slopes[best, i]) + bounds.blame[d, i]
        copy(lo, a)
        copy(hi, b)
        if clip_box(rows, d, bounds, cuts, lo, hi, a, b):
            continue
        for i in range(inputs):
            part_lo[i] = a[i] if is_empty else min(part_lo[i], a[i])
            part_hi[i] = b[i] if is_empty else max(part_hi[i], b[i])
        is_empty = False
    return not is_empty


@compiled
def _side_to_split(lo, hi, finest, score):
    """The input with the largest score that can be split in two; −1 if there is none."""
    side = -1
    for i in range(len(lo)):
        middle = 0.5 * lo[i] + 0.5 * hi[i]
        if (
            lo[i] < middle < hi[i]
            and hi[i] - lo[i] > finest[i]
            and (side < 0 or score[i] > score[side])
        ):
            side = i
    return side


@compiled
def _neuron_to_split(rows, generators, score, bounds, owner):
    """The neuron of open sign whose relaxation costs the bounds most, if that is much beside the `score` of an input
    (−1: none can be split) and few signs are open; else −1."""
    inputs = bounds.slopes.shape[1]
    is_wide = inputs > MANY_INPUTS
    if generators <= inputs or (generators - inputs > FEW and score >= 0.0 and not is_wide):
        return -1
    best = -1
    most = 0.0
    for g in range(inputs, generators):
        total = 0.0
        for d in range(len(rows.disjuncts) - 1):
            if not is_excluded(rows, d, bounds):
                total += bounds.parts[d, g]
        if best < 0 or total > most:
            best = g
            most = total
    favour = FAVOUR_WITH_MANY if is_wide else FAVOUR
    return owner[best] if favour * most >= score or generators - inputs <= FEWEST else -1


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
        apply_layer(net, k, state, other, scratch)
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
