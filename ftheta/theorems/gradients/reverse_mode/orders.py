"""A program is a directed acyclic graph, and any order of its nodes in which parents come first computes the same."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from ftheta.graph import Graph, Node, adjoints
from ftheta.graph.domains.values import values

from .differentiation import Differentiated

ORDERS = 3  # tried


def shuffle_nodes(graph: Graph, rng: np.random.Generator) -> Graph:
    """The same graph with its nodes in a random topological order: of those whose parents are computed, any is next."""
    children: dict[int, list[Node]] = defaultdict(list)
    missing = {}
    for node in graph.nodes:
        parents = {slot.id for slot in node.inputs} & set(graph.producers)
        missing[node.id] = len(parents)
        for slot in parents:
            children[slot].append(node)
    ready = [node for node in graph.nodes if not missing[node.id]]
    order = []
    while ready:
        node = ready.pop(int(rng.integers(len(ready))))
        order.append(node)
        for child in (c for slot in node.outputs for c in children[slot.id]):
            missing[child.id] -= 1
            if not missing[child.id]:
                ready.append(child)
    return replace(graph, nodes=tuple(order))


def largest_difference(found: Differentiated, rng: np.random.Generator) -> tuple[float, float]:
    """How far value and gradient move, at most, when the nodes are computed in other orders; and how large they are."""
    usual = _value_and_gradient(found, found.graph)
    others = [_value_and_gradient(found, shuffle_nodes(found.graph, rng)) for _ in range(ORDERS)]
    moved = max(float(np.max(np.abs(other - usual))) for other in others)
    return moved, float(np.max(np.abs(usual)))


def _value_and_gradient(found: Differentiated, graph: Graph) -> np.ndarray:
    computed = values(graph, *found.args)
    swept = adjoints(graph, *found.args, wrt=found.wrt, primal=computed)
    parts = [swept[slot] for slot in found.wrt if slot.is_real]
    return np.concatenate([np.ravel(computed[graph.outputs[0]]), *map(np.ravel, parts)])
