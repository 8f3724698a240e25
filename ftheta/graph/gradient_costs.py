"""What a gradient costs: finite differences, forward mode and reverse mode, in operations and in memory."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.graph.domains.cost import Cost, cost, forward_cost
from ftheta.graph.domains.operations import FREE
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.shapes import Int


@dataclass(frozen=True)
class GradientCost:
    """Operations of the function, and of its gradient with respect to `dimension` numbers by three methods.

    `finite_differences` takes d + 1 evaluations; `forward_mode` d passes, each an evaluation with its tangents;
    `reverse_mode` one evaluation and one sweep.
    """

    dimension: int
    function: Cost
    finite_differences: Cost
    forward_mode: Cost
    reverse_mode: Cost

    @property
    def ratio(self) -> Fraction:
        """Reverse mode in evaluations of the function."""
        return Fraction(self.reverse_mode.flops, max(self.function.flops, 1))


def gradient_cost(graph: Graph, wrt: Iterable[Slot | str] | None = None) -> GradientCost:
    """Counted on the graph, for the gradient with respect to the inputs `wrt` (by default all that are real)."""
    chosen = [
        s for s in (graph.inputs if wrt is None else map(graph.__getitem__, wrt)) if s.is_real
    ]
    report = cost(graph, wrt=chosen)
    d = sum(slot.size for slot in chosen)
    function = report.forward_total
    passes = ((cost(graph, wrt=[slot]).tangent_total + function) * slot.size for slot in chosen)
    return GradientCost(
        d, function, function * (d + 1), sum(passes, FREE), function + report.reverse_total
    )


@dataclass(frozen=True)
class GradientMemory:
    """Largest number of bytes alive at once, beside inputs, constants and the gradient itself. Entries that are only
    moved (a transpose, a copy) are not counted: they are a view of others.

    `function` frees each value after its last reader; `reverse` keeps every value for the sweep back; `checkpointed`
    keeps only what crosses the borders of the segments and computes a segment again before it is swept, at the price of
    `recomputed` operations.
    """

    function: int
    reverse: int
    checkpointed: int
    segments: int
    recomputed: Cost


def gradient_memory(graph: Graph, segments: int | None = None) -> GradientMemory:
    """Counted on the graph; by default ⌈√n⌉ segments of n nodes, the best choice for a chain of equal steps."""
    n = len(graph.nodes)
    segments = max(1, min(n, math.isqrt(max(n - 1, 0)) + 1 if segments is None else segments))
    cuts = sorted({round(k * n / segments) for k in range(segments)})
    forwards = cost(graph, wrt=[]).forward
    life = _Life(graph, {node.id for node in graph.nodes if forwards[node.id] == FREE})
    again = sum((forwards[node.id] for node in graph.nodes[: cuts[-1]]), FREE)
    return GradientMemory(
        life.of_function(), life.of_sweep([0]), life.of_sweep(cuts), segments, again
    )


def function_memory(graph: Graph) -> int:
    """Largest number of bytes alive at once in a forward pass, beside inputs and constants, as in `GradientMemory`.

    What the body of a node holds is counted with it, of a loop that of one step.
    """
    life = _Life(graph, {node.id for node in graph.nodes if forward_cost(node) == FREE})
    inside = [_beside_outputs(node) for node in graph.nodes]
    return int((life.alive() + np.array(inside, int)).max(initial=0))


def _beside_outputs(node: Node) -> int:
    """Bytes that the bodies of a node hold beyond its outputs."""
    held = max(map(function_memory, node.graphs), default=0)
    return max(0, held - sum(slot.size * np.dtype(slot.dtype).itemsize for slot in node.outputs))


class _Life:
    """When each computed slot is made and last read, itself or as a view, as positions of nodes."""

    def __init__(self, graph: Graph, views: set[int]):
        self.count = len(graph.nodes)
        made = {slot.id: i for i, node in enumerate(graph.nodes) for slot in node.outputs}
        last = dict(made)
        last.update(
            (slot.id, i)
            for i, node in enumerate(graph.nodes)
            for slot in node.inputs
            if slot.id in made
        )
        last.update((slot.id, self.count) for slot in graph.outputs if slot.id in made)
        for node in reversed(graph.nodes):
            if node.id in views:
                read = max((last[slot.id] for slot in node.outputs), default=0)
                last.update((x.id, max(last[x.id], read)) for x in node.inputs if x.id in made)
        self.made, self.last = (np.array([d[i] for i in made], int) for d in (made, last))
        kept = [0 if graph.producers[i].id in views else graph.slots[i].size for i in made]
        self.bytes = np.array(
            [n * np.dtype(graph.slots[i].dtype).itemsize for i, n in zip(made, kept)], int
        )

    def alive(self) -> Int[np.ndarray, "nodes"]:
        """Bytes alive while node i computes: made at i or before, read at i or later."""
        change = np.zeros(self.count + 2, int)
        np.add.at(change, self.made, self.bytes)
        np.add.at(change, np.minimum(self.last, self.count) + 1, -self.bytes)
        return np.cumsum(change)[: self.count]

    def of_function(self) -> int:
        return int(self.alive().max(initial=0))

    def of_sweep(self, cuts: list[int]) -> int:
        """The peak of both phases. An adjoint lives, backwards, as long as its value does forwards."""
        first_cut = np.array([*cuts, self.count + 1])[
            np.searchsorted(cuts, self.made, side="right")
        ]
        # from this node on it is a checkpoint
        kept = np.where(first_cut <= self.last, first_cut, self.count + 1)
        nodes = np.arange(self.count)
        stored = np.bincount(kept, self.bytes, self.count + 2).cumsum()[: self.count]
        fresh = np.bincount(self.made, self.bytes, self.count + 1).cumsum()[: self.count]
        start = np.array(cuts)[np.searchsorted(cuts, nodes, side="right") - 1]
        before = np.concatenate([[0.0], fresh])[start]
        idle = self._idle_checkpoints(kept)
        there = self.alive() + idle
        back = stored[start] + (fresh - before) + self.alive()
        return int(max(there.max(initial=0), back.max(initial=0)))

    def _idle_checkpoints(self, kept: np.ndarray) -> np.ndarray:
        """Bytes of checkpoints that the forward pass itself no longer needs."""
        change = np.zeros(self.count + 2)
        chosen = kept <= self.count
        np.add.at(change, np.minimum(self.last[chosen], self.count) + 1, self.bytes[chosen])
        return change.cumsum()[: self.count]
