r"""Forward mode: dual numbers on the graph, the tangent of every slot along one direction of the inputs,

    tangent of r  =  sum over s in Parent(r) of  (d g_r / d x_s)  (tangent of s).

A dual number is a value with its tangent; None stands for a tangent that is zero by structure. The local derivative is
`jax.jvp` of the node's one equation. One pass gives the derivative along one direction, so a gradient takes one pass
for each input; `adjoints.py` needs one for each output.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.values import as_slot, flat_inputs
from ftheta.graph.errors import GraphError, NoRule
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import (
    Domain,
    Interpretation,
    each_output,
    forward,
    precision,
    shared_by_kind,
)
from ftheta.shapes import Float

DIRECTIONS_AT_ONCE = 256
FILE = "ftheta/graph/domains/tangents.py"


@dataclass(frozen=True)
class Dual:
    """value + ε·tangent with ε² = 0."""

    value: Any
    tangent: Any = None


def push(node: Node, *duals: Dual) -> Any:
    """The rule of every primitive: the node at the values, its derivative along the tangents."""
    inputs = [dual.value for dual in duals]
    moving = tuple(dual.tangent is not None for dual in duals)
    if not any(moving) or not any(slot.is_real for slot in node.outputs):
        return each_output(node, [Dual(value) for value in node.evaluate(*inputs)])
    try:
        found, slopes = push_node(node, moving)(
            inputs, [dual.tangent for dual in duals if dual.tangent is not None]
        )
    except TypeError as error:  # JAX's word for a derivative that only runs backwards
        raise NoRule(
            "a derivative defined by jax.custom_vjp has no forward mode",
            where=node.source,
            got=str(error).splitlines()[0],
            remedy="use adjoints, or define the derivative with jax.custom_jvp",
        ) from error
    return each_output(
        node, [Dual(y, t if s.is_real else None) for y, t, s in zip(found, slopes, node.outputs)]
    )


@shared_by_kind
def push_node(node: Node, moving: tuple[bool, ...]) -> Callable[[list[Any], list[Any]], Any]:
    """Inputs and tangents of the moving ones ↦ outputs and their tangents, compiled."""

    def along(inputs: list[Any], tangents: list[Any]) -> Any:
        def of_moving(*variables: Any) -> tuple[Any, ...]:
            given = iter(variables)
            return node.evaluate(*[next(given) if m else x for m, x in zip(moving, inputs)])

        return jax.jvp(of_moving, [jnp.asarray(x) for x, m in zip(inputs, moving) if m], tangents)

    return jax.jit(along, inline=True)


def _stop_gradient(node: Node, dual: Dual) -> Dual:
    return Dual(dual.value)


DUALS = Domain(
    name="tangents", file=FILE, lift=Dual, rules={"stop_gradient": _stop_gradient}, default=push
)


def tangents(graph: Graph, *args: Any, along: Any) -> Interpretation[Any]:
    """The tangent of every floating-point slot that is not a constant.

    `along` is a direction with the structure of the arguments, or the name of a scalar input: the direction in which
    only that one moves, at speed 1.
    """
    with precision(graph):
        inputs = map(jnp.asarray, flat_inputs(graph, args))
        return _tangents(graph, inputs, direction(graph, along))


def direction(graph: Graph, along: Any) -> list[Any]:
    """One tangent for each input slot; None for integers, which do not move."""
    if isinstance(along, (str, Slot)):
        chosen = graph[along]
        if chosen not in graph.inputs or chosen.shape or not chosen.is_real:
            raise GraphError(
                "a direction by name is that of one scalar input",
                got=str(chosen),
                remedy=f"name one of {', '.join(s.name for s in graph.inputs)}, or give a tangent for each argument",
            )
        return [
            np.asarray(slot is chosen, slot.dtype) if slot.is_real else None
            for slot in graph.inputs
        ]
    leaves = graph.signature.inputs_of(along)
    return [
        as_slot(slot, leaf) if slot.is_real else None for slot, leaf in zip(graph.inputs, leaves)
    ]


def directional(graph: Graph) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
    """Flat inputs and one tangent an input ↦ the tangents of the outputs: one pass of forward mode."""

    def function(inputs: Sequence[Any], speeds: Sequence[Any]) -> tuple[Any, ...]:
        found = _tangents(graph, inputs, speeds)  # integers have none
        return tuple(found[slot] if slot.is_real else None for slot in graph.outputs)

    return function


def forward_gradient(
    graph: Graph, *args: Any, wrt: Iterable[Slot | str] | None = None
) -> Float[np.ndarray, "coordinates"]:
    """The gradient of one number by forward mode, one pass for each coordinate of the inputs `wrt`, in order."""
    chosen = [
        s for s in (graph.inputs if wrt is None else map(graph.__getitem__, wrt)) if s.is_real
    ]
    if [slot.shape for slot in graph.outputs] != [()]:
        raise GraphError("a gradient is that of one number", got=" ".join(map(str, graph.outputs)))
    d = sum(slot.size for slot in chosen)
    block = min(DIRECTIONS_AT_ONCE, max(d, 1))
    one = directional(graph)
    with precision(graph):
        inputs = flat_inputs(graph, args)
        slopes = jax.jit(
            lambda given, units: jax.vmap(lambda row: one(given, _speeds(graph, chosen, row))[0])(
                units
            )
        )
        parts = []
        for start in range(0, d, block):  # blocks of one shape: compiled once
            units = np.zeros((block, d))
            units[np.arange(min(block, d - start)), np.arange(start, min(start + block, d))] = 1
            parts.append(np.asarray(slopes(inputs, units))[: d - start])
    return np.concatenate([np.zeros(0), *parts])


def _speeds(graph: Graph, chosen: Sequence[Slot], row: Any) -> list[Any]:
    """A direction in the coordinates of the chosen inputs as one tangent for each input."""
    ends = np.cumsum([0, *(slot.size for slot in chosen)])
    moving = {
        s.id: row[a:b].reshape(s.shape).astype(s.dtype) for s, a, b in zip(chosen, ends, ends[1:])
    }
    return [moving.get(slot.id) for slot in graph.inputs]


def _tangents(graph: Graph, inputs: Iterable[Any], speeds: Sequence[Any]) -> Interpretation[Any]:
    found = forward(DUALS, graph, *(Dual(x, speed) for x, speed in zip(inputs, speeds)))
    results = {slot.id for slot in graph.outputs}  # a constant among them has tangent 0
    moving = [
        s for s in graph.slots if s.is_real and (s.id in results or s.id not in graph.constants)
    ]
    return Interpretation(graph, DUALS.name, {s.id: _tangent(s, found[s]) for s in moving})


def _tangent(slot: Slot, dual: Dual) -> Any:
    return jnp.zeros(slot.shape, slot.dtype) if dual.tangent is None else dual.tangent
