"""The linear primitives of JAX as sparse matrices acting on flattened arrays."""

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from jax import lax
from scipy import sparse

from ..matrices import nearest

Triples = tuple[np.ndarray, np.ndarray, np.ndarray]


def from_triples(triples: Sequence[Triples], shape: tuple[int, int]) -> Any:
    """The sparse matrix of a `shape` whose entries are given as rows, columns and values."""
    rows, columns, values = (
        np.concatenate([np.asarray(t[k]).ravel() for t in triples]) for k in range(3)
    )
    used = values != 0
    return sparse.csr_array((values[used], (rows[used], columns[used])), shape=shape)


def with_numbers(
    build: Callable[[np.ndarray], Any], numbers: np.ndarray
) -> tuple[Any, list[fmpq] | None]:
    """The matrix that `build` makes of an array, and its entries in rationals if the array has rationals.

    Of these, `build` is given the places instead: it puts every number somewhere, and changes none.
    """
    if numbers.dtype != object:
        return build(np.asarray(numbers, np.float64)), None
    matrix = build(np.arange(1.0, numbers.size + 1).reshape(numbers.shape))
    taken = numbers.ravel()[matrix.data.astype(np.int64) - 1]
    matrix.data = np.array([nearest(q) for q in taken], np.float64)
    return matrix, list(taken)


def contraction(
    dimension_numbers: Any, moving: tuple[int, ...], fixed: np.ndarray, moving_first: bool
) -> Any:
    r"""`dot_general` with one constant operand: $\text{out}[b,f,g]=\sum_cx[b,f,c]\,w[b,c,g]$."""
    (contract_l, contract_r), (batch_l, batch_r) = dimension_numbers
    contract, batch = (contract_l, batch_l) if moving_first else (contract_r, batch_r)
    contract_w, batch_w = (contract_r, batch_r) if moving_first else (contract_l, batch_l)
    x = _order(np.arange(prod(moving)).reshape(moving), batch, contract)  # (B, F, C)
    w = _order(np.asarray(fixed, np.float64), batch_w, contract_w)  # (B, G, C)
    B, F, C = x.shape
    G = w.shape[1]
    out = np.arange(B * F * G).reshape((B, F, G) if moving_first else (B, G, F))
    out = out if moving_first else out.transpose(0, 2, 1)
    shape = (B, F, G, C)
    triple = (
        np.broadcast_to(out[:, :, :, None], shape),
        np.broadcast_to(x[:, :, None, :], shape),
        np.broadcast_to(w[:, None, :, :], shape),
    )
    return from_triples([triple], (B * F * G, x.size))


def _order(array: np.ndarray, batch: Sequence[int], contract: Sequence[int]) -> np.ndarray:
    """The array as (batch, free, contracted)."""
    free = [a for a in range(array.ndim) if a not in (*batch, *contract)]
    sizes = [prod(array.shape[a] for a in axes) for axes in (batch, free, contract)]
    return array.transpose([*batch, *free, *contract]).reshape(sizes)


