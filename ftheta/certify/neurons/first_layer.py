r"""Lower bounds by splitting neurons of the first hidden layer, each split for the price of one row of its matrix.

A linear function of the first layer's outputs, $\sum_ja_jh_j+c$, is at least $\sum_jg_jz_j+c'$ for coefficients $g$
that the lines around its ReLUs give, and $z=Wx+b$ is affine in the inputs: the bound is the least value of one affine
function with coefficients $A=gW$ over the box. Where the sign of $z_n$ is known, $a_nh_n$ is $a_nz_n\ge g_nz_n$ for
every $g_n\le a_n$ (on), or $0\ge g_nz_n$ for every $g_n\ge0$ (off). So a half differs from the whole in $g_n$ alone,
and in $A$ by a multiple of one row of $W$; the best $g_n$ is that of a concave function of one number. Of each function
the worst part of the box is halved, so many times; its bound is the least of its parts.

**Rounding.** After $D\le64$ shifts $A\leftarrow\mathrm{fl}(A+\delta W_n)$ the error of $A$ is at most that of the
first product and $(D+2)\,2^{-53}$ of all that was summed, $\sum_n(|g_n|+\sum|\delta_n|)|W_n|$: less than twice what
`Layer.error` says, whose $\gamma$ is for more than 32 terms. It is taken off four times. The coefficients $g_n$ are
floats that obey their signs.
"""

from collections.abc import Sequence

import numpy as np

from ftheta.lazy import is_sparse
from ftheta.shapes import Float

from .first_layer_kernels import split_rows
from .frames import Array, Layer, times
from .inputs import Inputs
from .kernels import U, bound_lines
from .lines import Lines, Start

MOST_SPLITS = 64


def bound_by_first_layer(
    inputs: Inputs, layers: Sequence[Layer], start: Start, lines: Lines, splits: int
) -> Float[np.ndarray, "n"]:
    """Proved lower bounds of the functions of `start`, by so many splits of each; −∞ where nothing is known.

    `lines` are around all neurons, none of them split. Over balls and for sparse matrices nothing is tried.
    """
    first = layers[0]
    rows = len(start.outputs)
    if inputs.ball is not None or is_sparse(first.weight) or start.inputs is not None:
        return np.full(rows, -np.inf)
    with np.errstate(all="ignore"):
        a, constant, error = _go_back(layers[1:], start, lines)
        return _split(inputs, first, a, constant, error, lines, min(splits, MOST_SPLITS))


def _go_back(layers: Sequence[Layer], start: Start, lines: Lines) -> tuple[Array, Array, Array]:
    """Coefficients of the first layer's outputs, the constant, and what the bound may be off by."""
    A = np.ascontiguousarray(start.outputs)
    constant = start.constant.copy()
    error = start.error.copy()
    for layer in reversed(layers):
        G = np.empty_like(A)
        bound_lines(
            A, layer.first, layer.undecided, lines.lower, lines.upper, lines.offset, lines.push, layer.error,
            G, constant, error, layer.gamma,
        )  # fmt: skip
        error += layer.gamma * np.abs(constant)
        constant += G @ layer.bias
        A = times(G, layer.weight)
    return A, constant, error


def _split(
    inputs: Inputs, first: Layer, a: Array, constant: Array, error: Array, lines: Lines, splits: int
) -> Array:
    count = first.undecided
    own = slice(first.first, first.first + count)
    negative = np.minimum(a[:, :count], 0.0)
    offsets = negative * lines.offset[:, own]
    G = a.copy()
    G[:, :count] = (
        np.maximum(a[:, :count], 0.0) * lines.lower[:, own] + negative * lines.upper[:, own]
    )
    product = G @ first.weight
    decided = G[:, count:] @ first.bias[count:]
    size = np.maximum(np.abs(inputs.low), np.abs(inputs.high))
    value = np.empty(len(a))
    split_rows(
        a, np.ascontiguousarray(G[:, :count]), product, offsets,
        _order_by_gap(inputs, first, a, G, product, offsets),
        constant + decided, error + first.gamma * (np.abs(constant) + np.abs(decided)), np.abs(G) @ first.error,
        first.weight[:count], first.rough[:count], first.bias[:count], first.error[:count], first.gamma,
        inputs.low, inputs.high, size, 2.0 * (len(size) + 32) * U, splits, value,
    )  # fmt: skip
    return np.where(np.isfinite(value), value, -np.inf)


def _order_by_gap(
    inputs: Inputs, first: Layer, a: Array, G: Array, product: Array, offsets: Array
) -> Array:
    """For each function the undecided neurons, first those whose lines lie farthest below them at the corner of the box
    where the function is least."""
    count = first.undecided
    corner = np.where(product > 0, inputs.low, inputs.high).astype(np.float32)
    z = corner @ first.rough[:count].T + first.rough_bias[:count]
    gap = a[:, :count] * np.maximum(z, 0) - G[:, :count] * z - offsets
    return np.argsort(-gap, axis=1)
