r"""How far what a program of any operators computes in floats may be from the real function, number by number.

For each number $v$ of the program, $D_v\ge|\tilde v-v|$ over a box of inputs, where $\tilde v$ is what the program
computes in a type with unit roundoff $u$. An operator passes deviations on, and adds its own rounding:

    sums, products of matrices, convolutions   |W|D + γ_t |W||h|, for t terms in any order, fused or not
    products, quotients                        |x|D_y + |y|D_x + D_x D_y, and one rounding
    maxima, minima, ReLU, pooling by maxima    the largest deviation among the operands; no rounding
    smooth functions                           sup|f′| D, and `LIBRARY_ULPS` units in the last place
    moves of entries                           as they are

Ranges of the real function come from linear bounds. All of it is computed in float64 and enlarged by more than its own
rounding can be (`pay`). What a compiler does to the operators themselves (batch normalisation folded into weights,
Winograd convolutions, reduced precision) is another program.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ftheta.graph.domains.interval import PLAIN_RULES
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.derivatives import SLOPES, power_slope
from ftheta.graph.domains.linear.program import Program, needed_nodes
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.rounding import pay
from ftheta.graph.domains.linear.sets import BoxSet
from ftheta.graph.graph import Node, Slot
from ftheta.graph.interpret import precision
from ftheta.lazy import jnp
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float

from .deviations import Deviation, FloatType
from .goals import Array

LIBRARY_ULPS = {
    **dict.fromkeys(("exp", "exp2", "log", "sin", "cos", "atan", "rsqrt"), 8.0),
    **dict.fromkeys(("tanh", "erf", "expm1", "log1p"), 16.0),
    **dict.fromkeys(("logistic", "sinh", "cosh"), 24.0),
}
"""Functions of one variable, and units in the last place by which a library may be wrong. Good ones are within 4; the
last ones are often made of others."""

ABSOLUTE = frozenset(("sin", "cos", "log", "logistic"))
"""Functions that quick libraries compute to an absolute error: units are those of 1 where the result is smaller."""

CORRECTLY_ROUNDED = frozenset(("sqrt", "square"))

MOVES = frozenset(
    [
        "reshape",
        "squeeze",
        "expand_dims",
        "transpose",
        "rev",
        "broadcast_in_dim",
        "slice",
        "concatenate",
        "stack",
        "unstack",
        "split",
        "tile",
        "pad",
        "gather",
        "dynamic_slice",
        "dynamic_update_slice",
        "scatter",
        "copy",
        "stop_gradient",
        "select_n",
        "neg",
    ]
)
"""Operators that move entries, and signs: nothing is computed."""


class Deviations:
    """The deviations of the numbers of one program over one box, made in the order of its nodes."""

    def __init__(self, program: Program, low: Array, high: Array, kind: FloatType) -> None:
        self.program = program
        self.kind = kind
        shape = (1, *program.graph.inputs[0].shape)
        self.known = enclose(
            program, [BoxSet(Interval(low.reshape(shape), high.reshape(shape)))]
        ).enclosures
        self.found: dict[int, Array] = {}

    def of(self, slot: Slot) -> Float[Any, "*shape"]:
        """Inputs and stored constants are numbers of the type."""
        return self.found.get(slot.id, np.zeros(slot.shape))

    def magnitude(self, slot: Slot) -> Float[Any, "*shape"]:
        """A bound of the real value."""
        return self.known[slot.id].magnitude[0]

    def size(self, slot: Slot) -> Float[Any, "*shape"]:
        """A bound of the computed value."""
        return _up(self.magnitude(slot) + self.of(slot))

    def widen(self, slot: Slot) -> Interval:
        """A range of real and computed values."""
        x, more = self.known[slot.id], _up(self.of(slot))
        return Interval(np.nextafter(x.lo[0] - more, -np.inf), np.nextafter(x.hi[0] + more, np.inf))

    def add_roundings(
        self, passed: Float[Any, "*#shape"], size: Float[Any, "*#shape"], roundings: float = 1.0
    ) -> Float[Any, "*shape"]:
        """What is passed on, and so many roundings of results of that size."""
        count = roundings * self.kind.unit
        return _up(
            passed + count / (1.0 - count) * size + 2.0 * max(roundings, 1.0) * self.kind.least
        )

    def add(self, node: Node) -> None:
        """The deviations of what a node computes."""
        varies = any(slot.id in self.program.varying for slot in node.outputs)
        if not varies and not all(slot.is_real for slot in node.outputs):
            return  # whole numbers and truth values that are constants
        for k, slot in enumerate(node.outputs):
            with np.errstate(all="ignore"):
                found = self._apply_rule(node, k)
            self.found[slot.id] = np.where(
                np.isnan(found), np.inf, np.broadcast_to(found, slot.shape)
            )

    def _apply_rule(self, node: Node, output: int) -> Array:
        if node.primitive in MOVES:
            return _move(self, node, output)
        if node.primitive in (*LIBRARY_ULPS, *CORRECTLY_ROUNDED, "integer_pow"):
            return _pass_through_curve(self, node)
        rule = RULES.get(node.primitive)
        if rule is None or len(node.outputs) != 1:
            raise refuse(node, self.kind)
        return rule(self, node)


def _up(x: Array) -> Array:
    return pay(np.asarray(x, np.float64))


def refuse(node: Node, kind: FloatType) -> SubjectError:
    """The error for a `node` whose rounding in floats of this `kind` has no rule."""
    return SubjectError(
        f"What a {kind.name} program computes is not decided for this operator.",
        where=node.source,
        got=node.primitive,
        remedy="ask about the real function (--real)",
    )


def bound_program_deviations(
    program: Program, low: Float[np.ndarray, "d"], high: Float[np.ndarray, "d"], kind: FloatType
) -> tuple[Deviation, Float[np.ndarray, "m"]] | None:
    """The deviation of the outputs over a box of inputs, and bounds of their absolute values as computed; None where
    numbers may overflow, or where nothing is known of them."""
    run = Deviations(program, low, high, kind)
    with precision(program.graph):
        for node in needed_nodes(program):
            run.add(node)
            for slot in node.outputs:
                if slot.is_real and not np.all(run.size(slot) < 0.99 * kind.largest):
                    return None
    (out,) = program.graph.outputs
    found = run.of(out).ravel()
    return Deviation(np.zeros((len(found), 0)), found), run.size(out).ravel()


def require_constants(program: Program, kind: FloatType) -> None:
    """Raise unless all stored constants that the program reads are numbers of this type."""
    read = {slot.id for node in needed_nodes(program) for slot in node.inputs}
    for number, value in program.graph.constants.items():
        array = np.asarray(value)
        if number not in read or array.dtype.kind != "f":
            continue
        with np.errstate(over="ignore"):
            is_held = np.array_equal(array, array.astype(kind.dtype).astype(array.dtype))
        if not is_held:
            raise SubjectError(
                f"The network has weights that are no {kind.name} numbers.",
                where=program.graph.slots[number].name,
                remedy=f"store it in {kind.name}, or ask about the real function (--real)",
            )


# ---- rules ----------------------------------------------------------------------------------------------------------

Rule = Callable[[Deviations, Node], Array]


def _move(run: Deviations, node: Node, output: int) -> Array:
    """Deviations go where the entries go."""
    if (
        all(slot.id not in run.program.varying for slot in node.inputs)
        and node.primitive != "select_n"
    ):
        return _move_exactly(node, output, *[_or_value(run, slot) for slot in node.inputs])
    terms = run.program.linear_terms(node, output)
    if terms is None:
        raise refuse(node, run.kind)
    total = np.zeros(node.outputs[output].shape)
    for place, linear in terms:
        total = total + np.abs(linear.push(run.of(node.inputs[place])[None])[0])
    return _up(total)


def _or_value(run: Deviations, slot: Slot) -> Any:
    """The deviations of an operand; the values of whole numbers, which say where entries go."""
    return run.of(slot) if slot.is_real else run.known[slot.id].lo[0]


def _move_exactly(node: Node, output: int, *operands: Array) -> Array:
    """The node, which moves, compares or negates, applied to deviations in the types of its operands; what numbers lose
    that are written in these types is added. What is read outside of an array deviates by nothing."""
    typed = [x.astype(slot.dtype) for x, slot in zip(operands, node.inputs)]
    found = np.abs(np.asarray(node.evaluate(*typed)[output], np.float64))
    kind = jnp.finfo(node.outputs[output].dtype)
    return _up(found * (1.0 + 2.0 * float(kind.eps)) + float(kind.tiny))


def _add(run: Deviations, node: Node) -> Array:
    passed = sum((run.of(slot) for slot in node.inputs), np.zeros(node.shape))
    return run.add_roundings(passed, run.magnitude(node.outputs[0]) + passed)


def _multiply(run: Deviations, node: Node) -> Array:
    x, y = node.inputs
    if any(
        slot.id not in run.program.varying
        and np.all(run.magnitude(slot) == 1)
        and not run.of(slot).any()
        for slot in (x, y)
    ):
        return _up(run.of(x) + run.of(y))
    flushed = run.kind.least * (run.size(x) + run.size(y))  # a tiny operand may count as 0
    passed = run.size(x) * run.of(y) + run.magnitude(y) * run.of(x) + flushed
    return run.add_roundings(passed, run.magnitude(node.outputs[0]) + passed)


def _divide(run: Deviations, node: Node) -> Array:
    x, y = node.inputs
    divisor = run.widen(y)
    least = np.where(divisor.lo > 0, divisor.lo, np.where(divisor.hi < 0, -divisor.hi, 0.0)) * (
        1 - 2.0**-40
    )
    quotient = run.magnitude(node.outputs[0])
    moved = run.of(x) + quotient * run.of(y) + run.kind.least * (1.0 + quotient)
    passed = np.where(least > 0, moved / least, np.inf)
    return run.add_roundings(passed, quotient + passed)


def _evaluate(node: Node, *operands: Array) -> Array:
    """The node, a sum of products or of entries, applied to numbers that are not negative; `pay` covers its rounding.

    A program that casts to a narrower type is evaluated in that type: what this loses is added.
    """
    typed = [x.astype(slot.dtype) for x, slot in zip(operands, node.inputs)]
    found = np.asarray(node.evaluate(*typed)[0], np.float64)
    narrowest = max(
        (np.finfo(slot.dtype) for slot in (*node.inputs, *node.outputs)), key=lambda kind: kind.eps
    )
    if narrowest.eps == np.finfo(np.float64).eps:
        return found
    terms = max(x.size for x in operands) + len(operands) + 2
    largest = max(float(x.max(initial=1.0)) for x in operands)
    lost = terms * float(narrowest.eps)
    return (
        found / (1.0 - lost) + 4 * terms * float(narrowest.tiny) * largest
        if lost < 0.5
        else np.full_like(found, np.inf)
    )


def _bilinear(count: Callable[[Node], int]) -> Rule:
    """Products of matrices, and convolutions, with so many terms for each entry."""

    def rule(run: Deviations, node: Node) -> Array:
        x, y = node.inputs
        sizes = run.size(x), run.size(y)
        passed = np.zeros(node.shape)
        if run.of(x).any():
            passed = passed + _evaluate(node, run.of(x), sizes[1])
        if run.of(y).any():
            passed = passed + _evaluate(node, sizes[0], run.of(y))
        terms = count(node)
        lost = (
            2.0
            * run.kind.least
            * (terms + float(sizes[0].max(initial=0.0)) + float(sizes[1].max(initial=0.0)))
            * terms
        )
        return _up(run.add_roundings(passed, _evaluate(node, *sizes), terms) + lost)

    return rule


def _terms_of_product(node: Node) -> int:
    (contracted, _), _ = node.params["dimension_numbers"]
    return max(1, prod(node.inputs[0].shape[a] for a in contracted))


def _terms_of_convolution(node: Node) -> int:
    kernel = node.inputs[1].shape
    return max(1, prod(kernel) // max(1, kernel[node.params["dimension_numbers"].rhs_spec[0]]))


def _sum(count: Callable[[Node], int]) -> Rule:
    def rule(run: Deviations, node: Node) -> Array:
        (x,) = node.inputs
        return run.add_roundings(
            _evaluate(node, run.of(x)), _evaluate(node, run.size(x)), count(node)
        )

    return rule


def _largest_deviation(run: Deviations, node: Node) -> Array:
    """Of the operands, entry by entry: the operator is exact, and no steeper than 1 in their largest change."""
    found = np.zeros(node.shape)
    for slot in node.inputs:
        found = np.maximum(found, run.of(slot))
    return found


def _largest_along_axes(run: Deviations, node: Node) -> Array:
    return run.of(node.inputs[0]).max(axis=tuple(node.params["axes"]), initial=0.0)


def _largest_in_windows(run: Deviations, node: Node) -> Array:
    found = _move_exactly(node, 0, run.of(node.inputs[0]))
    return np.where(_reads_nothing(node), 0.0, found)


def _reads_nothing(node: Node) -> Array:
    """Where a window lies outside of the array: there the largest is −∞."""
    numbers = np.zeros(node.inputs[0].shape, node.dtype)
    return np.isinf(np.asarray(node.evaluate(numbers)[0], np.float64))


def _convert(run: Deviations, node: Node) -> Array:
    (x,) = node.inputs
    result = node.outputs[0]
    # what is computed in a narrower type than the one that is asked about
    narrows = result.is_real and float(jnp.finfo(result.dtype).eps) > 2.0 * run.kind.unit
    if not (x.is_real and result.is_real) or narrows:
        raise refuse(node, run.kind)
    return run.of(x)


def _pass_through_curve(run: Deviations, node: Node) -> Array:
    """A function of one variable: its steepest slope over all values, real or computed, and its library's error."""
    (x,) = node.inputs
    wide = run.widen(x)
    size = PLAIN_RULES[node.primitive](node, wide).magnitude
    if node.primitive == "integer_pow":
        slope = power_slope(wide, node.params["y"])
        roundings = abs(float(node.params["y"])) + 1.0
    else:
        slope = SLOPES[node.primitive](wide)
        roundings = 2.0 * LIBRARY_ULPS.get(node.primitive, 0.5)  # half units
    size = np.maximum(size, 1.0) if node.primitive in ABSOLUTE else size
    return run.add_roundings(slope.magnitude * (run.of(x) + run.kind.least), size, roundings)


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("add", "sub", "add_any"), _add),
    "mul": _multiply,
    "div": _divide,
    "dot_general": _bilinear(_terms_of_product),
    "conv_general_dilated": _bilinear(_terms_of_convolution),
    "reduce_sum": _sum(
        lambda node: max(1, prod(node.inputs[0].shape[a] for a in node.params["axes"]))
    ),
    "cumsum": _sum(lambda node: max(1, node.shape[node.params["axis"]])),
    "reduce_window_sum": _sum(lambda node: max(1, prod(node.params["window_dimensions"]))),
    **dict.fromkeys(("max", "min", "clamp", "abs"), _largest_deviation),
    **dict.fromkeys(("reduce_max", "reduce_min"), _largest_along_axes),
    "reduce_window_max": _largest_in_windows,
    "convert_element_type": _convert,
}
