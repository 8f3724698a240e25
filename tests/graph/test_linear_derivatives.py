"""Derivatives over pieces: a function moves by no more than its steepest slope there times the distance."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ftheta.graph import Interval, trace
from ftheta.graph.domains.linear.derivatives import RULES, Dual, Evaluate, differentiate, number_one
from ftheta.graph.domains.linear.one_variable import _evaluator
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.regions import Region

FUNCTIONS = {
    "max with a line": lambda x: jnp.maximum(x, 0.3 - 2 * x),
    "max with a square": lambda x: jnp.maximum(x * x, x + 0.5),
    "min of both": lambda x: jnp.minimum(jnp.sin(x), 0.5 * x),
    "abs": lambda x: jnp.abs(x - 0.25),
    "clip": lambda x: 2 * lax.clamp(-0.5, 3 * x, 0.75),
    "floor": lambda x: jnp.floor(x) + 0.1 * x,
    "ceil": lambda x: jnp.ceil(2 * x) * 0.5,
    "round": lambda x: jnp.round(x) - x,
    "sign": lambda x: jnp.sign(x - 0.5) * x,
    "choice": lambda x: jnp.where(x > 0.5, x, -x),
    "continuous choice": lambda x: jnp.where(x > 0.0, 2 * x, 0.5 * x),
    "power": lambda x: (x * x + 0.1) ** 1.5,
    "quotient": lambda x: jnp.tanh(x) / (1.2 + jnp.cos(x)),
    "product": lambda x: jnp.exp(-x) * jnp.arctan(3 * x),
    "difference": lambda x: lax.integer_pow(x, 3) - jax.nn.softplus(x),
    "stopped": lambda x: -lax.stop_gradient(x) * jnp.cosh(x),
}
MARKS = np.array([-1.0, -0.5, 0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0])
"""Where some of the functions jump or have a kink."""


@cache
def evaluator_of(name: str) -> Evaluate:
    program = Program.of(trace(FUNCTIONS[name], 0.0, fold_rounded=False))
    nodes = tuple(node for node in program.graph.nodes if node.outputs[0].id in program.varying)
    return _evaluator(Region(program.graph.inputs[0], nodes, ()), program.graph, program.constants)


@np.errstate(all="ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_moves_by_no_more_than_its_slopes_allow(name):
    rng = np.random.default_rng(len(name))
    evaluate = evaluator_of(name)
    middle = rng.choice(MARKS, 400) + rng.choice([0.001, 0.01, -0.2], 400)
    lo = middle - 10.0 ** rng.uniform(-4, 0.3, 400) * rng.integers(0, 2, 400)
    hi = middle + 10.0 ** rng.uniform(-4, 0.3, 400)
    found = evaluate(Interval(lo, hi))
    assert found.slope is not None
    steepest = np.maximum(np.abs(found.slope.lo), np.abs(found.slope.hi))
    # comparisons are strict over a piece: the knots themselves are pieces of their own
    near = [np.clip(mark + shift, lo, hi) for mark in MARKS for shift in (-1e-9, 1e-9)]
    points = np.sort(np.concatenate([lo + (hi - lo) * rng.random((30, 400)), np.stack(near)]), 0)
    values = evaluate(Interval(points, points)).value
    assert np.all(values.hi >= found.value.lo) and np.all(values.lo <= found.value.hi)
    moved = np.maximum(values.lo[1:] - values.hi[:-1], values.lo[:-1] - values.hi[1:])
    distance = np.diff(points, axis=0)
    allowed = np.where(distance > 0, steepest, 0.0) * distance  # 0 · ∞ is 0
    assert np.all(moved <= allowed * (1 + 1e-9) + 1e-15)


def test_slopes_are_sharp_where_a_function_is_smooth_or_has_a_kink():
    for name, piece, slopes in (
        ("abs", (0.0, 0.25), (-1.0, -1.0)),
        ("abs", (0.25, 1.0), (1.0, 1.0)),
        ("abs", (0.0, 1.0), (-1.0, 1.0)),
        ("clip", (1.0, 2.0), (0.0, 0.0)),
        ("clip", (0.0, 0.1), (6.0, 6.0)),
        ("max with a line", (1.0, 2.0), (1.0, 1.0)),
        ("max with a line", (-1.0, 0.0), (-2.0, -2.0)),
    ):
        slope = evaluator_of(name)(Interval(np.array([piece[0]]), np.array([piece[1]]))).slope
        assert slope is not None and np.allclose([slope.lo[0], slope.hi[0]], slopes, atol=1e-12), (
            name
        )


def test_the_rules_that_have_a_case_of_their_own_are_tried():
    assert {
        "max",
        "min",
        "abs",
        "clamp",
        "floor",
        "ceil",
        "round",
        "sign",
        "select_n",
        "pow",
        "div",
        "mul",
    } <= set(RULES)


@pytest.mark.parametrize(
    "lo, hi, least, most",
    [(-2, 0, 0, 1), (0.5, 2, 0, 1), (-2, 2, 0, 1), (-3, -1, 0, 0), (1, 2, 0, 0), (-1, 1, 1, 1)],
)
def test_a_clamp_is_flat_outside_of_its_ends(lo, hi, least, most):
    (node,) = trace(lambda x: lax.clamp(-1.0, x, 1.0), 0.0).nodes
    x = Interval(np.array(float(lo)), np.array(float(hi)))
    ends = [Dual(Interval.point(end), None) for end in (-1.0, 1.0)]
    value = Interval(np.clip(x.lo, -1, 1), np.clip(x.hi, -1, 1))
    slope = differentiate(node, value, [ends[0], Dual(x, number_one(x)), ends[1]]).slope
    assert slope is not None and (float(slope.lo), float(slope.hi)) == (least, most)
