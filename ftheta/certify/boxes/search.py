r"""Depth-first search through boxes of inputs for one that may hold a counter-example, as one compiled function.

A row $s$ of the question is $\langle p_s,x\rangle+\langle q_s,y\rangle\le b_s$; its *excess* is the left side minus the
right. A disjunct is excluded over a box if the excess of one of its rows is positive there, a box is closed if all
disjuncts are. Else the zonotope says which part of the box can have an excess of at most 0: the box is clipped to that
part, and what is left is bisected along the input that carries most of the slope and of the relaxation error.
"""

import numpy as np

from .relaxations import measure_reach, tighten_row
from .zonotopes import HUGE, TINY, U, _compiled, enclose_box

CLOSED = 0  # nothing is left
FOUND = 1  # a point that looks like a counter-example
PAUSED = 2  # the steps are used up
FULL = 3  # there is no room for another box
MIXING_SWEEPS = 2
MIXING_STEPS = 6
SHRUNK = 0.6  # a box that is clipped to less than this share of its volume is looked at again before it is split


@_compiled
def search_boxes(
    matrices,
    weights,
    magnitudes,
    biases,
    rectified,
    widths,
    starts,
    offsets,
    input_rows,
    output_rows,
    bounds,
    strict,
    disjuncts,
    lower,
    upper,
    top,
    steps,
    margin,
    witness,
    stuck,
    counts,
):
    """Look through the boxes `lower[:top]`, `upper[:top]`, the last one first; returns the status and the new top.

    At most `steps` boxes are looked at. A point counts as found if each excess of a disjunct is at most −`margin` in
    float64; it is put into `witness`. Boxes too small to be split are kept at the front of `stuck`; `counts` are
    `[boxes looked at, undecided neurons, boxes stuck]`.
    """
    inputs = widths[0]
    layers = len(widths) - 1
    outputs = widths[layers]
    widest = 0
    neurons = 0
    for k in range(layers + 1):
        widest = max(widest, widths[k])
    for k in range(layers - 1):
        for r in range(widths[k + 1]):
            neurons += rectified[offsets[k] + r]
    room = inputs + neurons + 1
    A = np.empty((room, widest))
    P = np.empty((room, widest))
    B = np.empty((3, widest))
    Q = np.empty((4, widest))
    c = np.empty(widest)
    e = np.empty(widest)
    on = np.empty(widest, np.int64)
    share = np.empty((room, inputs))
    lines = np.empty((4, len(biases)))
    lower_slopes = np.empty(len(biases))
    passing = np.empty(len(biases))
    reach = np.empty(len(biases))
    row_form = np.empty(inputs)
    rows = len(bounds)
    # after the rows of the question, one row for each disjunct: the best mixture of its rows
    mixtures = len(disjuncts) - 1
    forms = np.empty((rows + mixtures, room))
    constants = np.empty(rows + mixtures)
    slopes = np.empty((rows + mixtures, inputs))
    blame = np.empty((rows + mixtures, inputs))
    least = np.empty(rows + mixtures)
    x = np.empty(inputs)
    state = np.empty(widest)
    other = np.empty(widest)
    part_lo = np.empty(inputs)
    part_hi = np.empty(inputs)
    score = np.empty(inputs)
    while top > 0:
        if counts[0] >= steps:
            return PAUSED, top
        if top + 2 > len(lower):
            return FULL, top
        top -= 1
        lo = lower[top].copy()
        hi = upper[top].copy()
        counts[0] += 1
        generators = enclose_box(
            weights, magnitudes, biases, rectified, widths, starts, offsets, lo, hi, A, B, c, P, Q, e, on, share, lines
        )
        bounded = generators >= 0
        if bounded:
            _bound_rows(
                input_rows, output_rows, bounds, lo, hi, generators, P, Q, c, e, share, slopes, blame, least, outputs, forms, constants
            )
            for d in range(mixtures):
                _mix_rows(forms, constants, disjuncts[d], disjuncts[d + 1], rows + d, generators, share, slopes, blame, least)
            for s in range(rows + mixtures):
                bounded = bounded and abs(least[s]) < HUGE
        if not bounded:  # nothing is known over this box: halve its widest side
            for s in range(rows + mixtures):
                least[s] = -HUGE
                for i in range(inputs):
                    slopes[s, i] = 0.0
                    blame[s, i] = 0.5 * hi[i] - 0.5 * lo[i]
        is_open = False
        is_measured = False
        for d in range(len(disjuncts) - 1):
            if _is_excluded(least, strict, disjuncts[d], disjuncts[d + 1], rows + d):
                continue
            if bounded:
                best = disjuncts[d]
                for s in range(disjuncts[d], disjuncts[d + 1]):
                    if least[s] > least[best]:
                        best = s
                if not is_measured:
                    measure_reach(magnitudes, biases, widths, starts, offsets, lines, lo, hi, reach)
                    is_measured = True
                for s in range(disjuncts[d], disjuncts[d + 1]):
                    tighten_row(
                        matrices, weights, biases, widths, starts, offsets, lines, reach, input_rows[s], output_rows[s], bounds[s], lo, hi, state, other, lower_slopes, passing, row_form, slopes, least, s
                    )
                    if least[s] > 0.0:
                        break
            if not _is_excluded(least, strict, disjuncts[d], disjuncts[d + 1], rows + d):
                is_open = True
        if not is_open:
            continue
        # points that may be counter-examples: the centre, and for each row the corner of its least excess
        for i in range(inputs):
            x[i] = min(hi[i], max(lo[i], 0.5 * lo[i] + 0.5 * hi[i]))
        if _meets(weights, biases, rectified, widths, starts, offsets, input_rows, output_rows, bounds, disjuncts, margin, x, state, other):
            witness[:] = x
            lower[top] = lo
            upper[top] = hi
            return FOUND, top + 1
        for s in range(rows):
            for i in range(inputs):
                x[i] = lo[i] if slopes[s, i] > 0.0 else hi[i]
            if _meets(weights, biases, rectified, widths, starts, offsets, input_rows, output_rows, bounds, disjuncts, margin, x, state, other):
                witness[:] = x
                lower[top] = lo
                upper[top] = hi
                return FOUND, top + 1
        # clip the box to what may still hold a counter-example
        volume = 1.0
        first = True
        for i in range(inputs):
            score[i] = 0.0
        for d in range(len(disjuncts) - 1):
            begin = disjuncts[d]
            end = disjuncts[d + 1]
            if _is_excluded(least, strict, begin, end, rows + d):
                continue
            best = rows + d
            for s in range(begin, end):
                if least[s] > least[best]:
                    best = s
            for i in range(inputs):
                score[i] += 0.1 * abs(slopes[best, i]) + blame[best, i]
            empty = False
            if first:
                for i in range(inputs):
                    part_lo[i] = lo[i]
                    part_hi[i] = hi[i]
                empty = bounded and _clip(slopes, least, begin, end, rows + d, lo, hi, part_lo, part_hi)
                first = empty
            else:
                a = lo.copy()
                b = hi.copy()
                if not (bounded and _clip(slopes, least, begin, end, rows + d, lo, hi, a, b)):
                    for i in range(inputs):
                        part_lo[i] = min(part_lo[i], a[i])
                        part_hi[i] = max(part_hi[i], b[i])
        if first:  # the clipped parts of all disjuncts are empty
            continue
        for i in range(inputs):
            if hi[i] > lo[i]:
                volume *= (part_hi[i] - part_lo[i]) / (hi[i] - lo[i])
        if volume < SHRUNK:
            lower[top] = part_lo
            upper[top] = part_hi
            top += 1
            continue
        side = -1
        for i in range(inputs):
            middle = 0.5 * part_lo[i] + 0.5 * part_hi[i]
            if part_lo[i] < middle < part_hi[i] and (side < 0 or score[i] > score[side]):
                side = i
        if side < 0:
            if counts[2] < len(stuck):
                stuck[counts[2], 0] = part_lo
                stuck[counts[2], 1] = part_hi
            counts[2] += 1
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


