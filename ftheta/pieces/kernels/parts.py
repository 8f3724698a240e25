"""What the compiled kernels share: status codes, counters, and the loops over the neurons of a layer.

This module imports numba; nothing imports it before the first enumeration.
"""

from math import sqrt

import numpy as np

from ftheta.loops import inner

# why a kernel returned, or what became of the cell on top of its stack
DONE, SIGN, DEEPER, WIDER, FULL, LIMIT, PAUSE, SPLIT, SETTLED = range(9)
# positions in the integer counters; slots from BASE up to HEIGHT are left to do
HEIGHT, CELLS, CORNERS, KEPT, KEPT_CORNERS, CUTS, GUESSED, ASKED, FORCED, WORK, BASE = range(11)
COUNTERS = 11
# positions in the float gauges
VOLUME, MARGIN, ALLOWED = range(3)
# answers to a question about signs
NO_ANSWER, SIGNS, VANISHES = range(3)
# what a neuron does on a cell; NOWHERE: it is zero on all of it
BELOW, ABOVE, BOTH, OPEN, NOWHERE = range(5)

U = 2.0**-53
LEAST = 1e-290  # covers underflow
# covers squares that underflow: their sum is lower by less than the square of this
VANISHING = 1e-150
FLAT = 1e-150  # shorter normals have squares that underflow


# for sums of magnitudes, where the order does not matter
loose = {"contract", "reassoc", "nnan", "nsz"}


@inner(fastmath={"contract"})
def add_columns(weights, layer, forms, active, count, target):
    """target += Σ over active coordinates k of (form of k) ⊗ (column k of the step after `layer`).

    Four columns at a time: the target is then read and written a quarter as often.
    """
    rows = target.shape[0]
    width = weights.sizes[layer + 1]
    if weights.is_sparse[layer]:
        for i in range(count):
            add_column(weights, layer, forms, active[i], target)
        return
    start = weights.start[layer]
    i = 0
    while i + 4 <= count:
        p = active[i]
        q = active[i + 1]
        r = active[i + 2]
        s = active[i + 3]
        # views, not offsets: indices that are plainly not negative let the loop run on vectors
        first = weights.columns[start + p * width : start + (p + 1) * width]
        second = weights.columns[start + q * width : start + (q + 1) * width]
        third = weights.columns[start + r * width : start + (r + 1) * width]
        fourth = weights.columns[start + s * width : start + (s + 1) * width]
        for c in range(rows):
            a0 = forms[c, p]
            a1 = forms[c, q]
            a2 = forms[c, r]
            a3 = forms[c, s]
            line = target[c]
            for j in range(width):
                line[j] += (first[j] * a0 + second[j] * a1) + (third[j] * a2 + fourth[j] * a3)
        i += 4
    while i < count:
        add_column(weights, layer, forms, active[i], target)
        i += 1


@inner(fastmath={"contract"})
def add_column(weights, layer, forms, k, target):
    """Add to `target` the next maps that coordinate `k` of `layer`, with the forms `forms[:, k]`, contributes."""
    rows = target.shape[0]
    if weights.is_sparse[layer]:
        base = weights.pointer_start[layer] + k
        for e in range(weights.pointer[base], weights.pointer[base + 1]):
            j = weights.index[e]
            for c in range(rows):
                target[c, j] += weights.columns[e] * forms[c, k]
        return
    width = weights.sizes[layer + 1]
    start = weights.start[layer] + k * width
    column = weights.columns[start : start + width]
    for c in range(rows):
        a = forms[c, k]
        line = target[c]
        for j in range(width):
            line[j] += column[j] * a


@inner(fastmath={"contract"})
def copy_and_add_column(weights, layer, forms, k, source, target):
    """target = source + (form of k) ⊗ (column k): the active child of a split."""
    rows = target.shape[0]
    width = weights.sizes[layer + 1]
    if weights.is_sparse[layer]:
        for c in range(rows):
            for j in range(width):
                target[c, j] = source[c, j]
        add_column(weights, layer, forms, k, target)
        return
    start = weights.start[layer] + k * width
    column = weights.columns[start : start + width]
    for c in range(rows):
        a = forms[c, k]
        new = target[c]
        old = source[c]
        for j in range(width):
            new[j] = old[j] + column[j] * a


