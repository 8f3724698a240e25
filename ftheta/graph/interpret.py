"""Every analysis is another interpretation of the same graph: one value type, one table of rules, one loop.

Forward, in the order of the nodes:     v_r = rule_r(v_s : s in Parent(r)).
Backward, in the reverse order:         a_s = sum over s in Parent(r) of rule_r(a_r)_s   (adjoints and their like).
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import jax

from ftheta.graph.errors import NoRule
from ftheta.graph.graph import Graph, Node, Slot

V = TypeVar("V")
Rule = Callable[..., Any]
MOST_KINDS = 4096
"""Kinds of nodes remembered by `shared_by_kind` before it forgets them all."""

Refine = Callable[[Graph], Callable[[Node, Mapping[int, Any], tuple[Any, ...]], tuple[Any, ...]]]


@dataclass(frozen=True)
class Domain:
    """A value type with a rule for each primitive.

    `lift(constant)` is the value of a constant. A rule `rule(node, *inputs)` returns the value of the output, or a
    sequence of values where the node has several outputs. `default` serves the primitives that are not in the table
    (only domains that are generic by nature have one). `refine(graph)` prepares a function that sees each node's
    result together with all earlier values and may sharpen it. `file` is where a missing rule belongs.
    """

    name: str
    file: str
    lift: Callable[[Any], Any]
    rules: Mapping[str, Rule]
    default: Rule | None = None
    refine: Refine | None = None

    def rule(self, node: Node) -> Rule:
        return find_rule(self.name, self.file, self.rules, node, self.default)


@dataclass(frozen=True)
class ReverseDomain:
    """A value type that flows backwards. A rule `rule(node, inputs, cotangents, wanted)` returns one contribution
    (or None) for each input; `cotangents` has None for outputs that nothing depends on."""

    name: str
    file: str
    rules: Mapping[str, Rule]
    add: Callable[[Any, Any], Any]
    zero: Callable[[Slot], Any]
    default: Rule | None = None

    def rule(self, node: Node) -> Rule:
        return find_rule(self.name, self.file, self.rules, node, self.default)


@dataclass(frozen=True, eq=False)
class Interpretation(Generic[V]):
    """The value of each slot; `result["u"]` by name, `result[slot]`, and `result.outputs` as the function's result."""

    graph: Graph
    domain: str
    values: Mapping[int, V]

    def __getitem__(self, key: Slot | str | int) -> V:
        slot = self.graph[key]
        if slot.id not in self.values:
            raise KeyError(
                f"{self.domain} has no value at {slot}: it is a constant or does not vary with the inputs"
            )
        return self.values[slot.id]

    def __contains__(self, key: Slot | str | int) -> bool:
        return self.graph[key].id in self.values

    @property
    def flat_outputs(self) -> tuple[V, ...]:
        return tuple(self[slot] for slot in self.graph.outputs)

    @property
    def outputs(self) -> Any:
        return jax.tree.unflatten(self.graph.signature.results, self.flat_outputs)

    @property
    def inputs(self) -> tuple[V, ...]:
        return tuple(self[slot] for slot in self.graph.inputs)


jax.tree_util.register_dataclass(
    Interpretation, data_fields=["values"], meta_fields=["graph", "domain"]
)


def forward(domain: Domain, graph: Graph, *inputs: Any) -> Interpretation:
    """Interpret the graph on one value of the domain for each input slot."""
    refine = domain.refine(graph) if domain.refine else None
    values: dict[int, Any] = {
        slot: domain.lift(constant) for slot, constant in graph.constants.items()
    }
    values.update((slot.id, value) for slot, value in zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        result = domain.rule(node)(node, *[values[slot.id] for slot in node.inputs])
        outputs = (result,) if len(node.outputs) == 1 else tuple(result)
        outputs = refine(node, values, outputs) if refine else outputs
        values.update((slot.id, value) for slot, value in zip(node.outputs, outputs, strict=True))
    return Interpretation(graph, domain.name, values)


def backward(
    domain: ReverseDomain, primal: Interpretation, seeds: Mapping[int, Any], active: frozenset[int]
) -> Interpretation:
    """One reverse sweep from the seeds (slot id → value) to every active slot."""
    graph = primal.graph
    total = dict(seeds)
    for node in reversed(graph.nodes):
        cotangents = [total.get(slot.id) for slot in node.outputs]
        wanted = tuple(slot.id in active for slot in node.inputs)
        if any(wanted) and any(c is not None for c in cotangents):
            inputs = [primal[slot] for slot in node.inputs]
            contributions = domain.rule(node)(node, inputs, cotangents, wanted)
            for slot, more in zip(node.inputs, contributions, strict=True):
                if more is not None:
                    total[slot.id] = domain.add(total[slot.id], more) if slot.id in total else more
    values = {i: total[i] if i in total else domain.zero(graph.slots[i]) for i in sorted(active)}
    return Interpretation(graph, domain.name, values)


def active_slots(graph: Graph, wrt: Iterable[Slot | str] | None = None) -> frozenset[int]:
    """Slots that carry a derivative: floating point, and downstream of `wrt` through differentiable nodes.

    Without `wrt`, every floating-point slot that is not a constant: each has a derivative of the outputs with
    respect to it, even where the path from the inputs is cut (an embedding's one-hot vector, `stop_gradient`).
    """
    if wrt is None:
        return frozenset(s.id for s in graph.slots if s.is_real and s.id not in graph.constants)
    active = {slot.id for slot in map(graph.__getitem__, wrt) if slot.is_real}
    for node in graph.nodes:
        if node.primitive != "stop_gradient" and any(slot.id in active for slot in node.inputs):
            active.update(slot.id for slot in node.outputs if slot.is_real)
    return frozenset(active)


def find_rule(
    domain: str, file: str, rules: Mapping[str, Rule], node: Node, default: Rule | None = None
) -> Rule:
    """The rule for the node's primitive, or `default`; without either, an error names domain, primitive and file."""
    rule = rules.get(node.primitive, default)
    if rule is None:
        raise missing_rule(domain, file, node)
    return rule


def missing_rule(domain: str, file: str, node: Node, use: str = "") -> NoRule:
    """The error of a missing rule; `use` narrows it to one use of a primitive that has a rule otherwise."""
    what = f"the domain {domain!r} has no rule for the primitive {node.primitive!r}" + (
        f" {use}" if use else ""
    )
    return NoRule(
        what,
        where=node.source,
        got=" ".join(map(str, node.inputs)),
        remedy=f"add one to the table in {file} (docs/graph.md shows how)",
    )


def precision(graph: Graph) -> contextlib.AbstractContextManager[Any]:
    """JAX's precision mode of the graph, for the time of a `with` block and this thread only."""
    return (
        contextlib.nullcontext()
        if jax.config.read("jax_enable_x64") == graph.x64
        else jax.enable_x64(graph.x64)
    )


def shared_by_kind(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make(node, *options)` made once for all nodes of a kind: what is compiled for one layer serves a hundred."""
    made: dict[Any, Any] = {}

    def make_once(node: Node, *options: Any) -> Any:
        if node.kind is None:
            return make(node, *options)
        key = (node.kind, options)
        found = made.get(key)
        if found is None:
            if len(made) >= MOST_KINDS:
                made.clear()
            made[key] = found = make(node, *options)
        return found

    return make_once


def each_output(node: Node, results: Sequence[Any]) -> Any:
    """What a rule returns: the value itself for one output, all of them for several."""
    return results[0] if len(node.outputs) == 1 else tuple(results)
