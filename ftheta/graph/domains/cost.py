"""Floating-point operations of each node: forward, in the reverse sweep, and in a pass of tangents.

Conventions, the same forward and backward: one operation is one; moving entries is free; selecting is free, comparing
is not; a product of matrices with inner length k costs k multiplications and k − 1 additions an entry; nodes that
touch no floating-point number cost nothing. A primitive without an entry in the tables raises `NoRule`.
The rules of the reverse sweep are in `reverse_cost.py`, those of a pass of forward mode in `tangent_cost.py`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from ftheta.graph.domains.operations import (
    ADDITION,
    FREE,
    MULTIPLICATION,
    OTHER,
    Cost,
    inner_length,
    powering,
)
from ftheta.graph.domains.reverse_cost import reverse_costs
from ftheta.graph.domains.tangent_cost import tangent_costs
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import Domain, Rule, active_slots
from ftheta.graph.primitives import COMPARISONS, CONNECTIVES, STEPS, TRANSCENDENTAL, primitives

FILE = "ftheta/graph/domains/cost.py"


@dataclass(frozen=True, eq=False)
class CostReport:
    """Cost of each node (by id): its value, its part of the reverse sweep, its part of one pass of tangents."""

    graph: Graph
    forward: Mapping[int, Cost]
    reverse: Mapping[int, Cost]
    tangent: Mapping[int, Cost]

    @cached_property
    def forward_total(self) -> Cost:
        return sum(self.forward.values(), FREE)

    @cached_property
    def reverse_total(self) -> Cost:
        return sum(self.reverse.values(), FREE)

    @cached_property
    def tangent_total(self) -> Cost:
        return sum(self.tangent.values(), FREE)

    @property
    def ratio(self) -> float:
        """(forward + reverse) / forward: at most 5 for arithmetic programs (Baur–Strassen, Griewank)."""
        forward = self.forward_total.flops
        return (forward + self.reverse_total.flops) / forward if forward else math.nan


def cost(graph: Graph, wrt: Iterable[Slot | str] | None = None) -> CostReport:
    """The cost of the graph and of differentiating it with respect to the inputs `wrt` (by default all of them)."""
    active = active_slots(graph, graph.inputs if wrt is None else wrt)
    forward = MappingProxyType({node.id: forward_cost(node) for node in graph.nodes})
    reverse = MappingProxyType(reverse_costs(graph, active))
    return CostReport(
        graph, forward, reverse, MappingProxyType(tangent_costs(graph, active, forward_cost))
    )


def forward_cost(node: Node) -> Cost:
    """The operations of one node in a forward pass; index arithmetic is free."""
    if not any(slot.is_real for slot in (*node.inputs, *node.outputs)):
        return FREE
    return COST.rule(node)(node)


def total_cost(graph: Graph) -> Cost:
    """The operations of a forward pass through the graph."""
    return sum(map(forward_cost, graph.nodes), FREE)


def _entries(node: Node) -> int:
    return node.outputs[0].size


def _each_entry(unit: Cost) -> Rule:
    return lambda node: unit * _entries(node)


def _products(node: Node) -> Cost:
    terms = inner_length(node)
    return Cost(_entries(node) * terms, _entries(node) * max(terms - 1, 0))


def _reduction(unit: Cost) -> Rule:
    return lambda node: unit * max(node.inputs[0].size - _entries(node), 0)


def _cumulative(unit: Cost) -> Rule:
    def rule(node: Node) -> Cost:
        length = node.shape[node.params["axis"]]
        return unit * (_entries(node) // max(length, 1) * max(length - 1, 0))

    return rule


def _window(unit: Cost) -> Rule:
    return lambda node: unit * (_entries(node) * (math.prod(node.params["window_dimensions"]) - 1))


def _sorting(node: Node) -> Cost:
    """About n log₂ n comparisons per row of length n."""
    length = node.inputs[0].shape[node.params.get("dimension", -1)]
    return OTHER * (node.inputs[0].size * max(math.ceil(math.log2(max(length, 1))), 0))


def _body(node: Node) -> Cost:
    return total_cost(node.graphs[0])


def _dearest_branch(node: Node) -> Cost:
    return max(map(total_cost, node.graphs), key=lambda c: c.flops)


MOVES = CONNECTIVES | primitives(
    "reshape transpose broadcast_in_dim squeeze tile slice rev concatenate split stack unstack pad gather "
    "dynamic_slice dynamic_update_slice scatter iota copy stop_gradient convert_element_type select_n is_finite"
)
SINGLE = (COMPARISONS | STEPS | TRANSCENDENTAL) | primitives(
    "div neg abs max min pow sqrt rsqrt cbrt rem"
)
RULES: dict[str, Rule] = {
    **dict.fromkeys(MOVES, _each_entry(FREE)),
    **dict.fromkeys(SINGLE, _each_entry(OTHER)),
    **dict.fromkeys(("add", "add_any", "sub"), _each_entry(ADDITION)),
    **dict.fromkeys(("mul", "square"), _each_entry(MULTIPLICATION)),
    "clamp": _each_entry(OTHER * 2),
    "integer_pow": lambda node: powering(node.params["y"]) * _entries(node),
    "dot_general": _products,
    "conv_general_dilated": _products,
    "reduce_sum": _reduction(ADDITION),
    "reduce_prod": _reduction(MULTIPLICATION),
    **dict.fromkeys(("reduce_max", "reduce_min", "argmax", "argmin"), _reduction(OTHER)),
    **dict.fromkeys(("reduce_and", "reduce_or"), _each_entry(FREE)),
    "cumsum": _cumulative(ADDITION),
    "cumprod": _cumulative(MULTIPLICATION),
    **dict.fromkeys(("cummax", "cummin"), _cumulative(OTHER)),
    "reduce_window_sum": _window(ADDITION),
    **dict.fromkeys(("reduce_window_max", "reduce_window_min"), _window(OTHER)),
    **dict.fromkeys(("sort", "top_k"), _sorting),
    "scatter-add": lambda node: ADDITION * node.inputs[2].size,
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _body),
    "cond": _dearest_branch,
}

COST = Domain(name="cost", file=FILE, lift=lambda constant: FREE, rules=RULES)
