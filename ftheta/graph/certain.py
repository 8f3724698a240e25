"""What a program is for certain, read off its graph: a polynomial, continuous, smooth, bounded over all of space.

Each answer is a proof about the real function that the graph denotes, or says that there is none: a primitive that is
not in a list below, a derivative of the user's own or a rule that is missing never counts in favour.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.degree import degree
from ftheta.graph.domains.interval import INTERVAL, Interval, intervals, moves
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import forward
from ftheta.graph.jaxprs import trace
from ftheta.graph.primitives import CUSTOM_CALLS, EXTREMA, POWERS, SUMS, TRANSCENDENTAL, primitives

SMOOTH_CALLS = frozenset({"logaddexp", "logaddexp2", "silu", "softplus"})
"""Custom derivatives of JAX that are those of a smooth function."""

CONTINUOUS_CALLS = SMOOTH_CALLS | {"relu", "relu6"}

SMOOTH_PRIMITIVES = (SUMS | POWERS | (TRANSCENDENTAL - {"atan2"}) | set(moves.RULES)) | primitives(
    "mul div neg copy convert_element_type reduce_sum reduce_prod cumsum reduce_window_sum dot_general "
    "conv_general_dilated"
)
"""Where they are defined and finite; `pole_free` asks where that is."""

CONTINUOUS_PRIMITIVES = (SMOOTH_PRIMITIVES | EXTREMA) | primitives(
    "abs reduce_max reduce_min cummax cummin sort"
)

POLES: dict[str, Callable[..., Any]] = {
    "div": lambda x, y: _holds(y, 0.0),
    "tan": lambda x: np.asarray(True),
    "log": lambda x: x.lo <= 0,
    "log1p": lambda x: x.lo <= -1,
    "rsqrt": lambda x: x.lo <= 0,
    "pow": lambda x, y: (x.lo < 0) | ((x.lo <= 0) & (y.lo <= 0)),
    "atanh": lambda x: (x.lo <= -1) | (x.hi >= 1),
    "erf_inv": lambda x: (x.lo <= -1) | (x.hi >= 1),
}
"""Where a primitive may have a pole, on operands that lie in these intervals."""

VERTICAL: dict[str, Callable[..., Any]] = {
    "sqrt": lambda x: x.lo <= 0,
    "cbrt": lambda x: _holds(x, 0.0),
    "pow": lambda x, y: x.lo <= 0,
    "asin": lambda x: (x.lo <= -1) | (x.hi >= 1),
    "acos": lambda x: (x.lo <= -1) | (x.hi >= 1),
    "acosh": lambda x: x.lo <= 1,
}
"""Where a primitive may have no finite derivative though it has a value."""


KINKS: dict[str, Callable[..., Any]] = {
    "abs": lambda x: _holds(x, 0.0),
    "relu": lambda x: _holds(x, 0.0),
    "relu6": lambda x: _holds(x, 0.0) | _holds(x, 6.0),
    "max": lambda x, y: _meet(x, y),
    "min": lambda x, y: _meet(x, y),
    "clamp": lambda lo, x, hi: _meet(lo, x) | _meet(x, hi),
    **dict.fromkeys(
        ("reduce_max", "reduce_min", "cummax", "cummin", "sort"), lambda x: np.asarray(True)
    ),
}
"""Where what is continuous may have a kink."""


def polynomial_degree(f: Callable[..., Any], *example: Any) -> int | None:
    """An upper bound of the degree of f in all its arguments, if its program is one of a polynomial."""
    graph = _graph(f, *example)
    return None if graph is None else degree(graph)


def is_continuous(graph: Graph) -> bool:
    """Whether no part of the program can jump where its values are finite, and each derivative is JAX's own."""
    return _made_of(graph, CONTINUOUS_PRIMITIVES, CONTINUOUS_CALLS)


def is_smooth(graph: Graph) -> bool:
    """Whether every part of the program is smooth where its derivatives are finite, and each derivative is JAX's."""
    return _made_of(graph, SMOOTH_PRIMITIVES, SMOOTH_CALLS)


def is_smooth_function(f: Callable[..., Any], *example: Any) -> bool:
    """Whether the program of `f`, traced at `example`, is made of smooth primitives alone; False if it cannot be
    traced."""
    graph = _graph(f, *example)
    return graph is not None and is_smooth(graph)


def _made_of(graph: Graph, primitives: frozenset[str], calls: frozenset[str]) -> bool:
    varying = {slot.id for slot in graph.inputs}
    for node in graph.nodes:
        if not any(slot.id in varying for slot in node.inputs):
            continue
        varying.update(slot.id for slot in node.outputs)
        if node.primitive in CUSTOM_CALLS:
            known = node.by_jax and node.label in calls
        else:
            known = (
                node.primitive in primitives
                and _real_where_it_varies(node, varying)
                and not _carries_along(node)
            )
        if not known:
            return False
    return True


