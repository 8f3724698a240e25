"""Arithmetic with lengths, which are numbers once the shape of the input is known."""

import math
import operator
from typing import Any

from ftheta.networks.programs.call import Call, Rule, RuleTable, axis_of


def _python(function: Any) -> Rule:
    return lambda call, **arguments: function(*arguments.values())


def _size(call: Call, x: Any, dim: int) -> int:
    return x.shape[axis_of(dim, x.ndim)]


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos")
_COMPARISON = ("eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "not_")

RULES: RuleTable = {
    "sym_size": _size,
    "size": _size,
    "sym_numel": lambda call, x: x.size,
    "numel": lambda call, x: x.size,
    **{f"_operator.{name}": _python(getattr(operator, name)) for name in _ARITHMETIC + _COMPARISON},
    **{f"math.{name}": _python(getattr(math, name)) for name in ("ceil", "floor", "trunc", "sqrt")},
    "torch.sym_float": _python(float),
    "torch.sym_int": _python(int),
    "torch.sym_max": _python(max),
    "torch.sym_min": _python(min),
    "torch.sym_not": _python(operator.not_),
    "torch._sym_sqrt": _python(math.sqrt),
}
