"""Tensors made from numbers alone: constants, ranges, triangles."""

from math import ceil, prod
from typing import Any

import numpy as np

from ftheta.networks.programs.call import Call, Rule, RuleTable
from ftheta.networks.reading import Malformed
from ftheta.networks.torch.arguments import Dtype
from ftheta.networks.torch.tensors import dtype_of


def _type(call: Call, dtype: Dtype | None, value: Any) -> Any:
    """The type asked for, or that of the value."""
    if dtype is None:
        return np.asarray(value).dtype
    kind = dtype_of(dtype.code, call.node.label).kind
    return np.dtype({"b": bool, "i": np.int64, "u": np.int64}.get(kind, np.float64))


def _fill(call: Call, shape: Any, value: Any, dtype: Any) -> Any:
    if any(n < 0 for n in shape):
        raise Malformed(f"a shape {tuple(shape)}")
    return call.library(prod(shape)).full(tuple(shape), value, dtype)


def _full(call: Call, size: list[int], fill_value: Any, dtype: Dtype | None = None) -> Any:
    return _fill(call, size, fill_value, _type(call, dtype, fill_value))


def _of(value: float) -> Rule:
    return lambda call, size, dtype=None: _fill(call, size, value, _type(call, dtype, value))


def _like(value: float) -> Rule:
    def rule(call: Call, x: Any, dtype: Dtype | None = None) -> Any:
        return _fill(call, x.shape, value, x.dtype if dtype is None else _type(call, dtype, value))

    return rule


def _full_like(call: Call, x: Any, fill_value: Any, dtype: Dtype | None = None) -> Any:
    return _fill(
        call, x.shape, fill_value, x.dtype if dtype is None else _type(call, dtype, fill_value)
    )


def _new(value: float) -> Rule:
    def rule(call: Call, x: Any, size: list[int], dtype: Dtype | None = None) -> Any:
        return _fill(call, size, value, x.dtype if dtype is None else _type(call, dtype, value))

    return rule


def _new_full(
    call: Call, x: Any, size: list[int], fill_value: Any, dtype: Dtype | None = None
) -> Any:
    return _fill(
        call, size, fill_value, x.dtype if dtype is None else _type(call, dtype, fill_value)
    )


def _scalar(call: Call, s: Any, dtype: Dtype | None = None) -> Any:
    return np.asarray(s, _type(call, dtype, s))


def _arange(call: Call, end: Any, start: Any = 0, step: Any = 1, dtype: Dtype | None = None) -> Any:
    if not step:
        raise Malformed("a range of step zero")
    count = max(ceil((end - start) / step), 0)
    return (start + call.library(count).arange(count) * step).astype(
        _type(call, dtype, start + step)
    )


def _linspace(call: Call, start: Any, end: Any, steps: int, dtype: Dtype | None = None) -> Any:
    return call.library(steps).linspace(float(start), float(end), steps)


def _eye(call: Call, n: int, m: int | None = None, dtype: Dtype | None = None) -> Any:
    wide = n if m is None else m
    return call.library(n * wide).eye(n, wide, dtype=_type(call, dtype, 1.0))


def _triangle(name: str) -> Rule:
    return lambda call, x, diagonal=0: getattr(call.xp, name)(x, diagonal)


RULES: RuleTable = {
    "full": _full,
    **{op: _of(value) for op, value in (("zeros", 0.0), ("ones", 1.0), ("empty", 0.0))},
    **{f"{op}_like": _like(value) for op, value in (("zeros", 0), ("ones", 1), ("empty", 0))},
    **{f"new_{op}": _new(value) for op, value in (("zeros", 0), ("ones", 1), ("empty", 0))},
    "full_like": _full_like,
    "new_full": _new_full,
    "scalar_tensor": _scalar,
    "arange": _arange,
    "linspace": _linspace,
    "eye": _eye,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
}
