"""Operations of the reverse sweep, node by node.

A node with cotangent g contributes (d output / d input)^T g to each operand that is differentiated; a second
contribution to the same slot costs one addition an entry, in which a change of sign is included (`a -= t`). The local
derivative uses the values of the forward sweep: exp costs one multiplication (g·y), tanh two and a subtraction
(g·(1 − y·y)). An operand that was broadcast costs the additions that sum its copies. A custom derivative is
counted by its body.
"""

import math
from collections.abc import Callable, Sequence

from ftheta.graph.domains.operations import (
    ADDITION,
    FREE,
    MULTIPLICATION,
    OTHER,
    Cost,
    inner_length,
    powering,
)
from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import active_slots, find_rule
from ftheta.graph.primitives import STEPS, primitives

FILE = "ftheta/graph/domains/reverse_cost.py"
ReverseRule = Callable[[Node, Sequence[bool]], Cost]


def reverse_costs(graph: Graph, active: frozenset[int]) -> dict[int, Cost]:
    """Cost by node id; nodes off the path from the active inputs to a floating-point output cost nothing."""
    reached = {slot.id for slot in graph.outputs if slot.id in active}
    costs: dict[int, Cost] = {}
    for node in reversed(graph.nodes):
        wanted = [slot.id in active for slot in node.inputs]
        costs[node.id] = FREE
        if any(wanted) and any(slot.id in reached for slot in node.outputs):
            total = find_rule("reverse cost", FILE, RULES, node)(node, wanted)
            for slot, is_wanted in zip(node.inputs, wanted):
                total += ADDITION * slot.size if is_wanted and slot.id in reached else FREE
                reached.update([slot.id] if is_wanted else [])
            costs[node.id] = total
    return dict(sorted(costs.items()))


def entrywise(*units: Cost) -> ReverseRule:
    """Each operand's unit for each entry of the output, and the additions that undo its broadcasting."""

    def rule(node: Node, wanted: Sequence[bool]) -> Cost:
        size = node.outputs[0].size
        total = FREE
        for slot, unit, is_wanted in zip(node.inputs, units, wanted):
            total += unit * size + ADDITION * (size - slot.size) if is_wanted else FREE
        return total

    return rule


def _division(node: Node, wanted: Sequence[bool]) -> Cost:
    """t = g/b once; a += t; b −= t·y."""
    by_operand = entrywise(FREE, MULTIPLICATION)(node, wanted)
    return by_operand + OTHER * node.outputs[0].size


def _products(node: Node, wanted: Sequence[bool]) -> Cost:
    """One product of the same size for each operand: g·Bᵀ and Aᵀ·g."""
    products = node.outputs[0].size * inner_length(node)
    return sum(
        (Cost(products, max(products - slot.size, 0)) for slot, w in zip(node.inputs, wanted) if w),
        FREE,
    )


def integer_pow(node: Node, wanted: Sequence[bool]) -> Cost:
    """g · (n · x^(n−1))."""
    return (powering(node.params["y"] - 1) + MULTIPLICATION * 2) * node.outputs[0].size


def free(node: Node, wanted: Sequence[bool]) -> Cost:
    """The rule of primitives whose reverse pass computes nothing."""
    return FREE


def _copies(node: Node, wanted: Sequence[bool]) -> Cost:
    """The adjoint of repeating entries is their sum."""
    return ADDITION * max(node.outputs[0].size - node.inputs[0].size, 0)


def of_operand(unit: Cost) -> ReverseRule:
    """The rule of primitives whose reverse pass costs `unit` for each entry of the first operand."""
    return lambda node, wanted: unit * node.inputs[0].size


def windows(unit: Cost) -> ReverseRule:
    """The rule of pooling: the reverse pass costs `unit` for each entry of each window."""
    return lambda node, wanted: (
        unit * (node.outputs[0].size * math.prod(node.params["window_dimensions"]))
    )


def _body(node: Node, wanted: Sequence[bool]) -> Cost:
    return _of_graph(node.graphs[0], wanted)


def _of_graph(graph: Graph, wanted: Sequence[bool]) -> Cost:
    active = active_slots(graph, [slot for slot, w in zip(graph.inputs, wanted) if w])
    return sum(reverse_costs(graph, active).values(), FREE)


def _dearest_branch(node: Node, wanted: Sequence[bool]) -> Cost:
    return max((_of_graph(branch, wanted[1:]) for branch in node.graphs), key=lambda c: c.flops)


MUL = MULTIPLICATION
ADD = ADDITION
MOVES = STEPS | primitives(
    "reshape transpose squeeze slice rev concatenate split stack unstack pad dynamic_slice dynamic_update_slice "
    "scatter scatter-add copy stop_gradient convert_element_type sort reduce_sum"
)
PARTIALS: dict[str, tuple[Cost, ...]] = {
    **dict.fromkeys(("add", "add_any", "sub"), (FREE, FREE)),
    "neg": (FREE,),
    "mul": (MUL, MUL),
    "max": (OTHER, OTHER),
    "min": (OTHER, OTHER),
    "clamp": (OTHER, OTHER, OTHER),
    "abs": (OTHER,),
    "square": (MUL * 2,),
    "sqrt": (MUL + OTHER,),  # g / (2·y)
    "rsqrt": (MUL * 2 + OTHER,),  # −½·g·y / x
    "cbrt": (MUL * 2 + OTHER,),
    "pow": (MUL * 2 + ADD + OTHER, MUL * 2 + OTHER),  # g·b·x^(b−1),  g·y·log x
    "rem": (FREE, MUL + OTHER),
    "exp": (MUL,),
    "exp2": (MUL * 2,),
    "expm1": (MUL + ADD,),
    "log": (OTHER,),
    "log1p": (ADD + OTHER,),
    "tanh": (MUL * 2 + ADD,),
    "logistic": (MUL * 2 + ADD,),
    **dict.fromkeys(("erf", "erfc", "erf_inv"), (MUL * 3 + OTHER,)),
    **dict.fromkeys(("sin", "cos", "sinh", "cosh"), (MUL + OTHER,)),
    "tan": (MUL * 2 + ADD,),
    **dict.fromkeys(("atan", "atanh"), (MUL + ADD + OTHER,)),
    **dict.fromkeys(("asin", "acos", "asinh", "acosh"), (MUL + ADD + OTHER * 2,)),
    "atan2": (MUL * 3 + ADD + OTHER, MUL * 3 + ADD + OTHER),
}
"""Entry by entry: what it costs to multiply by the derivative with respect to each operand, in either direction."""

RULES: dict[str, ReverseRule] = {
    **dict.fromkeys(MOVES, free),
    **{name: entrywise(*units) for name, units in PARTIALS.items()},
    "select_n": lambda node, wanted: entrywise(*[FREE] * len(node.inputs))(node, wanted),
    "div": _division,
    "integer_pow": integer_pow,
    "broadcast_in_dim": _copies,
    "tile": _copies,
    "gather": lambda node, wanted: ADDITION * node.outputs[0].size,
    "top_k": lambda node, wanted: ADDITION * node.outputs[0].size,
    **dict.fromkeys(("reduce_max", "reduce_min", "cummax", "cummin"), of_operand(OTHER)),
    "reduce_prod": of_operand(MUL + OTHER),
    "cumsum": of_operand(ADD),
    "cumprod": of_operand(MUL * 2 + ADD + OTHER),
    "reduce_window_sum": windows(ADD),
    **dict.fromkeys(("reduce_window_max", "reduce_window_min"), windows(OTHER)),
    "dot_general": _products,
    "conv_general_dilated": _products,
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), _body),
    "cond": _dearest_branch,
}
