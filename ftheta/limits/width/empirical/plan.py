r"""Where each array of parameters enters a network: how its part of the tangent kernel is to be contracted.

A matrix that multiplies one vector $a$ has the derivative $\delta\otimes a$, with $\delta$ the adjoint of the product.
Its part of the kernel is $\langle a,a'\rangle\langle\delta,\delta'\rangle$: two small Gram matrices in place of a large
one. Whatever enters otherwise (biases, convolutions, shared weights) is contracted as it is.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ftheta.graph import Graph, Node, Slot, active_slots, trace

ISOMETRIES = frozenset({"transpose", "reshape", "copy", "squeeze", "rev"})  # every entry once: adjoints move alike


@dataclass(frozen=True)
class Part:
    """One array of parameters: the slot whose adjoint is taken and, where it multiplies a vector, the vector's slot."""

    adjoint: Slot
    vector: Slot | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """The graph of a network at one input, and one part for each array of parameters that it uses."""

    graph: Graph
    parts: tuple[Part, ...]

    @property
    def outputs(self) -> int:
        return self.graph.outputs[0].size

    @property
    def parameters(self) -> int:
        return sum(slot.size for slot in self.graph.argument(0))

    def passing(self) -> int:
        """Numbers of one pass that differ from input to input."""
        return sum(self.graph.slots[i].size for i in active_slots(self.graph, self.graph.argument(1))) + self.outputs

    def numbers(self) -> int:
        """Numbers kept of one input."""
        vectors = sum(part.vector.size for part in self.parts if part.vector)
        return vectors + self.outputs * sum(part.adjoint.size for part in self.parts)


def plan_of(apply: Any, params: Any, x: Any, *, structured: bool = True) -> Plan:
    """Read the graph of `apply(params, x)`; without `structured` every array is contracted as it is."""
    graph = trace(apply, params, x)
    parameters = [slot for slot in graph.argument(0) if slot.is_real]
    uses: dict[int, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for slot in node.inputs:
            uses[slot.id].append(node)
    shown = {slot.id for slot in graph.outputs}
    parts = [_part(slot, uses, shown) if structured else Part(slot) for slot in parameters if uses[slot.id]]
    return Plan(graph, tuple(parts))


def _part(parameter: Slot, uses: dict[int, list[Node]], shown: set[int]) -> Part:
    slot = parameter
    while len(uses[slot.id]) == 1 and slot.id not in shown and uses[slot.id][0].primitive in ISOMETRIES:
        slot = uses[slot.id][0].outputs[0]
    if len(uses[slot.id]) != 1 or slot.id in shown:
        return Part(parameter)
    node = uses[slot.id][0]
    if node.primitive == "dot_general":
        vector = _vector(node, slot)
        return Part(node.outputs[0], vector) if vector else Part(parameter)
    return Part(parameter)


def _vector(node: Node, matrix: Slot) -> Slot | None:
    """What the matrix multiplies, if all of its axes are summed: then the derivative is an outer product."""
    side = 0 if node.inputs[0].id == matrix.id else 1
    contracted, batch = node.params["dimension_numbers"]
    other = node.inputs[1 - side]
    whole = len(contracted[1 - side]) == len(other.shape) and not batch[0]
    return other if whole and other.id != matrix.id else None