@inner(fastmath=loose)
def form_sizes(forms, width, size, sizes):
    """Frobenius norm of the forms and the largest norm of one, with the coordinates scaled by the domain's size."""
    d = forms.shape[0] - 1
    for k in range(width):
        sizes[k] = forms[d, k] * forms[d, k]
    for c in range(d):
        for k in range(width):
            a = forms[c, k] * size
            sizes[k] += a * a
    total = 0.0
    largest = 0.0
    for k in range(width):
        total += sizes[k]
        largest = max(largest, sizes[k])
    return 1.0001 * sqrt(total) + VANISHING, 1.0001 * sqrt(largest) + VANISHING


@inner()
def measure_forms(weights, path, layer, size):
    """On entering a layer: how large its forms are, and how wrong those of the next layer can be."""
    total, largest = form_sizes(path.forms[layer], weights.sizes[layer], size, path.gap)
    path.row_size[layer] = largest
    norms = weights.norms[layer]
    carried = norms[0] * path.form_error[layer]
    path.form_error[layer + 1] = (
        carried + norms[2] * (norms[1] * total + norms[3]) * 1.0001 + LEAST * (1.0 + size)
    )


@inner()
def threshold(path, layer, worst, size, d):
    """A bound on the error of any form of the layer at any corner of a cell; the corners are off by at most `worst`."""
    root = 1.001 * sqrt(d + 1.0)
    error = path.form_error[layer]
    largest = path.row_size[layer]
    position = (largest + error) * (worst / size)
    return root * error + 1.001 * position + 8.0 * (d + 2) * root * U * largest + LEAST


@inner(fastmath=loose)
def centre_test(forms, width, box, allowance, middle, gap):
    """The value of every form at the centre of a bounding box, and by how much it beats its variation over the box."""
    d = forms.shape[0] - 1
    for k in range(width):
        middle[k] = forms[d, k]
        gap[k] = -allowance
    for c in range(d):
        x = box[2 * c]
        h = box[2 * c + 1]
        for k in range(width):
            middle[k] += forms[c, k] * x
            gap[k] -= abs(forms[c, k]) * h
    for k in range(width):
        gap[k] += abs(middle[k])


@inner()
def set_active(weights, layer, k, slot, stack):
    """Mark coordinate k as active in the name and the pattern of a cell."""
    number = weights.neuron[weights.first[layer] + k]
    stack.name[slot] ^= weights.keys[number]
    stack.pattern[slot, number >> 6] |= np.uint64(1) << np.uint64(number & 63)


@inner()
def start_partial(weights, layer, target):
    """The next layer's map before any coordinate is added: the offsets."""
    width = weights.sizes[layer + 1]
    d = target.shape[0] - 1
    for c in range(d):
        for j in range(width):
            target[c, j] = 0.0
    begin = weights.first[layer + 1]
    for j in range(width):
        target[d, j] = weights.offset[begin + j]


@inner()
def descend(weights, path, layer, slot, stack):
    """The finished map of a cell becomes the forms of the next layer; the slot enters that layer afresh."""
    width = weights.sizes[layer + 1]
    source = stack.partial[slot]
    target = path.forms[layer + 1]
    for c in range(source.shape[0]):
        for j in range(width):
            target[c, j] = source[c, j]
    mark_zeros(weights, path, layer, stack.pattern[slot])
    stack.layer[slot] = layer + 1
    stack.position[slot] = -1


@inner()
def mark_zeros(weights, path, layer, pattern):
    """Which forms of the next layer are zero because nothing reaches them: there is no weight from a coordinate that is
    on and not zero itself, and so, the form being zero in float64, no offset. That is exact (a sum of terms that cancel
    is not), so nobody need be asked for their signs: with pooling or pruned weights there may be many."""
    width = weights.sizes[layer + 1]
    forms = path.forms[layer + 1]
    zero = path.zero[layer + 1]
    some = False
    for j in range(width):
        zero[j] = True
        for c in range(forms.shape[0]):
            zero[j] &= forms[c, j] == 0.0
        some |= zero[j]
    if not some:
        return
    passed = weights.keys.shape[0] - 1
    for k in range(weights.sizes[layer]):
        number = weights.neuron[weights.first[layer] + k]
        on = number == passed or (pattern[number >> 6] >> np.uint64(number & 63)) & np.uint64(1)
        if not on or path.zero[layer, k]:
            continue
        if weights.is_sparse[layer]:
            base = weights.pointer_start[layer] + k
            for e in range(weights.pointer[base], weights.pointer[base + 1]):
                zero[weights.index[e]] &= weights.columns[e] == 0.0
        else:
            start = weights.start[layer] + k * width
            for j in range(width):
                zero[j] &= weights.columns[start + j] == 0.0


# -- signs ----------------------------------------------------------------------------------------


