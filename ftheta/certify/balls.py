"""Scalar programs in ball arithmetic: both sweeps of the graph once more, with Arb balls for values and adjoints.

A ball contains the exact result for all numbers in its operands. The derivatives are those of JAX, also at kinks.
Where an array is met, where a primitive has no rule or where balls do not decide a derivative, there is no value.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import (
    Domain,
    Interpretation,
    ReverseDomain,
    active_slots,
    backward,
    forward,
)
from ftheta.logic.enclosure import Basis, Enclosure

PRECISION = 1600  # bits
HALF_LENGTH = 400  # secants reach 2^-400 to either side


CUSTOM_CALLS = ("custom_jvp_call", "custom_vjp_call")


def _decide(x: Any, y: Any) -> None:
    if x.overlaps(y) and not (x.is_exact() and y.is_exact()):
        raise GraphError("two balls overlap, and a derivative depends on their order")


def _half(holds: bool, tie: bool) -> Any:
    """The derivative of a maximum with respect to one argument: JAX splits a tie evenly."""
    return arb(1) / 2 if tie else arb(int(holds))


def _maximum(x: Any, y: Any) -> tuple[Any, Any]:
    _decide(x, y)
    return _half(x > y, x == y), _half(y > x, x == y)


def _minimum(x: Any, y: Any) -> tuple[Any, Any]:
    return _maximum(y, x)[0], _maximum(y, x)[1]


def _sign(x: Any) -> Any:
    """Of the absolute value: JAX takes +1 at 0."""
    _decide(x, arb(0))
    return arb(1 if x >= 0 else -1)


# each function with its partial derivatives, given the operands and then the value
Partials = Callable[..., tuple[Any, ...]]
FUNCTIONS: dict[str, tuple[Callable[..., Any], Partials]] = {
    "add": (lambda x, y: x + y, lambda x, y, v: (arb(1), arb(1))),
    "add_any": (lambda x, y: x + y, lambda x, y, v: (arb(1), arb(1))),
    "sub": (lambda x, y: x - y, lambda x, y, v: (arb(1), arb(-1))),
    "mul": (lambda x, y: x * y, lambda x, y, v: (y, x)),
    "div": (lambda x, y: x / y, lambda x, y, v: (1 / y, -v / y)),
    "neg": (lambda x: -x, lambda x, v: (arb(-1),)),
    "square": (lambda x: x * x, lambda x, v: (2 * x,)),
    "pow": (lambda x, y: x**y, lambda x, y, v: (y * x ** (y - 1), v * x.log())),
    "exp": (arb.exp, lambda x, v: (v,)),
    "expm1": (arb.expm1, lambda x, v: (v + 1,)),
    "exp2": (lambda x: arb(2) ** x, lambda x, v: (v * arb(2).log(),)),
    "log": (arb.log, lambda x, v: (1 / x,)),
    "log1p": (arb.log1p, lambda x, v: (1 / (1 + x),)),
    "sqrt": (arb.sqrt, lambda x, v: (1 / (2 * v),)),
    "rsqrt": (arb.rsqrt, lambda x, v: (-v / (2 * x),)),
    "sin": (arb.sin, lambda x, v: (x.cos(),)),
    "cos": (arb.cos, lambda x, v: (-x.sin(),)),
    "tan": (arb.tan, lambda x, v: (1 + v * v,)),
    "asin": (arb.asin, lambda x, v: (1 / (1 - x * x).sqrt(),)),
    "acos": (arb.acos, lambda x, v: (-1 / (1 - x * x).sqrt(),)),
    "atan": (arb.atan, lambda x, v: (1 / (1 + x * x),)),
    "sinh": (arb.sinh, lambda x, v: (x.cosh(),)),
    "cosh": (arb.cosh, lambda x, v: (x.sinh(),)),
    "tanh": (arb.tanh, lambda x, v: (1 - v * v,)),
    "logistic": (lambda x: 1 / (1 + (-x).exp()), lambda x, v: (v * (1 - v),)),
    "erf": (arb.erf, lambda x, v: (2 * (-x * x).exp() / arb.pi().sqrt(),)),
    "abs": (abs, lambda x, v: (_sign(x),)),
    "max": (arb.max, lambda x, y, v: _maximum(x, y)),
    "min": (arb.min, lambda x, y, v: _minimum(x, y)),
    "copy": (lambda x: x, lambda x, v: (arb(1),)),
}
CUSTOM: dict[str, tuple[Callable[..., Any], Partials]] = {
    "relu": (lambda x: x.max(arb(0)), lambda x, v: (_maximum(x, arb(0))[0].floor(),)),
    "logaddexp": (
        lambda x, y: (x.exp() + y.exp()).log(),
        lambda x, y, v: ((x - v).exp(), (y - v).exp()),
    ),
}
"""Functions that bring a derivative of their own, by name: that of `relu` at 0 is 0."""


def _pair(node: Node) -> tuple[Callable[..., Any], Partials]:
    if node.primitive == "integer_pow":
        y = int(node.params["y"])
        return (lambda x: x**y), (lambda x, v: (y * x ** (y - 1),))
    table, name = (
        (CUSTOM, node.label) if node.primitive in CUSTOM_CALLS else (FUNCTIONS, node.primitive)
    )
    if name not in table or any(slot.shape for slot in (*node.inputs, *node.outputs)):
        raise GraphError(f"there is no ball rule for {name!r}", where=node.source)
    return table[name]


def _value(node: Node, *operands: Any) -> Any:
    return _pair(node)[0](*operands)


def _pull_back(
    node: Node, operands: list[Any], above: list[Any], wanted: Sequence[bool]
) -> list[Any]:
    function, partials = _pair(node)
    slopes = partials(*operands, function(*operands))
    return [above[0] * slope if want else None for slope, want in zip(slopes, wanted)]


def _lift(constant: Any) -> Any:
    value = np.asarray(constant)
    if value.shape != () or value.dtype.kind not in "fi":
        raise GraphError("balls are for real scalars", got=f"a constant {value.dtype}{value.shape}")
    return arb(value.item())


HERE = "ftheta/certify/balls.py"
BALLS = Domain("balls", HERE, _lift, {}, default=_value)
BALL_ADJOINTS = ReverseDomain(
    "ball adjoints", HERE, {}, lambda x, y: x + y, lambda slot: arb(0), default=_pull_back
)


def ball_values(graph: Graph, at: Sequence[Any]) -> Interpretation[Any] | None:
    """The value of every node of a scalar program at `at` (a ball or float for each input); None without rules."""
    if any(slot.shape for slot in graph.inputs) or len(graph.outputs) != 1:
        return None
    try:
        return forward(BALLS, graph, *map(arb, at))
    except (GraphError, TypeError):
        return None


def ball_gradient(graph: Graph, at: Sequence[float]) -> list[Enclosure] | None:
    """The value and the adjoint of every input, by both sweeps in ball arithmetic; None without rules."""
    with ctx.workprec(PRECISION):
        values = ball_values(graph, at)
        if values is None:
            return None
        out = graph.outputs[0]
        try:
            adjoint = backward(BALL_ADJOINTS, values, {out.id: arb(1)}, active_slots(graph))
        except GraphError:
            return None
        return [known(values[out]), *(known(adjoint[slot]) for slot in graph.inputs)]


def secant_slope(graph: Graph, at: Sequence[float], k: int) -> Enclosure | None:
    r"""$(\ell(x+he_k)-\ell(x-he_k))/2h$ for $h=2^{-400}$, a float for the derivative, from which it differs by
    $O(h^2)$."""
    with ctx.workprec(PRECISION):
        h = arb(2) ** -HALF_LENGTH
        out = graph.outputs[0]
        runs = [
            ball_values(graph, [arb(x) + sign * h * (i == k) for i, x in enumerate(at)])
            for sign in (1, -1)
        ]
        if runs[0] is None or runs[1] is None:
            return None
        slope = known((runs[0][out] - runs[1][out]) / (2 * h))
        return Enclosure.between(slope.lo, slope.hi, Basis.FLOAT)


def known(ball: Any) -> Enclosure:
    """A ball as an enclosure: a point where it is one exactly."""
    if not ball.is_finite():
        return Enclosure()
    if ball.is_exact():
        mantissa, exponent = (int(part) for part in ball.man_exp())
        return Enclosure.exact(Fraction(mantissa) * Fraction(2) ** exponent)
    return Enclosure.ball(ball)
