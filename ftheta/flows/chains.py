r"""Any network read as a chain of residual blocks $x_{k+1}=x_k+v_k(x_k)$.

In the graph of a network, a slot through which every way from the input to the output leads is a *state*. Where a
state is the sum of the state before it and something else, that something is a residual $v_k$. The weights of a block
are what it uses and what does not depend on the input. Neighbouring blocks that differ in their weights alone form a
stage, whose weights are stacked: a stage is a loop, however the network was written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.jaxprs import trace
from ftheta.graph.primitives import CUSTOM_CALLS, IDENTITIES

from .runge_kutta import runge_kutta_step

Step = Callable[[Callable[[Any, Any], Any], Any, Any], Any]


@dataclass(frozen=True, eq=False)
class GraphPart:
    """Part of a graph between two states: `nodes` compute `end` from `start`, the slots `weights` and the
    constants `fixed`.

    A `residual` part computes `sign` times what is added to the state.
    """

    nodes: tuple[Node, ...]
    start: Slot
    end: Slot
    weights: tuple[Slot, ...]
    fixed: Mapping[int, Any]
    residual: bool
    sign: float = 1.0

    def __call__(self, theta: Sequence[Any], x: Any) -> Any:
        r"""$v_\theta(x)$, or for plain layers the next state."""
        values = {
            **self.fixed,
            **dict(zip((slot.id for slot in self.weights), theta)),
            self.start.id: x,
        }
        for node in self.nodes:
            found = node.evaluate(*(values[slot.id] for slot in node.inputs))
            values.update(zip((slot.id for slot in node.outputs), found))
        return values[self.end.id] if self.sign > 0 else -values[self.end.id]

    @cached_property
    def form(self) -> tuple[Any, ...]:
        """What the part computes: equal for two parts that differ in the values of their weights alone."""
        places = {self.start.id: "state"} | {
            slot.id: f"weight {i}" for i, slot in enumerate(self.weights)
        }
        places |= {
            key: f"{value.dtype}{value.shape}{value.tobytes().hex()}"
            for key, value in self.fixed.items()
        }
        lines: list[Any] = [(slot.shape, str(slot.dtype)) for slot in (self.start, *self.weights)]
        for i, node in enumerate(self.nodes):
            places.update((slot.id, f"value {i}.{j}") for j, slot in enumerate(node.outputs))
            lines.append((_kind(node), tuple(places[slot.id] for slot in node.inputs)))
        return (*lines, places[self.end.id], self.residual, self.sign)


@dataclass(frozen=True, eq=False)
class Stage:
    """Equal blocks one after the other, or one stretch of plain layers."""

    parts: tuple[GraphPart, ...]

    @property
    def field(self) -> GraphPart:
        return self.parts[0]

    @property
    def residual(self) -> bool:
        return self.field.residual

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the state."""
        return self.field.start.shape

    @property
    def size(self) -> int:
        return self.field.start.size

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(frozen=True, eq=False)
class Chain:
    """A network as stages of residual blocks with plain layers between them."""

    graph: Graph
    stages: tuple[Stage, ...]

    @cached_property
    def residual_stages(self) -> tuple[int, ...]:
        return tuple(i for i, stage in enumerate(self.stages) if stage.residual)

    @property
    def longest_stage(self) -> int:
        """The residual stage with the most blocks."""
        return max(self.residual_stages, key=lambda i: len(self.stages[i]))

    @property
    def blocks(self) -> int:
        return sum(len(self.stages[i]) for i in self.residual_stages)

    @property
    def plain_nodes(self) -> int:
        return sum(
            len(part.nodes) for stage in self.stages if not stage.residual for part in stage.parts
        )

    def weights(self, params: Any) -> list[tuple[Any, ...]]:
        """Of every stage, the weights of its blocks, stacked; a differentiable function of the parameters."""
        slots = self.graph.argument(0)
        values: dict[int, Any] = dict(self.graph.constants)
        values.update(
            zip((slot.id for slot in slots), self.graph.signature.inputs_of((params, 0.0)))
        )
        for node in self.graph.nodes:
            if all(slot.id in values for slot in node.inputs):
                found = node.evaluate(*(values[slot.id] for slot in node.inputs))
                values.update(zip((slot.id for slot in node.outputs), found))
        return [
            tuple(
                jnp.stack([values[part.weights[i].id] for part in stage.parts])
                for i in range(len(first.weights))
            )
            for stage in self.stages
            for first in stage.parts[:1]
        ]

    def states(
        self, weights: Sequence[Any], x: Any, step: Step | None = None
    ) -> tuple[Any, list[Any]]:
        """The output, and for every stage the states before each of its blocks. `step(v, theta, x)` makes the next
        state; without it, x + v(x)."""
        step = step or one_step
        before = []
        for stage, theta in zip(self.stages, weights):
            if stage.residual:
                move = lambda x, theta, stage=stage: (step(stage.field, theta, x), x)
                x, seen = jax.lax.scan(move, x, theta, length=len(stage))
            else:
                seen = x[None]
                x = stage.field([w[0] for w in theta], x)
            before.append(seen)
        return x, before

    def output(self, params: Any, x: Any, step: Step | None = None) -> Any:
        """What the network makes of `x`, each of its blocks replaced by `step` where that is given."""
        return self.states(self.weights(params), x, step)[0]


