"""Depth-first splitting of simple polytopes by the neurons of a network (compiled), any dimension from 2 up.

A polytope is a d-regular graph: homogeneous corners (x, w), the d facets at each, and the neighbour along the edge that
leaves each facet. A polytope is split if and only if a neuron is positive at one corner and negative at another, so no
flat cell arises. A corner where the neuron vanishes goes with the positive side, and the cut puts new corners on top of
it: this is the graph of the polytope whose facets are moved by amounts that grow, infinitely fast, from each neuron to
the next. So every graph stays simple, corners sit at their true places, and the combinatorics depend on signs alone.
"""

import numpy as np

from .box_corners import corner_error
from .kernel_parts import (
    ALLOWED,
    ASKED,
    CELLS,
    CORNERS,
    CUTS,
    DEEPER,
    DONE,
    FORCED,
    FULL,
    GUESSED,
    HEIGHT,
    KEPT,
    KEPT_CORNERS,
    LIMIT,
    NO_ANSWER,
    PAUSE,
    SIGN,
    SIGNS,
    VANISHES,
    WIDER,
    WORK,
    add_column,
    add_columns,
    centre_test,
    compiled,
    copy_and_add_column,
    descend,
    measure_forms,
    note_margin,
    set_active,
    start_partial,
    threshold,
)  # fmt: skip


@compiled(fastmath={"contract"})
def evaluate(forms, k, point, n, value):
    """The form at every corner; its least, greatest and smallest absolute value. Three and four dimensions by hand."""
    d = forms.shape[0] - 1
    low, high, small = 1e308, -1e308, 1e308
    a0, a1, a2 = forms[0, k], forms[1, k], forms[2, k]
    a3 = forms[3, k] if d >= 3 else 0.0
    a4 = forms[4, k] if d >= 4 else 0.0
    for i in range(n):
        v = a0 * point[i, 0] + a1 * point[i, 1] + a2 * point[i, 2]
        if d == 3:
            v += a3 * point[i, 3]
        elif d == 4:
            v += a3 * point[i, 3] + a4 * point[i, 4]
        else:
            for c in range(3, d + 1):
                v += forms[c, k] * point[i, c]
        value[i] = v
        low = min(low, v)
        high = max(high, v)
        small = min(small, abs(v))
    return low, high, small


@compiled()
def enter(weights, stack, path, scratch, gauges, t, layer, size, need_map):
    """On entering a layer: sort its coordinates into active, inactive and candidates, and add up the active ones."""
    n = stack.corners[t]
    point = stack.point[t]
    d = point.shape[1] - 1
    measure_forms(weights, path, layer, size)
    allowance = threshold(path, layer, stack.worst[t], size, d)
    for c in range(d + 1):
        low, high = point[0, c], point[0, c]
        for i in range(1, n):
            low = min(low, point[i, c])
            high = max(high, point[i, c])
        path.box[2 * c] = 0.5 * (low + high)
        path.box[2 * c + 1] = 0.5 * (high - low)
    bounded = path.box[2 * d] == 1.0 and path.box[2 * d + 1] == 0.0
    width = weights.sizes[layer]
    forms = path.forms[layer]
    if bounded:
        centre_test(forms, width, path.box, allowance, path.middle, path.gap)
    else:
        for k in range(width):
            path.gap[k] = -1.0
    begin = weights.first[layer]
    passed = weights.keys.shape[0] - 1
    count = 0
    waiting = 0
    for k in range(width):
        number = weights.neuron[begin + k]
        on = path.middle[k] > 0.0
        if number == passed:
            on = True
        elif path.gap[k] <= 0.0:
            low, high, small = evaluate(forms, k, point, n, scratch.value)
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


@compiled()
def pair_up(scratch, corner, d):
    """Join a new corner to the others on the cut that share all but one of its old facets."""
    mask = scratch.table_stamp.shape[0] - 1
    stamp = scratch.stamp[0]
    sides = scratch.facet_key.shape[0] // 2
    for j in range(d - 1):
        key = np.uint64(0)
        for c in range(d - 1):
            if c != j:
                key += scratch.facet_key[scratch.new_facet[corner, c] + sides]
        z = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(mask))
        while scratch.table_stamp[z] == stamp and scratch.table_key[z] != key:
            z = (z + 1) & mask
        if scratch.table_stamp[z] == stamp:
            other = scratch.table_corner[z]
            scratch.new_along[corner, j] = other
            scratch.new_along[other, scratch.table_edge[z]] = corner
        else:
            scratch.table_stamp[z] = stamp
            scratch.table_key[z] = key
            scratch.table_corner[z] = corner
            scratch.table_edge[z] = j


