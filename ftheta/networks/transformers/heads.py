r"""The attention inside any network: averages of varying values with varying weights, found in its graph.

A *head* is a product $Av$ in which both factors depend on the input and $A$ is a softmax over the axis that is
summed, or, without softmax, itself made from a product of two things that depend on the input.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.interval import intervals
from ftheta.graph.domains.values import VALUES
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import forward
from ftheta.graph.jaxprs import trace
from ftheta.graph.patterns import Softmax, WeightedAverage
from ftheta.graph.primitives import is_elementwise
from ftheta.graph.recognise import patterns

MOVES = frozenset(
    {
        "transpose",
        "reshape",
        "squeeze",
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "select_n",
    }
)
"""What may stand between a softmax and the product: it is turned, or rows that see nothing are set to zero."""
SPREADS = MOVES | {"reduce_sum", "reduce_max"}


@dataclass(frozen=True)
class Head:
    """One product of weights and values; several heads of a layer are the batch of one product."""

    node: Node
    weights_first: bool
    softmax: bool
    plain: bool  # by the graph, the softmax is over the axis that is summed, and nothing stands between

    def matrices(
        self, left: Any, right: Any, result: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (heads, queries, keys), values (heads, keys, features), results (heads, queries, features)."""
        (contracted, batch) = self.node.params["dimension_numbers"]
        free = []
        sides = []
        for array, summed, shared in zip((left, right), contracted, batch):
            kept = [a for a in range(np.ndim(array)) if a not in summed and a not in shared]
            free.append(int(np.prod([np.shape(array)[a] for a in kept], dtype=int)))
            heads = int(np.prod([np.shape(array)[a] for a in shared], dtype=int))
            sides.append(
                np.transpose(np.asarray(array), (*shared, *kept, *summed)).reshape(
                    heads, free[-1], -1
                )
            )
        y = np.asarray(result).reshape(len(sides[0]), *free)
        weights, other = sides if self.weights_first else sides[::-1]
        return weights, other.transpose(0, 2, 1), y if self.weights_first else y.transpose(0, 2, 1)


@dataclass(frozen=True, eq=False)
class Attention:
    """The heads of a network, in the order in which they are computed."""

    graph: Graph
    params: Any
    heads: tuple[Head, ...]

    @property
    def softmax(self) -> bool:
        return bool(self.heads) and all(head.softmax for head in self.heads)

    def at(self, x: Any) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Weights, values and results of every product at one input, as `Head.matrices` lays them out."""
        return self.run(x)[1]

    def run(self, x: Any) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        """The output of the network beside what `at` tells."""
        with jax.enable_x64(self.graph.x64):
            output, found = self._program(self.params, x)
        return np.asarray(output), [head.matrices(*parts) for head, parts in zip(self.heads, found)]

    def enclosed_weights(self, x: Any, product: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The weights of one product at one input, from below and from above; None without rules for intervals."""
        head = self.heads[product]
        try:
            seen = intervals(self.graph, self.params, x)
        except GraphError:
            return None
        lower, upper = (
            head.matrices(*(getattr(seen[s], end) for s in _slots(head)))[0] for end in ("lo", "hi")
        )
        return lower, upper

    @cached_property
    def _program(self) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            seen = forward(VALUES, self.graph, *self.graph.signature.inputs_of(arguments)).values
            parts = [tuple(seen[slot.id] for slot in _slots(head)) for head in self.heads]
            return seen[self.graph.outputs[0].id], parts

        return jax.jit(run)


def _slots(head: Head) -> tuple[Slot, ...]:
    return (*head.node.inputs, head.node.outputs[0])


def attention_in(apply: Callable[[Any, Any], Any], params: Any, example: Any) -> Attention:
    """The attention of `apply(params, x)` at inputs of the shape of `example`; without any, no heads."""
    graph = trace(apply, params, example)
    varying = _downstream(graph, graph.argument(1))
    products = [node for node in graph.nodes if _is_product(graph, node, varying)]
    if not products:
        return Attention(graph, params, ())
    known = patterns(graph)
    softmaxes = {slot for slot, p in known.items() if isinstance(p, Softmax) and not p.logarithm}
    averages = {slot for slot, p in known.items() if isinstance(p, WeightedAverage)}
    made = {node.outputs[0].id for node in products}
    heads = (_head(graph, node, softmaxes, averages, made) for node in products)
    return Attention(graph, params, tuple(head for head in heads if head is not None))


def _downstream(graph: Graph, of: tuple[Slot, ...]) -> set[int]:
    found = {slot.id for slot in of}
    for node in graph.nodes:
        if any(slot.id in found for slot in node.inputs):
            found.update(slot.id for slot in node.outputs)
    return found


def _is_product(graph: Graph, node: Node, varying: set[int]) -> bool:
    return node.primitive == "dot_general" and all(slot.id in varying for slot in node.inputs)


def _head(
    graph: Graph, node: Node, softmaxes: set[int], averages: set[int], products: set[int]
) -> Head | None:
    for first, slot in zip((True, False), node.inputs):
        if _behind(graph, slot, softmaxes, MOVES):
            return Head(node, first, True, node.outputs[0].id in averages)
    left, right = (_behind(graph, slot, products) for slot in node.inputs)
    return Head(node, left, False, False) if left != right else None


def _behind(
    graph: Graph, slot: Slot, wanted: set[int], through: frozenset[str] | None = None
) -> bool:
    """Whether a wanted slot is reached backwards through these primitives; by default through all that act entry by
    entry or along an axis: no other product stands between."""
    stack = [slot]
    seen = set[int]()
    while stack:
        here = stack.pop()
        if here.id in wanted:
            return True
        node = graph.producers.get(here.id)
        if here.id in seen or node is None:
            continue
        seen.add(here.id)
        if node.primitive in (through or SPREADS) or (through is None and is_elementwise(node)):
            stack.extend(node.inputs)
    return False
