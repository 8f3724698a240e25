"""Arithmetic entry by entry, comparisons, choices and casts."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy import special

from ftheta.networks.programs.call import Call, Rule, RuleTable
from ftheta.networks.torch.arguments import Dtype
from ftheta.networks.torch.tensors import dtype_of


def _of_one(name: str) -> Rule:
    return lambda call, x: getattr(call.xp, name)(x)


def _of_two(name: str) -> Rule:
    return lambda call, x, other: getattr(call.xp, name)(x, other)


def _special(name: str) -> Rule:
    return lambda call, x: getattr(special, name)(x)


def cast(call: Call, x: Any, dtype: Dtype | None) -> Any:
    """Reals of every precision are float64 in an analysis; whole numbers are cut towards zero."""
    if dtype is None:
        return x
    kind = dtype_of(dtype.code, call.node.label).kind
    return x.astype(bool if kind == "b" else np.int64 if kind in "iu" else float)


def _to(call: Call, x: Any, dtype: Dtype | None = None, other: Any = None) -> Any:
    return cast(call, x, dtype) if other is None else x.astype(other.dtype)


def _add(call: Call, x: Any, other: Any, alpha: Any = 1) -> Any:
    return call.xp.add(x, other if alpha == 1 else alpha * other)


def _sub(call: Call, x: Any, other: Any, alpha: Any = 1) -> Any:
    return call.xp.subtract(x, other if alpha == 1 else alpha * other)


def _rsub(call: Call, x: Any, other: Any, alpha: Any = 1) -> Any:
    return call.xp.subtract(other, x if alpha == 1 else alpha * x)


def _div(call: Call, x: Any, other: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return call.xp.floor_divide(x, other)
    quotient = call.xp.divide(x, other)
    return (
        quotient
        if rounding_mode is None
        else call.xp.trunc(quotient).astype(call.xp.result_type(x, other))
    )


def _pow(call: Call, x: Any, exponent: Any) -> Any:
    """A whole number as exponent makes a product, which has a derivative also at and below zero."""
    if isinstance(exponent, (int, float)) and exponent == int(exponent) and abs(exponent) <= 64:
        return x ** int(exponent)
    return call.xp.power(x, exponent)


def _clamp(call: Call, x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else call.xp.maximum(x, min)
    return x if max is None else call.xp.minimum(x, max)


def _where(call: Call, condition: Any, x: Any, other: Any) -> Any:
    return call.xp.where(condition, x, other)


def _masked_fill(call: Call, x: Any, mask: Any, value: Any) -> Any:
    return call.xp.where(mask, call.xp.asarray(value, x.dtype), x)


def _round(call: Call, x: Any, decimals: int = 0) -> Any:
    return call.xp.round(x, decimals)


def _lerp(call: Call, x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


def _addcmul(call: Call, x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    return x + value * tensor1 * tensor2


def _addcdiv(call: Call, x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    return x + value * tensor1 / tensor2


def _fill(call: Call, x: Any, value: Any) -> Any:
    return call.xp.full_like(x, value)


def _zero(call: Call, x: Any) -> Any:
    return call.xp.zeros_like(x)


def _copy(call: Call, x: Any, src: Any) -> Any:
    return call.library(x.size).broadcast_to(src, x.shape).astype(x.dtype)


_ONE = {
    **{
        op: op
        for op in (
            "abs",
            "sqrt",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sign",
            "floor",
        )
    },
    **{
        op: op
        for op in (
            "ceil",
            "trunc",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "square",
            "isnan",
            "isinf",
        )
    },
    **{f"a{op}": f"arc{op}" for op in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "isfinite": "isfinite",
    "logical_not": "logical_not",
    "bitwise_not": "invert",
    "neg": "negative",
    "sgn": "sign",
}
_TWO = {
    "mul": "multiply",
    "floor_divide": "floor_divide",
    "remainder": "mod",
    "fmod": "fmod",
    "atan2": "arctan2",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "copysign": "copysign",
    **dict.fromkeys(("maximum", "max.other", "fmax"), "maximum"),
    **dict.fromkeys(("minimum", "min.other", "fmin"), "minimum"),
    **{
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    },
    **{f"logical_{op}": f"logical_{op}" for op in ("and", "or", "xor")},
    **{f"bitwise_{op}": f"bitwise_{op}" for op in ("and", "or", "xor")},
    **{f"__{op}__": f"bitwise_{op}" for op in ("and", "or", "xor")},
}
"""Operators of one and of two arguments, by their names in NumPy and in JAX, which broadcast alike."""

RULES: RuleTable = {
    **{op: _of_one(name) for op, name in _ONE.items()},
    **{op: _of_two(name) for op, name in _TWO.items()},
    **{op: _special(op) for op in ("erf", "erfc", "erfinv")},
    "lgamma": _special("gammaln"),
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "div": _div,
    "true_divide": _div,
    "pow": _pow,
    "reciprocal": lambda call, x: 1.0 / x,
    "rsqrt": lambda call, x: 1.0 / call.xp.sqrt(x),
    "frac": lambda call, x: x - call.xp.trunc(x),
    "round": _round,
    "clamp": _clamp,
    "clip": _clamp,
    "clamp_min": lambda call, x, min: _clamp(call, x, min),
    "clamp_max": lambda call, x, max: _clamp(call, x, None, max),
    "where": _where,
    "masked_fill": _masked_fill,
    "lerp": _lerp,
    "addcmul": _addcmul,
    "addcdiv": _addcdiv,
    "fill": _fill,
    "zero": _zero,
    "copy": _copy,
    "to": _to,
    "_to_copy": _to,
    "type_as": _to,
    "float_power": lambda call, x, exponent: jnp.power(x, exponent),
}
