"""Sound enclosures of every slot over a box of inputs, with outward rounding.

For every real x in the box, the exact value of each slot lies in its interval: the real function that the graph
denotes, with its constants as stored, whatever the program's dtype (conversions between float types are identities).
Computed in NumPy float64. Where the program is undefined on part of an enclosure (log of a negative number) the
rule raises `OutsideDomain` rather than answer for the rest.
"""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jax import lax

from ftheta.graph.domains.interval import arithmetic, decisions, functions, moves, reductions, sums
from ftheta.graph.domains.interval.fused import FUSED
from ftheta.graph.domains.interval.intervals import FILE, Interval
from ftheta.graph.domains.interval.univariate import enclose
from ftheta.graph.errors import GraphError, NoRule
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import (
    Domain,
    Interpretation,
    Rule,
    each_output,
    forward,
    missing_rule,
    precision,
)
from ftheta.graph.patterns import Pattern
from ftheta.graph.primitives import body
from ftheta.graph.recognise import patterns
from ftheta.graph.regions import Region, regions

__all__ = ["INTERVAL", "Interval", "intervals"]


def intervals(graph: Graph, *args: Any) -> Interpretation[Interval]:
    """An enclosure of every slot. `args` are the function's arguments with `Interval` for the leaves that vary."""
    _only_real_numbers(graph)
    leaves = graph.signature.inputs_of(args, is_leaf=lambda leaf: isinstance(leaf, Interval))
    boxes = [_box(slot, leaf) for slot, leaf in zip(graph.inputs, leaves)]
    with precision(graph):
        return forward(INTERVAL, graph, *boxes)


def _box(slot: Slot, leaf: Any) -> Interval:
    box = leaf if isinstance(leaf, Interval) else Interval.point(leaf)
    if box.shape != slot.shape or box.is_bool != (slot.dtype == bool):
        raise GraphError(
            f"the interval for {slot.name} does not fit its slot",
            got=f"shape {box.shape}",
            remedy=f"pass ends of shape {slot.shape} and the kind of {slot.dtype}",
        )
    return box


# ---- rules that need more than one line ------------------------------------------------------------------------


def _mul(node: Node, x: Interval, y: Interval) -> Interval:
    """x·x is a square: one variable, not two."""
    return arithmetic.square(x) if node.inputs[0] == node.inputs[1] else arithmetic.mul(x, y)


def _div(node: Node, x: Interval, y: Interval) -> Interval:
    """Integers are divided towards 0; the quotients of integers below 2⁵³ never round up to a whole number."""
    if node.inputs[0].is_real:
        return arithmetic.div(x, y)
    corners = np.broadcast_arrays(*[np.trunc(a / b) for a in (x.lo, x.hi) for b in (y.lo, y.hi)])
    zero = (y.lo <= 0) & (y.hi >= 0)
    return Interval(
        np.where(zero, -np.inf, np.minimum.reduce(corners)),
        np.where(zero, np.inf, np.maximum.reduce(corners)),
    )


def _rem(node: Node, x: Interval, y: Interval) -> Interval:
    """An integer modulo 0 is left to the hardware, so that nothing but the operand's size is known."""
    if node.inputs[0].is_real or not bool(np.any((y.lo <= 0) & (y.hi >= 0))):
        return arithmetic.remainder(x, y)
    return Interval(np.full(node.shape, -np.inf), np.full(node.shape, np.inf))


def _sub(node: Node, x: Interval, y: Interval) -> Interval:
    if node.inputs[0] == node.inputs[1]:
        return Interval(np.zeros(x.shape), np.zeros(x.shape))
    return arithmetic.sub(x, y)


def _convert(node: Node, x: Interval) -> Interval:
    """Between float types the identity; to integers, rounding towards 0; to truth values, x ≠ 0."""
    if node.dtype == bool:
        return x if x.is_bool else decisions.negation(decisions.equal(x, Interval.point(0.0)))
    if x.is_bool:
        return x.map(lambda end: end.astype(np.float64))
    return x if node.outputs[0].is_real else x.map(np.trunc)


