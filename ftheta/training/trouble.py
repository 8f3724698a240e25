"""Where a number first stopped being finite: the step, the layer, and the operation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.values import values
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node
from ftheta.graph.jaxprs import trace

from .models import Model
from .program import Problem, State, finite

Batch = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    r"""At $\theta_k$, $k=$ `step`, all parameters were finite and then the `what` (loss, gradient or update) was not.

    `layer` is the parameter at which it appeared, `source` the operation and the line of the program, where known.
    """

    step: int
    what: str
    layer: str
    source: str = ""

    def __str__(self) -> str:
        place = f" ({self.source})" if self.source else ""
        return (
            f"the {self.what} of step {self.step:,} is not finite, first at the {self.layer}{place}"
        )


def locate(
    model: Model,
    problem: Problem,
    states: tuple[State | None, State, State],
    step: int,
    batch: Batch,
) -> Trouble:
    """The trouble of a step that leads from the second state to the third; the first is the one before them."""
    before, now, after = states
    trained = problem.trained_risk(now)
    risk = lambda params: trained(params, *batch)
    value, gradient = jax.value_and_grad(risk)(now.params)
    if not np.isfinite(value):
        return _in_the_forward_pass(model, problem, before, now, step, batch)
    if not finite(gradient):
        # the reverse sweep meets the last layer first
        return Trouble(step, "gradient", _first(model, gradient, last=True))
    return Trouble(step, "update", _first(model, after.params))


def _first(model: Model, tree: Any, last: bool = False) -> str:
    wrong = [
        path
        for path, leaf in zip(model.paths, jax.tree.leaves(tree))
        if not np.isfinite(leaf).all()
    ]
    return (wrong[-1] if last else wrong[0]) if wrong else "optimiser"


def _in_the_forward_pass(
    model: Model, problem: Problem, before: State | None, now: State, step: int, batch: Batch
) -> Trouble:
    """In the predictions if they are not finite, else in the loss of them."""
    x = batch[0]
    earlier = None if before is None else before.params
    found = _first_node(jax.vmap(problem.apply, (None, 0)), earlier, now.params, (x,))
    if found is not None:
        return Trouble(step, "loss", _parameter_before(model, *found), _told(found[1]))
    found = _first_node(problem.trained_risk(now), earlier, now.params, batch)
    return Trouble(step, "loss", "loss function", "" if found is None else _told(found[1]))


def _told(node: Node) -> str:
    return f"{node.label or node.primitive} at {node.source}"


def _first_node(
    f: Callable[..., Any], before: Any, now: Any, rest: Batch
) -> tuple[Graph, Node] | None:
    """The first node of `f(params, *rest)` that is not finite now and was before, if there is one."""
    try:
        graph = trace(f, now, *rest)
    except GraphError:  # a program that has no graph still has a step
        return None
    usual = set() if before is None else {node.id for node in _infinite(graph, before, rest)}
    return next(
        ((graph, node) for node in _infinite(graph, now, rest) if node.id not in usual), None
    )


def _infinite(graph: Graph, params: Any, batch: Batch) -> list[Node]:
    """Nodes with a value that is not finite; those that have one in good times too (a mask of −∞) mean nothing."""
    found = values(graph, params, *batch)
    bad = lambda slot: slot.is_real and not np.isfinite(np.asarray(found[slot])).all()
    return [node for node in graph.nodes if any(bad(slot) for slot in node.outputs)]


def _parameter_before(model: Model, graph: Graph, node: Node) -> str:
    """The parameter that the program used last before this node."""
    paths = dict(zip((slot.id for slot in graph.argument(0)), model.paths))
    used = [
        slot.id
        for earlier in graph.nodes[: node.id + 1]
        for slot in earlier.inputs
        if slot.id in paths
    ]
    return paths[used[-1]] if used else "input"