def _real_where_it_varies(node: Node, varying: set[int]) -> bool:
    """No whole number or truth value depends on the inputs: an index or a choice that does may jump."""
    touched = [slot for slot in (*node.inputs, *node.outputs) if slot.id in varying]
    return all(slot.is_real for slot in touched)


def _carries_along(node: Node) -> bool:
    """Whether values are sorted by others: they jump where two of these change places."""
    return node.primitive == "sort" and len(node.inputs) > 1


def is_pole_free(graph: Graph, lo: Any, hi: Any) -> bool:
    """Whether no operation of a program of one argument has a pole on the box [lo, hi], whose ends may be infinite."""
    try:
        boxes = intervals(graph, Interval(np.asarray(lo, np.float64), np.asarray(hi, np.float64)))
        return not _poles(graph, [boxes[slot] for slot in graph.inputs])
    except GraphError:
        return False


def is_smooth_at(graph: Graph, *point: Any) -> bool:
    """Whether the program is smooth near a point: smooth operations, away from their poles and vertical tangents."""
    box = _values_without_poles(graph, point) if is_smooth(graph) else None
    if box is None:
        return False
    steep = [
        (VERTICAL[n.primitive], [box[s] for s in n.inputs])
        for n in graph.nodes
        if n.primitive in VERTICAL
    ]
    return not any(bool(np.any(rule(*operands))) for rule, operands in steep)


def is_differentiable_at(graph: Graph, *point: Any) -> bool:
    """Whether the derivative of the program at a point is that of the function: a continuous program whose kinks,
    vertical tangents and poles are elsewhere. On a kink that of the program need be none of the function (of
    2r(x) − 2r(−x) − x, which is x, it is −1 at 0)."""
    box = _values_without_poles(graph, point) if is_continuous(graph) else None
    if box is None:
        return False
    return not any(_bends(node, [box[slot] for slot in node.inputs]) for node in graph.nodes)


def _values_without_poles(graph: Graph, point: tuple[Any, ...]) -> Any:
    """Enclosures of all values at a point; None where an operation has a pole there or is not known."""
    try:
        inputs = [Interval.point(np.asarray(value, np.float64)) for value in point]
        found = forward(INTERVAL, graph, *inputs)
        return None if _poles(graph, inputs) else found
    except GraphError:
        return None


def _bends(node: Node, inputs: Sequence[Any]) -> bool:
    """Whether a node of a continuous program may have no derivative on these operands."""
    if not all(slot.is_real for slot in node.inputs):
        return False
    name = node.label if node.primitive in CUSTOM_CALLS else node.primitive
    rule = VERTICAL.get(name) or KINKS.get(name)
    return rule is not None and bool(np.any(rule(*inputs)))


def _poles(graph: Graph, inputs: Sequence[Any]) -> bool:
    box = forward(INTERVAL, graph, *inputs)
    return any(_has_pole(node, [box[slot] for slot in node.inputs]) for node in graph.nodes)


def _has_pole(node: Node, inputs: Sequence[Any]) -> bool:
    if node.primitive in CUSTOM_CALLS:
        if node.by_jax and node.label in CONTINUOUS_CALLS:
            return False
        (inner,) = node.graphs
        return _poles(inner, inputs[len(inputs) - len(inner.inputs) :])
    if node.primitive == "integer_pow":
        return node.params["y"] < 0 and bool(np.any(_holds(inputs[0], 0.0)))
    if node.primitive == "cond":
        return True
    rule = POLES.get(node.primitive)
    return rule is not None and node.inputs[0].is_real and bool(np.any(rule(*inputs)))


def _meet(x: Interval, y: Interval) -> np.ndarray:
    return np.asarray((x.lo <= y.hi) & (y.lo <= x.hi))


def _holds(x: Interval, value: float) -> np.ndarray:
    return np.asarray((x.lo <= value) & (x.hi >= value))


def bounds_over(f: Callable[[Any], Any], lo: Any, hi: Any) -> Interval | None:
    """An enclosure of all values of f on the box [lo, hi], whose ends may be infinite; None where there is no rule."""
    low = np.asarray(lo, np.float64)
    high = np.asarray(hi, np.float64)
    graph = _graph(f, jax.ShapeDtypeStruct(low.shape, np.float64))
    if graph is None:
        return None
    try:
        return intervals(graph, Interval(low, high)).outputs
    except GraphError:
        return None


def _graph(f: Callable[..., Any], *example: Any) -> Graph | None:
    try:
        with jax.enable_x64(True):
            return trace(f, *example, fold_rounded=False)
    except (GraphError, TypeError, ValueError):
        return None
