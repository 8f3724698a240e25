"""A program prepared for linear bounds: what each of its slots is made of, once for all boxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ftheta.graph.domains.interval import INTERVAL
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.affine import Terms, linear_terms
from ftheta.graph.domains.linear.assembling import GraphBuilder, batch, without_custom_calls
from ftheta.graph.domains.linear.restating import Expression, restate_node, restate_pattern
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import forward, precision
from ftheta.graph.patterns import Pattern
from ftheta.graph.recognise import patterns
from ftheta.graph.regions import Region, regions


@dataclass(frozen=True, eq=False)
class Program:
    """A graph without custom derivatives and with further expressions of some slots.

    `source` is the graph that it was made of. `constants` are the enclosures of the slots that do not depend on the
    inputs; `restated` gives the slot of another expression of a slot, `patterns` and `regions` the formulas and the
    functions of one variable.
    """

    source: Graph
    graph: Graph
    constants: Mapping[int, Interval]
    restated: Mapping[int, int]
    patterns: Mapping[int, Pattern]
    regions: Mapping[int, Region]
    plans: dict[int, Any] = field(default_factory=dict)  # see planning.py
    _terms: dict[tuple[int, int], Terms | None] = field(default_factory=dict)
    _batched: dict[int, tuple[Graph, dict[int, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> "Program":
        whole, restated = _with_expressions(without_custom_calls(graph))
        return cls(graph, whole, _constants(whole), restated, patterns(whole), regions(whole))

    def linear_terms(self, node: Node, output: int) -> Terms | None:
        """The maps whose sum is an output of the node, None where it is not linear; made once."""
        key = (node.id, output)
        if key not in self._terms:
            known = [self.constants.get(slot.id) for slot in node.inputs]
            with precision(self.graph), np.errstate(all="ignore"):
                self._terms[key] = linear_terms(node, output, known)
        return self._terms[key]

    def is_linear(self, region: Region) -> bool:
        return all(self.linear_terms(node, 0) is not None for node in region.nodes)

    def batch(self, boxes: int) -> tuple[Graph, dict[int, int]]:
        """The graph for so many boxes, and its slot for each slot that varies."""
        if boxes not in self._batched:
            self._batched[boxes] = batch(self.graph, boxes)
        return self._batched[boxes]

    @cached_property
    def varying(self) -> frozenset[int]:
        """The slots that depend on the inputs."""
        return frozenset(slot.id for slot in self.graph.slots) - self.graph.fixed

    @cached_property
    def output_of(self) -> dict[int, tuple[Node, int]]:
        """The node that assigns each slot, and the number of the slot among its outputs."""
        return {
            slot.id: (node, k) for node in self.graph.nodes for k, slot in enumerate(node.outputs)
        }

    @cached_property
    def has_branches(self) -> bool:
        """Whether some `cond` depends on the inputs: then boxes are bounded one at a time."""
        return any(
            node.primitive == "cond" and node.outputs[0].id in self.varying
            for node in self.graph.nodes
        )


def _constants(graph: Graph) -> dict[int, Interval]:
    """Constants, and what the program computes from them alone."""
    fixed = tuple(
        node for node in graph.nodes if all(slot.id in graph.fixed for slot in node.outputs)
    )
    with precision(graph):
        return dict(forward(INTERVAL, replace(graph, inputs=(), nodes=fixed)).values)


def _with_expressions(graph: Graph) -> tuple[Graph, dict[int, int]]:
    """The graph with further expressions of its slots, each before the node that it restates, and the slots of them."""
    known = _constants(graph)
    formulas = patterns(graph)
    inside = {node.id for region in regions(graph).values() for node in region.nodes}
    builder = GraphBuilder()
    here = {slot.id: builder.add_input(slot) for slot in graph.inputs}
    here.update(builder.add_constants(graph))
    restated: dict[int, int] = {}
    for node in graph.nodes:
        other = None
        if len(node.outputs) == 1 and node.outputs[0].id not in known and node.id not in inside:
            found = _restate(node, formulas.get(node.outputs[0].id), known)
            if found is not None:
                operands, expression = found
                (other,) = builder.add_function(
                    expression, [here[slot.id] for slot in operands], graph.x64
                )
        outputs = builder.add_node(node, [here[slot.id] for slot in node.inputs])
        here.update(zip((slot.id for slot in node.outputs), outputs))
        if other is not None:
            restated[outputs[0].id] = other.id
    return builder.finish(graph, [here[slot.id] for slot in graph.outputs]), restated


def _restate(
    node: Node, pattern: Pattern | None, known: Mapping[int, Interval]
) -> tuple[tuple[Slot, ...], Expression] | None:
    """The slots that another expression of the node's output is made of, and the expression."""
    found = None if pattern is None else restate_pattern(pattern)
    if found is not None:
        return found
    expression = restate_node(node, known)
    return None if expression is None else (node.inputs, expression)


def needed_nodes(program: Program) -> list[Node]:
    """The nodes that the program itself runs, without further expressions of its slots."""
    wanted = {slot.id for slot in program.graph.outputs}
    found = []
    for node in reversed(program.graph.nodes):
        if any(slot.id in wanted for slot in node.outputs):
            wanted.update(slot.id for slot in node.inputs)
            found.append(node)
    return found[::-1]
