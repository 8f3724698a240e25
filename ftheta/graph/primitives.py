"""What primitives have in common, whatever the domain."""

from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node

IDENTITIES = frozenset({"copy", "stop_gradient"})
"""Primitives that return their operand as it is."""

COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})

ELEMENTWISE = frozenset(
    (
        *(
            "add",
            "add_any",
            "sub",
            "mul",
            "div",
            "neg",
            "abs",
            "sign",
            "max",
            "min",
            "clamp",
            "square",
            "sqrt",
        ),
        *(
            "rsqrt",
            "cbrt",
            "integer_pow",
            "pow",
            "rem",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log1p",
            "tanh",
        ),
        *(
            "logistic",
            "erf",
            "erfc",
            "erf_inv",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "atan2",
            "sinh",
        ),
        *(
            "cosh",
            "asinh",
            "acosh",
            "atanh",
            "floor",
            "ceil",
            "round",
            "is_finite",
            "and",
            "or",
            "not",
            "xor",
        ),
        *(
            "select_n",
            "lt",
            "le",
            "gt",
            "ge",
            "eq",
            "ne",
            "convert_element_type",
            "copy",
            "stop_gradient",
        ),
    )
)
"""Primitives whose output entry depends on the same entry of the operands only (scalars broadcast)."""

PARTIAL = frozenset(
    (
        "log",
        "log1p",
        "sqrt",
        "rsqrt",
        "pow",
        "asin",
        "acos",
        "acosh",
        "atanh",
        "erf_inv",
        "div",
        "integer_pow",
    )
)
"""Real functions that are not defined everywhere."""

MOVES = (
    *(
        "reshape",
        "transpose",
        "slice",
        "pad",
        "broadcast_in_dim",
        "concatenate",
        "gather",
        "dynamic_slice",
    ),
    *(
        "dynamic_update_slice",
        "rev",
        "squeeze",
        "expand_dims",
        "split",
        "stack",
        "unstack",
        "copy",
        "copy_p",
        "scatter",
    ),
)
"""Primitives whose outputs are entries of their inputs, in another order."""

UNROUNDED = frozenset(
    (
        *MOVES,
        *(
            "neg",
            "abs",
            "max",
            "min",
            "clamp",
            "reduce_max",
            "reduce_min",
            "cummax",
            "cummin",
            "sort",
            "sign",
            "floor",
        ),
        *(
            "ceil",
            "round",
            "select_n",
            "stop_gradient",
            "iota",
            "reduce_window_max",
            "reduce_window_min",
            "top_k",
        ),
        *("real", "optimization_barrier"),
    )
)
"""Primitives whose float results are exact."""

CUSTOM_CALLS = frozenset({"custom_jvp_call", "custom_vjp_call"})


def is_elementwise(node: Node) -> bool:
    """Entry by entry, also where the node is a custom derivative with such a body."""
    if node.primitive in CUSTOM_CALLS:
        try:
            return all(_is_elementwise_graph(graph) for graph in node.graphs)
        except GraphError:  # the body has no flat graph: not one to look into
            return False
    return node.primitive in ELEMENTWISE


def _is_elementwise_graph(graph: Graph) -> bool:
    return all(is_elementwise(node) for node in graph.nodes)


def body(node: Node) -> Graph:
    """The body of a custom derivative."""
    (graph,) = node.graphs
    return graph
