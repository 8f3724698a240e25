"""What primitives have in common, whatever the domain."""

from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node


def primitives(names: str) -> frozenset[str]:
    """The primitives of this line, for tables that are read as text."""
    return frozenset(names.split())


IDENTITIES = primitives("copy stop_gradient")
"""Primitives that return their operand as it is."""

COMPARISONS = primitives("lt le gt ge eq ne")
CONNECTIVES = primitives("and or not xor")
SUMS = primitives("add add_any sub")
EXTREMA = primitives("max min clamp")
STEPS = primitives("sign floor ceil round")
POWERS = primitives("square integer_pow pow sqrt rsqrt cbrt")
EXPONENTIALS = primitives("exp exp2 expm1 log log1p logistic tanh sinh cosh asinh acosh atanh")
ANGLES = primitives("sin cos tan asin acos atan atan2")
ERROR_FUNCTIONS = primitives("erf erfc erf_inv")
TRANSCENDENTAL = EXPONENTIALS | ANGLES | ERROR_FUNCTIONS

ELEMENTWISE = (
    COMPARISONS | CONNECTIVES | SUMS | EXTREMA | STEPS | POWERS | TRANSCENDENTAL | IDENTITIES
) | primitives("mul div neg abs rem is_finite select_n convert_element_type")
"""Primitives whose output entry depends on the same entry of the operands only (scalars broadcast)."""

PARTIAL = primitives("div integer_pow pow sqrt rsqrt log log1p asin acos acosh atanh erf_inv")
"""Real functions that are not defined everywhere."""

MOVES = primitives(
    "reshape transpose slice pad broadcast_in_dim concatenate gather dynamic_slice dynamic_update_slice rev squeeze "
    "expand_dims split stack unstack copy copy_p scatter"
)
"""Primitives whose outputs are entries of their inputs, in another order."""

UNROUNDED = (MOVES | EXTREMA | STEPS) | primitives(
    "neg abs reduce_max reduce_min cummax cummin sort top_k select_n stop_gradient iota reduce_window_max "
    "reduce_window_min real optimization_barrier"
)
"""Primitives whose float results are exact."""

CUSTOM_CALLS = primitives("custom_jvp_call custom_vjp_call")


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