@compiled(fastmath={"contract"})
def new_corners(weights, stack, path, scratch, t, number, size):
    """Corners on the edges that the neuron cuts; -1 if there is no room."""
    n = stack.corners[t]
    point, facet, along = stack.point[t], stack.facet[t], stack.along[t]
    d = facet.shape[1]
    room = scratch.value.shape[0]
    scratch.stamp[0] += 1
    m = 0
    for v in range(n):
        if scratch.sign[v] < 0:
            continue
        for i in range(d):
            u = along[v, i]
            if scratch.sign[u] >= 0:
                continue
            if n + m + 1 >= room:
                return -1
            high = max(scratch.value[v], 0.0) if scratch.sign[v] > 0 else 0.0
            low = max(-scratch.value[u], 0.0)
            s = high / (high + low) if high + low > 0.0 else 0.5
            if scratch.sign[v] == 0:
                s = 0.0
            for c in range(d + 1):
                scratch.new_point[m, c] = point[v, c] + s * (point[u, c] - point[v, c])
            q = 0
            for c in range(d):
                if c != i:
                    scratch.new_facet[m, q] = facet[v, c]
                    q += 1
            scratch.new_facet[m, d - 1] = number
            scratch.origin[m, 0], scratch.origin[m, 1], scratch.origin[m, 2] = v, i, u
            for c in range(d):
                if along[u, c] == v:
                    scratch.origin[m, 3] = c
            scratch.new_radius[m] = corner_error(weights, path, scratch.new_point[m], scratch.new_facet[m], size)
            pair_up(scratch, m, d)
            m += 1
    return m


@compiled()
def build(stack, scratch, t, m, up, point, radius, facet, along):
    """One side of the cut: old corners on it, then the new ones. Returns their number and the largest error."""
    n = stack.corners[t]
    d = facet.shape[1]
    q = 0
    worst = 0.0
    for v in range(n):
        if (scratch.sign[v] >= 0) == up:
            scratch.place[v] = q
            q += 1
        else:
            scratch.place[v] = -1
    for v in range(n):
        w = scratch.place[v]
        if w < 0:
            continue
        radius[w] = stack.radius[t, v]
        worst = max(worst, radius[w])
        point[w, d] = stack.point[t, v, d]
        for c in range(d):
            point[w, c] = stack.point[t, v, c]
            facet[w, c] = stack.facet[t, v, c]
            along[w, c] = scratch.place[stack.along[t, v, c]]
    end = 0 if up else 2
    for w in range(m):
        x = q + w
        radius[x] = scratch.new_radius[w]
        worst = max(worst, radius[x])
        point[x, d] = scratch.new_point[w, d]
        for c in range(d):
            point[x, c] = scratch.new_point[w, c]
            facet[x, c] = scratch.new_facet[w, c]
        for c in range(d - 1):
            along[x, c] = q + scratch.new_along[w, c]
        old = scratch.place[scratch.origin[w, end]]
        along[x, d - 1] = old
        along[old, scratch.origin[w, end + 1]] = x
    return q + m, worst


@compiled()
def split(stack, scratch, t, m):
    """Slot t keeps the part where the neuron is negative; slot t+1 gets the other."""
    up = t + 1
    arrays = (stack.point[up], stack.radius[up], stack.facet[up], stack.along[up])
    above, worst_above = build(stack, scratch, t, m, True, *arrays)
    below, worst = build(stack, scratch, t, m, False, scratch.point, scratch.radius, scratch.facet, scratch.along)
    d = stack.facet.shape[2]
    for v in range(below):
        stack.radius[t, v] = scratch.radius[v]
        stack.point[t, v, d] = scratch.point[v, d]
        for c in range(d):
            stack.point[t, v, c] = scratch.point[v, c]
            stack.facet[t, v, c] = scratch.facet[v, c]
            stack.along[t, v, c] = scratch.along[v, c]
    stack.corners[t], stack.worst[t] = below, worst
    stack.corners[up], stack.worst[up] = above, worst_above


