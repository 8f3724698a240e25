r"""Where each array of parameters enters a network: how its part of the tangent kernel is to be contracted.

A parameter that multiplies rows of features, $Z=AW$, has the derivative $A^\top\Delta$ with $\Delta$ the adjoint of
$Z$. Its part of the kernel is $\sum_{p,q}(AA'^\top)_{pq}(\Delta\Delta'^\top)_{pq}$ over positions: two small Gram
matrices in place of a large one (*apart*), or the product $A^\top\Delta$ is formed and contracted (*joined*), whichever
needs fewer operations. A parameter that is used several times has the rows of all its uses. Whatever enters
otherwise (biases, scales) is contracted as it is.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import active_slots
from ftheta.graph.jaxprs import trace

from .unfolding import Use, use_of

# entries move, once each
ISOMETRIES = frozenset({"transpose", "reshape", "copy", "squeeze", "rev", "broadcast_in_dim"})


@dataclass(frozen=True, eq=False)
class ParameterBlock:
    """One array of parameters: its own adjoint is taken or, where it multiplies rows of features, those of its uses."""

    parameter: Slot
    uses: tuple[Use, ...] = ()
    bias: Slot | None = None  # a slot with the same adjoint
    whole: bool = False  # whether it is never taken apart

    @property
    def positions(self) -> int:
        """Rows of features that it multiplies, over all uses."""
        return sum(use.positions for use in self.uses)

    @property
    def inputs(self) -> int:
        """Features of a row."""
        return self.uses[0].inputs

    @property
    def outputs(self) -> int:
        """Numbers that a row becomes."""
        return self.uses[0].outputs

    @property
    def apart(self) -> bool:
        """Whether two Gram matrices over positions need fewer operations than one over the parameters."""
        return (
            bool(self.uses)
            and not self.whole
            and self.positions**2 * (self.inputs + self.outputs) < self.inputs * self.outputs
        )

    @property
    def joined(self) -> bool:
        """Whether it multiplies rows of features and is not taken apart."""
        return bool(self.uses) and not self.apart

    def adjoints(self) -> tuple[Slot, ...]:
        """The slots whose adjoints are taken."""
        return tuple(use.result for use in self.uses) or (self.bias or self.parameter,)

    def kept(self, many: int) -> int:
        """Numbers kept of one input, of a network with so many outputs."""
        if not self.apart:
            return many * self.parameter.size
        return self.positions * (self.inputs + many * self.outputs)

    def passing(self) -> int:
        """Numbers held on the way there: the rows of features, their adjoints and those of the products."""
        return self.positions * (2 * self.inputs + self.outputs) if self.uses else 0

    def operations(self, many: int) -> int:
        """Of one pair of inputs, for the mean over so many outputs."""
        if self.apart:
            return 2 * self.positions**2 * (self.inputs + many * self.outputs)
        return 2 * many * self.parameter.size


@dataclass(frozen=True, eq=False)
class ContractionPlan:
    """The graph of a network at one input, and one part for each array of parameters that it uses."""

    graph: Graph
    parts: tuple[ParameterBlock, ...]

    @property
    def outputs(self) -> int:
        """Of the network."""
        return self.graph.outputs[0].size

    @property
    def parameters(self) -> int:
        """Numbers in all arrays."""
        return sum(slot.size for slot in self.graph.argument(0))

    @property
    def positions(self) -> int:
        """The most positions of a part that is taken apart."""
        return max((part.positions for part in self.parts if part.apart), default=1)

    def passing(self) -> int:
        """Numbers of one pass that differ from input to input."""
        values = sum(
            self.graph.slots[i].size for i in active_slots(self.graph, self.graph.argument(1))
        )
        return values + self.outputs + sum(part.passing() for part in self.parts)

    def kept(self) -> int:
        """Numbers kept of one input."""
        return sum(part.kept(self.outputs) for part in self.parts)


def plan_contraction(
    apply: Any, params: Any, x: Any, *, structured: bool = True
) -> ContractionPlan:
    """Read the graph of `apply(params, x)`; without `structured` no part is taken apart."""
    graph = trace(apply, params, x)
    readers = Readers.of(graph)
    parameters = [slot for slot in graph.argument(0) if slot.is_real and readers.nodes[slot.id]]
    return ContractionPlan(
        graph, tuple(replace(_part(slot, readers), whole=not structured) for slot in parameters)
    )


@dataclass(frozen=True, eq=False)
class Readers:
    """The nodes that read each slot; slots that are `shown` are read outside as well."""

    nodes: dict[int, list[Node]]
    shown: frozenset[int]

    @classmethod
    def of(cls, graph: Graph) -> "Readers":
        """Of all slots of a graph."""
        nodes: dict[int, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            for slot in node.inputs:
                nodes[slot.id].append(node)
        return cls(nodes, frozenset(slot.id for slot in graph.outputs))

    def only(self, slot: Slot) -> Node | None:
        """The one node that reads the slot, if there is just one."""
        found = self.nodes[slot.id]
        return found[0] if len(found) == 1 and slot.id not in self.shown else None

    def follow_sums(self, slot: Slot) -> Slot:
        """The last slot that has the same adjoint, because something is added on the way and nothing else is done."""
        node = self.only(slot)
        while (
            node is not None and node.primitive in ("add", "add_any") and node.shape == slot.shape
        ):
            slot = node.outputs[0]
            node = self.only(slot)
        return slot


def _part(parameter: Slot, readers: Readers) -> ParameterBlock:
    uses = _uses(parameter, readers, ())
    if uses and len({use.layout for use in uses}) == 1:
        return ParameterBlock(parameter, tuple(uses))
    slot = parameter
    node = readers.only(slot)
    while node is not None and moves_entries(node):
        slot = node.outputs[0]
        node = readers.only(slot)
    same = readers.follow_sums(slot)
    return ParameterBlock(parameter, bias=same if same.id != slot.id else None)


def _uses(slot: Slot, readers: Readers, path: tuple[str, ...]) -> list[Use]:
    """All uses of a slot that holds the entries of a parameter; none if one of them is not a product."""
    if slot.id in readers.shown:
        return []
    found: list[Use] = []
    for node in readers.nodes[slot.id]:
        use = use_of(node, slot)
        if use:
            moved = replace(use, result=readers.follow_sums(use.result), layout=(path, use.layout))
            more = [moved]
        elif moves_entries(node):
            more = _uses(
                node.outputs[0],
                readers,
                (*path, f"{node.primitive} {sorted(node.params.items(), key=str)}"),
            )
        else:
            return []
        if not more:
            return []
        found += more
    return found


def moves_entries(node: Node) -> bool:
    """Whether every entry of the input is one entry of the output: adjoints move alike."""
    return node.primitive in ISOMETRIES and node.outputs[0].size == node.inputs[0].size
