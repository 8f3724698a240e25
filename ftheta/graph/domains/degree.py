"""The degree of each slot as a polynomial in the inputs: an upper bound by its program, or None where there is none.

Sums take the larger degree, products the sum of both, whole powers a multiple; what moves entries keeps it. Whatever
else touches an input (a comparison, an exponential, a derivative of the user's own) makes no polynomial that can be
read off. The bound is one of the real function that the graph denotes: x⁴ − x⁴ has degree 0, and at most 4 here.
"""

from typing import Any

from ftheta.graph.domains.interval import moves
from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import Domain, Rule, each_output, forward

FILE = "ftheta/graph/domains/degree.py"
Degree = int | None


def degree(graph: Graph) -> Degree:
    """The largest degree among the outputs, in all inputs that are real; None if one may be no polynomial."""
    inputs = [1 if slot.is_real else None for slot in graph.inputs]
    return _largest(*forward(DEGREE, graph, *inputs).flat_outputs)


def _largest(*degrees: Degree) -> Degree:
    known = [d for d in degrees if d is not None]
    return max(known, default=0) if len(known) == len(degrees) else None


def _total(*degrees: Degree) -> Degree:
    known = [d for d in degrees if d is not None]
    return sum(known) if len(known) == len(degrees) else None


def _unknown(node: Node, *degrees: Degree) -> Any:
    """A function of constants is a constant; of anything else nothing is known."""
    found = 0 if all(d == 0 for d in degrees) else None
    return each_output(node, [found] * len(node.outputs))


def _sum(node: Node, *degrees: Degree) -> Degree:
    return _largest(*degrees)


def _product(node: Node, *degrees: Degree) -> Degree:
    return _total(*degrees)


def _quotient(node: Node, top: Degree, bottom: Degree) -> Any:
    real = node.inputs[0].is_real
    return top if real and bottom == 0 else _unknown(node, top, bottom)


def _power(node: Node, base: Degree) -> Any:
    exponent = node.params["y"]
    return _unknown(node, base) if base is None or exponent < 0 else base * exponent


def _convert_degree(node: Node, x: Degree) -> Any:
    """Between float types the identity; a rounded or compared number is no polynomial."""
    return x if node.inputs[0].is_real and node.outputs[0].is_real else _unknown(node, x)


def _move_entries(node: Node, *degrees: Degree) -> Any:
    """Entries of the real operands in places that do not depend on the inputs."""
    places = [d for slot, d in zip(node.inputs, degrees) if not slot.is_real]
    if any(d != 0 for d in places):
        return _unknown(node, *degrees)
    return each_output(node, [_largest(*degrees)] * len(node.outputs))


def _chosen(node: Node, which: Degree, *cases: Degree) -> Any:
    return _largest(*cases) if which == 0 else _unknown(node, which, *cases)


RULES: dict[str, Rule] = {
    **dict.fromkeys(moves.RULES, _move_entries),
    **dict.fromkeys(
        ("add", "add_any", "sub", "neg", "reduce_sum", "cumsum", "reduce_window_sum", "copy"), _sum
    ),
    **dict.fromkeys(("mul", "dot_general", "conv_general_dilated"), _product),
    "square": lambda node, x: _total(x, x),
    "integer_pow": _power,
    "div": _quotient,
    "select_n": _chosen,
    "convert_element_type": _convert_degree,
}

DEGREE = Domain(name="degree", file=FILE, lift=lambda constant: 0, rules=RULES, default=_unknown)