def _round(node: Node, x: Interval) -> Interval:
    to_even = node.params["rounding_method"] == lax.RoundingMethod.TO_NEAREST_EVEN
    return x.map(np.rint if to_even else _away_from_zero)


def _away_from_zero(x: np.ndarray) -> np.ndarray:
    """The nearest whole number, of two the one farther from 0; the part behind the point is exact, |x| + ½ is not."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


def _lattice(numbers: Any, truths: Any) -> Rule:
    """max and min, on numbers and on truth values; `and`, `or`, `not`, `xor` on truth values alone."""
    return lambda node, *xs: truths(*xs) if xs[0].is_bool else numbers(node, *xs)


def _concrete_integers(node: Node, *inputs: Interval) -> Any:
    """Primitives without a rule: JAX computes them where all operands are known integers or truth values."""
    exact = all(x.is_point and not slot.is_real for x, slot in zip(inputs, node.inputs))
    if not exact or any(
        slot.is_real or not isinstance(slot.dtype, np.dtype) for slot in node.outputs
    ):
        raise missing_rule("interval", FILE, node)
    results = node.evaluate(*[x.lo.astype(slot.dtype) for x, slot in zip(inputs, node.inputs)])
    return each_output(node, [Interval.point(np.asarray(r)) for r in results])


def _custom(domain: str) -> Rule:
    """The body of a custom derivative: its values are the function's."""
    return lambda node, *xs: each_output(
        node, forward(DOMAINS[domain], body(node), *xs).flat_outputs
    )


def _cond(domain: str) -> Rule:
    """The hull over the branches that the predicate allows."""

    def rule(node: Node, which: Interval, *operands: Interval) -> Any:
        branches = node.graphs
        first, last = (
            int(np.clip(float(end), 0, len(branches) - 1)) for end in (which.lo, which.hi)
        )
        results = [
            forward(DOMAINS[domain], branch, *operands).flat_outputs
            for branch in branches[first : last + 1]
        ]
        hulls = list(results[0])
        for other in results[1:]:
            hulls = [a.hull(b) for a, b in zip(hulls, other)]
        return each_output(node, hulls)

    return rule


def _of_values(f: Any) -> Rule:
    return lambda node, *xs: f(*xs)


def _bitwise_only(node: Node, *xs: Interval) -> Any:
    return _concrete_integers(node, *xs)


RULES: dict[str, Rule] = {
    **{name: functions.monotone(name) for name in functions.MONOTONE},
    **{name: _of_values(getattr(arithmetic, name)) for name in ("add", "neg", "square")},
    **{
        name: _of_values(getattr(functions, name))
        for name in ("sin", "cos", "tan", "cosh", "atan2")
    },
    **dict.fromkeys(decisions.COMPARE, decisions.compare),
    **reductions.RULES,
    **moves.RULES,
    "add_any": _of_values(arithmetic.add),
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "abs": _of_values(arithmetic.absolute),
    "max": _lattice(_of_values(arithmetic.maximum), decisions.disjunction),
    "min": _lattice(_of_values(arithmetic.minimum), decisions.conjunction),
    "and": _lattice(_bitwise_only, decisions.conjunction),
    "or": _lattice(_bitwise_only, decisions.disjunction),
    "xor": _lattice(_bitwise_only, decisions.exclusive_or),
    "not": _lattice(_bitwise_only, decisions.negation),
    "is_finite": _of_values(decisions.is_finite),
    "select_n": decisions.select,
    "clamp": _of_values(decisions.clamp),
    "sqrt": lambda node, x: arithmetic.sqrt(functions.within(node, x, 0.0)),
    "integer_pow": lambda node, x: arithmetic.integer_power(x, node.params["y"]),
    "pow": functions.power,
    "sign": lambda node, x: x.map(np.sign),
    "floor": lambda node, x: x.map(np.floor),
    "ceil": lambda node, x: x.map(np.ceil),
    "round": _round,
    "convert_element_type": _convert,
    "copy": lambda node, x: x,
    "stop_gradient": lambda node, x: x,
    "reduce_sum": lambda node, x: sums.reduce_sum(x, node.params["axes"]),
    "cumsum": sums.cumulative_sum,
    "reduce_window_sum": sums.reduce_window_sum,
    "dot_general": sums.dot_general,
    "conv_general_dilated": sums.convolution,
    "custom_jvp_call": _custom("interval"),
    "custom_vjp_call": _custom("interval"),
    "cond": _cond("interval"),
}

