r"""Lipschitz constants read off a graph: node by node, how much a change of one input can grow on its way.

Every rule bounds the Euclidean length of what changes. A map that is linear in the input has the spectral norm of its
weights, a convolution at most the sum of the norms of its taps; functions of single entries have their steepest slope.
Sums add, concatenations add squares; but parts of one vector that go through maps of their own, as with an activation
for each neuron, are together as steep as the steepest of these maps. Products of two things that change have no
constant: there is no rule for them, and the error names the node. What does not change but is computed on the way (a
weight that is normalised) is enclosed with outward rounding: the bound is of the real function.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import inf, nextafter, prod
from typing import Any

import numpy as np

from ftheta.graph.domains.interval import INTERVAL
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Node, Slot
from ftheta.graph.primitives import CUSTOM_CALLS, EXTREMA, IDENTITIES, SUMS, body, primitives
from ftheta.logic.enclosure import Enclosure
from ftheta.networks import activation

from .disjoint_parts import ways_to
from .norms import convolution_norm, frobenius_norm, spectral_norm

# the constant of a slot that changes, or the value of one that does not
Known = Enclosure | Interval
MOST_ENTRIES = 1 << 24  # of a matrix whose norm is asked for
MOST_SYMBOLS = 1 << 21  # entries of the matrices of all frequencies of a convolution

ONE = Enclosure.exact(1)
SLOPES = {
    **dict.fromkeys(("tanh", "sin", "cos", "atan", "neg", "abs", "asinh"), ONE),
    "logistic": activation("sigmoid").lipschitz,
    "erf": Enclosure.between(1.1283791670955, 1.1283791670956),  # 2/√π
}
SAME = IDENTITIES | primitives(
    "convert_element_type reshape squeeze expand_dims transpose rev slice split dynamic_slice reduce_max reduce_min "
    "clamp pad optimization_barrier"
)
"""Primitives that never lengthen a change, where only one operand changes."""
# which operand that is: a changing number beside an array would change all entries
OPERANDS = {"pad": 0, "clamp": 1}


ELEMENTWISE = (SUMS | EXTREMA) | primitives("mul div select_n")
"""Primitives of several operands that repeat those that have fewer entries."""


def steepness(nodes: Sequence[Node], start: Slot, end: Slot, still: Mapping[int, Any]) -> Enclosure:
    """An upper bound of the Lipschitz constant of the map from `start` to `end` that the nodes compute.

    `still` holds the values of all other slots that they use. A node without a rule is a GraphError.
    """
    known: dict[int, Known] = {slot: _lift(value) for slot, value in still.items()}
    known[start.id] = ONE
    makers = {slot.id: node for node in nodes for slot in node.outputs}
    for node in nodes:
        given = [known[slot.id] for slot in node.inputs]
        if not any(isinstance(g, Enclosure) for g in given):
            made = INTERVAL.rule(node)(node, *given)
            found = [made] if len(node.outputs) == 1 else list(made)
        else:
            bound = _bound(node, given, makers, still)
            if node.primitive == "concatenate":
                bound = _smaller(bound, _of_disjoint_parts(node, nodes, makers, known))
            found = [bound] * len(node.outputs)
        known.update(zip((slot.id for slot in node.outputs), found))
    reached = known[end.id]
    return reached if isinstance(reached, Enclosure) else Enclosure.exact(0)


def _of_disjoint_parts(
    node: Node, nodes: Sequence[Node], makers: Mapping[int, Node], known: Mapping[int, Known]
) -> Enclosure | None:
    """Of maps of disjoint parts of one vector: its constant times that of the steepest map."""
    moving = {slot for slot, value in known.items() if isinstance(value, Enclosure)}
    ways = ways_to(node, nodes, makers, moving)
    if not ways:
        return None
    constants = []
    for way, operand in ways:
        used = {slot.id for each in way.nodes for slot in each.inputs}
        still = {slot: known[slot] for slot in used if slot in known and slot not in moving}
        constants.append(steepness(way.nodes, way.part, operand, still))
    steepest = max(constants, key=lambda c: c.hi)
    source = known[ways[0][0].source]
    return source * steepest if isinstance(source, Enclosure) else None


def _smaller(bound: Enclosure, other: Enclosure | None) -> Enclosure:
    return bound if other is None or other.hi >= bound.hi else other


def _lift(value: Any) -> Interval:
    return value if isinstance(value, Interval) else Interval.point(np.asarray(value))


def _bound(
    node: Node, given: list[Known], makers: Mapping[int, Node], still: Mapping[int, Any]
) -> Enclosure:
    name = node.primitive
    if name in ELEMENTWISE or (name in CUSTOM_CALLS and node.label in CUSTOM):
        given = [_repeat(g, slot, node.outputs[0]) for g, slot in zip(given, node.inputs)]
    moving = [g for g in given if isinstance(g, Enclosure)]
    if name in CUSTOM_CALLS and node.label not in CUSTOM:
        return _inside(node, given)
    if (
        name in SAME
        and len(moving) == 1
        and node.outputs[0].is_real
        and moving[0] is given[OPERANDS.get(name, given.index(moving[0]))]
    ):
        return moving[0]
    if name in SLOPES:
        return moving[0] * SLOPES[name]
    rule = CUSTOM.get(node.label) if name in CUSTOM_CALLS else RULES.get(name)
    found = rule(node, given, makers, still) if rule else None
    if found is None:
        raise GraphError(
            f"no Lipschitz constant is known for {node.label or name!r} of what changes",
            where=node.source,
        )
    return found


def _repeat(known: Known, operand: Slot, result: Slot) -> Known:
    """The constant of an operand as large as the result: a smaller one is repeated without a node that says so."""
    if not isinstance(known, Enclosure) or operand.size in (0, result.size):
        return known
    return known * Enclosure.exact(Fraction(max(result.size, operand.size), operand.size)).sqrt()


def _inside(node: Node, given: list[Known]) -> Enclosure:
    """The body of a custom derivative, of one operand that changes."""
    graph = body(node)
    changing = [k for k, g in enumerate(given) if isinstance(g, Enclosure)]
    if len(changing) != 1 or len(graph.outputs) != 1:
        raise GraphError(f"no Lipschitz constant is known for {node.label!r}", where=node.source)
    (k,) = changing
    fixed = {s.id: g for s, g in zip(graph.inputs, given) if not isinstance(g, Enclosure)}
    before = given[k]
    inner = steepness(graph.nodes, graph.inputs[k], graph.outputs[0], {**graph.constants, **fixed})
    return before * inner if isinstance(before, Enclosure) else inner


# -- rules: node, what is known of its operands, the nodes that made them, values of what is fixed --------------------


def _sum(node: Node, given: list[Known], *_: Any) -> Enclosure:
    first, *others = [g for g in given if isinstance(g, Enclosure)]
    return sum(others, first)


def _squares(node: Node, given: list[Known], *_: Any) -> Enclosure:
    """Of operands side by side: the square root of the sum of squares."""
    first, *others = [g * g for g in given if isinstance(g, Enclosure)]
    return (
        sum(others, first).sqrt() if others else next(g for g in given if isinstance(g, Enclosure))
    )


def _mul(
    node: Node, given: list[Known], makers: Mapping[int, Node], still: Mapping[int, Any]
) -> Enclosure | None:
    a, b = given
    if isinstance(a, Enclosure) and isinstance(b, Enclosure):
        for x, gate in ((0, 1), (1, 0)):  # x·sigmoid(x)
            maker = makers.get(node.inputs[gate].id)
            if (
                maker is not None
                and maker.primitive == "logistic"
                and maker.inputs[0].id == node.inputs[x].id
            ):
                return (a, b)[x] * activation("silu").lipschitz
        return None
    change, factor = (a, b) if isinstance(a, Enclosure) else (b, a)
    if (
        not isinstance(change, Enclosure)
        or isinstance(factor, Enclosure)
        or not _is_bounded(factor)
    ):
        return None
    return change * float(factor.magnitude.max(initial=0.0))


def _div(node: Node, given: list[Known], *_: Any) -> Enclosure | None:
    change, by = given
    if (
        not isinstance(change, Enclosure)
        or isinstance(by, Enclosure)
        or np.any((by.lo <= 0) & (by.hi >= 0))
    ):
        return None
    return change / float(np.minimum(np.abs(by.lo), np.abs(by.hi)).min())


def _broadcast(node: Node, given: list[Known], *_: Any) -> Enclosure:
    copies = node.outputs[0].size / max(1, node.inputs[0].size)
    return given[0] * Enclosure.exact(copies).sqrt()  # type: ignore[operator]


def _reduce_sum(node: Node, given: list[Known], *_: Any) -> Enclosure:
    terms = node.inputs[0].size / max(1, node.outputs[0].size)
    return given[0] * Enclosure.exact(terms).sqrt()  # type: ignore[operator]


def _dot(node: Node, given: list[Known], *_: Any) -> Enclosure | None:
    """The largest norm among the matrices of the batch; what is not contracted is only repeated."""
    (contracted, batch) = node.params["dimension_numbers"]
    fixed = int(isinstance(given[0], Enclosure))
    change = given[1 - fixed]
    weights = given[fixed]
    if (
        not isinstance(change, Enclosure)
        or isinstance(weights, Enclosure)
        or not _is_bounded(weights)
    ):
        return None
    if weights.lo.size > MOST_ENTRIES:
        return None
    W, doubt = _centre(weights)
    inner = contracted[fixed]
    outer = batch[fixed]
    free = [k for k in range(W.ndim) if k not in inner and k not in outer]
    stacked = np.transpose(W, (*outer, *inner, *free))
    stacked = stacked.reshape(prod(W.shape[k] for k in outer), prod(W.shape[k] for k in inner), -1)
    return change * _widen(
        max((spectral_norm(matrix) for matrix in stacked), key=lambda e: e.hi), doubt
    )


def _convolution(node: Node, given: list[Known], *_: Any) -> Enclosure | None:
    """The smaller of two bounds, the largest among groups: the sum over the taps of the norms of their matrices, and
    the norm of the periodic convolution on a grid that is so large that nothing comes round."""
    change, weights = given
    if (
        not isinstance(change, Enclosure)
        or isinstance(weights, Enclosure)
        or not _is_bounded(weights)
    ):
        return None
    if node.params["batch_group_count"] != 1:
        return None
    kernel, doubt = _centre(weights)
    groups, (out, into, *space) = (
        node.params["feature_group_count"],
        node.params["dimension_numbers"].rhs_spec,
    )
    extent = [kernel.shape[k] for k in space]
    taps = np.transpose(kernel, (*space, out, into)).reshape(
        -1, groups, kernel.shape[out] // groups, kernel.shape[into]
    )
    norms = [max((spectral_norm(group) for group in tap), key=lambda e: e.hi) for tap in taps]
    bounds = [sum(norms[1:], norms[0])]
    grid = _grid_without_wrapping(node, extent)
    if prod(grid) * taps[0].size <= MOST_SYMBOLS:
        spread = [
            _dilate(taps[:, k].reshape(*extent, *taps.shape[2:]), node.params["rhs_dilation"])
            for k in range(groups)
        ]
        bounds.append(max((convolution_norm(part, grid) for part in spread), key=lambda e: e.hi))
    # the norms of the taps of what the kernel may be off by
    all_taps = Enclosure.exact(len(taps)).sqrt() * doubt
    return change * _widen(min(bounds, key=lambda e: e.hi), all_taps.hi)


def _grid_without_wrapping(node: Node, extent: Sequence[int]) -> tuple[int, ...]:
    """Sides of a torus that holds the whole linear convolution: zeros around the input, a stride and cropping only
    leave out some of its entries, and zeros within the input lengthen nothing."""
    lhs = node.params["dimension_numbers"].lhs_spec[2:]
    sides = [node.inputs[0].shape[k] for k in lhs]
    return tuple(
        (side - 1) * between + 1 + (size - 1) * apart
        for side, size, between, apart in zip(
            sides, extent, node.params["lhs_dilation"], node.params["rhs_dilation"]
        )
    )


def _dilate(kernel: np.ndarray, apart: Sequence[int]) -> np.ndarray:
    """The kernel with zeros between its taps."""
    *extent, S, T = kernel.shape
    found = np.zeros((*((size - 1) * step + 1 for size, step in zip(extent, apart)), S, T))
    found[tuple(slice(None, None, step) for step in apart)] = kernel
    return found


def _select(
    node: Node, given: list[Known], makers: Mapping[int, Node], still: Mapping[int, Any]
) -> Enclosure | None:
    """`where(x > 0, x, c·x)`, the leaky ReLU; or a choice that does not depend on the input."""
    which, *cases = given
    if not isinstance(which, Enclosure):
        return _squares(node, cases)
    test, (slot, *others) = makers.get(node.inputs[0].id), node.inputs[1:]
    if (
        test is None
        or test.primitive not in ("ge", "gt")
        or len(others) != 1
        or np.any(_lift(still.get(test.inputs[1].id, 1)).magnitude)
    ):
        return None
    x = others[0]
    scaled = makers.get(slot.id)
    if (
        test.inputs[0].id != x.id
        or scaled is None
        or scaled.primitive != "mul"
        or not isinstance(given[2], Enclosure)
    ):
        return None
    factors = [still.get(s.id) for s in scaled.inputs if s.id != x.id]
    if len(factors) != 1 or factors[0] is None:
        return None
    return given[2] * max(1.0, float(_lift(factors[0]).magnitude.max(initial=0.0)))


def _compare(node: Node, given: list[Known], *_: Any) -> Enclosure:
    return Enclosure(inf, inf)  # true or false jumps: whoever chooses by it has a rule of its own


def _is_bounded(values: Interval) -> bool:
    return bool(np.isfinite(values.lo).all() and np.isfinite(values.hi).all())


def _centre(weights: Interval) -> tuple[np.ndarray, float]:
    """An array in the middle of an interval, and a bound of how far any other one is from it in the Frobenius norm."""
    if weights.is_point:
        return weights.lo, 0.0
    middle = weights.lo + (weights.hi - weights.lo) / 2
    radius = np.nextafter(np.maximum(weights.hi - middle, middle - weights.lo), inf)
    return middle, frobenius_norm(radius).hi


def _widen(norm: Enclosure, doubt: float) -> Enclosure:
    """The norm of every matrix within `doubt` of one that has this norm."""
    return (
        Enclosure.between(
            max(0.0, nextafter(norm.lo - doubt, -inf)), nextafter(norm.hi + doubt, inf)
        )
        if doubt
        else norm
    )


Rule = Callable[..., Enclosure | None]
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("add", "add_any", "sub"), _sum),
    **dict.fromkeys(("max", "min", "concatenate"), _squares),
    **dict.fromkeys(("ge", "gt", "le", "lt"), _compare),
    "mul": _mul,
    "div": _div,
    "broadcast_in_dim": _broadcast,
    "reduce_sum": _reduce_sum,
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "select_n": _select,
}
CUSTOM: Mapping[str, Rule] = {"logaddexp": _squares, "relu": _squares}
