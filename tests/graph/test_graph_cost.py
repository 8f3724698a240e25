"""Operation counts against counts by hand and by XLA."""

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

from ftheta.graph import Cost, NoRule, cost, trace
from ftheta.graph.domains.cost import RULES as FORWARD_RULES
from ftheta.graph.domains.interval import RULES as INTERVAL_RULES
from ftheta.graph.domains.reverse_cost import RULES as REVERSE_RULES

from ..thoroughness import max_examples
from .zoo import ZOO, draws, graph, layers, mlp, program


def forward(f, *args):
    return cost(trace(f, *args)).forward_total


def reverse(f, *args):
    return cost(trace(f, *args)).reverse_total


def test_a_network_10_20_30_1_has_830_forward_and_1460_backward_multiplications():
    g = trace(lambda params, x: mlp(jax.nn.relu, params, x), layers(10, 20, 30, 1), draws(10))
    of_weights = cost(g, wrt=g.argument(0))
    assert of_weights.forward_total.multiplications == 830
    assert of_weights.reverse_total.multiplications == 1460
    of_everything = cost(g)
    assert of_everything.reverse_total.multiplications == 2 * 830


BY_HAND = {
    "inner product": (lambda x: x @ x, (np.ones(7),), Cost(7, 6), Cost(14, 12 - 12 + 7)),
    "matrix times matrix": (
        lambda a, b: a @ b,
        (np.ones((2, 3)), np.ones((3, 4))),
        Cost(24, 16),
        Cost(48, (24 - 6) + (24 - 12)),
    ),
    "sum": (jnp.sum, (np.ones((3, 5)),), Cost(0, 14), Cost()),
    "scaling": (lambda x: 3.0 * x, (np.ones(5),), Cost(5), Cost(5)),
    "scalar times vector": (lambda s, x: s * x, (2.0, np.ones(5)), Cost(5), Cost(10, 4)),
    "quotient": (lambda a, b: a / b, (1.0, 2.0), Cost(other=1), Cost(1, 0, 1)),
    "fifth power": (lambda x: x**5, (2.0,), Cost(3), Cost(2 + 2)),
    "tanh": (jnp.tanh, (np.ones(4),), Cost(other=4), Cost(8, 4)),
    "square": (lambda x: x * x, (1.5,), Cost(1), Cost(2, 1)),
    "used twice": (lambda x: jnp.sin(x) + jnp.exp(x), (1.0,), Cost(0, 1, 2), Cost(2, 1, 1)),
    "relu": (jax.nn.relu, (np.ones(6),), Cost(other=6), Cost(other=6)),
    "moving only": (
        lambda x: jnp.concatenate([x[::-1].T, x]).reshape(-1)[:3],
        (np.ones((2, 2)),),
        Cost(),
        Cost(0, 4),
    ),
    "integers only": (lambda n: n * n + 1, (3,), Cost(), Cost()),
    "average pool": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (2,), "VALID") / 2.0,
        (np.ones(6),),
        Cost(0, 3, 3),
        Cost(0, 6, 3),
    ),
    "cumulative sum": (lambda x: jnp.cumsum(x), (np.ones(6),), Cost(0, 5), Cost(0, 6)),
    "reciprocal cube": (lambda x: x**-3, (2.0,), Cost(2, 0, 1), Cost(2 + 2, 0, 1)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_counts_equal_the_counts_by_hand(name):
    f, args, there, back = BY_HAND[name]
    report = cost(trace(f, *args))
    assert (report.forward_total, report.reverse_total) == (there, back)


def test_a_convolution_costs_its_window_for_each_entry_of_the_result():
    x = np.ones((1, 4, 8, 8))
    k = np.ones((6, 2, 3, 3))
    g = trace(
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "VALID", feature_group_count=2), x, k
    )
    report = cost(g)
    products = 6 * 6 * 6 * (2 * 9)
    assert report.forward_total == Cost(products, products - 6 * 36)
    assert report.reverse_total.multiplications == 2 * products
    assert cost(g, wrt=["k"]).reverse_total.multiplications == products


def test_a_loop_costs_its_steps_and_a_branch_its_dearest_case():
    assert forward(lambda x: lax.fori_loop(0, 10, lambda i, v: v * 2.0, x), 1.0) == Cost(10)
    f = lambda x: lax.cond(x > 0, lambda v: v * v * v, lambda v: v, x)
    assert forward(f, 1.0) == Cost(2, 0, 1)  # and the comparison
    assert reverse(f, 1.0).multiplications == 4


