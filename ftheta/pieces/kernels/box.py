"""Depth-first splitting of simple polytopes by the neurons of a network (compiled), any dimension from 2 up.

A polytope is a d-regular graph: homogeneous corners (x, w), the d facets at each, and the neighbour along the edge that
leaves each facet. A polytope is split if and only if a neuron is positive at one corner and negative at another, so no
flat cell arises. A corner where the neuron vanishes goes with the positive side, and the cut puts new corners on top of
it: this is the graph of the polytope whose facets are moved by amounts that grow, infinitely fast, from each neuron to
the next. So every graph stays simple, corners sit at their true places, and the combinatorics depend on signs alone.
"""

from ftheta.loops import entry, inner, woven

from .box_corners import BOUND
from .box_split import split
from .box_volume import polytope_volume
from .parts import (
    ABOVE,
    ASKED,
    BASE,
    BOTH,
    CELLS,
    DEEPER,
    DONE,
    FULL,
    HEIGHT,
    KEPT_CORNERS,
    LIMIT,
    NOWHERE,
    OPEN,
    PAUSE,
    SETTLED,
    SIGN,
    SPLIT,
    VOLUME,
    WIDER,
    WORK,
    add_columns,
    centre_test,
    decide,
    descend,
    finish,
    fork,
    is_full,
    keep_rest,
    measure_forms,
    note_margin,
    set_active,
    settle,
    sign_at_zero,
    start_partial,
    threshold,
)  # fmt: skip


@inner(fastmath={"contract"})
def evaluate(forms, k, path, stack, scratch, t, value):
    """The form at every corner; its least, greatest and smallest absolute value. Three and four dimensions by hand."""
    n = stack.corners[t]
    corner = stack.corner[t]
    point = path.point
    d = forms.shape[0] - 1
    low = 1e308
    high = -1e308
    small = 1e308
    form = scratch.form
    for c in range(d + 1):
        form[c] = forms[c, k]
    a0 = form[0]
    a1 = form[1]
    a2 = form[2]
    a3 = form[3] if d >= 3 else 0.0
    a4 = form[4] if d >= 4 else 0.0
    for i in range(n):
        x = point[corner[i]]
        v = a0 * x[0] + a1 * x[1] + a2 * x[2]
        if d == 3:
            v += a3 * x[3]
        elif d == 4:
            v += a3 * x[3] + a4 * x[4]
        else:
            for c in range(3, d + 1):
                v += form[c] * x[c]
        value[i] = v
        low = min(low, v)
        high = max(high, v)
        small = min(small, abs(v))
    return low, high, small


@inner()
def bounding_box(stack, path, t):
    """Centre and half-width of every coordinate over the corners of a polytope."""
    n = stack.corners[t]
    for c in range(path.point.shape[1]):
        low = path.point[stack.corner[t, 0], c]
        high = low
        for i in range(1, n):
            x = path.point[stack.corner[t, i], c]
            low = min(low, x)
            high = max(high, x)
        path.box[2 * c] = 0.5 * (low + high)
        path.box[2 * c + 1] = 0.5 * (high - low)


@woven()
def enter(weights, stack, path, scratch, gauges, t, layer, size, need_map):
    """On entering a layer: sort its coordinates into active, inactive and candidates, and add up the active ones."""
    d = path.facet.shape[1]
    measure_forms(weights, path, layer, size)
    allowance = threshold(path, layer, stack.worst[t], size, d)
    width = weights.sizes[layer]
    forms = path.forms[layer]
    if path.bounded[0]:
        bounding_box(stack, path, t)
        centre_test(forms, width, path.box, allowance, path.middle, path.gap)
    else:
        path.gap[:width] = -1.0
    begin = weights.first[layer]
    passed = weights.keys.shape[0] - 1
    count = 0
    waiting = 0
    for k in range(width):
        number = weights.neuron[begin + k]
        on = path.middle[k] > 0.0
        if number == passed:
            on = True
        elif path.zero[layer, k]:
            on = False
        elif path.gap[k] <= 0.0:
            low, high, small = evaluate(forms, k, path, stack, scratch, t, scratch.value)
            if low <= allowance and high >= -allowance:
                path.candidate[layer, waiting] = k
                waiting += 1
                continue
            on = low > 0.0
            note_margin(gauges, small, allowance)
        if on:
            path.active[count] = k
            count += 1
            if number != passed:
                set_active(weights, layer, k, t, stack)
    path.candidates[layer] = waiting
    if need_map:
        start_partial(weights, layer, stack.partial[t])
        add_columns(weights, layer, forms, path.active, count, stack.partial[t])
    stack.position[t] = 0


@woven()
def keep(stack, path, cells, counters, t, want_maps):
    """Write a finished cell into the buffers; False when they are full."""
    n = stack.corners[t]
    d = path.facet.shape[1]
    if is_full(cells, counters, n):
        return False
    v = counters[KEPT_CORNERS]
    for i in range(n):
        row = stack.corner[t, i]
        cells.radius[v + i] = path.know[row, BOUND]
        for c in range(d):
            cells.vertices[v + i, c] = path.point[row, c]
            cells.label[v + i, c] = path.facet[row, c]
    keep_rest(stack, cells, counters, t, n, want_maps)
    return True


