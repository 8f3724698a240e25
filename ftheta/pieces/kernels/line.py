"""Depth-first splitting of an interval by the neurons of a network (compiled), from left to right.

Rounding is not bounded beforehand here but measured: every sum and product is followed by its exact error (two-sum,
Dekker's product). Networks whose breakpoints and slopes are short binary fractions therefore carry no error at all, and
zeros that are exact are known to be exact without rational arithmetic. A bound that is not zero is at least `TINY`, so
that neither it nor a product with it underflows: zero means that there is no error.
"""

from typing import NamedTuple

import numpy as np

from ftheta.loops import entry, inner, woven

from .parts import (
    ASKED,
    BASE,
    CELLS,
    CUTS,
    DEEPER,
    DONE,
    FORCED,
    FULL,
    GUESSED,
    HEIGHT,
    KEPT_CORNERS,
    LIMIT,
    NO_ANSWER,
    NOWHERE,
    OPEN,
    PAUSE,
    SETTLED,
    SIGN,
    SIGNS,
    SPLIT,
    VANISHES,
    VOLUME,
    WORK,
    U,
    copy_slot,
    descend,
    finish,
    is_full,
    keep_rest,
    note_margin,
    set_active,
    start_partial,
)  # fmt: skip

SLACK = 1.0 + 2.0**-40  # covers the rounding of the error bounds themselves; leaves zero at zero
TINY = 1e-290  # below this, products may underflow and their errors are not representable
HUGE = 1e140  # above this, splitting a factor may overflow
UNKNOWN = 2


class Stack(NamedTuple):
    ends: np.ndarray  # (depth, 2)
    radius: np.ndarray  # (depth, 2): bounds on the errors of the ends
    label: np.ndarray  # (depth, 2)
    layer: np.ndarray
    position: np.ndarray
    # (depth, 3, width): slope, constant, bound on the error of the form over the domain
    partial: np.ndarray
    name: np.ndarray
    pattern: np.ndarray


class Path(NamedTuple):
    forms: np.ndarray  # (layers, 3, width)
    candidate: np.ndarray
    candidates: np.ndarray
    zero: np.ndarray  # (layers, width): coordinates that nothing reaches


class Scratch(NamedTuple):
    sign: np.ndarray  # (2,)
    forced: np.ndarray  # (2,)


