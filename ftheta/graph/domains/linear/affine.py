"""Primitives that are linear in their operands, or in one of them with the others constant: their maps."""

from collections.abc import Callable, Sequence

import numpy as np

from ftheta.graph.domains.interval.arithmetic import div
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.moves import loses_updates, places_of
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.maps import (
    LinearMap,
    Weights,
    contraction,
    cumulative_sum,
    identity,
    negate,
    scaling,
    spread_out,
    summation,
)
from ftheta.graph.domains.linear.moves import (
    cut_out,
    flip,
    keep_where,
    place_along,
    repeat,
    reshape,
    scatter_sum,
    slice_of,
    taken_by_node,
    taken_from,
    transpose,
)
from ftheta.graph.domains.linear.windows import convolution, window_sum
from ftheta.graph.graph import Node
from ftheta.graph.layout import MOVES

Known = Sequence[Interval | None]
"""For each operand its enclosure if it does not depend on the inputs, else None."""

Terms = list[tuple[int, LinearMap]]
"""v = Σ L·(operand): the places of the operands, each with its map."""

Rule = Callable[[Node, int, Known], Terms | None]
"""Of a node, the number of one of its outputs, and what is known: None where the output is not linear."""


def linear_terms(node: Node, output: int, known: Known) -> Terms | None:
    """The maps whose sum is an output of the node; None where it is no linear function of what varies."""
    rule = RULES.get(node.primitive)
    if rule is None or not node.outputs[output].is_real:
        return None
    terms = rule(node, output, known)
    if terms is None or not all(node.inputs[place].is_real for place, _ in terms):
        return None
    return terms


def _operand(node: Node, place: int) -> LinearMap:
    return spread_out(node.inputs[place].shape, node.shape)


def _add(node: Node, output: int, known: Known) -> Terms:
    return [(0, _operand(node, 0)), (1, _operand(node, 1))]


def _subtract(node: Node, output: int, known: Known) -> Terms:
    if node.inputs[0] == node.inputs[1]:
        return []
    return [(0, _operand(node, 0)), (1, negate(_operand(node, 1)))]


def _multiply(node: Node, output: int, known: Known) -> Terms | None:
    for place, factor in ((0, known[1]), (1, known[0])):
        if factor is not None:
            return [(place, scaling(Weights.of(factor), node.inputs[place].shape, node.shape))]
    return None


@np.errstate(all="ignore")
def _divide(node: Node, output: int, known: Known) -> Terms | None:
    divisor = known[1]
    if divisor is None:
        return None
    inverse = div(Interval.point(np.ones(divisor.shape)), divisor)
    return [(0, scaling(Weights.of(inverse), node.inputs[0].shape, node.shape))]


def _contract(node: Node, output: int, known: Known) -> Terms | None:
    for place, factor in ((0, known[1]), (1, known[0])):
        if factor is not None:
            return [(place, contraction(node, place, Weights.of(factor)))]
    return None


def _convolve(node: Node, output: int, known: Known) -> Terms | None:
    kernel = known[1]
    if kernel is None or node.params["batch_group_count"] != 1:
        return None
    return [(0, convolution(node, Weights.of(kernel)))]


def _convert(node: Node, output: int, known: Known) -> Terms | None:
    return [(0, identity())] if node.inputs[0].is_real and node.outputs[0].is_real else None


def _concatenate(node: Node, output: int, known: Known) -> Terms:
    axis = node.params["dimension"]
    lengths = [slot.shape[axis] for slot in node.inputs]
    starts = np.cumsum([0, *lengths])
    return [(k, place_along(node.shape, axis, int(starts[k]), n)) for k, n in enumerate(lengths)]


def _stack(node: Node, output: int, known: Known) -> Terms:
    axis = node.params["axis"]
    target = node.shape
    numbers = np.arange(node.inputs[0].size).reshape(node.inputs[0].shape)
    terms = []
    for k, slot in enumerate(node.inputs):
        where = np.full(target, -1)
        where[(slice(None),) * axis + (k,)] = numbers
        terms.append((k, taken_from(slot.shape, where)))
    return terms