@_compiled
def _bound_rows(
    input_rows, output_rows, bounds, lo, hi, generators, P, Q, c, e, share, slopes, blame, least, outputs, forms, constants
):
    r"""For every row, a lower bound of its excess over the box (`least`), its `slopes` along the generators of the
    inputs, and how much of the relaxation error each input is to blame for (`blame`). `Q[1]` are the radii."""
    inputs = len(lo)
    gamma = 4.0 * (outputs + inputs + generators + 32) * U  # coefficients may be the nearest floats of rationals
    for s in range(len(bounds)):
        value = -bounds[s]
        error = gamma * abs(bounds[s]) + TINY
        for r in range(outputs):
            q = output_rows[s, r]
            if q != 0.0:
                value += q * c[r]
                error += abs(q) * (e[r] * (1.0 + 8.0 * U) + gamma * (abs(c[r]) + Q[1, r] + e[r]))
        for i in range(inputs):
            p = input_rows[s, i]
            blame[s, i] = 0.0
            slopes[s, i] = 0.0
            if p != 0.0:
                centre = 0.5 * lo[i] + 0.5 * hi[i]
                radius = max(hi[i] - centre, centre - lo[i])
                value += p * centre
                slopes[s, i] = p * radius
                error += gamma * abs(p) * (abs(centre) + radius) + TINY
        spread = 0.0
        for g in range(generators):
            a = 0.0
            for r in range(outputs):
                a += output_rows[s, r] * P[g, r]
            if g < inputs:
                slopes[s, g] += a
                forms[s, g] = slopes[s, g]
            else:
                for i in range(inputs):
                    blame[s, i] += abs(a) * share[g, i]
                spread += abs(a)
                forms[s, g] = a
        for i in range(inputs):
            spread += abs(slopes[s, i])
        error += gamma * (abs(value) + spread)
        constants[s] = value - error
        least[s] = value - spread - error


