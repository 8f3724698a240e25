"""Relaxations of slots that are a function of one other slot, entry by entry: by curvature where that is known, else by
pieces."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

import ftheta.graph.domains.linear.curves as curves
import ftheta.graph.domains.linear.sampled as sampled
from ftheta.graph.domains.interval import PLAIN_RULES
from ftheta.graph.domains.interval.decisions import strict_compare
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.curves import Curve
from ftheta.graph.domains.linear.derivatives import Evaluate, evaluator
from ftheta.graph.domains.linear.relaxations import Lines
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.primitives import COMPARISONS
from ftheta.graph.regions import Region, compares_variable

CHUNK = 1 << 13
"""Entries treated at a time, to bound memory."""

Compare = Callable[[Node, Interval, Interval], Interval]


def along_curve(curve: Curve, operand: Slot, x: Interval) -> Lines:
    """Lines around a function of known curvature of an operand in x (boxes, *shape)."""
    return Lines((operand,), *curves.lines_around(curve, x), x.magnitude)


def along_region(
    region: Region, graph: Graph, constants: Mapping[int, Interval], x: Interval
) -> Lines:
    """Lines around the function of a region, whose variable is in x (boxes, *shape)."""
    kinks = _kinks(region, constants)
    lines = [np.empty(x.shape) for _ in range(4)]
    flat = [line.reshape(-1) for line in lines]
    entries = x.map(np.ravel)
    for start in range(0, entries.lo.size, CHUNK):
        part = slice(start, start + CHUNK)
        evaluate = _evaluator(
            region, graph, constants, np.arange(start, min(start + CHUNK, entries.lo.size))
        )
        x_part = entries.map(lambda end, part=part: end[part])
        found = sampled.lines_around(evaluate, x_part, region.knots, kinks)
        for line, values in zip(flat, found):
            line[part] = values
    lower_slope, lower_offset, upper_slope, upper_offset = lines
    return Lines(
        (region.variable,), lower_slope, lower_offset, upper_slope, upper_offset, x.magnitude
    )


@np.errstate(all="ignore")
def along_wave(
    region: Region, graph: Graph, constants: Mapping[int, Interval], x: Interval
) -> Lines:
    """Lines around sine or cosine: by curvature where that is known, by pieces elsewhere."""
    entries = x.map(np.ravel)
    lines = [np.empty(entries.shape) for _ in range(4)]
    left = np.ones(entries.shape, bool)
    for where, curve in curves.wave_curves(region.nodes[0].primitive, entries):
        at = np.flatnonzero(where & left)
        left[at] = False
        _put(
            lines,
            at,
            curves.lines_around(curve, entries.map(lambda end, at=at: end[at]))
            if at.size
            else None,
        )
    for start in range(0, entries.lo.size, CHUNK):
        at = start + np.flatnonzero(left[start : start + CHUNK])
        if at.size:
            evaluate = _evaluator(region, graph, constants, at)
            _put(
                lines,
                at,
                sampled.lines_around(
                    evaluate, entries.map(lambda end, at=at: end[at]), region.knots
                ),
            )
    lower_slope, lower_offset, upper_slope, upper_offset = (line.reshape(x.shape) for line in lines)
    return Lines(
        (region.variable,), lower_slope, lower_offset, upper_slope, upper_offset, x.magnitude
    )


def _put(lines: Sequence[Array], at: Array, found: Sequence[Array] | None) -> None:
    for line, values in zip(lines, found or ()):
        line[at] = values


def single_node(node: Node, operand: Slot) -> Region:
    """A node with one varying operand as a region of its own."""
    return Region(operand, (node,), ())


def _evaluator(
    region: Region,
    graph: Graph,
    constants: Mapping[int, Interval],
    entries: Array | None = None,
    compare: Compare = strict_compare,
) -> Evaluate:
    """The function with its derivative; `entries` are the numbers of the entries, counted through all boxes, at which
    constants that are arrays are read; `compare` decides comparisons of the variable with a constant."""
    fixed = {
        slot.id: constants[slot.id]
        if entries is None
        else _at_entries(constants[slot.id], region.variable, entries)
        for node in region.nodes
        for slot in node.inputs
        if slot.id in constants
    }

    def rule(node: Node):
        return (
            compare
            if compares_variable(graph, region.variable, node)
            else PLAIN_RULES[node.primitive]
        )

    return evaluator(region.nodes, region.variable.id, fixed, rule)


def _at_entries(constant: Interval, variable: Slot, entries: Array) -> Interval:
    if constant.shape == ():
        return constant
    places = entries % max(1, variable.size)
    return constant.map(lambda end: np.broadcast_to(end, variable.shape).ravel()[places])


@np.errstate(all="ignore")
def slopes_at_kink(
    region: Region, graph: Graph, constants: Mapping[int, Interval]
) -> tuple[float, float] | None:
    """The two slopes of a function that is 0 at 0 and linear on either side: leaky ReLUs, however they are spelt."""
    uniform = {k: _uniform(constants[k]) for k in _constants_of(region, constants)}
    if any(value is None for value in uniform.values()):
        return None
    numbers = {k: value for k, value in uniform.items() if value is not None}
    sides = [
        Interval(np.array([-np.inf]), np.array([0.0])),
        Interval(np.array([0.0]), np.array([np.inf])),
    ]
    if not _vanishes_at_zero(region, graph, numbers, sides):
        return None
    evaluate = _evaluator(region, graph, numbers)
    found = [evaluate(side).slope for side in sides]
    slopes = [float(slope.lo[0]) for slope in found if slope is not None and slope.is_point]
    known = len(slopes) == 2 and np.isfinite(slopes).all()
    return (slopes[0], slopes[1]) if known and set(region.knots) <= {0.0} else None


def _vanishes_at_zero(
    region: Region, graph: Graph, constants: Mapping[int, Interval], sides: Sequence[Interval]
) -> bool:
    """Whether the function is 0 at 0, and so are its limits from either side: it may jump there, as
    `where(x > 0, x + 1, x)` does. A limit is the value at 0 with the comparisons that hold beside it."""

    def compare_on(side: Interval) -> Compare:
        def rule(node: Node, x: Interval, y: Interval) -> Interval:
            return strict_compare(
                node,
                *(side if slot == region.variable else z for slot, z in zip(node.inputs, (x, y))),
            )

        return rule

    zero = Interval(np.zeros(1), np.zeros(1))
    rules = [strict_compare, *(compare_on(side) for side in sides)]
    values = [_evaluator(region, graph, constants, compare=rule)(zero).value for rule in rules]
    return all(value.is_point and not value.lo.any() for value in values)


def _constants_of(region: Region, constants: Mapping[int, Interval]) -> Sequence[int]:
    return [slot.id for node in region.nodes for slot in node.inputs if slot.id in constants]


def _uniform(x: Interval) -> Interval | None:
    """A constant as one number, if it is the same at all entries."""
    same = x.lo.size > 0 and bool(np.all(x.lo == x.lo.flat[0]) and np.all(x.hi == x.hi.flat[0]))
    return x.map(lambda end: np.asarray(end.flat[0])) if same else None


KINKED = frozenset(("abs", "max", "min", "clamp", "sign"))


def _kinks(region: Region, constants: Mapping[int, Interval]) -> tuple[float, ...]:
    """Where an affine function of the variable meets a number that it is compared with, as far as floats say: good
    places for a cut."""
    affine = {region.variable.id: (1.0, 0.0)}
    found: set[float] = set()
    for node in region.nodes:
        operands = [_as_affine(slot, affine, constants) for slot in node.inputs]
        if any(operand is None for operand in operands):
            continue
        forms = [operand for operand in operands if operand is not None]
        if node.primitive in KINKED | COMPARISONS:
            found.update(_meeting_points(forms if len(forms) > 1 else [*forms, (0.0, 0.0)]))
        elif node.primitive in AFFINE:
            affine[node.outputs[0].id] = AFFINE[node.primitive](*forms)
    return tuple(sorted(v for v in found if np.isfinite(v)))


Pair = tuple[float, float]
"""Slope and offset."""


def _as_affine(
    slot: Slot, affine: Mapping[int, Pair], constants: Mapping[int, Interval]
) -> Pair | None:
    if slot.id in affine:
        return affine[slot.id]
    value = _uniform(constants[slot.id]) if slot.id in constants else None
    return None if value is None or value.is_bool else (0.0, float(value.lo))


def _meeting_points(forms: Sequence[Pair]) -> list[float]:
    pairs = [(p, q) for k, p in enumerate(forms) for q in forms[:k]]
    return [(q[1] - p[1]) / (p[0] - q[0]) for p, q in pairs if p[0] != q[0]]


AFFINE: dict[str, Callable[..., Pair]] = {
    "add": lambda p, q: (p[0] + q[0], p[1] + q[1]),
    "sub": lambda p, q: (p[0] - q[0], p[1] - q[1]),
    "neg": lambda p: (-p[0], -p[1]),
    "mul": lambda p, q: (
        (p[0] * q[1] + p[1] * q[0], p[1] * q[1]) if p[0] * q[0] == 0 else (np.nan, np.nan)
    ),
    "div": lambda p, q: (p[0] / q[1], p[1] / q[1]) if q[0] == 0 and q[1] else (np.nan, np.nan),
    **dict.fromkeys(("copy", "stop_gradient", "convert_element_type"), lambda p: p),
}
