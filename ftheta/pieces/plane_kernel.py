"""Depth-first splitting of convex polygons by the neurons of a network (compiled).

A slot of the stack is one polygon: corners anticlockwise with a bound on the error of each, the label of the edge that
leaves each corner, the pattern so far, and the next layer's map as far as it is known. A polygon is split by a neuron
if and only if the neuron is positive at one corner and negative at another; corners where it vanishes belong to both
halves. Hence the combinatorics depend on signs alone, and every sign is either certain by the error bound or asked for.
"""

from typing import NamedTuple

import numpy as np

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
    VOLUME,
    WIDER,
    WORK,
    U,
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


class Stack(NamedTuple):
    polygon: np.ndarray  # (depth, 3, corners): x, y, bound on the error
    label: np.ndarray  # (depth, corners): neuron of the edge that leaves the corner; -1-i for side i of the domain
    corners: np.ndarray
    worst: np.ndarray  # largest error bound among the corners
    layer: np.ndarray
    position: np.ndarray  # next candidate of the layer; -1 on entering it
    partial: np.ndarray  # (depth, 3, width)
    name: np.ndarray
    pattern: np.ndarray  # (depth, words)


class Path(NamedTuple):
    forms: np.ndarray  # (layers, 3, width): the forms of every layer on the current path
    candidate: np.ndarray
    candidates: np.ndarray
    form_error: np.ndarray
    row_size: np.ndarray
    active: np.ndarray
    middle: np.ndarray
    gap: np.ndarray
    value: np.ndarray
    sign: np.ndarray
    forced: np.ndarray
    spare: np.ndarray
    spare_label: np.ndarray
    sides: np.ndarray  # (sides of the domain, 4): form and bound on its error


class Cells(NamedTuple):
    vertices: np.ndarray
    radius: np.ndarray
    label: np.ndarray
    ends: np.ndarray
    name: np.ndarray
    pattern: np.ndarray
    maps: np.ndarray  # (cells, outputs, 3)


@compiled(fastmath={"contract"})
def evaluate(forms, k, polygon, n, value):
    """The form at every corner; its least, greatest and smallest absolute value."""
    a, b, c = forms[0, k], forms[1, k], forms[2, k]
    low, high, small = 1e308, -1e308, 1e308
    for i in range(n):
        v = a * polygon[0, i] + b * polygon[1, i] + c
        value[i] = v
        low = min(low, v)
        high = max(high, v)
        small = min(small, abs(v))
    return low, high, small


@compiled()
def enter(weights, stack, path, gauges, t, layer, size, need_map):
    """On entering a layer: sort its coordinates into active, inactive and candidates, and add up the active ones."""
    n = stack.corners[t]
    polygon = stack.polygon[t]
    measure_forms(weights, path, layer, size)
    allowance = threshold(path, layer, stack.worst[t], size, 2)
    for c in range(2):
        low, high = polygon[c, 0], polygon[c, 0]
        for i in range(1, n):
            low = min(low, polygon[c, i])
            high = max(high, polygon[c, i])
        path.value[2 * c] = 0.5 * (low + high)
        path.value[2 * c + 1] = 0.5 * (high - low)
    width = weights.sizes[layer]
    forms = path.forms[layer]
    centre_test(forms, width, path.value, allowance, path.middle, path.gap)
    begin = weights.first[layer]
    passed = weights.keys.shape[0] - 1
    name = stack.name[t]
    word = np.uint64(0)  # the part of the pattern under construction stays in a register
    place = np.int64(0)
    count = 0
    waiting = 0
    for k in range(width):
        number = weights.neuron[begin + k]
        if number >> 6 != place:
            stack.pattern[t, place] |= word
            word = np.uint64(0)
            place = number >> 6
        on = path.middle[k] > 0.0
        if number == passed:
            on = True
        elif path.gap[k] <= 0.0:
            low, high, small = evaluate(forms, k, polygon, n, path.value)
            if low <= allowance and high >= -allowance:
                path.candidate[layer, waiting] = k
                waiting += 1
                on = False
            else:
                on = low > 0.0
                note_margin(gauges, small, allowance)
        path.active[count] = k
        count += on
        name ^= weights.keys[number] * np.uint64(on)
        word |= np.uint64(on and number != passed) << np.uint64(number & 63)
    stack.pattern[t, place] |= word
    stack.name[t] = name
    path.candidates[layer] = waiting
    if need_map:
        start_partial(weights, layer, stack.partial[t])
        add_columns(weights, layer, forms, path.active, count, stack.partial[t])
    stack.position[t] = 0