@_compiled
def _mix_rows(forms, constants, begin, end, mixture, generators, share, slopes, blame, least):
    r"""The convex combination of the rows of one disjunct with the largest lower bound, as one more row.

    If all rows hold, so does every mixture of them. With forms $a_s$ and constants $v_s$ (their errors taken off), the
    bound of a mixture is $\sum_sw_sv_s-\sum_g|\sum_sw_sa_{sg}|$, concave in $w$: each row is mixed in as far as that
    helps.
    """
    inputs = slopes.shape[1]
    best = begin
    for s in range(begin, end):
        if least[s] > least[best]:
            best = s
    for g in range(generators):
        forms[mixture, g] = forms[best, g]
    constant = constants[best]
    value = least[best]
    for sweep in range(MIXING_SWEEPS):
        if end - begin == 1 or value > 0.0:
            break
        for s in range(begin, end):
            left = 0.0
            right = 1.0
            for _ in range(MIXING_STEPS):  # ternary search for the best share of row s
                one = left + (right - left) * 0.4
                two = left + (right - left) * 0.6
                value_one = (1.0 - one) * constant + one * constants[s]
                value_two = (1.0 - two) * constant + two * constants[s]
                for g in range(generators):
                    value_one -= abs((1.0 - one) * forms[mixture, g] + one * forms[s, g])
                    value_two -= abs((1.0 - two) * forms[mixture, g] + two * forms[s, g])
                if value_one < value_two:
                    left = one
                else:
                    right = two
            part = 0.5 * (left + right)
            mixed = (1.0 - part) * constant + part * constants[s]
            for g in range(generators):
                mixed -= abs((1.0 - part) * forms[mixture, g] + part * forms[s, g])
            if mixed > value:
                value = mixed
                constant = (1.0 - part) * constant + part * constants[s]
                for g in range(generators):
                    forms[mixture, g] = (1.0 - part) * forms[mixture, g] + part * forms[s, g]
    # every step rounds constant and forms by less than 8u of the largest row
    spread = 0.0
    largest = 0.0
    for s in range(begin, end):
        total = abs(constants[s])
        for g in range(generators):
            total += abs(forms[s, g])
        largest = max(largest, total)
    for i in range(inputs):
        slopes[mixture, i] = forms[mixture, i]
        blame[mixture, i] = 0.0
    for g in range(generators):
        a = abs(forms[mixture, g])
        spread += a
        if g >= inputs:
            for i in range(inputs):
                blame[mixture, i] += a * share[g, i]
    rounding = 8.0 * U * (MIXING_SWEEPS * (end - begin) + generators + 8) * largest + TINY
    least[mixture] = constant - spread - rounding


