r"""Maps of disjoint parts of one vector, side by side: $\|(g_k(x_{S_k}))_k-(g_k(y_{S_k}))_k\|\le\max_kc_k\,\|x-y\|$.

An activation that changes from neuron to neuron is computed so: the vector is split, and put together again.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from ftheta.graph.graph import Node, Slot
from ftheta.graph.primitives import primitives

PARTS = primitives("slice split")
LONGEST_WAY = 100  # nodes between the parting and the joining


@dataclass(frozen=True)
class Way:
    """The nodes that lead from one `part` of a vector, in their order, and that vector's slot."""

    part: Slot
    source: int
    nodes: tuple[Node, ...]


def ways_to(
    node: Node, nodes: Sequence[Node], makers: Mapping[int, Node], moving: Set[int]
) -> list[tuple[Way, Slot]] | None:
    """From disjoint parts of one vector to each operand of `node` that moves; None if it is not made so."""
    order = {id(each): k for k, each in enumerate(nodes)}
    found = []
    for operand in node.inputs:
        if operand.id not in moving:
            continue
        way = _trace_back(operand, order, makers, moving)
        if way is None:
            return None
        found.append((way, operand))
    sources = {way.source for way, _ in found}
    apart = len(sources) == 1 and _are_disjoint([way.part for way, _ in found], makers)
    return found if apart else None


def _trace_back(
    operand: Slot, order: Mapping[int, int], makers: Mapping[int, Node], moving: Set[int]
) -> Way | None:
    """The one part of one vector that an operand is computed from."""
    passed: dict[int, Node] = {}
    parts: dict[int, Slot] = {}
    waiting = [operand]
    while waiting:
        slot = waiting.pop()
        maker = makers.get(slot.id)
        if maker is None or len(passed) > LONGEST_WAY:
            return None
        if maker.primitive in PARTS:
            parts[slot.id] = slot
        elif id(maker) not in passed:
            passed[id(maker)] = maker
            waiting += [each for each in maker.inputs if each.id in moving]
    if len(parts) != 1:
        return None
    (part,) = parts.values()
    nodes = sorted(passed.values(), key=lambda node: order[id(node)])
    return Way(part, makers[part.id].inputs[0].id, tuple(nodes))


def _are_disjoint(parts: Sequence[Slot], makers: Mapping[int, Node]) -> bool:
    """Whether no entry of the vector is in two parts: each is counted where it comes from."""
    size = makers[parts[0].id].inputs[0].size
    places = np.arange(size).reshape(makers[parts[0].id].inputs[0].shape)
    taken = np.concatenate([_places_of(part, makers[part.id], places).ravel() for part in parts])
    return len(np.unique(taken)) == len(taken)


def _places_of(part: Slot, maker: Node, places: np.ndarray) -> np.ndarray:
    if maker.primitive == "slice":
        begin, end = maker.params["start_indices"], maker.params["limit_indices"]
        step = maker.params["strides"] or (1,) * places.ndim
        return places[tuple(map(slice, begin, end, step))]
    ends = np.cumsum(maker.params["sizes"])[:-1]
    k = [slot.id for slot in maker.outputs].index(part.id)
    return np.split(places, ends, axis=maker.params["axis"])[k]