def test_the_derivative_that_is_not_asked_for_costs_nothing():
    g = trace(lambda a, b: jnp.sum(jnp.tanh(a) * b), np.ones(3), np.ones(3))
    assert cost(g, wrt=["b"]).reverse_total == Cost(3)
    assert cost(g, wrt=[]).reverse_total == Cost()
    stopped = trace(lambda x: lax.stop_gradient(jnp.exp(x)) * 2.0, 1.0)
    assert cost(stopped).reverse_total == Cost()


@pytest.mark.parametrize("name", ZOO)
def test_every_program_of_the_zoo_has_a_cost(name):
    report = cost(graph(name))
    assert set(report.forward) == set(report.reverse) == {node.id for node in graph(name).nodes}
    assert all(c.flops >= 0 for c in (*report.forward.values(), *report.reverse.values()))


MEASURED = {
    "dense": (lambda x: jnp.tanh(x @ np.ones((64, 96))) @ np.ones((96, 32)), (draws(16, 64),)),
    "convolution": (
        lambda x: jax.nn.relu(lax.conv(x, jnp.ones((8, 4, 3, 3)), (1, 1), "VALID")).sum(),
        (draws(2, 4, 16, 16),),
    ),
    "attention": (lambda x: jax.nn.softmax(x @ x.T / 8.0) @ x, (draws(48, 64),)),
    "layer norm": (lambda x: jax.nn.standardize(x) @ np.ones((64, 64)), (draws(32, 64),)),
}


@pytest.mark.parametrize("name", MEASURED)
def test_flops_agree_with_xla_within_three_per_cent(name):
    f, args = MEASURED[name]
    analysis: Any = jax.jit(f).lower(*args).compile().cost_analysis()
    theirs = analysis["flops"] + analysis.get("transcendentals", 0.0)
    assert forward(f, *args).flops == pytest.approx(theirs, rel=0.03)


OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def straight_line_program(steps):
    """A program of + − × ÷ from a list of (operation, operand, operand)."""

    def f(*inputs):
        known = list(inputs)
        for operation, i, j in steps:
            a = known[i % len(known)]
            b = known[j % len(known)]
            known.append(OPERATIONS[operation](a, b))
        return known[-1]

    return f


@given(
    st.lists(
        st.tuples(st.sampled_from("+-*/"), st.integers(0, 30), st.integers(0, 30)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 4),
)
@max_examples(40)
def test_the_gradient_of_arithmetic_costs_at_most_five_times_the_function(steps, inputs):
    report = cost(trace(straight_line_program(steps), *[1.5] * inputs))
    if report.forward_total.flops:
        assert report.ratio <= 5


def test_the_ratio_does_not_grow_with_the_number_of_inputs():
    ratios = [
        cost(trace(lambda x: jnp.sum(jnp.cumsum(x * x) * x), np.ones(n))).ratio
        for n in (10, 100, 1000)
    ]
    assert max(ratios) <= 5 and ratios[-1] - ratios[0] < 0.2


@pytest.mark.parametrize("f", [lambda x: lax.lgamma(x), lambda x: jnp.linalg.cholesky(x)])
def test_a_missing_rule_names_domain_primitive_line_and_file(f):
    with pytest.raises(NoRule) as error:
        cost(trace(f, np.eye(2)))
    text = str(error.value)
    assert "'cost'" in text and "ftheta/graph/domains/cost.py" in text and f"{__file__}:" in text


def test_whatever_has_a_cost_and_a_derivative_has_a_reverse_cost():
    comparisons = {"lt", "le", "gt", "ge", "eq", "ne", "is_finite", "argmax", "argmin"}
    truths = {"and", "or", "not", "xor", "reduce_and", "reduce_or"}
    without_derivative = comparisons | truths | {"iota"}
    assert set(FORWARD_RULES) - set(REVERSE_RULES) == without_derivative
    assert set(REVERSE_RULES) <= set(FORWARD_RULES)
    assert set(INTERVAL_RULES) <= set(FORWARD_RULES)


def test_costs_add_and_multiply():
    assert Cost(1, 2, 3) + 2 * Cost(1, 0, 1) == Cost(3, 2, 5) and Cost(1, 2, 3).flops == 6


def test_the_cost_of_a_program_is_the_sum_over_its_nodes():
    report = cost(graph("residual_network"))
    assert sum(c.flops for c in report.forward.values()) == report.forward_total.flops
    assert program("residual_network").vary == (-1,)
