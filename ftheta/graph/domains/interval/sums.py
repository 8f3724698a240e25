"""Linear primitives: sums, matrix products, convolutions, window sums.

With computed sums S̃ and magnitudes M = Σ|a||b| the exact sum lies within gamma·M of S̃ in any order of summation
(`rounding.sum_error`). A constant factor W splits by sign, W⁺ and W⁻, so that

    lo(W x) = W⁺ lo(x) + W⁻ hi(x),      hi(W x) = W⁺ hi(x) + W⁻ lo(x)

is exact up to rounding; two genuine intervals are multiplied corner by corner, term by term.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ftheta.graph.domains.interval.arithmetic import square
from ftheta.graph.domains.interval.intervals import FILE, Interval
from ftheta.graph.domains.interval.rounding import (
    Array,
    above,
    below,
    multiply_above,
    multiply_below,
    sum_above,
    sum_below,
    sum_error,
)
from ftheta.graph.graph import Node
from ftheta.graph.interpret import missing_rule
from ftheta.graph.layout import matrices


def reduce_sum(x: Interval, axes: tuple[int, ...]) -> Interval:
    """The sum of x over the axes, rounded outward."""
    return Interval(sum_below(x.lo, axes), sum_above(x.hi, axes))


def matrix_product(x: Interval, y: Interval) -> Interval:
    """X Y for stacks of matrices (…, m, k) and (…, k, n)."""
    terms = x.shape[-1]
    finite = all(np.isfinite(end).all() for end in (x.lo, x.hi, y.lo, y.hi))
    if finite and x.is_point:
        lo, hi = _signed_product(x.lo, y)
    elif finite and y.is_point:
        lo, hi = (
            transpose_interval(end)
            for end in _signed_product(transpose_interval(y.lo), x.map(transpose_interval))
        )
    else:
        return _product_by_corners(x, y)
    size = x.magnitude @ y.magnitude
    error = sum_error(size, terms + 1)  # each term is in one of two sums
    lower = below(lo - error)
    upper = above(hi + error)
    if (
        not size.all()
    ):  # a sum of products that are all exactly 0 is 0; a product may underflow, so count factors
        zero = (x.magnitude != 0).astype(np.float64) @ (y.magnitude != 0).astype(np.float64) == 0
        lower = np.where(zero, 0.0, lower)
        upper = np.where(zero, 0.0, upper)
    return Interval(lower, upper)


def transpose_interval(x: Array) -> Array:
    """The last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


def _signed_product(w: Array, x: Interval) -> tuple[Array, Array]:
    plus = np.maximum(w, 0.0)
    minus = np.minimum(w, 0.0)
    return plus @ x.lo + minus @ x.hi, plus @ x.hi + minus @ x.lo


def _product_by_corners(x: Interval, y: Interval) -> Interval:
    """Σ_k X_ik Y_kj with the interval product of each term; one term at a time, to keep memory at m·n."""
    rows = x.shape[-2]
    columns = y.shape[-1]
    terms = x.shape[-1]
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), rows, columns)
    lo, hi, lo_size, hi_size = (np.zeros(shape) for _ in range(4))
    for k in range(terms):
        a = x.map(lambda end, k=k: end[..., :, k, None])
        b = y.map(lambda end, k=k: end[..., None, k, :])
        corners = [(p, q) for p in (a.lo, a.hi) for q in (b.lo, b.hi)]
        low = np.minimum.reduce(np.broadcast_arrays(*[multiply_below(p, q) for p, q in corners]))
        high = np.maximum.reduce(np.broadcast_arrays(*[multiply_above(p, q) for p, q in corners]))
        lo = lo + low
        lo_size = lo_size + np.abs(low)
        hi = hi + high
        hi_size = hi_size + np.abs(high)
    return Interval(below(lo - sum_error(lo_size, terms)), above(hi + sum_error(hi_size, terms)))


def dot_general(
    node: Node,
    x: Interval,
    y: Interval,
    product: Callable[[Interval, Interval], Interval] = matrix_product,
) -> Interval:
    """Any contraction, as a product of stacks of matrices."""
    (contract_x, contract_y), (batch_x, batch_y) = node.params["dimension_numbers"]
    if (
        node.inputs[0] == node.inputs[1]
        and contract_x == contract_y
        and batch_x == batch_y == tuple(sorted(batch_x))
        and len(contract_x) + len(batch_x) == len(x.shape)
    ):
        return reduce_sum(square(x), contract_x)  # x·x with itself: a sum of squares
    left = x.map(lambda end: matrices(end, batch_x, contract_x, last=True))
    right = y.map(lambda end: matrices(end, batch_y, contract_y, last=False))
    return product(left, right).map(lambda end: end.reshape(node.shape))


