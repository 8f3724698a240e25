"""The loops of `first_layer`, compiled: parts of the box in which neurons of the first layer have given signs.

What a proof rests on are sums that may be taken in any order: their error terms are for any. `choose_coefficient`
proves nothing; every coefficient that obeys its sign gives a bound.
"""

from typing import Any

import numpy as np
from numba import njit

from ftheta.loops import load_directly

from .kernels import TINY

DOUBLINGS = 3  # of a step away from the end of the coefficients that a sign allows
BISECTIONS = 2


def _strict(function: Any) -> Any:
    return load_directly(njit(cache=True, nogil=True, error_model="numpy")(function))


def _summing(function: Any) -> Any:
    in_any_order = {"reassoc"}
    return load_directly(
        njit(cache=True, nogil=True, error_model="numpy", fastmath=in_any_order)(function)
    )


def _fast(function: Any) -> Any:
    fast = {"reassoc", "contract", "arcp", "nsz"}
    return load_directly(njit(cache=True, nogil=True, error_model="numpy", fastmath=fast)(function))


@_summing
def least_value(A, low, high, size):
    """The least value over the box of an affine function with coefficients `A`, and what its terms may add up to."""
    total = 0.0
    most = 0.0
    for i in range(len(A)):
        a = A[i]
        total += a * (low[i] if a > 0.0 else high[i])
        most += abs(a) * size[i]
    return total, most


@_summing
def sum_constants(g, sign, offsets, bias):
    """What undecided neurons with coefficients `g` add to the constant, the lines above those that are not split among
    it; and all that these terms can add up to."""
    total = 0.0
    most = 0.0
    for j in range(len(g)):
        through = g[j] * bias[j]
        above = offsets[j] if sign[j] == 0 else 0.0
        total += through + above
        most += abs(through) + abs(above)
    return total, most


@_fast
def probe(A, shift, w, low, high):
    """The least value of an affine function with coefficients `A + shift·w`, and `w` at the corner where it is."""
    zero = np.float32(0.0)
    value = zero
    slope = zero
    for i in range(len(A)):
        a = A[i] + shift * w[i]
        x = low[i] if a > zero else high[i]
        value += a * x
        slope += w[i] * x
    return value, slope


@_fast
def choose_coefficient(A, g, end, away, w, b, low, high):
    """A coefficient near the best one from `end` on in the direction `away` (1 or −1); in `A` it is `g`.

    The bound is a concave function of it, with the pre-activation at the corner as slope: its zero is bracketed.
    """
    value, slope = probe(A, np.float32(end - g), w, low, high)
    best = value + end * b
    chosen = end
    near = end
    far = end
    step = max(0.5 * max(abs(end), abs(g)), 1e-6)
    rises = (slope + b) * away > 0.0
    for _ in range(DOUBLINGS):
        if not rises:
            break
        near = far
        far = near + away * step
        step *= 2.0
        value, slope = probe(A, np.float32(far - g), w, low, high)
        if value + far * b > best:
            best = value + far * b
            chosen = far
        rises = (slope + b) * away > 0.0
    for _ in range(BISECTIONS):
        if near == far or rises:
            break
        middle = 0.5 * (near + far)
        value, slope = probe(A, np.float32(middle - g), w, low, high)
        if value + middle * b > best:
            best = value + middle * b
            chosen = middle
        if (slope + b) * away > 0.0:
            near = middle
        else:
            far = middle
    return chosen


@_strict
def bound_part(
    A, g, sign, moved, offsets, bias, constant, error, gamma, low, high, size, input_gamma
):
    """A proved lower bound over one part; `moved` bounds what the error terms of the layer are multiplied by."""
    total, most = least_value(A, low, high, size)
    own, own_size = sum_constants(g, sign, offsets, bias)
    whole = constant + own
    loss = error + 4.0 * moved + gamma * (abs(constant) + own_size)
    loss += input_gamma * (abs(whole) + most)
    return whole + total - (1.01 * loss + TINY)


@_strict
def split_rows(
    a, G, product, offsets, order, constant, error, moved, weight, rough, bias, layer_error, gamma,
    low, high, size, input_gamma, splits, bound,
):  # fmt: skip
    """Fill `bound`, row by row: see `first_layer`. `product` are the coefficients of the inputs, `offsets` what the
    lines above the neurons add; a part that is split `depth` times is split next at `order[depth]`."""
    inputs = len(low)
    count = weight.shape[0]
    A = np.empty((splits + 1, inputs))
    g = np.empty((splits + 1, count))
    sign = np.empty((splits + 1, count), np.int8)
    depth = np.empty(splits + 1, np.int64)
    sums = np.empty(splits + 1)
    value = np.empty(splits + 1)
    rough_A = np.empty(inputs, np.float32)
    rough_low = low.astype(np.float32)
    rough_high = high.astype(np.float32)
    for r in range(a.shape[0]):
        A[0] = product[r]
        g[0] = G[r]
        sign[0] = 0
        depth[0] = 0
        sums[0] = moved[r]
        value[0] = bound_part(
            A[0], g[0], sign[0], sums[0], offsets[r], bias, constant[r], error[r], gamma,
            low, high, size, input_gamma,
        )  # fmt: skip
        parts = 1
        while parts <= splits:
            worst = value[:parts].argmin()
            if not value[worst] <= 0.0 or depth[worst] == count:
                break
            n = order[r, depth[worst]]
            rough_A[:] = A[worst]
            now = g[worst, n]
            end = a[r, n]
            on = choose_coefficient(
                rough_A, now, end, -1.0, rough[n], bias[n], rough_low, rough_high
            )
            off = choose_coefficient(
                rough_A, now, 0.0, 1.0, rough[n], bias[n], rough_low, rough_high
            )
            A[parts] = A[worst]
            g[parts] = g[worst]
            sign[parts] = sign[worst]
            depth[parts] = depth[worst]
            sums[parts] = sums[worst]
            before = value[worst]
            for half in range(2):
                k = worst if half == 0 else parts
                # what single precision chose is a number all the same; its sign is what the proof needs
                chosen = min(on, end) if half == 0 else max(off, 0.0)
                shift = chosen - now
                A[k] += shift * weight[n]
                g[k, n] = chosen
                sign[k, n] = 1 if half == 0 else -1
                depth[k] += 1
                sums[k] += abs(shift) * layer_error[n]
                found = bound_part(
                    A[k], g[k], sign[k], sums[k], offsets[r], bias, constant[r], error[r], gamma,
                    low, high, size, input_gamma,
                )  # fmt: skip
                value[k] = max(before, found)
            parts += 1
        bound[r] = value[:parts].min()