@woven()
def walk(weights, stack, path, scratch, counters, gauges, t, layer, size, ask, need_map):
    """Try candidates of the layer until one splits the polytope: SPLIT. SETTLED if none does, SIGN if one is open."""
    forms = path.forms[layer]
    n = stack.corners[t]
    allowance = threshold(path, layer, stack.worst[t], size, path.facet.shape[1])
    p = stack.position[t]
    while p < path.candidates[layer]:
        k = path.candidate[layer, p]
        p += 1
        if k < 0:
            continue
        low, high, small = evaluate(forms, k, path, stack, scratch, t, scratch.value)
        found = decide(scratch, n, low, high, small, allowance, counters, gauges, ask)
        if found == BOTH:
            split(weights, stack, path, scratch, t, layer, k, allowance, size)
            stack.position[t] = p
            fork(weights, stack, path, counters, t, layer, k, need_map)
            counters[WORK] += n * 32 + weights.sizes[layer + 1]
            return SPLIT
        if found == OPEN:
            stack.position[t] = p - 1
            counters[ASKED] = k
            return SIGN
        if found == NOWHERE:
            path.candidate[layer, p - 1] = -1
        elif found == ABOVE:
            settle(weights, stack, path, t, layer, k, need_map)
    stack.position[t] = p
    return SETTLED


@inner()
def crossing_parts(stack, scratch, gauges, t, allowance):
    """Two cuts of a polytope make 4 parts if the second form has both signs on the first cut, else 3; 0 if open."""
    first = scratch.trial[0]
    second = scratch.trial[1]
    above = False
    below = False
    for v in range(stack.corners[t]):
        if first[v] < 0.0:
            continue
        for i in range(stack.along.shape[2]):
            u = stack.along[t, v, i]
            if first[u] < 0.0:
                sign = sign_at_zero(first[v], first[u], second[v], second[u], allowance, gauges)
                if sign == 0:
                    return 0
                above |= sign > 0
                below |= sign < 0
        if above and below:
            return 4
    return 3


@inner()
def count_parts(stack, path, scratch, gauges, t, layer, size):
    """Into how many parts the last layer cuts a polytope if at most two of its neurons do; 0 if more, or if open."""
    allowance = threshold(path, layer, stack.worst[t], size, path.facet.shape[1])
    cuts = 0
    for p in range(stack.position[t], path.candidates[layer]):
        k = path.candidate[layer, p]
        if k < 0:
            continue
        low, high, small = evaluate(
            path.forms[layer], k, path, stack, scratch, t, scratch.trial[cuts]
        )
        if small > allowance and (low > 0.0 or high < 0.0):
            note_margin(gauges, small, allowance)
            continue
        if cuts == 0:
            stack.position[t] = p  # nothing before it cuts the polytope
        if small <= allowance or cuts == 2:
            return 0
        note_margin(gauges, small, allowance)
        cuts += 1
    return cuts + 1 if cuts < 2 else crossing_parts(stack, scratch, gauges, t, allowance)


@inner()
def has_room(stack, path, scratch, t):
    """Whether the polytope on top of the stack can be split: no more than half of all edge ends are cut."""
    n = stack.corners[t]
    new = n * path.facet.shape[1] // 2
    return n + new <= scratch.value.shape[0] and stack.top[t] + new <= path.point.shape[0]


@entry
def run(
    weights,
    stack,
    path,
    scratch,
    cells,
    counters,
    gauges,
    size,
    ask,
    store,
    want_maps,
    max_cells,
    pause,
):
    """Enumerate until done or until something is needed; the stack holds all that is left, so a call can be resumed."""
    last = weights.sizes.shape[0] - 2
    sides = path.plane.shape[0] - weights.keys.shape[0] + 1
    counters[WORK] = 0
    while counters[HEIGHT] > counters[BASE]:
        t = counters[HEIGHT] - 1
        if t + 2 > stack.corners.shape[0]:
            return DEEPER
        if not has_room(stack, path, scratch, t):
            return WIDER
        layer = stack.layer[t]
        need_map = layer < last or want_maps
        if stack.position[t] < 0:
            enter(weights, stack, path, scratch, gauges, t, layer, size, need_map)
            counters[WORK] += weights.sizes[layer] * (4 + (weights.sizes[layer + 1] >> 3))
        found = (
            0
            if store or layer < last
            else count_parts(stack, path, scratch, gauges, t, layer, size)
        )
        if found == 0:
            outcome = walk(
                weights, stack, path, scratch, counters, gauges, t, layer, size, ask, need_map
            )
            if outcome == SPLIT:
                continue
            if outcome == SIGN:
                return SIGN
            if layer < last:
                descend(weights, path, layer, t, stack)
                continue
            found = 1
        if 0 <= max_cells < counters[CELLS] + found:
            return LIMIT
        if store:
            if not keep(stack, path, cells, counters, t, want_maps):
                return FULL
            if path.bounded[0]:
                gauges[VOLUME] += polytope_volume(path, stack, scratch, t, sides, size)
        finish(counters, found)
        if counters[WORK] > pause:
            return PAUSE
    return DONE