@compiled()
def line(weights, path, label):
    """The form of an edge and the bound on its error: a neuron on the current path, or a side of the domain."""
    if label < 0:
        side = path.sides[-1 - label]
        return side[0], side[1], side[2], side[3]
    layer = weights.unit_layer[label]
    k = weights.unit_coordinate[label]
    forms = path.forms[layer]
    return forms[0, k], forms[1, k], forms[2, k], path.form_error[layer]


@compiled(fastmath={"contract"})
def crossing(weights, path, polygon, i, j, edge, number, size):
    """The point of edge i–j where the neuron vanishes, with a bound on its error.

    The bound comes from the residuals of the point on its two lines and the angle between them (Cramer's rule), so
    errors of earlier corners do not add up.
    """
    v = max(path.value[i] * path.sign[i], 0.0)
    u = max(path.value[j] * path.sign[j], 0.0)
    total = v + u
    s = v / total if total > 0.0 else 0.5
    x = polygon[0, i] + s * (polygon[0, j] - polygon[0, i])
    y = polygon[1, i] + s * (polygon[1, j] - polygon[1, i])
    a, b, c, e = line(weights, path, edge)
    p, q, r, f = line(weights, path, number)
    g = (abs(a) + abs(b)) * size
    h = (abs(p) + abs(q)) * size
    first = abs(a * x + b * y + c) + 1.8 * e + 8.0 * U * (g + abs(c))
    second = abs(p * x + q * y + r) + 1.8 * f + 8.0 * U * (h + abs(r))
    wide = abs(a * q - b * p) * size * size - (g + e) * (f + 8.0 * U * h) - (h + f) * e
    error = 4.0 * size
    if wide > 0.0:
        error = min(error, 1.00001 * size * (first * (h + f) + second * (g + e)) / wide)
    return x, y, error


@compiled()
def put(polygon, label, n, x, y, error, edge):
    polygon[0, n] = x
    polygon[1, n] = y
    polygon[2, n] = error
    label[n] = edge
    return n + 1


@compiled()
def split(weights, stack, path, t, number, size):
    """Slot t keeps the part where the neuron is negative; slot t+1 gets the part where it is positive."""
    n = stack.corners[t]
    old, old_label = stack.polygon[t], stack.label[t]
    up, up_label = stack.polygon[t + 1], stack.label[t + 1]
    down, down_label = path.spare, path.spare_label
    sign = path.sign
    above = 0
    below = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        x, y, e, edge = old[0, i], old[1, i], old[2, i], old_label[i]
        if sign[i] > 0:
            above = put(up, up_label, above, x, y, e, edge)
        elif sign[i] < 0:
            below = put(down, down_label, below, x, y, e, edge)
        else:  # a corner on the line: the new edge leaves it on the side that the ring does not follow
            above = put(up, up_label, above, x, y, e, edge if sign[j] > 0 else number)
            below = put(down, down_label, below, x, y, e, edge if sign[j] < 0 else number)
        if sign[i] * sign[j] < 0:
            px, py, pe = crossing(weights, path, old, i, j, edge, number, size)
            above = put(up, up_label, above, px, py, pe, edge if sign[j] > 0 else number)
            below = put(down, down_label, below, px, py, pe, edge if sign[j] < 0 else number)
    worst = 0.0
    for i in range(above):
        worst = max(worst, up[2, i])
    stack.worst[t + 1] = worst
    worst = 0.0
    for i in range(below):
        old[0, i], old[1, i], old[2, i] = down[0, i], down[1, i], down[2, i]
        old_label[i] = down_label[i]
        worst = max(worst, down[2, i])
    stack.worst[t] = worst
    stack.corners[t + 1] = above
    stack.corners[t] = below


@compiled()
def area(polygon, n):
    """The area of a polygon; differences to its first corner keep small polygons accurate."""
    x, y = polygon[0, 0], polygon[1, 0]
    doubled = 0.0
    for i in range(1, n - 1):
        doubled += (polygon[0, i] - x) * (polygon[1, i + 1] - y) - (polygon[0, i + 1] - x) * (polygon[1, i] - y)
    return 0.5 * doubled