def one_step(v: Callable[[Any, Any], Any], theta: Any, x: Any) -> Any:
    r"""$x+v_\theta(x)$: a residual block as it is, one Euler step of length 1."""
    return x + v(theta, x)


def make_euler_steps(steps: int) -> Step:
    r"""$m$ Euler steps of length $1/m$ in place of one: nearer and nearer to the flow of each block."""
    return lambda v, theta, x: jax.lax.fori_loop(0, steps, lambda _, x: x + v(theta, x) / steps, x)


def make_flow(steps: int, direction: float = 1.0) -> Step:
    r"""The flow of $\dot x=v_\theta(x)$ for the time 1 (or back), by `steps` of the classical Runge–Kutta method."""
    h = direction / steps

    def step(v: Callable[[Any, Any], Any], theta: Any, x: Any) -> Any:
        weights = (theta, theta, theta)
        return jax.lax.fori_loop(0, steps, lambda _, x: runge_kutta_step(v, weights, x, h), x)

    return step


def hidden_derivatives(chain: Chain) -> list[str]:
    """The nodes that hide a derivative or bring their own, by name: what is differentiated there is no derivative."""
    makers = chain.graph.producers
    found = list[str]()
    for node in chain.graph.nodes:
        stopped = node.primitive == "stop_gradient" and not _shifts_softmax(node, makers)
        replaced = node.primitive == "custom_jvp_call" and not node.by_jax
        if stopped or replaced or node.primitive == "custom_vjp_call":
            found.append(node.label or node.primitive)
    return found


def _shifts_softmax(node: Node, makers: Mapping[int, Node]) -> bool:
    maker = makers.get(node.inputs[0].id)
    return maker is not None and maker.primitive == "reduce_max"


def residual_chain(apply: Callable[[Any, Any], Any], params: Any, shape: tuple[int, ...]) -> Chain:
    """The chain of the network `apply(params, x)`, `x` of that shape. A graph that is too large is a GraphError."""
    graph = trace(apply, params, jax.ShapeDtypeStruct(shape, np.float64))
    return Chain(graph, tuple(_group_stages(_parts(graph))))


def _parts(graph: Graph) -> list[GraphPart]:
    (x,) = graph.argument(1)
    if len(graph.outputs) != 1:
        raise GraphError("a chain has one output", got=str(len(graph.outputs)))
    moving = {x.id}
    nodes = list[Node]()
    for node in graph.nodes:
        if any(slot.id in moving for slot in node.inputs):
            moving.update(slot.id for slot in node.outputs)
            nodes.append(node)
    parts = list[GraphPart]()
    first = 0
    state = x
    for i in _states(graph, nodes, moving):
        (end,) = nodes[i].outputs
        parts.append(_part(graph, tuple(nodes[first : i + 1]), state, end, moving))
        first = i + 1
        state = end
    return parts


