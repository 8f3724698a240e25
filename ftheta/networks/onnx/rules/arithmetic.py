"""Arithmetic entry by entry, comparisons, choices and casts."""

from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.networks.onnx.call import Call
from ftheta.networks.onnx.tensors import REAL, dtype_of
from ftheta.networks.programs.call import Rule, RuleTable


def _of_one(name: str) -> Rule:
    return lambda call, x: getattr(call.xp, name)(x)


def _of_two(name: str) -> Rule:
    return lambda call, x, y: getattr(call.xp, name)(x, y)


def _fold_binary(name: str) -> Rule:
    """A function of two arguments over any number of them."""
    return lambda call, *values: reduce(getattr(call.xp, name), values)


def is_whole(x: Any) -> bool:
    """Whether the entries of x are integers."""
    return jnp.issubdtype(x.dtype, jnp.integer)


def _divide(call: Call, x: Any, y: Any) -> Any:
    """Whole numbers are divided towards zero."""
    if not (is_whole(x) and is_whole(y)):
        return call.xp.divide(x, y)
    return call.xp.sign(x) * call.xp.sign(y) * (abs(x) // call.xp.maximum(abs(y), 1))


def _power(call: Call, x: Any, exponent: Any) -> Any:
    """A whole number as exponent makes a product, which has a derivative also at and below zero."""
    if (
        isinstance(exponent, np.ndarray)
        and exponent.size == 1
        and exponent.ndim <= x.ndim
        and not is_whole(x)
    ):
        p = exponent.item()
        return x ** int(p) if p == int(p) and abs(p) <= 64 else call.xp.power(x, p)
    return call.xp.power(x, exponent).astype(x.dtype)


def _mod(call: Call, x: Any, y: Any) -> Any:
    return (call.xp.fmod if call.whole("fmod", 0) else call.xp.mod)(x, y)


def _clip(call: Call, x: Any, *_: Any) -> Any:
    if call.opset >= 11:
        lo = call.known(1)
        hi = call.known(2)
    else:
        lo, hi = (
            call.real(k, np.nan) if k in call.node.attributes else None for k in ("min", "max")
        )
    x = x if lo is None else call.xp.maximum(x, np.reshape(lo, ()))
    return x if hi is None else call.xp.minimum(x, np.reshape(hi, ()))


def _where(call: Call, which: Any, yes: Any, no: Any) -> Any:
    return call.xp.where(which, yes, no)


def _mean(call: Call, *values: Any) -> Any:
    return reduce(call.xp.add, values) / float(len(values))


def _cast_to(call: Call, code: int, x: Any) -> Any:
    """Reals of every precision are float64 in an analysis; whole numbers are cut towards zero."""
    dtype = dtype_of(code, call.node.label)
    if code in REAL:
        return x.astype(float)
    return x.astype(bool if dtype.kind == "b" else np.int64 if call.xp is np else int)


def _cast(call: Call, x: Any) -> Any:
    return _cast_to(call, call.whole("to", 0), x)


def _cast_like(call: Call, x: Any, like: Any) -> Any:
    return x.astype(like.dtype)


def _reciprocal(call: Call, x: Any) -> Any:
    return 1.0 / x


_ONE = {
    **{
        op: op.lower()
        for op in (
            "Abs",
            "Sqrt",
            "Exp",
            "Log",
            "Sign",
            "Floor",
            "Ceil",
            "Round",
            "Sin",
            "Cos",
            "Tan",
        )
    },
    **{op: op.lower() for op in ("Sinh", "Cosh", "IsNaN")},
    **{f"A{op}": f"arc{op}" for op in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "Neg": "negative",
    "Not": "logical_not",
}
_TWO = {
    **{op: op.lower() for op in ("Add", "Equal", "Greater", "Less")},
    **{op: f"logical_{op.lower()}" for op in ("And", "Or", "Xor")},
    "Sub": "subtract",
    "Mul": "multiply",
    "GreaterOrEqual": "greater_equal",
    "LessOrEqual": "less_equal",
}
"""Operators of one and of two arguments, by their names in NumPy and in JAX, which broadcast alike."""

RULES: RuleTable = {
    **{op: _of_one(name) for op, name in _ONE.items()},
    **{op: _of_two(name) for op, name in _TWO.items()},
    "Where": _where,
    "Div": _divide,
    "Pow": _power,
    "Mod": _mod,
    "Reciprocal": _reciprocal,
    "Clip": _clip,
    "Min": _fold_binary("minimum"),
    "Max": _fold_binary("maximum"),
    "Sum": _fold_binary("add"),
    "Mean": _mean,
    "Cast": _cast,
    "CastLike": _cast_like,
}
