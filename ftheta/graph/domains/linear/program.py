"""A program prepared for linear bounds: what each of its slots is made of, once for all boxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ftheta.graph.domains.interval import INTERVAL
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.affine import Terms, linear_terms
from ftheta.graph.domains.linear.assembling import batched, varying_slots, without_custom_calls
from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import forward, precision


@dataclass(frozen=True, eq=False)
class Program:
    """A graph without custom derivatives, with the linear maps of its nodes.

    `constants` are the enclosures of the slots that do not depend on the inputs, `varying` the others.
    """

    graph: Graph
    varying: frozenset[int]
    constants: Mapping[int, Interval]
    _terms: dict[tuple[int, int], Terms | None] = field(default_factory=dict)
    _batched: dict[int, tuple[Graph, dict[int, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> "Program":
        flat = without_custom_calls(graph)
        varying = varying_slots(flat)
        return cls(flat, varying, _constants(flat, varying))

    def linear_terms(self, node: Node, output: int) -> Terms | None:
        """The maps whose sum is an output of the node, None where it is not linear; made once."""
        key = (node.id, output)
        if key not in self._terms:
            known = [self.constants.get(slot.id) for slot in node.inputs]
            with precision(self.graph), np.errstate(all="ignore"):
                self._terms[key] = linear_terms(node, output, known)
        return self._terms[key]

    def batched(self, boxes: int) -> tuple[Graph, dict[int, int]]:
        """The graph for so many boxes, and its slot for each slot that varies; the graph itself for one box."""
        if boxes not in self._batched:
            self._batched[boxes] = batched(self.graph, boxes)
        return self._batched[boxes]

    @cached_property
    def output_of(self) -> dict[int, tuple[Node, int]]:
        """The node that assigns each slot, and the number of the slot among its outputs."""
        return {slot.id: (node, k) for node in self.graph.nodes for k, slot in enumerate(node.outputs)}


def _constants(graph: Graph, varying: frozenset[int]) -> dict[int, Interval]:
    """Constants, and what the program computes from them alone."""
    fixed = tuple(node for node in graph.nodes if not any(slot.id in varying for slot in node.outputs))
    with precision(graph):
        return dict(forward(INTERVAL, replace(graph, inputs=(), nodes=fixed)).values)