@compiled()
def keep(stack, cells, counters, t, outputs, want_maps):
    """Write a finished cell into the buffers; False when they are full."""
    n = stack.corners[t]
    c = counters[KEPT]
    v = counters[KEPT_CORNERS]
    if c == cells.name.shape[0] or v + n > cells.radius.shape[0]:
        return False
    for i in range(n):
        cells.vertices[v + i, 0] = stack.polygon[t, 0, i]
        cells.vertices[v + i, 1] = stack.polygon[t, 1, i]
        cells.radius[v + i] = stack.polygon[t, 2, i]
        cells.label[v + i] = stack.label[t, i]
    cells.ends[c + 1] = v + n
    cells.name[c] = stack.name[t]
    for w in range(stack.pattern.shape[1]):
        cells.pattern[c, w] = stack.pattern[t, w]
    if want_maps:
        for j in range(outputs):
            for i in range(3):
                cells.maps[c, j, i] = stack.partial[t, i, j]
    counters[KEPT] = c + 1
    counters[KEPT_CORNERS] = v + n
    return True


@compiled()
def read_signs(path, n, allowance, forced):
    """Signs of the values at the corners: certain ones from the values, the others as they were answered (or zero)."""
    positive = False
    negative = False
    for i in range(n):
        v = path.value[i]
        if v > allowance:
            path.sign[i] = 1
        elif v < -allowance:
            path.sign[i] = -1
        else:
            path.sign[i] = path.forced[i] if forced == SIGNS else 0
        positive |= path.sign[i] > 0
        negative |= path.sign[i] < 0
    return positive, negative


@compiled()
def run(weights, stack, path, cells, counters, gauges, size, ask, store, want_maps, max_cells, pause):
    """Enumerate until done or until something is needed; the stack holds all that is left, so a call can be resumed."""
    last = weights.sizes.shape[0] - 2
    depth = stack.corners.shape[0]
    room = stack.label.shape[1]
    counters[WORK] = 0
    while counters[HEIGHT] > 0:
        t = counters[HEIGHT] - 1
        layer = stack.layer[t]
        need_map = layer < last or want_maps
        if stack.position[t] < 0:
            enter(weights, stack, path, gauges, t, layer, size, need_map)
            counters[WORK] += weights.sizes[layer] + (weights.sizes[layer] * weights.sizes[layer + 1] >> 4)
        forms = path.forms[layer]
        allowance = threshold(path, layer, stack.worst[t], size, 2)
        p = stack.position[t]
        was_split = False
        while p < path.candidates[layer]:
            k = path.candidate[layer, p]
            p += 1
            if k < 0:
                continue
            n = stack.corners[t]
            low, high, small = evaluate(forms, k, stack.polygon[t], n, path.value)
            if small > allowance:
                note_margin(gauges, small, allowance)
                positive, negative = high > 0.0, low < 0.0
            else:
                forced = counters[FORCED]
                if forced == NO_ANSWER and ask:
                    stack.position[t] = p - 1
                    counters[ASKED] = k
                    gauges[ALLOWED] = allowance
                    return SIGN
                counters[FORCED] = NO_ANSWER
                if forced == NO_ANSWER:
                    counters[GUESSED] += 1
                if forced == VANISHES:
                    path.candidate[layer, p - 1] = -1
                    continue
                positive, negative = read_signs(path, n, allowance, forced)
                if positive and negative:
                    if t + 2 > depth or n + 2 > room:
                        counters[FORCED] = forced
                        stack.position[t] = p - 1
                        return DEEPER if t + 2 > depth else WIDER
                    was_split = True
            if positive and negative:
                if not was_split:
                    if t + 2 > depth or n + 2 > room:
                        stack.position[t] = p - 1
                        return DEEPER if t + 2 > depth else WIDER
                    for i in range(n):
                        path.sign[i] = 1 if path.value[i] > 0.0 else -1
                    was_split = True
                split(weights, stack, path, t, weights.neuron[weights.first[layer] + k], size)
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
                counters[WORK] += weights.sizes[layer + 1] // 4 + 64
                break
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
        gauges[VOLUME] += area(stack.polygon[t], stack.corners[t])
        counters[CELLS] += 1
        counters[CORNERS] += stack.corners[t]
        counters[HEIGHT] -= 1
        if counters[WORK] > pause:
            return PAUSE
    return DONE
