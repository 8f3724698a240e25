"""Where a program has no derivative: values that are not finite, kinks and jumps, each with the node that has it.

Outputs constant in the inputs are no trouble, and a kink whose adjoint is zero is none either: if G is differentiable
with ∂₁G = 0 and r is Lipschitz, then G(r(x), x) is differentiable even where r is not. At a kink the sweeps use the
convention of JAX (the slope of relu at 0 is 0), which is one of many.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ftheta.graph.domains.interval import INTERVAL
from ftheta.graph.domains.values import VALUES
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import Interpretation, forward
from ftheta.graph.primitives import COMPARISONS, CUSTOM_CALLS
from ftheta.shapes import Bool

SMOOTH = frozenset({"logaddexp", "logaddexp2"})
"""Custom derivatives of smooth functions whose bodies have kinks that cancel."""

JUMPS = frozenset({"floor", "ceil", "round", "sign"})


def kinks(graph: Graph, value: Interpretation[Any], adjoint: Interpretation[Any]) -> list[Node]:
    """The nodes at a kink or jump that the outputs feel."""
    return [node for node in graph.nodes if _felt(node, value, adjoint)]


def not_finite(graph: Graph, value: Interpretation[Any]) -> list[Node]:
    """The nodes with a value that is not finite though their operands are: where NaN and infinity begin."""
    return [
        node
        for node in graph.nodes
        if not all(is_finite(value[s]) for s in node.outputs)
        and all(is_finite(value[s]) for s in node.inputs)
    ]


def _felt(node: Node, value: Interpretation[Any], adjoint: Interpretation[Any]) -> bool:
    at_kink = find_kinks(node, [np.asarray(value[slot]) for slot in node.inputs])
    if not at_kink.any():
        return False
    out = node.outputs[0]
    if (
        not out.is_real
        or node.primitive in JUMPS
        or at_kink.shape != out.shape
        or out not in adjoint
    ):
        return True  # a choice or a jump: the adjoint does not tell
    return bool((at_kink & (np.asarray(adjoint[out]) != 0)).any())


def find_kinks(node: Node, inputs: Sequence[np.ndarray]) -> Bool[np.ndarray, "*shape"]:
    """The entries at which the node, or a comparison in it, is at a kink or jump."""
    if node.primitive in CUSTOM_CALLS:
        return np.asarray(False if node.label in SMOOTH else _in_body(node, inputs))
    if node.primitive in (*COMPARISONS, "max", "min"):
        same = node.inputs[0] == node.inputs[1] or inputs[0].dtype.kind != "f"
        return np.asarray(False) if same else np.asarray(inputs[0] == inputs[1])
    if node.primitive in ("reduce_max", "reduce_min"):
        return _find_ties(node, inputs[0])
    return np.asarray(RULES[node.primitive](*inputs) if node.primitive in RULES else False)


RULES: Mapping[str, Any] = {
    "abs": lambda x: x == 0,
    "sign": lambda x: x == 0,
    "clamp": lambda lo, x, hi: (x == lo) | (x == hi),
    "floor": lambda x: x == np.floor(x),
    "ceil": lambda x: x == np.floor(x),
    "round": lambda x: x - np.floor(x) == 0.5,
}


def may_bend(graph: Graph, box: Interpretation[Any]) -> list[Node]:
    """The nodes that may be at a kink or jump somewhere in a box (an interpretation by intervals)."""
    return [node for node in graph.nodes if _may_bend(node, [box[slot] for slot in node.inputs])]


def _may_bend(node: Node, inputs: Sequence[Any]) -> bool:
    if node.primitive in CUSTOM_CALLS:
        if node.label in SMOOTH:
            return False
        try:
            (body,) = node.graphs
        except GraphError:
            return True
        return bool(
            may_bend(body, forward(INTERVAL, body, *inputs[len(inputs) - len(body.inputs) :]))
        )
    if node.primitive in (
        "reduce_max",
        "reduce_min",
        "sort",
        "cond",
        "reduce_window_max",
        "reduce_window_min",
    ):
        return True
    if node.primitive in (*COMPARISONS, "max", "min"):
        return node.inputs[0].is_real and node.inputs[0] != node.inputs[1] and _meet(*inputs)
    if node.primitive == "clamp":
        return _meet(inputs[0], inputs[1]) or _meet(inputs[1], inputs[2])
    if node.primitive in ("abs", "sign"):
        return bool(((inputs[0].lo <= 0) & (inputs[0].hi >= 0)).any())
    return node.primitive in JUMPS


def _meet(x: Any, y: Any) -> bool:
    return bool(((x.lo <= y.hi) & (y.lo <= x.hi)).any())


def _find_ties(node: Node, x: np.ndarray) -> np.ndarray:
    axes = tuple(node.params["axes"])
    best = (np.max if node.primitive == "reduce_max" else np.min)(x, axes, keepdims=True)
    return np.asarray((x == best).sum(axes) > 1)


def _in_body(node: Node, inputs: Sequence[np.ndarray]) -> np.ndarray:
    try:
        (body,) = node.graphs
    except GraphError:  # a loop that only its user knows how to differentiate
        return np.asarray(False)
    inner = forward(VALUES, body, *inputs[len(inputs) - len(body.inputs) :])
    masks = [find_kinks(n, [np.asarray(inner[s]) for s in n.inputs]) for n in body.nodes]
    whole = np.zeros(node.shape, bool)
    for mask in masks:
        whole = whole | (mask if mask.shape == node.shape else mask.any())
    return whole


def is_finite(x: Any) -> bool:
    """Whether all entries are finite; entries that are not floats are."""
    array = np.asarray(x)
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())