def _split(node: Node, output: int, known: Known) -> Terms:
    axis = node.params["axis"]
    ends = np.cumsum([0, *node.params["sizes"]])
    cut = (slice(None),) * axis + (slice(int(ends[output]), int(ends[output + 1])),)
    return [(0, cut_out(node.inputs[0].shape, cut))]


def _unstack(node: Node, output: int, known: Known) -> Terms:
    source = node.inputs[0].shape
    numbers = np.arange(node.inputs[0].size).reshape(source)
    return [(0, taken_from(source, np.take(numbers, output, node.params["axis"])))]


def _tile(node: Node, output: int, known: Known) -> Terms:
    source = node.inputs[0].shape
    numbers = np.arange(node.inputs[0].size).reshape(source)
    return [(0, taken_from(source, MOVES["tile"](node, numbers)))]


def _by_positions(moved: Sequence[int]) -> Rule:
    """Operands number `moved` are moved to places that the other ones, whole numbers, tell."""

    def rule(node: Node, output: int, known: Known) -> Terms | None:
        indices: dict[int, Array] = {}
        for place, slot in enumerate(node.inputs):
            if place in moved:
                continue
            value = known[place]
            if value is None or not value.is_point:
                return None
            indices[place] = value.lo.astype(slot.dtype)
        where = places_of(node, moved, indices)
        if (where < 0).any():
            return None  # a fill value, of which nothing is known
        if (
            node.primitive == "scatter"
            and not node.params["unique_indices"]
            and loses_updates(node, where)
        ):
            return None
        return taken_by_node(node, moved, where)

    return rule


def _scatter_add(node: Node, output: int, known: Known) -> Terms | None:
    index = known[1]
    if index is None or not index.is_point:
        return None
    return [(0, identity()), (2, scatter_sum(node, index.lo.astype(node.inputs[1].dtype)))]


def _select(node: Node, output: int, known: Known) -> Terms | None:
    """A choice by a constant predicate."""
    which = known[0]
    if which is None or not which.is_point:
        return None
    chosen = np.broadcast_to(which.lo.astype(np.float64), node.shape)
    return [(k, keep_where(chosen == k - 1, _operand(node, k))) for k in range(1, len(node.inputs))]


def _of_shape(build: Callable[[Node], LinearMap]) -> Rule:
    return lambda node, output, known: [(0, build(node))]


RULES: dict[str, Rule] = {
    **dict.fromkeys(("add", "add_any"), _add),
    **dict.fromkeys(("copy", "stop_gradient"), _of_shape(lambda node: identity())),
    **dict.fromkeys(
        ("reshape", "squeeze", "expand_dims"),
        _of_shape(lambda node: reshape(node.inputs[0].shape, node.shape)),
    ),
    "sub": _subtract,
    "neg": _of_shape(lambda node: negate(identity())),
    "mul": _multiply,
    "div": _divide,
    "dot_general": _contract,
    "conv_general_dilated": _convolve,
    "convert_element_type": _convert,
    "reduce_sum": _of_shape(lambda node: summation(node.inputs[0].shape, node.params["axes"])),
    "cumsum": _of_shape(
        lambda node: cumulative_sum(node.shape, node.params["axis"], node.params["reverse"])
    ),
    "reduce_window_sum": _of_shape(window_sum),
    "transpose": _of_shape(lambda node: transpose(node.params["permutation"])),
    "rev": _of_shape(lambda node: flip(node.params["dimensions"])),
    "broadcast_in_dim": _of_shape(repeat),
    "slice": _of_shape(slice_of),
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split,
    "unstack": _unstack,
    "tile": _tile,
    "pad": _by_positions((0, 1)),
    "gather": _by_positions((0,)),
    "dynamic_slice": _by_positions((0,)),
    "dynamic_update_slice": _by_positions((0, 1)),
    "scatter": _by_positions((0, 2)),
    "scatter-add": _scatter_add,
    "select_n": _select,
}
