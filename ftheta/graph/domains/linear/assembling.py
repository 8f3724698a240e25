"""Graphs made from graphs: nodes copied, bodies entered, further expressions added, and all of it for a batch of
inputs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import jax

from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import precision
from ftheta.graph.jaxprs import trace
from ftheta.graph.primitives import CUSTOM_CALLS, body


class GraphBuilder:
    """A graph under construction. Slots of graphs that are copied into it are given new numbers and names."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.inputs: list[Slot] = []
        self.constants: dict[int, Any] = {}
        self.nodes: list[Node] = []
        self.names: set[str] = set()

    def new_slot(self, like: Slot, shape: tuple[int, ...] | None = None) -> Slot:
        name = like.name
        while name in self.names:
            name += "'"
        self.names.add(name)
        slot = Slot(len(self.slots), name, like.shape if shape is None else shape, like.dtype)
        self.slots.append(slot)
        return slot

    def add_input(self, like: Slot, shape: tuple[int, ...] | None = None) -> Slot:
        slot = self.new_slot(like, shape)
        self.inputs.append(slot)
        return slot

    def add_constants(self, graph: Graph) -> dict[int, Slot]:
        """The constants of a graph, by their numbers there."""
        found = {}
        for number, value in graph.constants.items():
            found[number] = self.new_slot(graph.slots[number])
            self.constants[found[number].id] = value
        return found

    def add_node(self, node: Node, inputs: Sequence[Slot]) -> tuple[Slot, ...]:
        """A copy of a node with other operands of the same types."""
        outputs = tuple(self.new_slot(slot) for slot in node.outputs)
        self.nodes.append(replace(node, id=len(self.nodes), inputs=tuple(inputs), outputs=outputs))
        return outputs

    def add_graph(self, graph: Graph, inputs: Sequence[Slot]) -> tuple[Slot, ...]:
        """All nodes of a graph, with the given slots for its inputs; its custom derivatives are entered."""
        here = {slot.id: given for slot, given in zip(graph.inputs, inputs, strict=True)}
        here.update(self.add_constants(graph))
        for node in graph.nodes:
            found = self.enter_node(node, [here[slot.id] for slot in node.inputs])
            here.update(zip((slot.id for slot in node.outputs), found))
        return tuple(here[slot.id] for slot in graph.outputs)

    def enter_node(self, node: Node, inputs: Sequence[Slot]) -> tuple[Slot, ...]:
        """A node, or the nodes of the body of a custom derivative: its values are the function's."""
        if node.primitive in CUSTOM_CALLS:
            try:
                inner = body(node)
            except GraphError:  # a loop that only its user can differentiate has no flat body
                return self.add_node(node, inputs)
            return self.add_graph(inner, inputs[len(inputs) - len(inner.inputs) :])
        return self.add_node(node, inputs)

    def add_function(
        self, f: Callable[..., Any], inputs: Sequence[Slot], x64: bool
    ) -> tuple[Slot, ...]:
        """The nodes of a JAX function of the given slots."""
        shapes = [jax.ShapeDtypeStruct(slot.shape, slot.dtype) for slot in inputs]
        with jax.enable_x64(x64):
            graph = trace(f, *shapes, fold_rounded=False)
        return self.add_graph(graph, inputs)

    def finish(self, like: Graph, outputs: Sequence[Slot]) -> Graph:
        """The graph, with the signature of another one."""
        return Graph(
            slots=tuple(self.slots),
            inputs=tuple(self.inputs),
            constants=MappingProxyType(self.constants),
            nodes=tuple(self.nodes),
            outputs=tuple(outputs),
            signature=like.signature,
            source=like.source,
            x64=like.x64,
        )


def without_custom_calls(graph: Graph) -> Graph:
    """The same program with the bodies of custom derivatives in place of them."""
    if not any(node.primitive in CUSTOM_CALLS for node in graph.nodes):
        return graph
    builder = GraphBuilder()
    inputs = [builder.add_input(slot) for slot in graph.inputs]
    return builder.finish(graph, builder.add_graph(graph, inputs))


def batch(graph: Graph, boxes: int) -> tuple[Graph, dict[int, int]]:
    """The program for so many inputs at once, and the slot of it, with one more axis at the front, for each slot that
    varies. Every node is batched by itself, so that all these slots are there in the order of the nodes."""
    varying = frozenset(slot.id for slot in graph.slots) - graph.fixed
    builder = GraphBuilder()
    here: dict[int, Slot] = {}
    for slot in graph.inputs:
        here[slot.id] = builder.add_input(slot, (boxes, *slot.shape))
    here.update(builder.add_constants(graph))
    for node in graph.nodes:
        operands = [here[slot.id] for slot in node.inputs]
        axes = tuple(0 if slot.id in varying else None for slot in node.inputs)
        if all(axis is None for axis in axes):
            outputs = builder.add_node(node, operands)
        else:
            outputs = builder.add_function(
                jax.vmap(node.evaluate, in_axes=axes), operands, graph.x64
            )
        here.update(zip((slot.id for slot in node.outputs), outputs))
    with precision(graph):
        whole = builder.finish(graph, [here[slot.id] for slot in graph.outputs])
    return whole, {number: slot.id for number, slot in here.items() if number in varying}
