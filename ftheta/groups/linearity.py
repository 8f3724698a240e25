"""Is a program linear? Read off its graph: another interpretation, whose values are five words.

A value is `zero`, some other `constant`, `linear` in the inputs (without an offset), `affine` (with one), or `other`:
anything that the rules below do not recognise. Only primitives in the table can yield `linear`, so that the answer
`linear` is a proof about the program in real arithmetic, while `other` says nothing.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import jax
import numpy as np

from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Node
from ftheta.graph.interpret import Domain, forward
from ftheta.graph.jaxprs import trace
from ftheta.graph.primitives import SUMS, primitives
from ftheta.shapes import Real


class Kind(StrEnum):
    ZERO = "zero"
    CONSTANT = "constant"
    LINEAR = "linear"
    AFFINE = "affine"
    OTHER = "other"


FIXED = (Kind.ZERO, Kind.CONSTANT)


def _join(*kinds: Kind) -> Kind:
    """What a linear combination of such values is."""
    found = set(kinds)
    if Kind.OTHER in found:
        return Kind.OTHER
    if Kind.AFFINE in found or {Kind.LINEAR, Kind.CONSTANT} <= found:
        return Kind.AFFINE
    return (
        Kind.LINEAR
        if Kind.LINEAR in found
        else Kind.CONSTANT
        if Kind.CONSTANT in found
        else Kind.ZERO
    )


def _sum(node: Node, *kinds: Kind) -> Kind:
    return _join(*kinds)


def _product(node: Node, left: Kind, right: Kind) -> Kind:
    if Kind.ZERO in (left, right) and Kind.OTHER not in (left, right):
        return Kind.ZERO
    if left not in FIXED and right not in FIXED:
        return Kind.OTHER
    return right if left in FIXED else left


def _quotient(node: Node, above: Kind, below: Kind) -> Kind:
    return above if below in FIXED else Kind.OTHER


def _chosen(node: Node, which: Kind, *cases: Kind) -> Kind:
    return _join(*cases) if which in FIXED else Kind.OTHER


def _taken(node: Node, source: Kind, *places: Kind) -> Kind:
    return source if all(place in FIXED for place in places) else Kind.OTHER


def _written(node: Node, target: Kind, update: Kind, *places: Kind) -> Kind:
    return _join(target, update) if all(place in FIXED for place in places) else Kind.OTHER


def _scatter(node: Node, target: Kind, places: Kind, update: Kind) -> Kind:
    return _join(target, update) if places in FIXED else Kind.OTHER


def _cast(node: Node, kind: Kind) -> Kind:
    """Between floats, or from integers: from float to integer is rounding."""
    before = node.inputs[0].dtype
    after = node.outputs[0].dtype
    return kind if np.can_cast(before, after, "same_kind") or kind in FIXED else Kind.OTHER


def _inside(node: Node, *kinds: Kind) -> Any:
    """A call with a derivative of its own: what counts is what it computes."""
    (body,) = node.graphs
    results = forward(LINEARITY, body, *kinds[len(kinds) - len(body.inputs) :]).flat_outputs
    return results[0] if len(node.outputs) == 1 else results


def _unknown(node: Node, *kinds: Kind) -> Any:
    kind = Kind.CONSTANT if all(k in FIXED for k in kinds) else Kind.OTHER
    return kind if len(node.outputs) == 1 else (kind,) * len(node.outputs)


_SUMS = SUMS | primitives(
    "neg reduce_sum cumsum reduce_window_sum fft real imag copy name reshape transpose broadcast_in_dim squeeze "
    "expand_dims slice concatenate rev pad"
)
_RULES: dict[str, Callable[..., Any]] = dict.fromkeys(_SUMS, _sum) | {
    "mul": _product,
    "dot_general": _product,
    "conv_general_dilated": _product,
    "div": _quotient,
    "select_n": _chosen,
    "gather": _taken,
    "dynamic_slice": _taken,
    "dynamic_update_slice": _written,
    "scatter-add": _scatter,
    "convert_element_type": _cast,
    "custom_jvp_call": _inside,
    "custom_vjp_call": _inside,
}


def _lift(constant: Any) -> Kind:
    return Kind.CONSTANT if np.any(np.asarray(constant)) else Kind.ZERO


LINEARITY = Domain("linearity", "ftheta/groups/linearity.py", _lift, _RULES, default=_unknown)


def kind_of(f: Callable[[Any], Any], example: jax.ShapeDtypeStruct) -> Kind:
    """What `f` is as a function of its one argument; `other` also where it has no flat graph."""
    try:
        graph = trace(f, example)
        return _join(*forward(LINEARITY, graph, *[Kind.LINEAR] * len(graph.inputs)).flat_outputs)
    except GraphError:
        return Kind.OTHER


def superposition_gap(
    f: Callable[[Any], Any], x: Real[np.ndarray, "*shape"], y: Real[np.ndarray, "*shape"]
) -> float:
    """By how much f(2x − 3y) differs from 2f(x) − 3f(y), relative to the largest of these values."""
    a, b, c = (np.asarray(f(z), np.float64) for z in (x, y, 2 * x - 3 * y))
    size = max(float(np.abs(v).max(initial=0.0)) for v in (a, b, c)) or 1.0
    return float(np.nan_to_num(np.abs(c - 2 * a + 3 * b).max(initial=0.0) / size, nan=np.inf))
