r"""Zonotopes of one box through a ReLU network, rounded outward, as one compiled function.

Every state $h$ of the network is enclosed, over a box of inputs, by
$$h_i=c_i+\sum_gG_{gi}\varepsilon_g+[-e_i,e_i],\qquad\varepsilon_g\in[-1,1],$$
where the first generators are those of the inputs, and each ReLU of undecided sign adds one. $e$ holds all rounding,
so that no bound depends on how a sum was ordered: with $u=2^{-53}$, a sum of $k$ products errs by at most
$\gamma_k=ku/(1-ku)$ times the sum of absolute values, and $|h_i|\le|c_i|+\sum_g|G_{gi}|+e_i$ bounds those.

A ReLU on $z\in[l,h]$ with $l<0<h$ is $\lambda z+m\pm m$ for any $\lambda\in[0,1]$ and
$2m=\max(-\lambda l,(1-\lambda)h)$: the difference $\max(z,0)-\lambda z$ is convex, zero at its least and largest at an
end.

Generators are rows, so that all inner loops run over neurons and are vectorised without re-ordering a sum.
"""

from typing import Any

import numpy as np
from numba import njit

U = 2.0**-53
TINY = 1e-290  # more than all underflows of one sum
HUGE = 1e140  # beyond it nothing is said, so that no product overflows
OFF = 0.0  # states of a neuron over a box: zero, passed on as it is, of undecided sign
ON = 1.0
UNDECIDED = 2.0


def _compiled(function: Any) -> Any:
    return njit(cache=True, nogil=True, error_model="numpy")(function)


@_compiled
def enclose_box(
    weights, magnitudes, biases, rectified, widths, starts, offsets, lo, hi, A, B, c, P, Q, e, on, share, lines
):
    r"""Enclose the outputs over the box `lo ≤ x ≤ hi`; returns the number of generators, or −1 beyond the range.

    `weights` are the transposed matrices one after the other, layer $k$ from `starts[k]`, `magnitudes` their absolute
    values; `biases` and `rectified` (is there a ReLU?) one after the other, layer $k$ from `offsets[k]`. On return
    `P[g, r]` are the generators of output $r$, `c` its centre, `e` its error. `share[g, i]` is how much of generator
    $g$ stems from input $i$. The rest is scratch: `A`, `B`, `Q` like `P`, `on` the neurons that are not zero.
    `lines` holds, for each neuron in the order of `biases`, its state (see below), the slope and the offset of a line
    above its ReLU, and a bound of its absolute value before it.
    """
    inputs = widths[0]
    layers = len(widths) - 1
    generators = inputs
    active = inputs
    for i in range(inputs):
        c[i] = 0.5 * lo[i] + 0.5 * hi[i]
        # the radius reaches both ends, whatever the centre was rounded to
        radius = max(hi[i] - c[i], c[i] - lo[i]) * (1.0 + 4.0 * U) + TINY
        for g in range(inputs):
            A[g, i] = 0.0
        A[i, i] = radius if hi[i] > lo[i] else 0.0
        e[i] = 0.0 if hi[i] > lo[i] else (1.0 + 2.0 * U) * max(hi[i] - c[i], c[i] - lo[i])
        on[i] = i
        for j in range(inputs):
            share[i, j] = 0.0
        share[i, i] = 1.0
    fresh = 0  # generators at the end of the list that belong to one neuron each
    for k in range(layers):
        rows = widths[k + 1]
        base = starts[k]
        shift = offsets[k]
        gamma = 2.0 * (active + generators + 32) * U
        # the errors that enter, those of the sums included
        for q in range(active):
            Q[0, q] = abs(c[q])
        for g in range(generators):
            for q in range(active):
                Q[0, q] += abs(A[g, q])
        for q in range(active):
            Q[0, q] = e[q] * (1.0 + 8.0 * U) + gamma * Q[0, q]
        for r in range(rows):
            B[0, r] = biases[shift + r]
            B[1, r] = gamma * abs(biases[shift + r]) + TINY
        for q in range(active):
            at = base + on[q] * rows
            centre = c[q]
            error = Q[0, q]
            for r in range(rows):
                B[0, r] += centre * weights[at + r]
                B[1, r] += error * magnitudes[at + r]
        settled = generators - fresh
        for g in range(settled):
            for r in range(rows):
                P[g, r] = 0.0
            for q in range(active):
                a = A[g, q]
                if a != 0.0:
                    at = base + on[q] * rows
                    for r in range(rows):
                        P[g, r] += a * weights[at + r]
        for g in range(settled, generators):
            for r in range(rows):
                P[g, r] = 0.0
        if fresh > 0:
            g = settled
            for q in range(active):
                if g < generators and A[g, q] != 0.0:  # fresh generators stand in the order of their neurons
                    a = A[g, q]
                    at = base + on[q] * rows
                    for r in range(rows):
                        P[g, r] = a * weights[at + r]
                    g += 1
        for r in range(rows):
            c[r] = B[0, r]
            e[r] = B[1, r] * (1.0 + 2.0 * (active + 8) * U)
            Q[1, r] = 0.0
        for g in range(generators):
            for r in range(rows):
                Q[1, r] += abs(P[g, r])
        if k == layers - 1:
            break
        # ReLU
        widening = 2.0 * (generators + 8) * U
        count = 0
        undecided = 0
        for r in range(rows):
            radius = Q[1, r] + e[r]
            radius += widening * (radius + abs(c[r])) + TINY
            if not radius + abs(c[r]) < HUGE:
                return -1
            lines[3, shift + r] = radius + abs(c[r])
            lines[0, shift + r] = OFF
            Q[2, r] = c[r] - radius
            Q[3, r] = c[r] + radius
            if rectified[shift + r] == 0:
                on[count] = r
                count += 1
            elif Q[3, r] > 0.0:
                on[count] = r
                count += 1
                if Q[2, r] < 0.0:
                    undecided += 1
        fresh = undecided
        newest = generators
        for q in range(count):
            r = on[q]
            low = Q[2, r]
            high = Q[3, r]
            if rectified[shift + r] == 0 or low >= 0.0:
                Q[0, q] = 1.0
                B[0, q] = c[r]
                B[1, q] = e[r]
                lines[0, shift + r] = ON
                continue
            slope = min(1.0, high / (high - low))
            half = 0.5 * max(-slope * low, (1.0 - slope) * high) * (1.0 + 8.0 * U) + TINY
            Q[0, q] = slope
            B[0, q] = slope * c[r] + half
            B[1, q] = slope * e[r] * (1.0 + 4.0 * U) + 8.0 * U * (slope * (abs(c[r]) + Q[1, r]) + half) + TINY
            B[2, q] = half
            lines[0, shift + r] = UNDECIDED
            lines[1, shift + r] = slope
            lines[2, shift + r] = 2.0 * half
            total = 1e-300
            for i in range(inputs):
                total += abs(P[i, r])
            for i in range(inputs):
                share[newest, i] = abs(P[i, r]) / total
            newest += 1
        for g in range(generators):
            for q in range(count):
                A[g, q] = Q[0, q] * P[g, on[q]]
        for g in range(generators, newest):
            for q in range(count):
                A[g, q] = 0.0
        g = generators
        for q in range(count):
            c[q] = B[0, q]
            e[q] = B[1, q]
            r = on[q]
            if rectified[shift + r] != 0 and Q[2, r] < 0.0:
                A[g, q] = B[2, q]
                g += 1
        generators = newest
        active = count
    return generators
