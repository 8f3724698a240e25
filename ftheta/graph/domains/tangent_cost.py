"""Operations of one pass of forward mode, node by node: the tangents, given the values.

A node multiplies the tangent of each moving operand by its local derivative, which costs what it costs in the reverse
sweep, and adds the products. A linear node costs what its value costs.
"""

from collections.abc import Callable, Sequence

from ftheta.graph.domains.operations import ADDITION, FREE, MULTIPLICATION, OTHER, Cost
from ftheta.graph.domains.reverse_cost import PARTIALS, free, integer_pow, of_operand, windows
from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import active_slots, find_rule
from ftheta.graph.primitives import STEPS, primitives

FILE = "ftheta/graph/domains/tangent_cost.py"
ForwardCost = Callable[[Node], Cost]
TangentRule = Callable[[Node, Sequence[bool], ForwardCost], Cost]


def tangent_costs(
    graph: Graph, active: frozenset[int], forward_cost: ForwardCost
) -> dict[int, Cost]:
    """Cost by node id; nodes that do not move with the active inputs cost nothing."""
    costs: dict[int, Cost] = {}
    for node in graph.nodes:
        moving = [slot.id in active for slot in node.inputs]
        moves = any(moving) and any(slot.id in active for slot in node.outputs)
        costs[node.id] = (
            find_rule("tangent cost", FILE, RULES, node)(node, moving, forward_cost)
            if moves
            else FREE
        )
    return costs


def _sums(node: Node, moving: Sequence[bool]) -> Cost:
    """The additions that join the products of several moving operands."""
    return ADDITION * (node.outputs[0].size * max(sum(moving) - 1, 0))


def _entrywise(*units: Cost) -> TangentRule:
    def rule(node: Node, moving: Sequence[bool], forward_cost: ForwardCost) -> Cost:
        products = sum((unit for unit, m in zip(units, moving) if m), FREE)
        return products * node.outputs[0].size + _sums(node, moving)

    return rule


def _division(node: Node, moving: Sequence[bool], forward_cost: ForwardCost) -> Cost:
    """(ȧ − y·ḃ) / b."""
    by_b = MULTIPLICATION * node.outputs[0].size if moving[1] else FREE
    return by_b + OTHER * node.outputs[0].size + _sums(node, moving)


def _products(node: Node, moving: Sequence[bool], forward_cost: ForwardCost) -> Cost:
    """Ȧ·B + A·Ḃ."""
    return forward_cost(node) * sum(moving) + _sums(node, moving)


def _linear(node: Node, moving: Sequence[bool], forward_cost: ForwardCost) -> Cost:
    return forward_cost(node)


def _as_reverse(rule: Callable[[Node, Sequence[bool]], Cost]) -> TangentRule:
    return lambda node, moving, forward_cost: rule(node, moving)


def _of_graph(graph: Graph, moving: Sequence[bool], forward_cost: ForwardCost) -> Cost:
    active = active_slots(graph, [slot for slot, m in zip(graph.inputs, moving) if m])
    return sum(tangent_costs(graph, active, forward_cost).values(), FREE)


def _body(node: Node, moving: Sequence[bool], forward_cost: ForwardCost) -> Cost:
    return _of_graph(node.graphs[0], moving, forward_cost)


def _dearest_branch(node: Node, moving: Sequence[bool], forward_cost: ForwardCost) -> Cost:
    return max((_of_graph(g, moving[1:], forward_cost) for g in node.graphs), key=lambda c: c.flops)


MOVES = STEPS | primitives(
    "reshape transpose broadcast_in_dim squeeze tile slice rev concatenate split stack unstack pad gather "
    "dynamic_slice dynamic_update_slice scatter copy stop_gradient convert_element_type select_n sort top_k"
)
RULES: dict[str, TangentRule] = {
    **dict.fromkeys(MOVES, _as_reverse(free)),
    **{name: _entrywise(*units) for name, units in PARTIALS.items()},
    "div": _division,
    "integer_pow": _as_reverse(integer_pow),
    **dict.fromkeys(("reduce_sum", "cumsum", "reduce_window_sum", "scatter-add"), _linear),
    **dict.fromkeys(
        ("reduce_max", "reduce_min", "cummax", "cummin"), _as_reverse(of_operand(OTHER))
    ),
    "reduce_prod": _as_reverse(of_operand(MULTIPLICATION + OTHER + ADDITION)),  # Σ y/xᵢ·ẋᵢ
    "cumprod": _as_reverse(of_operand(MULTIPLICATION * 2 + ADDITION + OTHER)),
    **dict.fromkeys(("reduce_window_max", "reduce_window_min"), _as_reverse(windows(OTHER))),
    **dict.fromkeys(("dot_general", "conv_general_dilated"), _products),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _body),
    "cond": _dearest_branch,
}