@compiled()
def keep(stack, cells, counters, t, outputs, want_maps):
    n = stack.corners[t]
    d = stack.facet.shape[2]
    c = counters[KEPT]
    v = counters[KEPT_CORNERS]
    if c == cells.name.shape[0] or v + n > cells.radius.shape[0]:
        return False
    for i in range(n):
        cells.radius[v + i] = stack.radius[t, i]
        for j in range(d):
            cells.vertices[v + i, j] = stack.point[t, i, j]
            cells.label[v + i, j] = stack.facet[t, i, j]
    cells.ends[c + 1] = v + n
    cells.name[c] = stack.name[t]
    for w in range(stack.pattern.shape[1]):
        cells.pattern[c, w] = stack.pattern[t, w]
    if want_maps:
        for j in range(outputs):
            for i in range(d + 1):
                cells.maps[c, j, i] = stack.partial[t, i, j]
    counters[KEPT] = c + 1
    counters[KEPT_CORNERS] = v + n
    return True


@compiled()
def read_signs(scratch, n, allowance, forced):
    positive = False
    negative = False
    for i in range(n):
        v = scratch.value[i]
        if v > allowance:
            scratch.sign[i] = 1
        elif v < -allowance:
            scratch.sign[i] = -1
        else:
            scratch.sign[i] = scratch.forced[i] if forced == SIGNS else 0
        positive |= scratch.sign[i] > 0
        negative |= scratch.sign[i] < 0
    return positive, negative


@compiled()
def run(weights, stack, path, scratch, cells, counters, gauges, size, ask, store, want_maps, max_cells, pause):
    """Enumerate until done or until something is needed; a call can be resumed."""
    last = weights.sizes.shape[0] - 2
    depth = stack.corners.shape[0]
    d = stack.facet.shape[2]
    counters[WORK] = 0
    while counters[HEIGHT] > 0:
        t = counters[HEIGHT] - 1
        layer = stack.layer[t]
        need_map = layer < last or want_maps
        if stack.position[t] < 0:
            enter(weights, stack, path, scratch, gauges, t, layer, size, need_map)
            counters[WORK] += weights.sizes[layer] * (4 + (weights.sizes[layer + 1] >> 3))
        forms = path.forms[layer]
        allowance = threshold(path, layer, stack.worst[t], size, d)
        p = stack.position[t]
        was_split = False
        while p < path.candidates[layer]:
            k = path.candidate[layer, p]
            p += 1
            if k < 0:
                continue
            n = stack.corners[t]
            _, _, small = evaluate(forms, k, stack.point[t], n, scratch.value)
            forced = counters[FORCED]
            if small > allowance:
                note_margin(gauges, small, allowance)
            elif forced == NO_ANSWER and ask:
                stack.position[t] = p - 1
                counters[ASKED] = k
                gauges[ALLOWED] = allowance
                return SIGN
            elif forced == VANISHES:
                counters[FORCED] = NO_ANSWER
                path.candidate[layer, p - 1] = -1
                continue
            elif forced == NO_ANSWER:
                counters[GUESSED] += 1
            positive, negative = read_signs(scratch, n, allowance, forced)
            if positive and negative:
                number = weights.neuron[weights.first[layer] + k]
                m = -1 if t + 2 > depth else new_corners(weights, stack, path, scratch, t, number, size)
                if m < 0:
                    stack.position[t] = p - 1
                    return DEEPER if t + 2 > depth else WIDER
                split(stack, scratch, t, m)
                stack.name[t + 1] = stack.name[t]
                for w in range(stack.pattern.shape[1]):
                    stack.pattern[t + 1, w] = stack.pattern[t, w]
                set_active(weights, layer, k, t + 1, stack)
                if need_map:
                    copy_and_add_column(weights, layer, forms, k, stack.partial[t], stack.partial[t + 1])
                stack.layer[t + 1] = layer
                stack.position[t + 1] = p
                stack.position[t] = p
                counters[HEIGHT] += 1
                counters[CUTS] += 1
                counters[WORK] += n * 32 + weights.sizes[layer + 1]
                counters[FORCED] = NO_ANSWER
                was_split = True
                break
            counters[FORCED] = NO_ANSWER
            if positive:
                set_active(weights, layer, k, t, stack)
                if need_map:
                    add_column(weights, layer, forms, k, stack.partial[t])
        if was_split:
            continue
        stack.position[t] = p
        if layer < last:
            descend(weights, path, layer, t, stack)
            continue
        if counters[CELLS] == max_cells:
            return LIMIT
        if store and not keep(stack, cells, counters, t, weights.sizes[last + 1], want_maps):
            return FULL
        counters[CELLS] += 1
        counters[CORNERS] += stack.corners[t]
        counters[HEIGHT] -= 1
        if counters[WORK] > pause:
            return PAUSE
    return DONE
