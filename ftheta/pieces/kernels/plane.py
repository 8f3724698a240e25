"""Depth-first splitting of convex polygons by the neurons of a network (compiled).

A slot of the stack is one polygon: corners anticlockwise with a bound on the error of each, the label of the edge that
leaves each corner, the pattern so far, and the next layer's map as far as it is known. A polygon is split by a neuron
if and only if the neuron is positive at one corner and negative at another; corners where it vanishes belong to both
halves. Hence the combinatorics depend on signs alone, and every sign is either certain by the error bound or asked for.
"""

from typing import NamedTuple

import numpy as np

from ftheta.loops import entry, inner, woven

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
    settle,
    sign_at_zero,
    start_partial,
    threshold,
)  # fmt: skip
from .plane_split import area, split


class Stack(NamedTuple):
    polygon: np.ndarray  # (depth, 3, corners): x, y, bound on the error
    # (depth, corners): neuron of the edge that leaves the corner; -1-i for side i of the domain
    label: np.ndarray
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
    zero: np.ndarray  # (layers, width): coordinates that nothing reaches
    form_error: np.ndarray
    row_size: np.ndarray
    active: np.ndarray
    middle: np.ndarray
    gap: np.ndarray
    box: np.ndarray  # (4,): centre and half-width of a bounding box, interleaved
    sides: np.ndarray  # (sides of the domain, 4): form and bound on its error


class Scratch(NamedTuple):
    """Arrays over the corners of a polygon."""

    value: np.ndarray
    sign: np.ndarray
    forced: np.ndarray
    trial: np.ndarray  # (3, corners): values of the neurons that cut a cell of the last layer
    spare: np.ndarray
    spare_label: np.ndarray


@inner(fastmath={"contract"})
def evaluate(forms, k, polygon, n, value):
    """The form at every corner; its least, greatest and smallest absolute value."""
    a = forms[0, k]
    b = forms[1, k]
    c = forms[2, k]
    low = 1e308
    high = -1e308
    small = 1e308
    for i in range(n):
        v = a * polygon[0, i] + b * polygon[1, i] + c
        value[i] = v
        low = min(low, v)
        high = max(high, v)
        small = min(small, abs(v))
    return low, high, small


@inner()
def enter(weights, stack, path, scratch, gauges, t, layer, size, need_map):
    """On entering a layer: sort its coordinates into active, inactive and candidates, and add up the active ones."""
    n = stack.corners[t]
    polygon = stack.polygon[t]
    measure_forms(weights, path, layer, size)
    allowance = threshold(path, layer, stack.worst[t], size, 2)
    for c in range(2):
        low = polygon[c, 0]
        high = polygon[c, 0]
        for i in range(1, n):
            low = min(low, polygon[c, i])
            high = max(high, polygon[c, i])
        path.box[2 * c] = 0.5 * (low + high)
        path.box[2 * c + 1] = 0.5 * (high - low)
    width = weights.sizes[layer]
    forms = path.forms[layer]
    centre_test(forms, width, path.box, allowance, path.middle, path.gap)
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
        elif path.zero[layer, k]:
            on = False
        elif path.gap[k] <= 0.0:
            low, high, small = evaluate(forms, k, polygon, n, scratch.value)
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


@woven()
def keep(stack, cells, counters, t, want_maps):
    """Write a finished cell into the buffers; False when they are full."""
    n = stack.corners[t]
    if is_full(cells, counters, n):
        return False
    v = counters[KEPT_CORNERS]
    for i in range(n):
        cells.vertices[v + i, 0] = stack.polygon[t, 0, i]
        cells.vertices[v + i, 1] = stack.polygon[t, 1, i]
        cells.radius[v + i] = stack.polygon[t, 2, i]
        cells.label[v + i] = stack.label[t, i]
    keep_rest(stack, cells, counters, t, n, want_maps)
    return True


@woven()
def walk(weights, stack, path, scratch, counters, gauges, t, layer, size, ask, need_map):
    """Try candidates of the layer until one splits the polygon: SPLIT. SETTLED if none does, SIGN if one is open."""
    forms = path.forms[layer]
    n = stack.corners[t]
    allowance = threshold(path, layer, stack.worst[t], size, 2)
    p = stack.position[t]
    while p < path.candidates[layer]:
        k = path.candidate[layer, p]
        p += 1
        if k < 0:
            continue
        low, high, small = evaluate(forms, k, stack.polygon[t], n, scratch.value)
        found = decide(scratch, n, low, high, small, allowance, counters, gauges, ask)
        if found == BOTH:
            split(weights, stack, path, scratch, t, weights.neuron[weights.first[layer] + k], size)
            stack.position[t] = p
            fork(weights, stack, path, counters, t, layer, k, need_map)
            counters[WORK] += weights.sizes[layer + 1] // 4 + 64
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
def count_parts(stack, path, scratch, gauges, t, layer, size):
    """Into how many parts the last layer cuts a polygon, if at most two of its candidates do; 0 if more, or if open.

    One line makes two parts; two make four if they meet inside, that is if one has both signs on the other; else three.
    """
    n = stack.corners[t]
    allowance = threshold(path, layer, stack.worst[t], size, 2)
    cuts = 0
    for p in range(stack.position[t], path.candidates[layer]):
        k = path.candidate[layer, p]
        if k < 0:
            continue
        low, high, small = evaluate(path.forms[layer], k, stack.polygon[t], n, scratch.trial[cuts])
        if small > allowance and (low > 0.0 or high < 0.0):
            note_margin(gauges, small, allowance)
            continue
        if cuts == 0:
            stack.position[t] = p  # nothing before it cuts the polygon
        if small <= allowance or cuts == 2:
            return 0
        note_margin(gauges, small, allowance)
        cuts += 1
    if cuts < 2:
        return cuts + 1
    first = scratch.trial[0]
    second = scratch.trial[1]
    total = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        if (first[i] > 0.0) != (first[j] > 0.0):
            sign = sign_at_zero(first[i], first[j], second[i], second[j], allowance, gauges)
            if sign == 0:
                return 0
            total += sign
    return 4 if total == 0 else 3


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
    counters[WORK] = 0
    while counters[HEIGHT] > counters[BASE]:
        t = counters[HEIGHT] - 1
        if t + 2 > stack.corners.shape[0]:
            return DEEPER
        if stack.corners[t] + 2 > stack.label.shape[1]:
            return WIDER
        layer = stack.layer[t]
        need_map = layer < last or want_maps
        if stack.position[t] < 0:
            enter(weights, stack, path, scratch, gauges, t, layer, size, need_map)
            counters[WORK] += weights.sizes[layer] + (
                weights.sizes[layer] * weights.sizes[layer + 1] >> 4
            )
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
            if not keep(stack, cells, counters, t, want_maps):
                return FULL
            gauges[VOLUME] += area(stack.polygon[t], stack.corners[t])
        finish(counters, found)
        if counters[WORK] > pause:
            return PAUSE
    return DONE
