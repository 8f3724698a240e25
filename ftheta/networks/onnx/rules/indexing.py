"""Operators that pick numbers by their places, put them there, or say where they are."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.moving import along, places
from ftheta.networks.programs.call import Rule, RuleTable, axis_of
from ftheta.networks.reading import Malformed


def _slice(call: Call, x: Any, *_: Any) -> Any:
    if call.opset >= 10:
        starts, ends, axes, steps = (call.numbers(i) for i in (1, 2, 3, 4))
    else:
        starts = call.require("starts")
        ends = call.require("ends")
        axes = call.wholes("axes")
        steps = None
    if starts is None or ends is None or len(starts) != len(ends):
        raise Malformed("a slice needs as many starts as ends")
    axes = list(range(len(starts))) if axes is None else [axis_of(a, x.ndim) for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    if len(axes) != len(starts) or len(steps) != len(starts):
        raise Malformed("a slice needs one axis and one step a start")
    cut = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        # ONNX begins at the first entry, Python nowhere
        first = max(start, -x.shape[axis]) if step < 0 else start
        cut[axis] = slice(first, end, step)
    return x[tuple(cut)]


def _gather(call: Call, x: Any, indices: Any) -> Any:
    axis = axis_of(call.whole("axis", 0), x.ndim)
    return call.xp.take(x, places(indices, x.shape[axis]), axis=axis, mode="clip")


def _grid(call: Call, x: Any, indices: Any) -> tuple[Any, ...]:
    return along(x, call.whole("axis", 0), indices)


def _gather_elements(call: Call, x: Any, indices: Any) -> Any:
    return jnp.asarray(x)[_grid(call, x, indices)]


def _tuples(call: Call, x: Any, indices: Any, batch: int = 0) -> tuple[Any, ...]:
    """The last axis of `indices` holds an index into `x`, after so many axes that both have in common."""
    lead = [
        np.arange(n).reshape(-1, *[1] * (indices.ndim - 2 - i))
        for i, n in enumerate(x.shape[:batch])
    ]
    parts = [places(indices[..., k], x.shape[batch + k]) for k in range(indices.shape[-1])]
    return (*lead, *parts)


def _gather_nd(call: Call, x: Any, indices: Any) -> Any:
    return jnp.asarray(x)[_tuples(call, x, indices, call.whole("batch_dims", 0))]


def _put(call: Call, x: Any, places: tuple[Any, ...], updates: Any) -> Any:
    how = call.word("reduction", "none")
    at = jnp.asarray(x).at[places]
    methods = {"none": at.set, "add": at.add, "mul": at.multiply, "max": at.max, "min": at.min}
    if how not in methods:
        raise call.refuse("This reduction is not read.", how)
    return methods[how](updates.astype(x.dtype))


def _scatter_elements(call: Call, x: Any, indices: Any, updates: Any) -> Any:
    return _put(call, x, _grid(call, x, indices), updates)


def _scatter_nd(call: Call, x: Any, indices: Any, updates: Any) -> Any:
    return _put(call, x, _tuples(call, x, indices), updates)


def _where_extreme(sign: int) -> Rule:
    """The first place of the largest or smallest number along an axis, or the last such place."""

    def rule(call: Call, x: Any) -> Any:
        axis = axis_of(call.whole("axis", 0), x.ndim)
        last = call.whole("select_last_index", 0)
        seen = sign * (jnp.flip(x, axis) if last else x)
        place = jnp.argmax(seen, axis, keepdims=bool(call.whole("keepdims", 1)))
        return x.shape[axis] - 1 - place if last else place

    return rule


def _top_k(call: Call, x: Any, *_: Any) -> tuple[Any, Any]:
    axis = axis_of(call.whole("axis", -1), x.ndim)
    (k,) = call.numbers(1) or [0]
    sign = 1 if call.whole("largest", 1) else -1
    values, places = lax.top_k(sign * jnp.moveaxis(x, axis, -1), k)
    return jnp.moveaxis(sign * values, -1, axis), jnp.moveaxis(places.astype(int), -1, axis)


def _one_hot(call: Call, indices: Any, *_: Any) -> Any:
    depth = int(np.asarray(call.known(1)).item())
    (off, on) = np.asarray(call.known(2)).tolist()
    axis = call.whole("axis", -1)
    places = jnp.where(indices < 0, indices + depth, indices).astype(int)
    hit = jnp.expand_dims(places, axis_of(axis, indices.ndim + 1))
    counted = jnp.arange(depth).reshape(
        [-1 if a == axis_of(axis, hit.ndim) else 1 for a in range(hit.ndim)]
    )
    return jnp.where(hit == counted, on, off)


def _trilu(call: Call, x: Any, *_: Any) -> Any:
    k = call.known(1)
    triangle = jnp.triu if call.whole("upper", 1) else jnp.tril
    return triangle(x, 0 if k is None else int(k.item()))


def _nonzero(call: Call, x: Any) -> Any:
    return np.array(np.nonzero(np.asarray(call.known(0))), np.int64)


RULES: RuleTable = {
    "Slice": _slice,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterElements": _scatter_elements,
    "Scatter": _scatter_elements,
    "ScatterND": _scatter_nd,
    "ArgMax": _where_extreme(1),
    "ArgMin": _where_extreme(-1),
    "TopK": _top_k,
    "OneHot": _one_hot,
    "Trilu": _trilu,
    "NonZero": _nonzero,
}
