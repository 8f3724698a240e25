r"""Adjoints in NumPy: the transposed derivative of the common primitives, for a program that is differentiated once.

A primitive without a rule is differentiated by JAX: its transposed derivative is traced, once for all nodes of a kind,
and the graph of it computed in NumPy. Conventions at kinks are JAX's: half to each of two equal maxima, slope 1 of |x|
at 0, and whatever a custom derivative says.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.adjoints import pullback, transpose_node
from ftheta.graph.domains.arrays import ARRAYS, KINDS, has_rule, slot_kind
from ftheta.graph.errors import GraphError, NoRule
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import (
    Interpretation,
    ReverseDomain,
    active_slots,
    backward,
    forward,
    precision,
    shared_by_kind,
)
from ftheta.graph.jaxprs import trace
from ftheta.graph.layout import Array, from_matrices, matrices
from ftheta.graph.primitives import CUSTOM_CALLS
from ftheta.lazy import special

FILE = "ftheta/graph/domains/array_adjoints.py"
Transposed = Callable[..., Any]

SLOPES: dict[str, Callable[[Array], Any]] = {
    "neg": lambda x: -1,
    "square": lambda x: 2 * x,
    "abs": lambda x: np.where(x >= 0, 1, -1),
    "exp": np.exp,
    "log": lambda x: 1 / x,
    "log1p": lambda x: 1 / (1 + x),
    "sqrt": lambda x: 0.5 / np.sqrt(x),
    "sin": np.cos,
    "cos": lambda x: -np.sin(x),
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "logistic": lambda x: special.expit(x) * special.expit(-x),
    "erf": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "erfc": lambda x: -2 / np.sqrt(np.pi) * np.exp(-x * x),
    **dict.fromkeys(("copy", "convert_element_type"), lambda x: 1),
    **dict.fromkeys(("sign", "floor", "ceil"), lambda x: 0),
}
"""f′ of the functions of one variable."""


def _times_slope(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    return [above * SLOPES[node.primitive](inputs[0])]


def _integer_power(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    n = node.params["y"]
    (x,) = inputs
    return [
        above * n * x ** (n - 1)
        if n > 0
        else above * n / x ** (1 - n)
        if n < 0
        else np.zeros_like(x)
    ]


def _extremum(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    x, y = inputs
    first = np.where(x == y, 0.5, x > y if node.primitive == "max" else x < y)
    return [above * first, above * (1 - first)]


def _reduced_extremum(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    """Equal extrema share alike."""
    x = inputs[0]
    axes = tuple(node.params["axes"])
    best = x == (np.max if node.primitive == "reduce_max" else np.min)(x, axes, keepdims=True)
    return [best * np.expand_dims(above / best.sum(axes), axes)]


def _choice(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    which, *cases = inputs
    return [None, *(np.where(which == k, above, 0) for k in range(len(cases)))]


def _dot_general(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    """The product of stacks of matrices Z = X Y has the adjoints Z̄ Yᵀ and Xᵀ Z̄."""
    (contract_x, contract_y), (batch_x, batch_y) = node.params["dimension_numbers"]
    x = matrices(inputs[0], batch_x, contract_x, last=True)
    y = matrices(inputs[1], batch_y, contract_y, last=False)
    z = above.reshape(x.shape[0], x.shape[1], y.shape[2])
    return [
        from_matrices(z @ y.transpose(0, 2, 1), inputs[0].shape, batch_x, contract_x, last=True),
        from_matrices(x.transpose(0, 2, 1) @ z, inputs[1].shape, batch_y, contract_y, last=False),
    ]


def _spread(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    """Every entry that was summed gets the adjoint of its sum."""
    return [np.broadcast_to(np.expand_dims(above, tuple(node.params["axes"])), inputs[0].shape)]


def _pull_gather(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    """Every entry that was repeated gets the sum over its copies."""
    kept = {axis: inputs[0].shape[k] for k, axis in enumerate(node.params["broadcast_dimensions"])}
    summed = tuple(axis for axis, size in enumerate(above.shape) if kept.get(axis) != size)
    return [above.sum(summed).reshape(inputs[0].shape)]


def _pieces(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    axis = node.params["dimension"]
    return np.split(above, np.cumsum([x.shape[axis] for x in inputs])[:-1], axis)


def _pull_reshape(node: Node, inputs: Sequence[Array], above: Array) -> list[Any]:
    return [above.reshape(inputs[0].shape)]


TRANSPOSES: dict[str, Transposed] = {
    **dict.fromkeys(SLOPES, _times_slope),
    **dict.fromkeys(("add", "add_any"), lambda node, inputs, above: [above, above]),
    **dict.fromkeys(("squeeze", "reshape"), _pull_reshape),
    **dict.fromkeys(("max", "min"), _extremum),
    **dict.fromkeys(("reduce_max", "reduce_min"), _reduced_extremum),
    "sub": lambda node, inputs, above: [above, -above],
    "mul": lambda node, inputs, above: [above * inputs[1], above * inputs[0]],
    "div": lambda node, inputs, above: [above / inputs[1], -above * inputs[0] / inputs[1] ** 2],
    "integer_pow": _integer_power,
    "select_n": _choice,
    "dot_general": _dot_general,
    "reduce_sum": _spread,
    "broadcast_in_dim": _pull_gather,
    "concatenate": _pieces,
    "transpose": lambda node, inputs, above: [
        above.transpose(np.argsort(node.params["permutation"]))
    ],
}


OF_JAX: dict[str, Transposed] = {
    "relu": lambda node, inputs, above: [np.where(inputs[0] > 0, above, 0)],
    "logaddexp": lambda node, inputs, above: [
        above * _share(*inputs),
        above * _share(*inputs[::-1]),
    ],
}
"""Custom derivatives that JAX itself defines, by name."""


def _share(x: Array, y: Array) -> Array:
    """eˣ / (eˣ + eʸ), half of each where both are infinite."""
    return np.where(x == y, 0.5, special.expit(x - y))


def local_adjoints(
    node: Node, inputs: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[bool]
) -> list[Any]:
    """(d outputs / d wanted inputs)ᵀ applied to the cotangents; None for inputs that are not wanted."""
    rule = _rule(node, wanted)
    if rule is not None:
        found = rule(node, inputs, cotangents[0])
        return [
            _sum_to_shape(slot, x) if w else None for slot, x, w in zip(node.inputs, found, wanted)
        ]
    seeds = [_zero(s) if c is None else c for s, c in zip(node.outputs, cotangents) if s.is_real]
    results = iter(_trace_transpose(node, tuple(wanted))(list(inputs), seeds))
    return [
        np.asarray(next(results), slot.dtype) if w else None for slot, w in zip(node.inputs, wanted)
    ]


def _rule(node: Node, wanted: Sequence[bool]) -> Transposed | None:
    moving = [slot for slot, w in zip(node.inputs, wanted) if w]
    if not all(slot_kind(slot) in KINDS and slot.is_real for slot in (*moving, *node.outputs)):
        return None
    if node.primitive in CUSTOM_CALLS:
        return OF_JAX.get(node.label) if node.by_jax else None
    return TRANSPOSES.get(node.primitive) if has_rule(node) else None


def _sum_to_shape(slot: Slot, x: Array) -> Array:
    """A number that was used at many entries gets the sum over them; conversions of precision go back."""
    x = np.asarray(x)
    if slot.shape == () and x.shape != ():
        x = x.sum()
    elif x.shape != slot.shape:  # axes of length one are broadcast
        x = x.sum(tuple(axis for axis, size in enumerate(slot.shape) if size == 1), keepdims=True)
    return np.asarray(x, slot.dtype)


@shared_by_kind
def _trace_transpose(
    node: Node, wanted: tuple[bool, ...]
) -> Callable[[list[Any], list[Any]], Sequence[Any]]:
    """`transposed` as a graph that NumPy computes; compiled where it has none."""
    shapes = [jax.ShapeDtypeStruct(slot.shape, slot.dtype) for slot in node.inputs]
    seeds = [jax.ShapeDtypeStruct(slot.shape, slot.dtype) for slot in node.outputs if slot.is_real]
    try:
        graph = trace(pullback(node, wanted), shapes, seeds)
    except GraphError:  # a loop that only its user knows how to differentiate
        return transpose_node(node, wanted)
    except NotImplementedError as error:
        raise NoRule(
            f"JAX has no derivative of the primitive {node.primitive!r} here",
            where=node.source,
            got=str(error).splitlines()[0],
            remedy="write it with other operations, or define its derivative with jax.custom_jvp",
        ) from error
    return lambda inputs, above: forward(ARRAYS, graph, *inputs, *above).flat_outputs


def _zero(slot: Slot) -> Array:
    return np.zeros(slot.shape, slot.dtype)


ARRAY_ADJOINTS = ReverseDomain(
    name="adjoints",
    file=FILE,
    add=np.add,
    zero=_zero,
    default=local_adjoints,
    rules={"stop_gradient": lambda node, inputs, cotangents, wanted: [None]},
)


def array_adjoints(graph: Graph, value: Interpretation[Any]) -> Interpretation[Any]:
    """The adjoint of every floating-point slot that is not a constant, for the sum of the outputs, in NumPy."""
    active = active_slots(graph)
    seeds = {}
    for slot in (slot for slot in graph.outputs if slot.id in active):
        one = np.ones(slot.shape, slot.dtype)  # an output may be returned twice
        seeds[slot.id] = seeds[slot.id] + one if slot.id in seeds else one
    with precision(graph), np.errstate(all="ignore"):
        return backward(ARRAY_ADJOINTS, value, seeds, active)
