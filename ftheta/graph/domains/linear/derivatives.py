"""Functions of one variable with their derivatives, in intervals rounded outward.

A `Dual` is the enclosure of a function over each of many pieces, and of its derivative there: the derivative wherever
there is one, with all one-sided ones at a kink, so that |g(x) − g(y)| ≤ max|g′|·|x − y| on the piece. Where a function
may jump, nothing is known of its derivative: (−∞, ∞).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.arithmetic import (
    add,
    div,
    integer_power,
    mul,
    neg,
    positive_power,
    sqrt,
    square,
    sub,
)
from ftheta.graph.domains.interval.decisions import choose
from ftheta.graph.domains.interval.functions import MONOTONE, cos, cosh, sin, tan
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.graph import Node


@dataclass(frozen=True, eq=False)
class Dual:
    """Enclosures of a function and of its derivative; `slope` is None where the function does not depend on the
    variable."""

    value: Interval
    slope: Interval | None


def number(value: float) -> Interval:
    """A constant."""
    return Interval.point(value)


ONE = number(1.0)
TWO = number(2.0)
LOG_2 = Interval(np.nextafter(np.log(2.0), 0), np.nextafter(np.log(2.0), 1))
TWO_OVER_ROOT_PI = Interval(
    np.nextafter(2 / np.sqrt(np.pi), 0), np.nextafter(2 / np.sqrt(np.pi), 2)
)
HALF_ROOT_PI = Interval(np.nextafter(np.sqrt(np.pi) / 2, 0), np.nextafter(np.sqrt(np.pi) / 2, 1))
EXP = MONOTONE["exp"]
TANH = MONOTONE["tanh"]
LOGISTIC = MONOTONE["logistic"]


def _gauss(x: Interval) -> Interval:
    return EXP(neg(square(x)))


def _tan_slope(x: Interval) -> Interval:
    return add(ONE, square(tan(x)))


SLOPES: dict[str, Callable[[Interval], Interval]] = {
    "exp": EXP,
    "exp2": lambda x: mul(LOG_2, MONOTONE["exp2"](x)),
    "expm1": EXP,
    "log": lambda x: div(ONE, x),
    "log1p": lambda x: div(ONE, add(ONE, x)),
    "tanh": lambda x: sub(ONE, square(TANH(x))),
    "logistic": lambda x: mul(LOGISTIC(x), LOGISTIC(neg(x))),
    "erf": lambda x: mul(TWO_OVER_ROOT_PI, _gauss(x)),
    "erfc": lambda x: neg(mul(TWO_OVER_ROOT_PI, _gauss(x))),
    "erf_inv": lambda x: mul(HALF_ROOT_PI, EXP(square(MONOTONE["erf_inv"](x)))),
    "sinh": cosh,
    "cosh": MONOTONE["sinh"],
    "asinh": lambda x: div(ONE, sqrt(add(ONE, square(x)))),
    "acosh": lambda x: div(ONE, sqrt(mul(_at_least_zero(sub(x, ONE)), add(x, ONE)))),
    "atanh": lambda x: div(ONE, mul(_at_least_zero(sub(ONE, x)), _at_least_zero(add(ONE, x)))),
    "atan": lambda x: div(ONE, add(ONE, square(x))),
    "asin": lambda x: div(ONE, sqrt(mul(_at_least_zero(sub(ONE, x)), _at_least_zero(add(ONE, x))))),
    "acos": lambda x: neg(
        div(ONE, sqrt(mul(_at_least_zero(sub(ONE, x)), _at_least_zero(add(ONE, x)))))
    ),
    "sin": cos,
    "cos": lambda x: neg(sin(x)),
    "tan": _tan_slope,
    "sqrt": lambda x: div(ONE, mul(TWO, sqrt(x))),
    "rsqrt": lambda x: neg(div(ONE, mul(TWO, mul(x, sqrt(x))))),
    "cbrt": lambda x: div(ONE, mul(number(3.0), square(MONOTONE["cbrt"](x)))),
    "square": lambda x: mul(TWO, x),
}
"""The derivative over an interval on which the function is defined."""


def _at_least_zero(x: Interval) -> Interval:
    """The arguments are in the domain: rounding alone can have led out of it."""
    return Interval(np.maximum(x.lo, 0.0), np.maximum(x.hi, 0.0))


def power_slope(x: Interval, exponent: float) -> Interval:
    """p x^(p−1), for x where the power is defined."""
    if float(exponent).is_integer():
        return mul(number(exponent), integer_power(x, int(exponent) - 1))
    return mul(number(exponent), positive_power(x, sub(number(exponent), ONE)))


# ---- rules --------------------------------------------------------------------------------------------------------


def unknown(like: Interval) -> Interval:
    """A derivative of which nothing is known."""
    return Interval(np.full(like.shape, -np.inf), np.full(like.shape, np.inf))


def _zero_or(x: Dual) -> Interval:
    return number(0.0) if x.slope is None else x.slope


def _times(x: Interval, slope: Interval) -> Interval:
    """x · slope, exact where the slope is 1: so the slopes of a piecewise linear function stay exact."""
    found = mul(x, slope)
    is_one = (slope.lo == 1.0) & (slope.hi == 1.0)
    return Interval(np.where(is_one, x.lo, found.lo), np.where(is_one, x.hi, found.hi))


def _chain(node: Node, value: Interval, x: Dual) -> Interval:
    return _times(SLOPES[node.primitive](x.value), _zero_or(x))


def _product(node: Node, value: Interval, x: Dual, y: Dual) -> Interval:
    if node.inputs[0] == node.inputs[1]:
        return _times(mul(TWO, x.value), _zero_or(x))
    return add(_times(x.value, _zero_or(y)), _times(y.value, _zero_or(x)))


def _quotient(node: Node, value: Interval, x: Dual, y: Dual) -> Interval:
    return div(sub(_zero_or(x), mul(value, _zero_or(y))), y.value)


def _power(node: Node, value: Interval, x: Dual, y: Dual) -> Interval:
    exponents = np.unique(y.value.lo) if y.slope is None and y.value.is_point else np.zeros(0)
    if exponents.size != 1:
        return unknown(value)
    return _times(power_slope(x.value, float(exponents[0])), _zero_or(x))


def _extremum(node: Node, value: Interval, x: Dual, y: Dual) -> Interval:
    """The slope of the one that is larger (or smaller), of either where that is open."""
    first, second = (x.value, y.value) if node.primitive == "max" else (y.value, x.value)
    from_y = second.lo >= first.hi
    from_x = first.lo >= second.hi
    return choose(
        Interval(from_y, ~(from_x & ~from_y)),
        [_spread(_zero_or(x), value), _spread(_zero_or(y), value)],
    )


def _absolute(node: Node, value: Interval, x: Dual) -> Interval:
    """±1: at an end of the piece that is 0 the slope towards its inside."""
    right = x.value.lo >= 0
    left = (x.value.hi <= 0) & ~right
    return _times(Interval(np.where(right, 1.0, -1.0), np.where(left, -1.0, 1.0)), _zero_or(x))


def _clamp(node: Node, value: Interval, lowest: Dual, x: Dual, highest: Dual) -> Interval:
    if lowest.slope is not None or highest.slope is not None:
        return unknown(value)
    outside = (x.value.hi <= lowest.value.lo) | (x.value.lo >= highest.value.hi)
    inside = (x.value.lo >= lowest.value.hi) & (x.value.hi <= highest.value.lo)
    zero = _spread(number(0.0), value)
    return choose(Interval(inside & ~outside, ~outside), [zero, _spread(_zero_or(x), value)])


def _choice(node: Node, value: Interval, which: Dual, *cases: Dual) -> Interval:
    """The slope of the case that is taken; where that is open the function may jump."""
    decided = np.broadcast_to(which.value.lo == which.value.hi, value.shape)
    found = choose(which.value, [_spread(_zero_or(case), value) for case in cases])
    return Interval(np.where(decided, found.lo, -np.inf), np.where(decided, found.hi, np.inf))


def _step(node: Node, value: Interval, *operands: Dual) -> Interval:
    """Constant where it does not jump."""
    still = value.lo == value.hi
    return Interval(np.where(still, 0.0, -np.inf), np.where(still, 0.0, np.inf))


def _spread(x: Interval, like: Interval) -> Interval:
    return x.map(lambda end: np.broadcast_to(end, like.shape))


def _integer_power(node: Node, value: Interval, x: Dual) -> Interval:
    return _times(power_slope(x.value, node.params["y"]), _zero_or(x))


RULES: dict[str, Callable[..., Interval]] = {
    **dict.fromkeys(SLOPES, _chain),
    **dict.fromkeys(("add", "add_any"), lambda node, value, x, y: add(_zero_or(x), _zero_or(y))),
    **dict.fromkeys(
        ("copy", "stop_gradient", "convert_element_type"), lambda node, value, x: _zero_or(x)
    ),
    **dict.fromkeys(("max", "min"), _extremum),
    **dict.fromkeys(("sign", "floor", "ceil", "round"), _step),
    "sub": lambda node, value, x, y: sub(_zero_or(x), _zero_or(y)),
    "neg": lambda node, value, x: neg(_zero_or(x)),
    "mul": _product,
    "div": _quotient,
    "integer_pow": _integer_power,
    "pow": _power,
    "abs": _absolute,
    "clamp": _clamp,
    "select_n": _choice,
}
"""The derivative of a node's value, from the value and the operands with theirs."""