# Ends overflow, and ∞ − ∞ is met and handled: NumPy need not warn of either.
QUIET_RULES: dict[str, Rule] = {
    name: np.errstate(all="ignore")(rule) for name, rule in RULES.items()
}
PLAIN_RULES: dict[str, Rule] = {
    **QUIET_RULES,
    "custom_jvp_call": _custom("plain"),
    "custom_vjp_call": _custom("plain"),
}


# ---- sharpening ------------------------------------------------------------------------------------------------

_KNOWN: WeakKeyDictionary[Graph, tuple[dict[int, Pattern], dict[int, Region]]] = WeakKeyDictionary()


def _structure(graph: Graph) -> tuple[dict[int, Pattern], dict[int, Region]]:
    if graph not in _KNOWN:
        _KNOWN[graph] = patterns(graph), regions(graph)
    return _KNOWN[graph]


def _refine(graph: Graph) -> Any:
    _only_real_numbers(graph)
    formulas, functions_of_one = _structure(graph)

    @np.errstate(all="ignore")
    def refine(
        node: Node, values: Mapping[int, Interval], outputs: tuple[Interval, ...]
    ) -> tuple[Interval, ...]:
        outputs = tuple(_fit_to_slot(slot, x) for slot, x in zip(node.outputs, outputs))
        slot = node.outputs[0].id
        if slot in formulas and not outputs[0].is_point:
            outputs = (outputs[0].meet(FUSED[type(formulas[slot])](formulas[slot], values, node)),)
        region = functions_of_one.get(slot)
        if region is not None and not values[region.variable.id].is_point:
            outputs = (outputs[0].meet(enclose(region, graph, PLAIN_RULES, values)),)
        return outputs

    return refine


def _refine_integers(graph: Graph) -> Any:
    """For pieces of functions too, whose values have the shape (pieces, entries) instead of the slot's."""
    return lambda node, values, outputs: tuple(
        _whole_numbers(slot, x) for slot, x in zip(node.outputs, outputs)
    )


def _fit_to_slot(slot: Slot, x: Interval) -> Interval:
    if x.shape != slot.shape or x.is_bool != (slot.dtype == bool):
        raise GraphError(
            "a rule returned an interval that does not fit its slot",
            got=str(x.shape),
            where=str(slot),
        )
    return _whole_numbers(slot, x)


def _whole_numbers(slot: Slot, x: Interval) -> Interval:
    """Integers lie on whole numbers; where they may overflow, they wrap around: anything in the type's range."""
    if slot.is_real or x.is_bool:
        return x
    info = np.iinfo(slot.dtype)
    lo = np.ceil(x.lo)
    hi = np.floor(x.hi)
    # 2⁶³ − 1 is no float
    wraps = ~((lo >= float(info.min)) & (hi < float(info.max + 1)) & (lo <= hi))
    return Interval(np.where(wraps, float(info.min), lo), np.where(wraps, float(info.max), hi))


def _only_real_numbers(graph: Graph) -> None:
    for slot in graph.slots:
        if not isinstance(slot.dtype, np.dtype) or np.dtype(slot.dtype).kind == "c":
            node = graph.producers.get(slot.id)
            raise NoRule(
                f"the domain 'interval' has no values of type {slot.dtype}",
                got=str(slot),
                where=node.source if node else graph.source,
                remedy="use real numbers, and keys as constants",
            )


def _lift(constant: Any) -> Interval:
    return Interval.point(constant)


INTERVAL = Domain(
    name="interval",
    file=FILE,
    lift=_lift,
    rules=QUIET_RULES,
    default=_concrete_integers,
    refine=_refine,
)
PLAIN = Domain(
    name="interval",
    file=FILE,
    lift=_lift,
    rules=PLAIN_RULES,
    default=_concrete_integers,
    refine=_refine_integers,
)
DOMAINS = {"interval": INTERVAL, "plain": PLAIN}
