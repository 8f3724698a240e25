"""Operators that pick numbers by their places, put them there, or say where they are."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.networks.operators.moving import along, places
from ftheta.networks.programs.call import Call, RuleTable, axis_of
from ftheta.networks.reading import Malformed


def _range(x: Any, dim: int, start: int | None, end: int | None, step: int) -> tuple[slice, ...]:
    cut = [slice(None)] * x.ndim
    cut[axis_of(dim, x.ndim)] = slice(start, end, step)
    return tuple(cut)


def _slice(
    call: Call, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    return x[_range(x, dim, start, end, step)]


def _slice_scatter(
    call: Call, x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    return jnp.asarray(x).at[_range(x, dim, start, end, step)].set(src)


def _narrow(call: Call, x: Any, dim: int, start: int, length: int) -> Any:
    return _slice(call, x, dim, start, start + length)


def _select(call: Call, x: Any, dim: int, index: int) -> Any:
    axis = axis_of(dim, x.ndim)
    return call.xp.take(x, int(places(index, x.shape[axis])), axis=axis)


def _select_scatter(call: Call, x: Any, src: Any, dim: int, index: int) -> Any:
    axis = axis_of(dim, x.ndim)
    return jnp.asarray(x).at[(slice(None),) * axis + (int(places(index, x.shape[axis])),)].set(src)


def _index_select(call: Call, x: Any, dim: int, index: Any) -> Any:
    axis = axis_of(dim, x.ndim)
    return call.xp.take(x, places(index, x.shape[axis]), axis=axis, mode="clip")


def _embedding(
    call: Call,
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    return jnp.take(weight, indices, axis=0, mode="clip")


def _full_index(call: Call, x: Any, indices: list[Any]) -> tuple[Any, ...]:
    """An index as in NumPy; None is all of an axis, and truth values must be known."""
    found = list[Any]()
    axis = 0
    for index in indices:
        if index is None:
            found.append(slice(None))
        elif index.dtype == bool:
            if not isinstance(index, np.ndarray):
                raise call.refuse(
                    "A choice of entries depends on the input of the network.", call.node.inputs[-1]
                )
            found += np.nonzero(index)
            axis += index.ndim - 1
        else:
            found.append(places(index, x.shape[axis]))
        axis += 1
    return tuple(found)


def _index(call: Call, x: Any, indices: list[Any]) -> Any:
    return (x if call.xp is np else jnp.asarray(x))[_full_index(call, x, indices)]


def _index_put(
    call: Call,
    x: Any,
    indices: list[Any],
    values: Any,
    accumulate: bool = False,
    unsafe: Any = None,
) -> Any:
    at = jnp.asarray(x).at[_full_index(call, x, indices)]
    return at.add(values) if accumulate else at.set(values)


def _gather(call: Call, x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    return jnp.asarray(x)[along(x, dim, index)] if x.ndim else x


def _scatter(call: Call, x: Any, dim: int, index: Any, src: Any = None, value: Any = None) -> Any:
    at = jnp.asarray(x).at[along(x, dim, index)]
    return at.set(value if src is None else src[tuple(slice(n) for n in index.shape)])


def _scatter_add(call: Call, x: Any, dim: int, index: Any, src: Any) -> Any:
    return jnp.asarray(x).at[along(x, dim, index)].add(src[tuple(slice(n) for n in index.shape)])


def _topk(
    call: Call, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    axis = axis_of(dim, x.ndim)
    sign = 1 if largest else -1
    values, at = lax.top_k(sign * jnp.moveaxis(jnp.asarray(x), axis, -1), k)
    return jnp.moveaxis(sign * values, -1, axis), jnp.moveaxis(at, -1, axis)


def _argsort(
    call: Call, x: Any, dim: int = -1, descending: bool = False, stable: Any = None
) -> Any:
    return jnp.argsort(x, axis_of(dim, x.ndim), descending=descending)


def _sort(call: Call, x: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Any:
    order = _argsort(call, x, dim, descending)
    return jnp.take_along_axis(jnp.asarray(x), order, axis_of(dim, x.ndim)), order


def _diagonal(call: Call, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return call.xp.diagonal(x, offset, axis_of(dim1, x.ndim), axis_of(dim2, x.ndim))


def _one_hot(call: Call, x: Any, num_classes: int = -1) -> Any:
    if num_classes < 1:
        raise call.refuse(
            "The number of classes depends on the input of the network.", "one_hot(num_classes=-1)"
        )
    return (jnp.expand_dims(x, -1) == jnp.arange(num_classes)).astype(int)


def _unfold(call: Call, x: Any, dimension: int, size: int, step: int) -> Any:
    """Windows of an axis, as a last axis of that size."""
    axis = axis_of(dimension, x.ndim)
    if size < 1 or step < 1 or size > x.shape[axis]:
        raise Malformed(f"windows of {size} every {step} in an axis of {x.shape[axis]}")
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    return jnp.moveaxis(
        jnp.take(x, starts[:, None] + np.arange(size), axis=axis, mode="clip"), axis + 1, -1
    )


RULES: RuleTable = {
    "slice": _slice,
    "slice_scatter": _slice_scatter,
    "narrow": _narrow,
    "select": _select,
    "select_scatter": _select_scatter,
    "index_select": _index_select,
    "embedding": _embedding,
    "index": _index,
    "index_put": _index_put,
    "_unsafe_index": _index,
    "gather": _gather,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "topk": _topk,
    "sort": _sort,
    "argsort": _argsort,
    "diagonal": _diagonal,
    "one_hot": _one_hot,
    "unfold": _unfold,
}
