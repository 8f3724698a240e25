"""Which relaxation a slot has: the table `primitive → rule`, and what comes before it."""

from collections.abc import Callable, Mapping

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.kinks import kinked
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.relaxations import Affine, Constant, Relaxation
from ftheta.graph.graph import Node, Slot

Rule = Callable[[Program, Node, Mapping[int, Interval]], Relaxation | None]
"""From a node and the enclosures (boxes, *shape) of all earlier slots; None where the rule has nothing to say."""


def relax(program: Program, slot: Slot, enclosures: Mapping[int, Interval]) -> Relaxation:
    """Affine bounds of a slot by other slots; two constants where there is nothing better."""
    node, output = program.output_of[slot.id]
    terms = program.linear_terms(node, output)
    if terms is not None:
        operands = [(node.inputs[place], linear) for place, linear in terms]
        return Affine.of(slot, operands, [enclosures[operand.id].magnitude for operand, _ in operands])
    rule = RULES.get(node.primitive)
    found = rule(program, node, enclosures) if rule is not None else None
    return Constant(enclosures[slot.id]) if found is None else found


def _uniform(program: Program, slot: Slot) -> float | None:
    """The value of a constant that is the same everywhere and known exactly."""
    x = program.constants.get(slot.id)
    if x is None or not x.is_point or not slot.is_real:
        return None
    values = np.unique(x.lo)
    return float(values[0]) if values.size == 1 else None


def _extremum(left: float, right: float) -> Rule:
    """max(x, 0) and min(x, 0)."""

    def rule(program: Program, node: Node, enclosures: Mapping[int, Interval]) -> Relaxation | None:
        for operand, other in (node.inputs, node.inputs[::-1]):
            if _uniform(program, other) == 0.0 and operand.shape == node.shape:
                return kinked(operand, enclosures[operand.id], left, right)
        return None

    return rule


def _absolute(program: Program, node: Node, enclosures: Mapping[int, Interval]) -> Relaxation:
    (operand,) = node.inputs
    return kinked(operand, enclosures[operand.id], -1.0, 1.0)


RULES: dict[str, Rule] = {"max": _extremum(0.0, 1.0), "min": _extremum(1.0, 0.0), "abs": _absolute}