@inner()
def product_error(a, b, p):
    """What rounding lost in p = a·b, by Dekker's splitting; a bound where the splitting could over- or underflow."""
    if p == 0.0 and (a == 0.0 or b == 0.0):
        return 0.0
    if abs(p) < TINY or abs(a) > HUGE or abs(b) > HUGE:
        return abs(p) * U + TINY
    c = 134217729.0 * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = 134217729.0 * b
    b_high = c - (c - b)
    b_low = b - b_high
    return abs(((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low)


@inner()
def sum_error(a, b, s):
    """What rounding lost in s = a + b (Knuth's two-sum)."""
    virtual = s - a
    return abs((a - (s - virtual)) + (b - virtual))


@inner()
def product_bound(a, b):
    """An upper bound on a·b for a, b ≥ 0: zero only if one of them is."""
    if a == 0.0 or b == 0.0:
        return 0.0
    return max(a * b * SLACK, TINY)


@inner()
def pad_sum(total):
    """A sum of bounds with the rounding of the sum."""
    return 0.0 if total == 0.0 else max(total * SLACK, TINY)


@inner()
def add_form(target, j, w, blur, a, c, error, size):
    """Form j += w·(form), with the bound on its error; the weight itself is off by `blur` times its size at most."""
    slope = w * a
    constant = w * c
    new_slope = target[0, j] + slope
    new_constant = target[1, j] + constant
    lost = product_error(w, a, slope) + sum_error(target[0, j], slope, new_slope)
    gone = product_error(w, c, constant) + sum_error(target[1, j], constant, new_constant)
    grown = target[2, j] + product_bound(abs(w), error) + product_bound(lost, size) + gone
    if blur > 0.0:
        grown += product_bound(
            blur, product_bound(abs(w), pad_sum(product_bound(abs(a), size) + abs(c) + error))
        )
    target[2, j] = pad_sum(grown)
    target[0, j] = new_slope
    target[1, j] = new_constant


@inner()
def add_coordinate(weights, layer, forms, k, target, size):
    """Add to `target` what coordinate `k` of `layer` (its form and error) contributes to the next layer."""
    a = forms[0, k]
    c = forms[1, k]
    error = forms[2, k]
    begin = weights.first[layer + 1]
    if weights.is_sparse[layer]:
        base = weights.pointer_start[layer] + k
        for e in range(weights.pointer[base], weights.pointer[base + 1]):
            j = weights.index[e]
            add_form(target, j, weights.columns[e], weights.blur[begin + j], a, c, error, size)
        return
    width = weights.sizes[layer + 1]
    start = weights.start[layer] + k * width
    column = weights.columns[start : start + width]
    for j in range(width):
        add_form(target, j, column[j], weights.blur[begin + j], a, c, error, size)


@inner()
def sign_of(forms, k, x, radius, gauges):
    """The sign of form k at an end that is off by `radius` at most; UNKNOWN where float64 cannot tell."""
    a = forms[0, k]
    c = forms[1, k]
    p = a * x
    v = p + c
    rounding = product_error(a, x, p) + sum_error(p, c, v)
    allowance = pad_sum(forms[2, k] + product_bound(abs(a), radius) + rounding)
    if abs(v) > allowance:
        if allowance > 0.0:
            note_margin(gauges, abs(v), allowance)
        return 1 if v > 0.0 else -1
    return 0 if allowance == 0.0 else UNKNOWN


@inner()
def breakpoint_of(forms, k, low, high, size):
    """The zero of form k between two ends, with a bound on its error from its residual."""
    a = forms[0, k]
    c = forms[1, k]
    error = forms[2, k]
    x = -c / a if a != 0.0 else 0.5 * (low + high)
    x = min(max(x, low), high)
    p = a * x
    v = p + c
    residual = pad_sum(abs(v) + product_error(a, x, p) + sum_error(p, c, v) + error)
    if residual == 0.0:
        return x, 0.0
    steepness = abs(a) - pad_sum(error / size + (TINY if error > 0.0 else 0.0))
    if not steepness > 0.0:
        return x, 2.0 * size
    return x, min(pad_sum(residual / steepness + TINY), 2.0 * size)


@inner()
def enter(weights, stack, path, gauges, t, layer, size, need_map):
    """On entering a layer: coordinates that keep one sign are settled, the others wait."""
    forms = path.forms[layer]
    begin = weights.first[layer]
    passed = weights.keys.shape[0] - 1
    target = stack.partial[t]
    if need_map:
        start_partial(weights, layer, target[:2])
        begin_next = weights.first[layer + 1]
        for j in range(weights.sizes[layer + 1]):
            target[2, j] = product_bound(
                weights.blur[begin_next + j], abs(weights.offset[begin_next + j])
            )
    waiting = 0
    for k in range(weights.sizes[layer]):
        if weights.neuron[begin + k] == passed:
            if need_map:
                add_coordinate(weights, layer, forms, k, target, size)
            continue
        left = sign_of(forms, k, stack.ends[t, 0], stack.radius[t, 0], gauges)
        right = sign_of(forms, k, stack.ends[t, 1], stack.radius[t, 1], gauges)
        if left == UNKNOWN or right == UNKNOWN or left * right < 0:
            path.candidate[layer, waiting] = k
            waiting += 1
        elif left + right > 0:
            settle(weights, stack, t, layer, k, forms, size, need_map)
    path.candidates[layer] = waiting
    stack.position[t] = 0


@inner()
def split(weights, stack, counters, t, layer, k, forms, left_is_active, size, need_map):
    """Slot t keeps the right part; slot t+1 gets the left one, which is finished first."""
    x, radius = breakpoint_of(forms, k, stack.ends[t, 0], stack.ends[t, 1], size)
    number = weights.neuron[weights.first[layer] + k]
    stack.ends[t + 1, 0], stack.radius[t + 1, 0] = stack.ends[t, 0], stack.radius[t, 0]
    stack.label[t + 1, 0] = stack.label[t, 0]
    stack.ends[t + 1, 1], stack.radius[t + 1, 1], stack.label[t + 1, 1] = x, radius, number
    stack.ends[t, 0], stack.radius[t, 0], stack.label[t, 0] = x, radius, number
    copy_slot(stack, t)
    if need_map:
        for c in range(3):
            for j in range(weights.sizes[layer + 1]):
                stack.partial[t + 1, c, j] = stack.partial[t, c, j]
    counters[HEIGHT] += 1
    counters[CUTS] += 1
    settle(weights, stack, t + 1 if left_is_active else t, layer, k, forms, size, need_map)


@inner()
def settle(weights, stack, t, layer, k, forms, size, need_map):
    """Coordinate k is active on all of slot t."""
    set_active(weights, layer, k, t, stack)
    if need_map:
        add_coordinate(weights, layer, forms, k, stack.partial[t], size)


@woven()
def keep(stack, cells, counters, t, want_maps):
    """Write a finished cell into the buffers; False when they are full."""
    if is_full(cells, counters, 2):
        return False
    v = counters[KEPT_CORNERS]
    for i in range(2):
        cells.vertices[v + i, 0] = stack.ends[t, i]
        cells.radius[v + i] = stack.radius[t, i]
        cells.label[v + i] = stack.label[t, i]
    keep_rest(stack, cells, counters, t, 2, want_maps)
    return True


@inner()
def read_signs(stack, scratch, counters, gauges, t, forms, k, ask):
    """The signs of a form at both ends, certain or answered; OPEN or NOWHERE instead, if it is so, and 0 otherwise."""
    for i in range(2):
        scratch.sign[i] = sign_of(forms, k, stack.ends[t, i], stack.radius[t, i], gauges)
    if scratch.sign[0] != UNKNOWN and scratch.sign[1] != UNKNOWN:
        return 0
    answer = counters[FORCED]
    if answer == NO_ANSWER and ask:
        return OPEN
    counters[FORCED] = NO_ANSWER
    counters[GUESSED] += answer == NO_ANSWER
    for i in range(2):
        if scratch.sign[i] == UNKNOWN:
            scratch.sign[i] = scratch.forced[i] if answer == SIGNS else 0
    return NOWHERE if answer == VANISHES else 0


@woven()
def walk(weights, stack, path, scratch, counters, gauges, t, layer, size, ask, need_map):
    """Try candidates of the layer until one splits the interval: SPLIT. SETTLED if none does, SIGN if one is open."""
    forms = path.forms[layer]
    p = stack.position[t]
    while p < path.candidates[layer]:
        k = path.candidate[layer, p]
        p += 1
        if k < 0:
            continue
        found = read_signs(stack, scratch, counters, gauges, t, forms, k, ask)
        left = scratch.sign[0]
        right = scratch.sign[1]
        if found == OPEN:
            stack.position[t] = p - 1
            counters[ASKED] = k
            return SIGN
        if found == NOWHERE:
            path.candidate[layer, p - 1] = -1
        elif left * right < 0:
            stack.position[t] = p
            split(weights, stack, counters, t, layer, k, forms, left > 0, size, need_map)
            return SPLIT
        elif left + right > 0:
            settle(weights, stack, t, layer, k, forms, size, need_map)
    stack.position[t] = p
    return SETTLED


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
    """Enumerate until done or until something is needed; a call can be resumed."""
    last = weights.sizes.shape[0] - 2
    counters[WORK] = 0
    while counters[HEIGHT] > counters[BASE]:
        t = counters[HEIGHT] - 1
        if t + 2 > stack.layer.shape[0]:
            return DEEPER
        layer = stack.layer[t]
        need_map = layer < last or want_maps
        if stack.position[t] < 0:
            enter(weights, stack, path, gauges, t, layer, size, need_map)
            counters[WORK] += weights.sizes[layer] * (16 + weights.sizes[layer + 1])
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
        if counters[CELLS] == max_cells:
            return LIMIT
        if store and not keep(stack, cells, counters, t, want_maps):
            return FULL
        gauges[VOLUME] += stack.ends[t, 1] - stack.ends[t, 0]
        finish(counters, 1)
        if counters[WORK] > pause:
            return PAUSE
    return DONE
