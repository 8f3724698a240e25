"""Forward values: the graph as the program it came from."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import Domain, Interpretation, each_output, forward, precision


def evaluate(node: Node, *inputs: Any) -> Any:
    """The rule of every primitive: let JAX compute it."""
    return each_output(node, node.evaluate(*inputs))


VALUES = Domain(
    name="values",
    file="ftheta/graph/domains/values.py",
    lift=lambda constant: constant,
    rules={},
    default=evaluate,
)


def values(graph: Graph, *args: Any) -> Interpretation[Any]:
    """The value of every slot at these arguments. Works eagerly and under `jax.jit`."""
    with precision(graph):
        return forward(VALUES, graph, *map(jnp.asarray, flat_inputs(graph, args)))


def every(graph: Graph) -> Callable[..., Interpretation[Any]]:
    """`values` as one compiled function of the same arguments."""
    compiled = jax.jit(lambda *inputs: forward(VALUES, graph, *inputs).values)

    def function(*args: Any) -> Interpretation[Any]:
        with precision(graph):
            return Interpretation(graph, VALUES.name, compiled(*flat_inputs(graph, args)))

    return function


def run(graph: Graph) -> Callable[..., Any]:
    """The graph as one compiled function of the same arguments: only the outputs, no intermediate values."""
    compiled = jax.jit(lambda *inputs: forward(VALUES, graph, *inputs).flat_outputs)

    def function(*args: Any) -> Any:
        with precision(graph):
            return jax.tree.unflatten(graph.signature.results, compiled(*flat_inputs(graph, args)))

    return function


def flat_inputs(graph: Graph, args: tuple[Any, ...]) -> list[Any]:
    """The arguments as one value per input slot of the graph, in the slots' types."""
    leaves = graph.signature.inputs_of(args)
    return [as_slot(slot, leaf) for slot, leaf in zip(graph.inputs, leaves)]


def as_slot(slot: Slot, value: Any) -> Any:
    """`value` as an array of the slot's dtype; a shape that differs, or a float for an integer, is an error."""
    if not isinstance(slot.dtype, np.dtype):
        return value
    if isinstance(value, (np.ndarray, jax.Array)) and (value.shape, value.dtype) == (
        slot.shape,
        slot.dtype,
    ):
        return value  # NumPy's arrays too: a compiled function reads them faster than they are converted
    got = jnp.result_type(value)
    if jnp.shape(value) != slot.shape or not jnp.can_cast(got, slot.dtype, casting="same_kind"):
        raise GraphError(
            f"the value for {slot.name} does not fit its slot",
            got=f"{got}{list(jnp.shape(value))}",
            remedy=f"pass an array {slot.dtype}{list(slot.shape)}, or trace again for the new shape",
        )
    return jnp.asarray(value, slot.dtype)
