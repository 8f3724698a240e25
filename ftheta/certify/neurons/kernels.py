r"""The loops between two matrix products, compiled: lines around ReLUs, corners of the box, steps of the optimiser.

Neurons of undecided sign stand first in their layer. Their parameters lie in arrays `(rows, neurons)` with all layers
side by side, those of one layer from column `first` on, `count` of them. What a proof rests on is compiled without
fast-math (`bound_lines`, `bound_corner`); the optimiser, which proves nothing, is not.
"""

from typing import Any

import numpy as np

from ftheta.certify.loading import kernel

U = 2.0**-53
TINY = 1e-200  # more than all underflows of one bound, while magnitudes stay below HUGE
HUGE = 1e100


def _strict(function: Any) -> Any:
    return kernel(function)


def _fast(function: Any) -> Any:
    fast = {"reassoc", "contract", "arcp", "nsz"}
    return kernel(function, fastmath=fast)


@_strict
def bound_lines(A, first, count, lower, upper, offset, push, weights, G, constant, error, gamma):
    r"""From coefficients `A` of a layer's outputs to coefficients `G` of its pre-activations, for a bound from below.

    A coefficient $a>0$ of an undecided ReLU takes the line `lower` below it, $a<0$ the line `upper`, `offset` above it;
    `push` is added. $\mathrm{fl}(a\cdot\text{lower})$ lies between 0 and $a$ and is $a$ times some slope in $[0,1]$;
    $\mathrm{fl}(g+\text{push})-g$ has the sign of the push: neither needs an error term. `error` grows by
    $\sum_r|G_r|\cdot$`weights` and by `gamma` times what is summed into `constant`.
    """
    for r in range(A.shape[0]):
        total = 0.0
        loss = 0.0
        for j in range(count):
            a = A[r, j]
            n = first + j
            negative = min(a, 0.0)
            g = max(a, 0.0) * lower[r, n] + negative * upper[r, n] + push[r, n]
            G[r, j] = g
            total += negative * offset[r, n]
            loss += abs(g) * weights[j]
        for j in range(count, A.shape[1]):
            g = A[r, j]
            G[r, j] = g
            loss += abs(g) * weights[j]
        error[r] += loss + gamma * (abs(constant[r]) + abs(total))
        constant[r] += total


@_strict
def bound_corner(A, low, high, constant, error, gamma, value):
    """The least value over the box of affine functions with coefficients `A`, all errors taken off."""
    for r in range(A.shape[0]):
        total = 0.0
        size = 0.0
        for i in range(A.shape[1]):
            a = A[r, i]
            total += max(a, 0.0) * low[i] + min(a, 0.0) * high[i]
            size += abs(a) * max(abs(low[i]), abs(high[i]))
        loss = error[r] + gamma * (abs(constant[r]) + size)
        value[r] = constant[r] + total - (1.01 * loss + TINY)


@_fast
def take_lines(A, first, count, lower, upper, offset, push, G, constant):
    """As `bound_lines`, without errors."""
    zero = A.dtype.type(0)
    for r in range(A.shape[0]):
        total = zero
        for j in range(count):
            a = A[r, j]
            n = first + j
            negative = min(a, zero)
            G[r, j] = max(a, zero) * lower[r, n] + negative * upper[r, n] + push[r, n]
            total += negative * offset[r, n]
        for j in range(count, A.shape[1]):
            G[r, j] = A[r, j]
        constant[r] += total


@_fast
def take_corner(A, low, high, X, value):
    """The corner of the box where the affine functions with coefficients `A` are least; adds their values there."""
    zero = A.dtype.type(0)
    for r in range(A.shape[0]):
        total = zero
        for i in range(A.shape[1]):
            a = A[r, i]
            x = low[i] if a > zero else high[i]
            X[r, i] = x
            total += a * x
        value[r] += total


@_fast
def keep_best(value, best, lower, push, best_lower, best_push):
    """Copy the parameters of the rows whose value is the best so far."""
    for r in range(len(value)):
        if value[r] > best[r]:
            best[r] = value[r]
            for n in range(lower.shape[1]):
                best_lower[r, n] = lower[r, n]
                best_push[r, n] = push[r, n]


@_fast
def lift_states(Z, A, first, count, lower, upper, offset, H):
    """What the chosen lines make of the pre-activations `Z`."""
    zero = A.dtype.type(0)
    for r in range(Z.shape[0]):
        for j in range(count):
            z = Z[r, j]
            n = first + j
            H[r, j] = lower[r, n] * z if A[r, j] > zero else upper[r, n] * z + offset[r, n]
        for j in range(count, Z.shape[1]):
            H[r, j] = Z[r, j]


@_fast
def climb(
    Z, A, first, count, sign, lower, push, mean, square, rate, push_rate, decay, square_decay, step
):
    r"""One projected step of Adam for the slopes of free neurons and the multipliers of split ones.

    The bound's derivative by a slope below is $\max(a,0)\,z$, by a push $z$, with $z$ the pre-activation that the lines
    give at the corner. A neuron split to be on ($z\ge0$) may be pushed down, one split to be off may be pushed up.
    """
    zero = A.dtype.type(0)
    one = A.dtype.type(1)
    tiny = A.dtype.type(1e-12)
    first_correction = one / (one - decay**step)
    second_correction = one / (one - square_decay**step)
    for r in range(Z.shape[0]):
        for j in range(count):
            n = first + j
            z = Z[r, j]
            s = sign[r, n]
            slope = max(A[r, j], zero) * z if s == 0 else z
            m = decay * mean[r, n] + (one - decay) * slope
            v = square_decay * square[r, n] + (one - square_decay) * slope * slope
            mean[r, n] = m
            square[r, n] = v
            move = m * first_correction / (np.sqrt(v * second_correction) + tiny)
            moved = min(max(lower[r, n] + rate * move, zero), one)
            pushed = push[r, n] + push_rate * move
            lower[r, n] = moved if s == 0 else lower[r, n]
            push[r, n] = zero if s == 0 else (min(pushed, zero) if s > 0 else max(pushed, zero))
