"""What a well-formed graph is. `check` raises `MalformedGraph` for the first thing that is not.

1. slots are numbered 0, 1, ... and their names differ;
2. every reference (inputs, outputs, constants, operands) is a slot of the graph;
3. single assignment: each slot is an input, a constant, or one output of one node; none is left out;
4. order: a node reads only what is assigned before it;
5. types: evaluating each node on abstract arrays gives the shapes and dtypes of its output slots, and constants have
   those of their slots;
6. the arguments' structure has one leaf for each input, the result's one for each output;
7. the graphs inside a node are well-formed and fit its operands and results.
"""

from collections import Counter
from typing import Any

import jax

from ftheta.graph.errors import GraphError, MalformedGraph
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import precision


def check(graph: Graph) -> None:
    """Raise `MalformedGraph` unless the graph is well-formed."""
    _numbering(graph)
    _references(graph)
    _assignments(graph)
    _constants(graph)
    _signature(graph)
    with precision(graph):
        for node in graph.nodes:
            _types(node)
            _inside(node)


def _demand(holds: bool, what: str, where: str, got: object) -> None:
    if not holds:
        raise MalformedGraph(
            what,
            where=where,
            got=str(got),
            remedy="build graphs with trace, or repair the rewriting",
        )


def _numbering(graph: Graph) -> None:
    for position, slot in enumerate(graph.slots):
        _demand(slot.id == position, "slots are numbered in order", f"slot {position}", slot.id)
    for name, times in Counter(slot.name for slot in graph.slots).items():
        _demand(times == 1, "names of slots differ", name, f"{times} slots of that name")
    for position, node in enumerate(graph.nodes):
        _demand(node.id == position, "nodes are numbered in order", str(node), node.id)


def _references(graph: Graph) -> None:
    def known(slot: Slot, where: str) -> None:
        real = slot.id < len(graph.slots) and graph.slots[slot.id] == slot
        _demand(real, "a reference is to a slot of the graph", where, slot)

    for slot in (*graph.inputs, *graph.outputs):
        known(slot, "inputs and outputs of the graph")
    for node in graph.nodes:
        for slot in (*node.inputs, *node.outputs):
            known(slot, str(node))
    for number in graph.constants:
        _demand(
            0 <= number < len(graph.slots),
            "a constant belongs to a slot of the graph",
            "constants",
            number,
        )


def _assignments(graph: Graph) -> None:
    assigned: set[int] = set()

    def assign(number: int, where: str) -> None:
        _demand(number not in assigned, "each slot is assigned once", where, graph.slots[number])
        assigned.add(number)

    for slot in graph.inputs:
        assign(slot.id, "inputs")
    for number in graph.constants:
        assign(number, "constants")
    for node in graph.nodes:
        for slot in node.inputs:
            _demand(slot.id in assigned, "a node reads what is assigned before it", str(node), slot)
        for slot in node.outputs:
            assign(slot.id, str(node))
    for slot in graph.slots:
        _demand(slot.id in assigned, "every slot is assigned", "slots", slot)


def _constants(graph: Graph) -> None:
    for number, value in graph.constants.items():
        slot = graph.slots[number]
        _demand(
            tuple(value.shape) == slot.shape and value.dtype == slot.dtype,
            "a constant has its slot's type",
            str(slot),
            f"{value.dtype}{list(value.shape)}",
        )


def _signature(graph: Graph) -> None:
    arguments = sum(graph.signature.is_input)
    results = graph.signature.results.num_leaves
    _demand(
        arguments == len(graph.inputs),
        "the arguments have one leaf for each input",
        "signature",
        arguments,
    )
    _demand(
        results == len(graph.outputs),
        "the result has one leaf for each output",
        "signature",
        results,
    )


def _types(node: Node) -> None:
    abstract = [jax.ShapeDtypeStruct(slot.shape, slot.dtype) for slot in node.inputs]
    try:
        found: Any = jax.eval_shape(node.evaluate, *abstract)
    except (TypeError, ValueError) as error:
        raise MalformedGraph(
            "the node cannot be evaluated at its operands' shapes",
            where=str(node),
            got=str(error).splitlines()[0],
            remedy="check the operands against the primitive",
        ) from error
    types = [(tuple(out.shape), out.dtype) for out in found]
    _demand(
        types == [(slot.shape, slot.dtype) for slot in node.outputs],
        "the node computes its slots' types",
        str(node),
        types,
    )


def _inside(node: Node) -> None:
    """Bodies take the node's last operands (constants and predicates come first) and return its outputs."""
    try:
        graphs = node.graphs
    except GraphError:  # a body that has no flat graph is allowed: the node can still be evaluated
        return
    for inner in graphs:
        check(inner)
        operands = [(s.shape, s.dtype) for s in node.inputs[len(node.inputs) - len(inner.inputs) :]]
        _demand(
            [(s.shape, s.dtype) for s in inner.inputs] == operands,
            "the body takes the node's operands",
            str(node),
            [str(s) for s in inner.inputs],
        )
        _demand(
            [(s.shape, s.dtype) for s in inner.outputs]
            == [(s.shape, s.dtype) for s in node.outputs],
            "the body returns the node's outputs",
            str(node),
            [str(s) for s in inner.outputs],
        )
