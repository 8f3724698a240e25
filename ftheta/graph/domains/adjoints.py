r"""Reverse adjoints of every slot in one sweep:

    adjoint of r  =  sum over s in Child(r) of  (d g_s / d x_r)^T  (adjoint of s).

The local transposed derivative is `jax.vjp` of the node's one equation, so custom derivatives and
`stop_gradient` are respected exactly as JAX does. Works eagerly and under `jax.jit`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.values import VALUES, as_slot, flat_inputs, values
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import (
    Interpretation,
    ReverseDomain,
    active_slots,
    backward,
    forward,
    precision,
    shared_by_kind,
)


def local_vjp(
    node: Node, inputs: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[bool]
) -> list[Any]:
    """(d outputs / d wanted inputs)^T applied to the cotangents; None for inputs that are not wanted."""
    seeds = [zero(s) if c is None else c for s, c in zip(node.outputs, cotangents) if s.is_real]
    found = iter(transpose_node(node, tuple(wanted))(list(inputs), seeds))
    return [next(found) if w else None for w in wanted]


@shared_by_kind
def transpose_node(
    node: Node, wanted: tuple[bool, ...]
) -> Callable[[list[Any], list[Any]], tuple[Any, ...]]:
    """Inputs and cotangents of the floating-point outputs ↦ contributions to the wanted inputs, compiled."""
    return jax.jit(pullback(node, wanted), inline=True)


def pullback(
    node: Node, wanted: tuple[bool, ...]
) -> Callable[[list[Any], list[Any]], tuple[Any, ...]]:
    """The vector–Jacobian product of one node: its inputs and the cotangents of its real outputs ↦ cotangents of the
    `wanted` inputs."""
    real = [slot.is_real for slot in node.outputs]

    def pull_back(inputs: list[Any], seeds: list[Any]) -> tuple[Any, ...]:
        def of_wanted(*variables: Any) -> list[Any]:
            moving = iter(variables)
            full = [next(moving) if w else x for w, x in zip(wanted, inputs)]
            return [y for y, r in zip(node.evaluate(*full), real) if r]

        return jax.vjp(of_wanted, *[jnp.asarray(x) for x, w in zip(inputs, wanted) if w])[1](seeds)

    return pull_back


def zero(slot: Slot) -> Any:
    """Zeros of a slot's shape and dtype."""
    return jnp.zeros(slot.shape, slot.dtype)


ADJOINTS = ReverseDomain(
    name="adjoints",
    file="ftheta/graph/domains/adjoints.py",
    add=jnp.add,
    zero=zero,
    default=local_vjp,
    rules={"stop_gradient": lambda node, inputs, cotangents, wanted: [None]},
)


def adjoints(
    graph: Graph,
    *args: Any,
    cotangents: Any = None,
    wrt: Iterable[Slot | str] | None = None,
    primal: Interpretation[Any] | None = None,
) -> Interpretation[Any]:
    """The adjoint of every floating-point slot that is not a constant.

    `cotangents` has the structure of the function's result; by default it is 1 in every floating-point output, so
    that the sweep differentiates their sum. `wrt` restricts the sweep to slots downstream of these inputs.
    `primal` is an earlier result of `values` at the same arguments.
    """
    with precision(graph):
        primal = values(graph, *args) if primal is None else primal
        active = active_slots(graph, wrt)
        return backward(ADJOINTS, primal, _seeds(graph, cotangents, active), active)


def sweep(
    graph: Graph, wrt: Iterable[Slot | str] | None = None
) -> Callable[..., Interpretation[Any]]:
    """`adjoints` as one compiled function of the same arguments (and `cotangents`)."""
    slots = None if wrt is None else tuple(map(graph.__getitem__, wrt))
    active = active_slots(graph, slots)

    @jax.jit
    def run_backward(inputs: Sequence[Any], given: Any) -> Mapping[int, Any]:
        return backward(
            ADJOINTS, forward(VALUES, graph, *inputs), _seeds(graph, given, active), active
        ).values

    def function(*args: Any, cotangents: Any = None) -> Interpretation[Any]:
        with precision(graph):
            return Interpretation(
                graph, ADJOINTS.name, run_backward(flat_inputs(graph, args), cotangents)
            )

    return function


def _seeds(graph: Graph, cotangents: Any, active: frozenset[int]) -> dict[int, Any]:
    given = (
        [None] * len(graph.outputs) if cotangents is None else _flat_cotangents(graph, cotangents)
    )
    seeds: dict[int, Any] = {}
    for slot, cotangent in zip(graph.outputs, given):
        if slot.id in active:  # an output may be returned twice: its cotangents add
            seed = (
                jnp.ones(slot.shape, slot.dtype) if cotangent is None else as_slot(slot, cotangent)
            )
            seeds[slot.id] = seeds[slot.id] + seed if slot.id in seeds else seed
    return seeds


def _flat_cotangents(graph: Graph, cotangents: Any) -> list[Any]:
    leaves, tree = jax.tree.flatten(cotangents)
    if tree != graph.signature.results:
        raise GraphError(
            "the cotangents have another structure than the result",
            got=str(tree),
            remedy=f"pass cotangents of the structure {graph.signature.results}",
        )
    return [
        None if np.dtype(jnp.result_type(leaf)) == jax.dtypes.float0 else leaf for leaf in leaves
    ]
