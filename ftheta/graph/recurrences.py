r"""The loops of a graph that carry a state: recurrent layers, whatever they were written in.

A loop is unrolled in a graph; every node knows its step. What a step makes and the next one reads is the state
$h_t$, and the nodes of a step are the cell, $h_t=f_t(h_{t-1})$ with the inputs of that step.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from .graph import Graph, Node, Slot


@dataclass(frozen=True, eq=False)
class Recurrence:
    """The nodes of every step, and the slots `states[t]` that step t makes and step t + 1 reads."""

    steps: tuple[tuple[Node, ...], ...]
    states: tuple[tuple[Slot, ...], ...]

    @property
    def transitions(self) -> range:
        """The steps t that lead from one known state to the next."""
        return range(1, len(self.states))

    @property
    def size(self) -> int:
        """Numbers of a state."""
        return sum(slot.size for slot in self.states[-1])

    def cell(self, t: int, values: Mapping[int, Any]) -> Callable[[Any], Any]:
        """The map of step t from the flat state before it to the one after it; `values` of all other slots by id."""
        before = self.states[t - 1]
        after = self.states[t]

        def advance(h: Any) -> Any:
            known = dict(values)
            place = 0
            for slot in before:
                known[slot.id] = jnp.reshape(h[place : place + slot.size], slot.shape)
                place += slot.size
            for node in self.steps[t]:
                found = node.evaluate(*(known[slot.id] for slot in node.inputs))
                known.update(zip((slot.id for slot in node.outputs), found))
            return join_state([known[slot.id] for slot in after])

        return advance


def join_state(parts: list[Any]) -> Any:
    """The parts of a state as one flat vector."""
    return jnp.concatenate([jnp.ravel(part) for part in parts])


def find_recurrences(graph: Graph) -> list[Recurrence]:
    """The loops that carry a state of one form over three steps at least, in the order of the graph."""
    found = [_read_loop(steps) for steps in _split_loops(graph)]
    return [loop for loop in found if loop is not None]


def _split_loops(graph: Graph) -> list[list[list[Node]]]:
    """The nodes of each loop, step by step: a loop ends where the number of the step jumps."""
    loops: list[list[list[Node]]] = []
    last: int | None = None
    for node in graph.nodes:
        now = node.steps[0] if node.steps else None
        if now is not None and (last is None or abs(now - last) > 1):
            loops.append([[]])
        elif now is not None and now != last:
            loops[-1].append([])
        if now is not None:
            loops[-1][-1].append(node)
        last = now
    return loops


def _read_loop(steps: list[list[Node]]) -> Recurrence | None:
    made = [{slot.id: slot for node in nodes for slot in node.outputs} for nodes in steps]
    read = [{slot.id for node in nodes for slot in node.inputs} for nodes in steps]
    states = [
        tuple(slot for key, slot in made[t].items() if key in read[t + 1])
        for t in range(len(steps) - 1)
    ]
    shapes = {tuple(slot.shape for slot in state) for state in states[1:]}
    if len(states) < 2 or len(shapes) != 1 or not states[-1]:
        return None
    return Recurrence(tuple(map(tuple, steps)), tuple(states))