def windows(
    x: Array,
    sizes: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    fill: float,
) -> Array:
    """All windows of x, as an array (positions..., window...). Dilation inserts `fill` between entries of x, or
    steps over entries inside a window; negative padding crops."""
    if not x.ndim:
        return x
    spread = np.full([(n - 1) * d + 1 if n else 0 for n, d in zip(x.shape, base_dilation)], fill)
    spread[tuple(slice(None, None, d) for d in base_dilation)] = x
    wide = np.pad(spread, [(max(a, 0), max(b, 0)) for a, b in padding], constant_values=fill)
    # what is cropped may reach beyond the entries, into the padding of the other side
    padded = wide[
        tuple(slice(max(-a, 0), max(0, n - max(-b, 0))) for n, (a, b) in zip(wide.shape, padding))
    ]
    reach = [(w - 1) * d + 1 for w, d in zip(sizes, window_dilation)]
    view = np.lib.stride_tricks.sliding_window_view(padded, reach)
    step = tuple(slice(None, None, s) for s in strides)
    return view[(*step, *(slice(None, None, d) for d in window_dilation))]


def window_ends(node: Node, x: Interval, fill: float) -> tuple[Interval, tuple[int, ...]]:
    """The windows of a `reduce_window_*` node, and the axes to reduce."""
    p = node.params
    options = (
        p["window_dimensions"],
        p["window_strides"],
        p["padding"],
        p["base_dilation"],
        p["window_dilation"],
    )
    seen = x.map(lambda end: windows(end, *options, fill))
    return seen, tuple(range(len(x.shape), 2 * len(x.shape)))


def reduce_window_sum(node: Node, x: Interval) -> Interval:
    """Sums over the node's windows, rounded outward; nothing is added outside the array."""
    seen, axes = window_ends(node, x, 0.0)
    return reduce_sum(seen, axes)


def convolution(node: Node, x: Interval, kernel: Interval) -> Interval:
    """Every convolution is a matrix product of patches with the flattened kernel, group by group."""
    p = node.params
    numbers = node.params["dimension_numbers"]
    if p["batch_group_count"] != 1:
        raise missing_rule("interval", FILE, node, "with batch_group_count > 1")
    groups = p["feature_group_count"]
    x = x.map(lambda end: end.transpose(numbers.lhs_spec))  # (batch, channel, space...)
    # (out, channel / group, window...)
    kernel = kernel.map(lambda end: end.transpose(numbers.rhs_spec))
    out = kernel.shape[0]
    batch = x.shape[0]
    size = kernel.shape[2:]
    seen = x.map(
        lambda end: windows(
            end,
            (1, 1, *size),
            (1, 1, *p["window_strides"]),
            ((0, 0), (0, 0), *p["padding"]),
            (1, 1, *p["lhs_dilation"]),
            (1, 1, *p["rhs_dilation"]),
            0.0,
        )
    )
    space = seen.shape[2 : 2 + len(size)]
    patches = seen.map(lambda end: _patches(end, batch, groups, math.prod(space)))
    weights = kernel.map(lambda end: end.reshape(groups, out // groups, -1).transpose(0, 2, 1))
    product = matrix_product(patches, weights)  # (group, batch · space, out / group)
    back = np.argsort(numbers.out_spec)
    return product.map(
        lambda end: (
            np.moveaxis(end.reshape(groups, batch, *space, out // groups), (1, 0, -1), (0, 1, 2))
            .reshape(batch, out, *space)
            .transpose(back)
        )
    )


def _patches(seen: Array, batch: int, groups: int, places: int) -> Array:
    """(batch, channel, places..., 1, 1, window...) as (group, batch · places, channel / group · window)."""
    channels = seen.shape[1]
    flat = seen.reshape(batch, groups, channels // groups, places, -1)
    return flat.transpose(1, 0, 3, 2, 4).reshape(groups, batch * places, -1)


def cumulative_sum(node: Node, x: Interval) -> Interval:
    """Partial sums, each with its own magnitude in the error bound; those of numbers ≥ 0 are kept ≥ 0."""
    axis = node.params["axis"]
    backwards = node.params["reverse"]

    def running(values: Array) -> Array:
        return (
            np.flip(np.cumsum(np.flip(values, axis), axis), axis)
            if backwards
            else np.cumsum(values, axis)
        )

    def lower(values: Array) -> Array:
        bound = below(running(values) - sum_error(running(np.abs(values)), values.shape[axis]))
        return np.where(running((values < 0).astype(float)) == 0, np.maximum(bound, 0.0), bound)

    return Interval(lower(x.lo), -lower(-x.hi))
