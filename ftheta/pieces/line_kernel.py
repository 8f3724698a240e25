"""Depth-first splitting of an interval by the neurons of a network (compiled), from left to right.

Rounding is not bounded beforehand here but measured: every sum and product is followed by its exact error (two-sum,
Dekker's product). Networks whose breakpoints and slopes are short binary fractions therefore carry no error at all, and
zeros that are exact are known to be exact without rational arithmetic.
"""

from typing import NamedTuple

import numpy as np

from .kernel_parts import (
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
    LIMIT,
    NO_ANSWER,
    PAUSE,
    SIGN,
    SIGNS,
    VANISHES,
    VOLUME,
    WORK,
    U,
    compiled,
    note_margin,
    set_active,
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
    partial: np.ndarray  # (depth, 3, width): slope, constant, bound on the error of the form over the domain
    name: np.ndarray
    pattern: np.ndarray


class Path(NamedTuple):
    forms: np.ndarray  # (layers, 3, width)
    candidate: np.ndarray
    candidates: np.ndarray
    sign: np.ndarray
    forced: np.ndarray


class Cells(NamedTuple):
    ends: np.ndarray  # (cells, 2)
    radius: np.ndarray
    label: np.ndarray
    name: np.ndarray
    pattern: np.ndarray
    maps: np.ndarray  # (cells, outputs, 2)


@compiled()
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


@compiled()
def sum_error(a, b, s):
    """What rounding lost in s = a + b (Knuth's two-sum)."""
    virtual = s - a
    return abs((a - (s - virtual)) + (b - virtual))


@compiled()
def add_form(target, j, w, a, c, error, size):
    """Form j += w·(form), with the bound on its error."""
    slope = w * a
    constant = w * c
    new_slope = target[0, j] + slope
    new_constant = target[1, j] + constant
    lost = product_error(w, a, slope) + sum_error(target[0, j], slope, new_slope)
    gone = product_error(w, c, constant) + sum_error(target[1, j], constant, new_constant)
    target[2, j] = (target[2, j] + abs(w) * error + lost * size + gone) * SLACK
    target[0, j] = new_slope
    target[1, j] = new_constant


@compiled()
def add_coordinate(weights, layer, forms, k, target, size):
    a, c, error = forms[0, k], forms[1, k], forms[2, k]
    if weights.is_sparse[layer]:
        base = weights.pointer_start[layer] + k
        for e in range(weights.pointer[base], weights.pointer[base + 1]):
            add_form(target, weights.index[e], weights.columns[e], a, c, error, size)
        return
    width = weights.sizes[layer + 1]
    start = weights.start[layer] + k * width
    column = weights.columns[start : start + width]
    for j in range(width):
        add_form(target, j, column[j], a, c, error, size)


@compiled()
def sign_of(forms, k, x, radius, gauges):
    """The sign of form k at an end that is off by `radius` at most; UNKNOWN where float64 cannot tell."""
    a, c = forms[0, k], forms[1, k]
    p = a * x
    v = p + c
    rounding = product_error(a, x, p) + sum_error(p, c, v)
    allowance = (forms[2, k] + abs(a) * radius + rounding) * SLACK
    if abs(v) > allowance:
        if allowance > 0.0:
            note_margin(gauges, abs(v), allowance)
        return 1 if v > 0.0 else -1
    return 0 if allowance == 0.0 else UNKNOWN


@compiled()
def breakpoint_of(forms, k, low, high, size):
    """The zero of form k between two ends, with a bound on its error from its residual."""
    a, c, error = forms[0, k], forms[1, k], forms[2, k]
    x = -c / a if a != 0.0 else 0.5 * (low + high)
    x = min(max(x, low), high)
    p = a * x
    v = p + c
    residual = (abs(v) + product_error(a, x, p) + sum_error(p, c, v) + error) * SLACK
    steepness = abs(a) - error / size * SLACK
    if residual == 0.0:
        return x, 0.0
    return x, min(residual / steepness * SLACK, 2.0 * size) if steepness > 0.0 else 2.0 * size


@compiled()
def enter(weights, stack, path, gauges, t, layer, size, need_map):
    """On entering a layer: coordinates that keep one sign are settled, the others wait."""
    forms = path.forms[layer]
    begin = weights.first[layer]
    passed = weights.keys.shape[0] - 1
    target = stack.partial[t]
    if need_map:
        after = weights.first[layer + 1]
        for j in range(weights.sizes[layer + 1]):
            target[0, j] = 0.0
            target[1, j] = weights.offset[after + j]
            target[2, j] = 0.0
    waiting = 0
    for k in range(weights.sizes[layer]):
        on = weights.neuron[begin + k] == passed
        if not on:
            left = sign_of(forms, k, stack.ends[t, 0], stack.radius[t, 0], gauges)
            right = sign_of(forms, k, stack.ends[t, 1], stack.radius[t, 1], gauges)
            if left == UNKNOWN or right == UNKNOWN or left * right < 0:
                path.candidate[layer, waiting] = k
                waiting += 1
                continue
            on = left + right > 0
            if on:
                set_active(weights, layer, k, t, stack)
        if on and need_map:
            add_coordinate(weights, layer, forms, k, target, size)
    path.candidates[layer] = waiting
    stack.position[t] = 0


@compiled()
def split(weights, stack, path, t, layer, k, size):
    """Slot t keeps the right part; slot t+1 gets the left one, which is finished first."""
    low, high = stack.ends[t, 0], stack.ends[t, 1]
    x, radius = breakpoint_of(path.forms[layer], k, low, high, size)
    number = weights.neuron[weights.first[layer] + k]
    for values in (stack.ends, stack.radius):
        values[t + 1, 0] = values[t, 0]
    stack.label[t + 1, 0] = stack.label[t, 0]
    stack.ends[t + 1, 1], stack.radius[t + 1, 1], stack.label[t + 1, 1] = x, radius, number
    stack.ends[t, 0], stack.radius[t, 0], stack.label[t, 0] = x, radius, number


@compiled()
def keep(stack, cells, counters, t, outputs, want_maps):
    c = counters[KEPT]
    if c == cells.name.shape[0]:
        return False
    for i in range(2):
        cells.ends[c, i] = stack.ends[t, i]
        cells.radius[c, i] = stack.radius[t, i]
        cells.label[c, i] = stack.label[t, i]
    cells.name[c] = stack.name[t]
    for w in range(stack.pattern.shape[1]):
        cells.pattern[c, w] = stack.pattern[t, w]
    if want_maps:
        for j in range(outputs):
            cells.maps[c, j, 0] = stack.partial[t, 0, j]
            cells.maps[c, j, 1] = stack.partial[t, 1, j]
    counters[KEPT] = c + 1
    return True


@compiled()
def run(weights, stack, path, cells, counters, gauges, size, ask, store, want_maps, max_cells, pause):
    """Enumerate until done or until something is needed; a call can be resumed."""
    last = weights.sizes.shape[0] - 2
    depth = stack.layer.shape[0]
    counters[WORK] = 0
    while counters[HEIGHT] > 0:
        t = counters[HEIGHT] - 1
        layer = stack.layer[t]
        need_map = layer < last or want_maps
        if stack.position[t] < 0:
            enter(weights, stack, path, gauges, t, layer, size, need_map)
            counters[WORK] += weights.sizes[layer] * (16 + weights.sizes[layer + 1])
        forms = path.forms[layer]
        p = stack.position[t]
        was_split = False
        while p < path.candidates[layer]:
            k = path.candidate[layer, p]
            p += 1
            if k < 0:
                continue
            path.sign[0] = sign_of(forms, k, stack.ends[t, 0], stack.radius[t, 0], gauges)
            path.sign[1] = sign_of(forms, k, stack.ends[t, 1], stack.radius[t, 1], gauges)
            if path.sign[0] == UNKNOWN or path.sign[1] == UNKNOWN:
                forced = counters[FORCED]
                if forced == NO_ANSWER and ask:
                    stack.position[t] = p - 1
                    counters[ASKED] = k
                    return SIGN
                counters[FORCED] = NO_ANSWER
                if forced == VANISHES:
                    path.candidate[layer, p - 1] = -1
                    continue
                counters[GUESSED] += forced == NO_ANSWER
                for i in range(2):
                    if path.sign[i] == UNKNOWN:
                        path.sign[i] = path.forced[i] if forced == SIGNS else 0
            left, right = path.sign[0], path.sign[1]
            if left * right < 0:
                if t + 2 > depth:
                    path.forced[0], path.forced[1] = left, right
                    counters[FORCED] = SIGNS
                    stack.position[t] = p - 1
                    return DEEPER
                counters[FORCED] = NO_ANSWER
                split(weights, stack, path, t, layer, k, size)
                stack.name[t + 1] = stack.name[t]
                for w in range(stack.pattern.shape[1]):
                    stack.pattern[t + 1, w] = stack.pattern[t, w]
                if need_map:
                    for c in range(3):
                        for j in range(weights.sizes[layer + 1]):
                            stack.partial[t + 1, c, j] = stack.partial[t, c, j]
                active = t + 1 if left > 0 else t
                set_active(weights, layer, k, active, stack)
                if need_map:
                    add_coordinate(weights, layer, forms, k, stack.partial[active], size)
                stack.layer[t + 1] = layer
                stack.position[t + 1] = p
                stack.position[t] = p
                counters[HEIGHT] += 1
                counters[CUTS] += 1
                was_split = True
                break
            if left + right > 0:
                set_active(weights, layer, k, t, stack)
                if need_map:
                    add_coordinate(weights, layer, forms, k, stack.partial[t], size)
        if was_split:
            continue
        stack.position[t] = p
        if layer < last:
            for c in range(3):
                for j in range(weights.sizes[layer + 1]):
                    path.forms[layer + 1, c, j] = stack.partial[t, c, j]
            stack.layer[t] = layer + 1
            stack.position[t] = -1
            continue
        if counters[CELLS] == max_cells:
            return LIMIT
        if store and not keep(stack, cells, counters, t, weights.sizes[last + 1], want_maps):
            return FULL
        gauges[VOLUME] += stack.ends[t, 1] - stack.ends[t, 0]
        counters[CELLS] += 1
        counters[CORNERS] += 2
        counters[HEIGHT] -= 1
        if counters[WORK] > pause:
            return PAUSE
    return DONE