def _states(graph: Graph, nodes: list[Node], moving: set[int]) -> list[int]:
    """Positions of the nodes whose output is a state: nothing made before them is used after them."""
    last = {slot.id: i for i, node in enumerate(nodes) for slot in node.inputs if slot.id in moving}
    last |= {slot.id: len(nodes) for slot in graph.outputs}
    (x,) = graph.argument(1)
    reach = last.get(x.id, -1)
    found = []
    for i, node in enumerate(nodes):
        if reach <= i and len(node.outputs) == 1:
            found.append(i)
        reach = max([reach, *(last.get(slot.id, i) for slot in node.outputs)])
    return found


def _part(
    graph: Graph, nodes: tuple[Node, ...], start: Slot, end: Slot, moving: set[int]
) -> GraphPart:
    """A residual part where the last node adds to (or subtracts from) the state before, else plain layers."""
    *inner, last = nodes
    if last.primitive in ("add", "add_any", "sub") and len(nodes) > 1:
        for skip, other, sign in ((0, 1, 1.0 if last.primitive != "sub" else -1.0), (1, 0, 1.0)):
            is_skip = _origin(graph, last.inputs[skip]).id == start.id
            if (
                is_skip
                and last.inputs[other].id in moving
                and not (skip and last.primitive == "sub")
            ):
                used = _select_needed(inner, last.inputs[other])
                return GraphPart(
                    used, start, last.inputs[other], *_still(graph, used, moving), True, sign
                )
    return GraphPart(nodes, start, end, *_still(graph, nodes, moving), False)


def _origin(graph: Graph, slot: Slot) -> Slot:
    node = graph.producers.get(slot.id)
    return (
        _origin(graph, node.inputs[0])
        if node is not None and node.primitive in IDENTITIES
        else slot
    )


def _select_needed(nodes: Sequence[Node], end: Slot) -> tuple[Node, ...]:
    live = {end.id}
    kept = list[Node]()
    for node in reversed(nodes):
        if any(slot.id in live for slot in node.outputs):
            live.update(slot.id for slot in node.inputs)
            kept.append(node)
    return tuple(kept[::-1])


def _still(
    graph: Graph, nodes: Sequence[Node], moving: set[int]
) -> tuple[tuple[Slot, ...], dict[int, Any]]:
    """What the nodes use besides the state: weights, and constants that are single numbers or no numbers at all."""
    slots = {slot.id: slot for node in nodes for slot in node.inputs if slot.id not in moving}
    fixed = {
        k: graph.constants[k]
        for k, slot in slots.items()
        if k in graph.constants and not (slot.is_real and slot.shape)
    }
    return tuple(slot for k, slot in slots.items() if k not in fixed), fixed


def _group_stages(parts: list[GraphPart]) -> list[Stage]:
    stages = list[Stage]()
    for part in parts:
        last = stages[-1].parts[-1] if stages else None
        if last is not None and part.residual and part.form == last.form:
            stages[-1] = Stage((*stages[-1].parts, part))
        elif last is not None and not part.residual and not last.residual:
            nodes = (*last.nodes, *part.nodes)
            weights = {s.id: s for s in (*last.weights, *part.weights)}
            fixed = {**last.fixed, **part.fixed}
            stages[-1] = Stage(
                (GraphPart(nodes, last.start, part.end, tuple(weights.values()), fixed, False),)
            )
        else:
            stages.append(Stage((part,)))
    return stages


def _kind(node: Node) -> Any:
    """JAX's own custom derivatives are known by their names; they are traced anew at every use."""
    if node.primitive in CUSTOM_CALLS and node.by_jax:
        return (
            node.primitive,
            node.label,
            tuple((slot.shape, str(slot.dtype)) for slot in node.inputs),
        )
    return node.kind if node.kind is not None else id(node)