def differentiate(node: Node, value: Interval, operands: Sequence[Dual]) -> Dual:
    """The node's value with its derivative; unknown where there is no rule. A truth value is a step."""
    if all(x.slope is None for x in operands):
        return Dual(value, None)
    rule = _step if value.is_bool else RULES.get(node.primitive)
    slope = unknown(value) if rule is None else _spread(rule(node, value, *operands), value)
    return Dual(value, slope)


Evaluate = Callable[[Interval], Dual]
"""A function of one variable over pieces of its range: intervals (pieces, entries)."""


def evaluator(
    nodes: Sequence[Node],
    variable: int,
    constants: Mapping[int, Interval],
    rule: Callable[[Node], Callable[..., Any]],
) -> Evaluate:
    """The slot that the last of the nodes assigns as a function of the slot `variable`; `rule` gives the interval rule
    of a node."""

    def evaluate(x: Interval) -> Dual:
        known = {number: Dual(value, None) for number, value in constants.items()}
        known[variable] = Dual(x, number_one(x))
        for node in nodes:
            operands = [known[slot.id] for slot in node.inputs]
            value = rule(node)(node, *[operand.value for operand in operands])
            known[node.outputs[0].id] = differentiate(node, value, operands)
        return known[nodes[-1].outputs[0].id]

    return evaluate


def number_one(like: Interval) -> Interval:
    """The derivative of the variable itself."""
    return Interval(np.ones(like.shape), np.ones(like.shape))
