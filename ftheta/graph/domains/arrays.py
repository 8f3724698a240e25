"""Values in NumPy: the common primitives computed at once, where JAX would first compile each one for its shapes.

A program that is run once spends its time in compilation: thirty milliseconds a node. Primitives without a rule here
are left to JAX. Entries agree with JAX's to the rounding of the elementary functions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ftheta.graph.domains.values import flat_inputs
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import Domain, Interpretation, each_output, forward, precision
from ftheta.graph.layout import MOVES, Array, matrices
from ftheta.graph.primitives import CUSTOM_CALLS, body
from ftheta.lazy import special

FILE = "ftheta/graph/domains/arrays.py"
KINDS = frozenset({"float32", "float64", "int32", "int64", "bool"})
"""Types whose arithmetic is the same in NumPy and in JAX; the others are left to JAX."""


def dot_general(node: Node, x: Array, y: Array) -> Array:
    """The batched contraction of `x` and `y`, as one matrix product."""
    (contract_x, contract_y), (batch_x, batch_y) = node.params["dimension_numbers"]
    product = matrices(x, batch_x, contract_x, last=True) @ matrices(
        y, batch_y, contract_y, last=False
    )
    return product.reshape(node.shape)


# ---- the table -------------------------------------------------------------------------------------------------


def _integer_power(node: Node, x: Array) -> Array:
    n = node.params["y"]
    return x * x if n == 2 else x**n if n >= 0 else 1 / x**-n


def _custom(node: Node, *inputs: Array) -> Any:
    """The body of a custom derivative; a loop that only its user can differentiate has no flat one."""
    try:
        inner = body(node)
    except GraphError:
        return each_output(node, node.evaluate(*inputs))
    return each_output(
        node, forward(ARRAYS, inner, *inputs[len(inputs) - len(inner.inputs) :]).flat_outputs
    )


def _of_values(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *xs: f(*xs)


FUNCTIONS: dict[str, Callable[[Array], Any]] = {
    **{
        name: getattr(np, name)
        for name in ("exp", "exp2", "expm1", "log", "log1p", "tanh", "sin", "cos", "tan")
    },
    **{
        f"a{name}": getattr(np, f"arc{name}")
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    **{name: getattr(np, name) for name in ("sinh", "cosh", "sqrt", "cbrt")},
    "erf": lambda x: special.erf(x),
    "erfc": lambda x: special.erfc(x),
    "logistic": lambda x: special.expit(x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
"""Of one real variable."""

ON_REALS: dict[str, Callable[..., Any]] = {
    **{name: _of_values(f) for name, f in FUNCTIONS.items()},
    "div": _of_values(np.divide),
    "pow": _of_values(np.power),
    "integer_pow": _integer_power,
    "floor": _of_values(np.floor),
    "ceil": _of_values(np.ceil),
    "is_finite": _of_values(np.isfinite),
    "dot_general": dot_general,
}
"""Rules for operands that are all floating point; integers overflow and divide in their own way."""

RULES: dict[str, Callable[..., Any]] = {
    **MOVES,
    **dict.fromkeys(("add", "add_any"), _of_values(np.add)),
    **{
        name: _of_values(f)
        for name, f in {"sub": np.subtract, "mul": np.multiply, "neg": np.negative}.items()
    },
    **{
        name: _of_values(f)
        for name, f in {"abs": np.abs, "sign": np.sign, "square": np.square}.items()
    },
    **{name: _of_values(f) for name, f in {"max": np.maximum, "min": np.minimum}.items()},
    **{
        name: _of_values(f)
        for name, f in {"lt": np.less, "le": np.less_equal, "eq": np.equal}.items()
    },
    **{
        name: _of_values(f)
        for name, f in {"gt": np.greater, "ge": np.greater_equal, "ne": np.not_equal}.items()
    },
    **{
        name: _of_values(f)
        for name, f in {"and": np.bitwise_and, "or": np.bitwise_or, "not": np.invert}.items()
    },
    **{name: lambda node, x: x for name in ("copy", "stop_gradient")},
    "clamp": lambda node, lo, x, hi: np.minimum(np.maximum(x, lo), hi),
    "select_n": lambda node, which, *cases: np.where(which, cases[-1], cases[0]),
    "reshape": lambda node, x: x.reshape(node.shape),
    "concatenate": lambda node, *xs: np.concatenate(xs, node.params["dimension"]),
    "stack": lambda node, *xs: np.stack(xs, node.params["axis"]),
    "split": lambda node, x: np.split(x, np.cumsum(node.params["sizes"])[:-1], node.params["axis"]),
    "unstack": lambda node, x: np.moveaxis(x, node.params["axis"], 0),
    "reduce_sum": lambda node, x: np.sum(x, tuple(node.params["axes"])),
    "reduce_max": lambda node, x: np.max(x, tuple(node.params["axes"])),
    "reduce_min": lambda node, x: np.min(x, tuple(node.params["axes"])),
    "convert_element_type": lambda node, x: x.astype(node.dtype),
}


def has_rule(node: Node) -> bool:
    """Whether NumPy computes this node; otherwise JAX does."""
    if not all(slot_kind(slot) in KINDS for slot in (*node.inputs, *node.outputs)):
        return False
    if node.primitive in ON_REALS:  # a product may ask for sums in another precision
        return all(slot.is_real for slot in node.inputs) and (
            node.dtype == bool or _one_dtype(node)
        )
    if node.primitive == "convert_element_type":  # NaN and large numbers have no integer
        return node.outputs[0].is_real or not node.inputs[0].is_real
    if node.primitive == "select_n":
        return len(node.inputs) <= 3  # two cases
    if node.primitive == "reshape":
        return node.params.get("dimensions") is None
    return node.primitive in RULES


def _one_dtype(node: Node) -> bool:
    return len({slot.dtype for slot in (*node.inputs, *node.outputs)}) == 1


def slot_kind(slot: Slot) -> str:
    """The name of a slot's dtype; "key" for random keys, which have none in NumPy."""
    return slot.dtype.name if isinstance(slot.dtype, np.dtype) else "key"


def compute(node: Node, *inputs: Array) -> Any:
    """One node: by its rule, or by JAX."""
    if node.primitive in CUSTOM_CALLS:
        return _custom(node, *inputs)
    if not has_rule(node):
        return each_output(
            node, [_plain(slot, x) for slot, x in zip(node.outputs, node.evaluate(*inputs))]
        )
    result = (ON_REALS.get(node.primitive) or RULES[node.primitive])(node, *inputs)
    found = result if node.primitive in ("split", "unstack") else [result]
    return each_output(
        node, [np.asarray(x, slot.dtype) for slot, x in zip(node.outputs, found, strict=True)]
    )


def _plain(slot: Slot, x: Any) -> Any:
    return np.asarray(x) if isinstance(slot.dtype, np.dtype) else x


ARRAYS = Domain(name="values", file=FILE, lift=lambda constant: constant, rules={}, default=compute)


def array_values(graph: Graph, *args: Any) -> Interpretation[Any]:
    """The value of every slot at these arguments, in NumPy."""
    inputs = [_plain(slot, x) for slot, x in zip(graph.inputs, flat_inputs(graph, args))]
    with (
        precision(graph),
        np.errstate(all="ignore"),
    ):  # what is not finite is told by `Tableau.trouble`
        return forward(ARRAYS, graph, *inputs)