@inner()
def note_margin(gauges, smallest, allowance):
    """Remember the narrowest certain decision, as a multiple of its error bound."""
    if smallest < gauges[MARGIN] * allowance:
        gauges[MARGIN] = smallest / allowance


@inner()
def decide(scratch, n, low, high, small, allowance, counters, gauges, ask):
    """What a neuron does on a cell, from its values at the n corners; if it cuts the cell, the signs at the corners.

    Certain signs come from the values; the others as they were answered, or (if nobody may be asked) as zero.
    """
    if small > allowance:
        note_margin(gauges, small, allowance)
        if low < 0.0 < high:
            for i in range(n):
                scratch.sign[i] = 1 if scratch.value[i] > 0.0 else -1
            return BOTH
        return ABOVE if low > 0.0 else BELOW
    answer = counters[FORCED]
    if answer == NO_ANSWER and ask:
        gauges[ALLOWED] = allowance
        return OPEN
    counters[FORCED] = NO_ANSWER
    counters[GUESSED] += answer == NO_ANSWER
    if answer == VANISHES:
        return NOWHERE
    positive = False
    negative = False
    for i in range(n):
        v = scratch.value[i]
        if abs(v) > allowance:
            scratch.sign[i] = 1 if v > 0.0 else -1
        else:
            scratch.sign[i] = scratch.forced[i] if answer == SIGNS else 0
        positive |= scratch.sign[i] > 0
        negative |= scratch.sign[i] < 0
    if positive and negative:
        return BOTH
    return ABOVE if positive else BELOW


@inner()
def sign_at_zero(a, b, p, q, allowance, gauges):
    """The sign of a form with values p, q at the ends of an edge where another, with values a, b, vanishes on it.

    It is the sign of p|b| + q|a|, where all four numbers are off by `allowance` at most; 0 if that leaves it open.
    """
    a = abs(a)
    b = abs(b)
    v = p * b + q * a
    spread = a + b + abs(p) + abs(q)
    bound = (
        1.001 * allowance * (spread + 2.0 * allowance) + 4.0 * U * (abs(p) * b + abs(q) * a) + LEAST
    )
    if abs(v) <= bound:
        return 0
    note_margin(gauges, abs(v), bound)
    return 1 if v > 0.0 else -1


# -- the stack ------------------------------------------------------------------------------------


@inner()
def copy_slot(stack, t):
    """Slot t+1 begins as slot t, its geometry and its map apart."""
    stack.name[t + 1] = stack.name[t]
    for w in range(stack.pattern.shape[1]):
        stack.pattern[t + 1, w] = stack.pattern[t, w]
    stack.layer[t + 1] = stack.layer[t]
    stack.position[t + 1] = stack.position[t]


@inner()
def fork(weights, stack, path, counters, t, layer, k, need_map):
    """Slot t has been split: slot t+1 is the part where coordinate k is active."""
    copy_slot(stack, t)
    set_active(weights, layer, k, t + 1, stack)
    if need_map:
        copy_and_add_column(
            weights, layer, path.forms[layer], k, stack.partial[t], stack.partial[t + 1]
        )
    counters[HEIGHT] += 1
    counters[CUTS] += 1


@inner()
def settle(weights, stack, path, t, layer, k, need_map):
    """Coordinate k is active on all of slot t."""
    set_active(weights, layer, k, t, stack)
    if need_map:
        add_column(weights, layer, path.forms[layer], k, stack.partial[t])


@inner()
def keep_rest(stack, cells, counters, t, n, want_maps):
    """Name, pattern and map of a finished cell whose n corners have been written."""
    c = counters[KEPT]
    counters[KEPT] = c + 1
    counters[KEPT_CORNERS] += n
    counters[CORNERS] += n
    cells.ends[c + 1] = counters[KEPT_CORNERS]
    cells.name[c] = stack.name[t]
    for w in range(stack.pattern.shape[1]):
        cells.pattern[c, w] = stack.pattern[t, w]
    if want_maps:
        for j in range(cells.maps.shape[1]):
            for i in range(cells.maps.shape[2]):
                cells.maps[c, j, i] = stack.partial[t, i, j]


@inner()
def is_full(cells, counters, n):
    """Whether there is no room to keep a cell of n corners."""
    return (
        counters[KEPT] == cells.name.shape[0] or counters[KEPT_CORNERS] + n > cells.radius.shape[0]
    )


@inner()
def finish(counters, found):
    """The cell on top of the stack is done: it counts as `found` cells."""
    counters[CELLS] += found
    counters[CUTS] += found - 1
    counters[HEIGHT] -= 1