def window_table(
    size: int, window: int, stride: int, padding: tuple[int, int], base: int, dilation: int
) -> np.ndarray:
    """One axis: entry `(t, k)` is the position read by output `t` at offset `k` of the window, -1 outside the array."""
    span = (size - 1) * base + 1 if size else 0
    reach = (window - 1) * dilation + 1
    outputs = max(0, (span + sum(padding) - reach) // stride + 1)
    place = (
        np.arange(outputs)[:, None] * stride + np.arange(window)[None, :] * dilation - padding[0]
    )
    inside = (place >= 0) & (place < span) & (place % base == 0)
    return np.where(inside, place // base, -1)


def convolution(
    params: Any, moving: tuple[int, ...], kernel: np.ndarray, out_shape: tuple[int, ...]
) -> Any:
    """`conv_general_dilated` with a constant kernel: strides, padding, dilations and feature groups."""
    numbers = params["dimension_numbers"]
    groups = params["feature_group_count"]
    x = np.arange(prod(moving)).reshape(moving).transpose(numbers.lhs_spec)  # (N, C, *S)
    w = np.asarray(kernel, np.float64).transpose(numbers.rhs_spec)  # (O, I, *K)
    out = np.arange(prod(out_shape)).reshape(out_shape).transpose(numbers.out_spec)  # (N, O, *T)
    n_out, n_in = w.shape[:2]
    # read by output o as input i
    channel = (np.arange(n_out) // (n_out // groups))[:, None] * n_in + np.arange(n_in)
    axes = zip(x.shape[2:], w.shape[2:], params["window_strides"], params["padding"])
    dilations = zip(params["lhs_dilation"], params["rhs_dilation"])
    tables = [
        window_table(s, k, d, tuple(p), base, dil)
        for (s, k, d, p), (base, dil) in zip(axes, dilations)
    ]
    triples = []
    for offset in product(*map(range, w.shape[2:])):
        reads = [table[:, k] for table, k in zip(tables, offset)]
        valid = [np.flatnonzero(read >= 0) for read in reads]
        if all(v.size for v in valid):
            triples.append(_one_offset(x, w[(..., *offset)], out, channel, reads, valid))
    size = (prod(out_shape), prod(moving))
    return from_triples(triples, size) if triples else sparse.csr_array(size)


def _one_offset(
    x: Any, w: Any, out: Any, channel: Any, reads: list[np.ndarray], valid: list[np.ndarray]
) -> Triples:
    """The weights at one offset of the kernel, as (N, O, I, *T)."""
    images, channels, outputs = (np.arange(n) for n in (*x.shape[:2], out.shape[1]))
    source = x[np.ix_(images, channels, *(read[v] for read, v in zip(reads, valid)))][:, channel]
    target = out[np.ix_(images, outputs, *valid)][:, :, None]
    weights = w.reshape(1, *w.shape, *[1] * len(reads))
    return np.broadcast_to(target, source.shape), source, np.broadcast_to(weights, source.shape)


def _axis_tables(params: Any, shape: tuple[int, ...]) -> list[np.ndarray]:
    axes = zip(shape, params["window_dimensions"], params["window_strides"], params["padding"])
    dilations = zip(params["base_dilation"], params["window_dilation"])
    return [
        window_table(s, k, d, tuple(p), base, dil)
        for (s, k, d, p), (base, dil) in zip(axes, dilations)
    ]


def windows(params: Any, shape: tuple[int, ...]) -> np.ndarray:
    """`reduce_window`: for every output, the flat numbers of the entries in its window; -1 for padding."""
    tables = _axis_tables(params, shape)
    rank = len(tables)
    number = np.zeros((1,) * (2 * rank), np.int64)
    inside = np.ones((1,) * (2 * rank), bool)
    for axis, table in enumerate(tables):
        spread = [1] * (2 * rank)
        spread[axis], spread[rank + axis] = table.shape
        grid = table.reshape(spread)
        number = number * shape[axis] + np.maximum(grid, 0)
        inside = inside & (grid >= 0)
    outputs = prod(table.shape[0] for table in tables)
    return np.where(inside, number, -1).reshape(outputs, -1)


def axis_windows(params: Any, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """The same windows along one axis alone."""
    (table,) = [t for a, t in enumerate(_axis_tables(params, shape)) if a == axis]
    lines = np.moveaxis(np.arange(prod(shape)).reshape(shape), axis, -1)
    read = np.where(table >= 0, lines[..., np.maximum(table, 0)], -1)  # (others, outputs, window)
    return np.moveaxis(read, -2, axis).reshape(-1, table.shape[1])


def overlaps(params: Any) -> bool:
    """Whether the windows have several axes and share entries along one."""
    wide = [k > 1 for k in params["window_dimensions"]]
    return sum(wide) > 1 and any(
        w and stride < (k - 1) * dilation + 1
        for w, k, stride, dilation in zip(
            wide, params["window_dimensions"], params["window_strides"], params["window_dilation"]
        )
    )


def scatter_places(
    params: Any, shape: tuple[int, ...], indices: np.ndarray, updates: tuple[int, ...]
) -> np.ndarray:
    """`scatter`: for every update, the flat number of the entry it goes to; -1 if it is dropped.

    The transpose of a scatter that adds takes to every update what stands at its place.
    """
    put = lambda u: lax.scatter_add(
        jnp.zeros(shape), jnp.asarray(indices), u, params["dimension_numbers"], mode=params["mode"]
    )
    with jax.enable_x64(True):
        _, back = jax.vjp(put, jnp.zeros(updates))
        (place,) = back(jnp.arange(1.0, prod(shape) + 1).reshape(shape))
    return np.asarray(place).ravel().astype(np.int64) - 1


def groups(shape: tuple[int, ...], axes: Sequence[int]) -> np.ndarray:
    """A reduction over `axes`: for every output, the flat numbers of the entries it reads."""
    return _order(np.arange(prod(shape)).reshape(shape), (), tuple(axes))[0]


def summation(table: np.ndarray, size: int) -> Any:
    """The matrix that adds up the entries of every row of the table."""
    rows = np.broadcast_to(np.arange(len(table))[:, None], table.shape)
    inside = table >= 0
    return sparse.csr_array(
        (np.ones(inside.sum()), (rows[inside], table[inside])), shape=(len(table), size)
    )


def prefixes(shape: tuple[int, ...], axis: int, reverse: bool) -> np.ndarray:
    """A running reduction: for every entry, the flat numbers of those up to it along the axis; -1 fills the rest."""
    number = np.moveaxis(np.arange(prod(shape)).reshape(shape), axis, -1)
    before = np.tril(np.ones((shape[axis],) * 2, bool))
    before = before.T if reverse else before
    table = np.where(before, number[..., None, :], -1)
    return np.moveaxis(table, -2, axis).reshape(prod(shape), shape[axis])
