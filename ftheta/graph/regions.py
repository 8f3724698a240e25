"""Parts of a graph that are functions of one variable, applied entry by entry.

`x·Φ(x)`, `where(x > 0, x, a·x)`, `x·tanh(softplus(x))` use their variable several times, which interval arithmetic
takes for several variables. A `Region` says that a slot is such a function of another slot, so that a domain can cut
the variable's range into pieces and treat each by itself.
"""

from dataclasses import dataclass

import numpy as np

from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.primitives import COMPARISONS, PARTIAL, is_elementwise

LARGEST_REGION = 64
"""Nodes in a region; a longer chain (an unrolled recurrence) starts a new variable."""

MOST_KNOTS = 8


@dataclass(frozen=True, eq=False)
class Region:
    """The slot computed by the last of `nodes` is a function of `variable` alone, entry by entry.

    `knots` are the numbers that the variable is compared with: where a piecewise function may change its formula.
    """

    variable: Slot
    nodes: tuple[Node, ...]
    knots: tuple[float, ...]


def regions(graph: Graph) -> dict[int, Region]:
    """Slot id → region, for each slot at which two paths from one variable meet again and that others read."""
    variable: dict[int, Slot] = {slot.id: slot for slot in graph.slots}
    inside: dict[int, dict[int, Node]] = {}  # slot id → the nodes between its variable and itself
    found: dict[int, Region] = {}
    for node in graph.nodes:
        moving = [slot for slot in node.inputs if slot.id not in graph.fixed]
        sources = {variable[slot.id].id: variable[slot.id] for slot in moving}
        if len(sources) != 1 or not _extends(node):
            continue
        (source,) = sources.values()
        nodes = {n.id: n for slot in moving for n in inside.get(slot.id, {}).values()} | {
            node.id: node
        }
        if len(nodes) > LARGEST_REGION or node.shape != source.shape or not source.is_real:
            continue
        out = node.outputs[0]
        variable[out.id], inside[out.id] = source, nodes
        if out.is_real and _paths_meet(node, moving):
            region = _from_fork(graph, source, tuple(nodes[i] for i in sorted(nodes)))
            if len(region.knots) <= MOST_KNOTS:
                found[out.id] = region
    inner = _inner(graph, found)
    return {
        slot: region
        for slot, region in found.items()
        if slot not in inner or _leads_to_partial(graph, inside, slot)
    }


def _from_fork(graph: Graph, source: Slot, nodes: tuple[Node, ...]) -> Region:
    """The region from the last slot that all paths pass: of `f(x + b)` that is x + b, with the knots of f."""
    variable = source
    rest = nodes
    for number, node in enumerate(nodes[:-1]):
        later = nodes[number + 1 :]
        known = {node.outputs[0].id, *(after.outputs[0].id for after in later), *graph.fixed}
        if node.outputs[0].is_real and all(
            slot.id in known for after in later for slot in after.inputs
        ):
            variable = node.outputs[0]
            rest = later
    return Region(variable, rest, _knots(graph, variable, rest))


def _inner(graph: Graph, found: dict[int, Region]) -> set[int]:
    """Slots read only on the way to a later slot with a region that computes them anew."""
    readers: dict[int, list[int]] = {}
    for node in graph.nodes:
        for slot in node.inputs:
            readers.setdefault(slot.id, []).append(node.outputs[0].id)
    computed = {slot: {node.id for node in region.nodes} for slot, region in found.items()}
    inner: set[int] = set()
    for slot in reversed(graph.slots):
        later = readers.get(slot.id, [])
        if not later or slot in graph.outputs or slot.id not in graph.producers:
            continue
        producer = graph.producers[slot.id].id
        if all(producer in computed.get(reader, ()) for reader in later):
            inner.add(slot.id)
            computed[slot.id] = set.intersection(*(computed[reader] for reader in later))
    return inner


def _leads_to_partial(graph: Graph, inside: dict[int, dict[int, Node]], slot: int) -> bool:
    """Is the slot inside a region with a function that is not defined everywhere? Then it has to be sharp itself:
    `log(where(x > 0, x, 1))`."""
    producer = graph.producers[slot].id
    return any(
        producer in nodes
        and any(n.primitive in PARTIAL and n.id > producer for n in nodes.values())
        for nodes in inside.values()
    )


def _extends(node: Node) -> bool:
    """One output, of real numbers or truth values, entry by entry."""
    plain = all(slot.is_real or slot.dtype == bool for slot in (*node.outputs, *node.inputs))
    return len(node.outputs) == 1 and plain and is_elementwise(node)


def _paths_meet(node: Node, moving: list[Slot]) -> bool:
    """Two different operands, or one operand twice where the domains' rules do not see it by themselves."""
    return len({slot.id for slot in moving}) > 1 or (
        len(moving) > 1 and node.primitive in ("sub", "div", "pow")
    )


def compares_variable(graph: Graph, variable: Slot, node: Node) -> bool:
    """Does the node compare the variable itself with a constant?"""
    constants = [slot for slot in node.inputs if slot.id in graph.constants]
    return node.primitive in COMPARISONS and variable in node.inputs and len(constants) == 1


def _knots(graph: Graph, variable: Slot, nodes: tuple[Node, ...]) -> tuple[float, ...]:
    values: set[float] = set()
    for node in nodes:
        if compares_variable(graph, variable, node):
            (slot,) = (slot for slot in node.inputs if slot.id in graph.constants)
            values.update(np.unique(np.asarray(graph.constants[slot.id], float)).tolist())
    return tuple(sorted(v for v in values if np.isfinite(v)))
