"""How each slot is relaxed, decided once for all boxes: the table `primitive → rule`, and what comes before it.

First another expression of the slot, then a formula that it completes, a function of one variable, a linear map, the
rule of the node's primitive, and where none of these is found, the ends of its interval.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.choices import Choice
from ftheta.graph.domains.linear.curves import CURVES, WAVES, Curve, power_curve, reciprocal_curve
from ftheta.graph.domains.linear.kinks import bound_kink
from ftheta.graph.domains.linear.log_sum_exp import log_sum_exp
from ftheta.graph.domains.linear.maps import LinearMap, identity, moving, spread_out
from ftheta.graph.domains.linear.one_variable import (
    along_curve,
    along_region,
    along_wave,
    single_node,
    slopes_at_kink,
)
from ftheta.graph.domains.linear.products import Contraction, Product
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.relaxations import Affine, Constant, Relaxation
from ftheta.graph.domains.linear.restating import uniform
from ftheta.graph.graph import Node, Slot
from ftheta.graph.layout import from_matrices, matrices
from ftheta.graph.patterns import LogSumExp
from ftheta.graph.primitives import COMPARISONS
from ftheta.graph.regions import Region

Enclosures = Mapping[int, Interval]


@dataclass(frozen=True, eq=False)
class Plan:
    """`relax(enclosures)` makes the relaxation of a slot; its coefficients go to `operands`. The enclosures of the
    slots that it `reads` decide how good it is: with `only_signs`, only where their sign is open."""

    operands: tuple[Slot, ...]
    relax: Callable[[Enclosures], Relaxation]
    reads: tuple[Slot, ...] = ()
    only_signs: bool = False
    branches: tuple[Program, ...] = ()


def plan_slot(program: Program, slot: Slot) -> Plan:
    """The plan of a slot that a node assigns and that varies."""
    if slot.id not in program.plans:
        program.plans[slot.id] = _make_plan(program, slot)
    return program.plans[slot.id]


def _make_plan(program: Program, slot: Slot) -> Plan:
    node, output = program.output_of[slot.id]
    if slot.id in program.restated:
        return _affine(slot, [(program.graph.slots[program.restated[slot.id]], identity())])
    pattern = program.patterns.get(slot.id)
    if isinstance(pattern, LogSumExp):
        relax = lambda enclosures: log_sum_exp(
            pattern.x, tuple(pattern.axes), slot.shape, enclosures[pattern.x.id]
        )
        return Plan((pattern.x,), relax, (pattern.x,))
    terms = program.linear_terms(node, output)
    region = program.regions.get(slot.id)
    if region is not None and not program.is_linear(region):
        return _plan_region(program, region)
    if terms is not None:
        return _affine(slot, [(node.inputs[place], linear) for place, linear in terms])
    if node.primitive == "cond":
        return _plan_branches(program, node, output)
    rule = RULES.get(node.primitive)
    found = rule(program, node) if rule is not None and len(node.outputs) == 1 else None
    return Plan((), lambda enclosures: Constant(enclosures[slot.id])) if found is None else found


def _affine(slot: Slot, terms: list[tuple[Slot, LinearMap]]) -> Plan:
    operands = tuple(operand for operand, _ in terms)
    relax = lambda enclosures: Affine.of(
        slot, terms, [enclosures[operand.id].magnitude for operand in operands]
    )
    return Plan(operands, relax)


def _plan_region(program: Program, region: Region) -> Plan:
    x = region.variable
    slopes = slopes_at_kink(region, program.graph, program.constants)
    if slopes is not None:
        return _plan_kink(x, *slopes)
    relax = lambda enclosures: along_region(
        region, program.graph, program.constants, enclosures[x.id]
    )
    return Plan((x,), relax, (x,))


# ---- rules --------------------------------------------------------------------------------------------------------

Rule = Callable[[Program, Node], Plan | None]


def _varies(program: Program, slot: Slot) -> bool:
    return slot.id in program.varying


def _plan_curve(curve: Curve, operand: Slot) -> Plan:
    return Plan(
        (operand,),
        lambda enclosures: along_curve(curve, operand, enclosures[operand.id]),
        (operand,),
    )


def _curve(program: Program, node: Node) -> Plan:
    return _plan_curve(CURVES[node.primitive], node.inputs[0])


def _by_pieces(program: Program, node: Node) -> Plan | None:
    """A function of one operand without a known curvature."""
    moving_operands = [slot for slot in node.inputs if _varies(program, slot)]
    if (
        len(moving_operands) != 1
        or moving_operands[0].shape != node.shape
        or not moving_operands[0].is_real
    ):
        return None
    return _plan_region(program, single_node(node, moving_operands[0]))


def _wave(program: Program, node: Node) -> Plan:
    region = single_node(node, node.inputs[0])
    relax = lambda enclosures: along_wave(
        region, program.graph, program.constants, enclosures[region.variable.id]
    )
    return Plan((region.variable,), relax, (region.variable,))


def _kink(left: float, right: float) -> Rule:
    """A function with one kink at 0; of a pair of operands, the other one is 0, or the same: then there is no kink."""

    def rule(program: Program, node: Node) -> Plan | None:
        if len(node.inputs) == 2 and node.inputs[0] == node.inputs[1]:
            return _affine(node.outputs[0], [(node.inputs[0], identity())])
        for place, operand in enumerate(node.inputs):
            others = node.inputs[:place] + node.inputs[place + 1 :]
            zero = all(uniform(other, program.constants) == 0.0 for other in others)
            if zero and _varies(program, operand) and operand.shape == node.shape:
                return _plan_kink(operand, left, right)
        return None

    return rule


def _plan_kink(operand: Slot, left: float, right: float) -> Plan:
    relax = lambda enclosures: bound_kink(operand, enclosures[operand.id], left, right)
    return Plan((operand,), relax, (operand,), only_signs=True)


def _power(program: Program, node: Node) -> Plan | None:
    x = node.inputs[0]
    exponent = (
        node.params["y"]
        if node.primitive == "integer_pow"
        else uniform(node.inputs[1], program.constants)
    )
    if exponent is None or not _varies(program, x) or x.shape != node.shape:
        return None
    if exponent == 1:
        return _affine(node.outputs[0], [(x, identity())])
    curve = power_curve(float(exponent))
    return None if curve is None else _plan_curve(curve, x)


def _quotient(program: Program, node: Node) -> Plan | None:
    """A number over y."""
    numerator = uniform(node.inputs[0], program.constants)
    y = node.inputs[1]
    if numerator is None or numerator == 0.0 or y.shape != node.shape:
        return None
    return _plan_curve(reciprocal_curve(numerator), y)


def _product(program: Program, node: Node) -> Plan | None:
    x, y = node.inputs
    if x == y:
        return _plan_curve(CURVES["square"], x)
    spreads = (spread_out(x.shape, node.shape), spread_out(y.shape, node.shape))

    def relax(enclosures: Enclosures) -> Relaxation:
        wide = [enclosures[slot.id].map(spread.push) for slot, spread in zip((x, y), spreads)]
        return Product.of((x, y), spreads, *wide)

    return Plan((x, y), relax, (x, y))


def _contraction(program: Program, node: Node) -> Plan:
    (contract_x, contract_y), (batch_x, batch_y) = node.params["dimension_numbers"]
    x, y = node.inputs
    layouts = (_laid_out(x, batch_x, contract_x, True), _laid_out(y, batch_y, contract_y, False))

    def relax(enclosures: Enclosures) -> Relaxation:
        return Contraction.of((x, y), layouts, enclosures[x.id], enclosures[y.id])

    return Plan((x, y), relax, (x, y))


def _laid_out(
    slot: Slot, batch: tuple[int, ...], contract: tuple[int, ...], last: bool
) -> LinearMap:
    """An operand of `dot_general` as a stack of matrices; the leading axis stays in front."""
    here = (0, *(a + 1 for a in batch)), tuple(a + 1 for a in contract)
    shape = matrices_shape(slot, batch, contract, last)

    def push(x):
        return matrices(x, *here, last=last).reshape(len(x), *shape)

    def pull(A):
        return from_matrices(A, (len(A), *slot.shape), *here, last=last)

    return moving(push, pull)


def matrices_shape(
    slot: Slot, batch: tuple[int, ...], contract: tuple[int, ...], last: bool
) -> tuple[int, int, int]:
    """(stacks, rows, inner) of the first operand, (stacks, inner, columns) of the last."""
    stacks = inner = 1
    for a in batch:
        stacks *= slot.shape[a]
    for a in contract:
        inner *= slot.shape[a]
    free = slot.size // max(1, stacks * inner)
    return (stacks, free, inner) if last else (stacks, inner, free)


def _select(program: Program, node: Node) -> Plan | None:
    which, *cases = node.inputs
    out = node.outputs[0]
    if not all(case.is_real for case in cases):
        return None
    spreads = [spread_out(case.shape, node.shape) for case in cases]

    def relax(enclosures: Enclosures) -> Relaxation:
        magnitudes = [enclosures[case.id].magnitude for case in cases]
        return Choice.of(cases, spreads, enclosures[which.id], enclosures[out.id], magnitudes)

    return Plan(tuple(cases), relax, _find_compared(program, which))


def _find_compared(program: Program, slot: Slot) -> tuple[Slot, ...]:
    """The real numbers behind a truth value."""
    found = program.output_of.get(slot.id)
    if found is None or not _varies(program, slot):
        return ()
    node, _ = found
    if node.primitive in COMPARISONS:
        return tuple(
            operand for operand in node.inputs if operand.is_real and _varies(program, operand)
        )
    if slot.is_real:
        return ()
    return tuple(operand for parent in node.inputs for operand in _find_compared(program, parent))


def _plan_branches(program: Program, node: Node, output: int) -> Plan:
    """The branches as programs of their own; the operands of a `cond` come after its predicate."""
    which, *operands = node.inputs
    real = tuple(operand for operand in operands if operand.is_real)
    branches = tuple(Program.of(branch) for branch in node.graphs)
    constant = lambda enclosures: Constant(enclosures[node.outputs[output].id])
    return Plan(real, constant, (*real, *_find_compared(program, which)), branches=branches)


RULES: dict[str, Rule] = {
    **dict.fromkeys(CURVES, _curve),
    **dict.fromkeys(WAVES, _wave),
    **dict.fromkeys(("tan", "floor", "ceil", "round", "sign", "rem", "atan2"), _by_pieces),
    "max": _kink(0.0, 1.0),
    "min": _kink(1.0, 0.0),
    "abs": _kink(-1.0, 1.0),
    "integer_pow": _power,
    "pow": _power,
    "div": _quotient,
    "mul": _product,
    "dot_general": _contraction,
    "select_n": _select,
}