@_compiled
def _is_excluded(least, strict, begin, end, mixture):
    """Whether at every point of the box some row of a disjunct fails."""
    if least[mixture] > 0.0:
        return True
    for s in range(begin, end):
        if least[s] > 0.0 or (strict[s] and least[s] >= 0.0):
            return True
    return False


@_compiled
def _clip(slopes, least, begin, end, mixture, lo, hi, part_lo, part_hi):
    r"""Shrink a part of the box to where no row of the disjunct fails; returns whether nothing is left.

    Over the box the excess is at least $\text{least}_s+\sum_i(|a_i|+a_i\varepsilon_i)$ with $x_i=m_i+\rho_i\varepsilon_i$:
    it is positive unless $|a_i|+a_i\varepsilon_i\le-\text{least}_s$ for every $i$.
    """
    for k in range(begin, end + 1):
        s = k if k < end else mixture
        for i in range(len(lo)):
            a = slopes[s, i]
            if a == 0.0 or not hi[i] > lo[i]:
                continue
            # |a| (1 ± ε) ≤ −least: so far from the corner of the least excess can x be, in radii
            reach = -least[s] / abs(a) * (1.0 + 16.0 * U)
            if not reach < 2.0:
                continue
            centre = 0.5 * lo[i] + 0.5 * hi[i]
            radius = max(hi[i] - centre, centre - lo[i]) * (1.0 + 8.0 * U) + TINY
            far = reach * radius * (1.0 + 8.0 * U) + 8.0 * U * (abs(lo[i]) + abs(hi[i])) + TINY
            if a > 0.0:
                part_hi[i] = min(part_hi[i], lo[i] + far)
            else:
                part_lo[i] = max(part_lo[i], hi[i] - far)
            if part_lo[i] > part_hi[i]:
                return True
    return False


@_compiled
def _meets(
    weights,
    biases,
    rectified,
    widths,
    starts,
    offsets,
    input_rows,
    output_rows,
    bounds,
    disjuncts,
    margin,
    x,
    state,
    other,
):
    """Whether, in float64, all rows of some disjunct hold at `x` with an excess of at most −`margin`."""
    inputs = widths[0]
    layers = len(widths) - 1
    for i in range(inputs):
        state[i] = x[i]
    for k in range(layers):
        rows = widths[k + 1]
        for r in range(rows):
            other[r] = biases[offsets[k] + r]
        for i in range(widths[k]):
            h = state[i]
            if h != 0.0:
                at = starts[k] + i * rows
                for r in range(rows):
                    other[r] += h * weights[at + r]
        for r in range(rows):
            state[r] = max(other[r], 0.0) if rectified[offsets[k] + r] != 0 else other[r]
    for d in range(len(disjuncts) - 1):
        met = disjuncts[d + 1] > disjuncts[d]
        for s in range(disjuncts[d], disjuncts[d + 1]):
            excess = -bounds[s]
            for r in range(widths[layers]):
                excess += output_rows[s, r] * state[r]
            for i in range(inputs):
                excess += input_rows[s, i] * x[i]
            if not excess <= -margin:
                met = False
                break
        if met:
            return True
    return False
