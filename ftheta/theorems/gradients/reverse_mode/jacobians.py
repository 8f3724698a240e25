"""Programs with several results: forward mode takes a pass for every input, reverse mode a sweep for every output."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.cost import cost
from ftheta.graph.jaxprs import trace
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Series

INPUTS = 32
HIDDEN = 64
OUTPUTS = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class JacobianCost:
    """Operations of a function with so many outputs, and of its Jacobian by both modes."""

    outputs: int
    function: int
    forward: int
    reverse: int


@cache
def jacobian_costs() -> tuple[JacobianCost, ...]:
    """Of networks with `INPUTS` inputs, one hidden layer and 1, 2, 4, … outputs: only shapes are traced."""
    return tuple(map(_count, OUTPUTS))


def _count(outputs: int) -> JacobianCost:
    shape = lambda *n: jax.ShapeDtypeStruct(n, np.float64)

    def network(x: Any, V: Any, W: Any) -> Any:
        return W @ jax.nn.relu(V @ x)

    graph = trace(network, shape(INPUTS), shape(HIDDEN, INPUTS), shape(outputs, HIDDEN))
    counted = cost(graph, wrt=graph.argument(0))
    function = counted.forward_total.flops
    forward = INPUTS * (function + counted.tangent_total.flops)
    return JacobianCost(
        outputs, function, forward, function + outputs * counted.reverse_total.flops
    )


def claim_jacobians() -> tuple[AtMost, ...]:
    """A sweep costs at most four evaluations, whatever the number of outputs; few outputs favour it, many do not."""
    costs = jacobian_costs()
    sweep = max(Fraction(c.reverse - c.function, c.outputs * c.function) for c in costs)
    few = Fraction(costs[0].reverse, costs[0].forward)
    many = Fraction(costs[-1].forward, costs[-1].reverse)
    one = Enclosure.exact(1)
    last = OUTPUTS[-1]
    return (
        AtMost(
            f"Jacobian, one sweep per output: evaluations each, m ≤ {last}",
            Enclosure.exact(sweep),
            Enclosure.exact(4),
        ),
        AtMost(f"one output of {INPUTS} inputs: reverse ÷ forward mode", Enclosure.exact(few), one),
        AtMost(
            f"{last} outputs of {INPUTS} inputs: forward ÷ reverse mode", Enclosure.exact(many), one
        ),
    )


def draw_jacobians() -> Curves:
    """Operations of a Jacobian against the number of outputs, in evaluations of the function."""
    costs = jacobian_costs()
    series = (
        Series("reverse mode, m sweeps", OUTPUTS, [c.reverse / c.function for c in costs]),
        Series(
            f"forward mode, {INPUTS} passes",
            OUTPUTS,
            [c.forward / c.function for c in costs],
            "other",
        ),
    )
    title = f"cost of a Jacobian, {INPUTS} inputs and m outputs"
    return Curves(
        title, Axis("outputs m", "log"), Axis("evaluations of the function", "log"), series
    )
