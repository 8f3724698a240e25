"""What gradients cost: counts against counts by hand, memory against a simulation that holds real values."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.graph import Cost, cost, trace
from ftheta.graph.domains.cost import RULES as FORWARD_RULES
from ftheta.graph.domains.reverse_cost import RULES as REVERSE_RULES
from ftheta.graph.domains.tangent_cost import RULES as TANGENT_RULES
from ftheta.graph.gradient_costs import function_memory, gradient_cost, gradient_memory

from ..thoroughness import max_examples
from .test_graph_cost import straight_line_program
from .zoo import ZOO, graph

BY_HAND = {
    "product": (lambda x, y: x * y, (1.0, 2.0), Cost(2, 1)),
    "quotient": (lambda x, y: x / y, (1.0, 2.0), Cost(1, 1, 1)),
    "scaling": (lambda x: 3.0 * x, (np.ones(5),), Cost(5)),
    "inner product": (lambda x, y: x @ y, (np.ones(7), np.ones(7)), Cost(14, 2 * 6 + 1)),
    "sum": (jnp.sum, (np.ones(6),), Cost(0, 5)),
    "tanh": (jnp.tanh, (np.ones(4),), Cost(8, 4)),
    "copies": (lambda x: jnp.broadcast_to(x, (9,)), (1.0,), Cost()),
    "integers": (lambda n: n * n, (3,), Cost()),
    "relu": (jax.nn.relu, (np.ones(6),), Cost(other=6)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_pass_of_tangents_costs_what_is_counted_by_hand(name):
    f, args, expected = BY_HAND[name]
    assert cost(trace(f, *args)).tangent_total == expected


def test_whatever_has_a_reverse_cost_has_a_tangent_cost():
    assert set(TANGENT_RULES) == set(REVERSE_RULES) and set(TANGENT_RULES) <= set(FORWARD_RULES)


@pytest.mark.parametrize("name", ZOO)
def test_every_program_of_the_zoo_has_a_tangent_cost(name):
    report = cost(graph(name))
    assert set(report.tangent) == set(report.forward) and all(
        c.flops >= 0 for c in report.tangent.values()
    )


def test_differences_take_d_plus_one_evaluations_and_reverse_mode_a_number_that_does_not_depend_on_d():
    f = lambda x: jnp.sum(jnp.sin(x) * x)
    found = [gradient_cost(trace(f, np.ones(d))) for d in (10, 100, 1000)]
    for d, c in zip((10, 100, 1000), found):
        assert c.dimension == d and c.finite_differences.flops == (d + 1) * c.function.flops
        assert c.forward_mode.flops >= d * c.function.flops and c.ratio <= 5
    assert abs(found[-1].ratio - found[0].ratio) < 0.2


@given(
    st.lists(
        st.tuples(st.sampled_from("+-*/"), st.integers(0, 30), st.integers(0, 30)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 4),
)
@max_examples(30)
def test_the_gradient_of_arithmetic_costs_at_most_five_evaluations_and_a_tangent_at_most_four_more(
    steps, inputs
):
    with jax.enable_x64(True):
        g = trace(straight_line_program(steps), *[1.5] * inputs)
    found = gradient_cost(g)
    report = cost(g)
    assert found.ratio <= 5 and report.tangent_total.flops <= 3 * report.forward_total.flops


def chain(n):
    def f(x):
        for _ in range(n):
            x = jnp.sin(x)
        return x

    return trace(f, 0.5)


@pytest.mark.parametrize("n", [16, 64, 144, 256])
def test_root_n_checkpoints_keep_about_two_root_n_states_of_a_chain(n):
    g = chain(n)
    found = gradient_memory(g)
    assert found.reverse // 8 == n + 2 and found.function == 16
    assert found.checkpointed // 8 <= 2 * n**0.5 + 2
    assert found.checkpointed == min(
        gradient_memory(g, k).checkpointed for k in range(1, n + 1, 1 + n // 40)
    )
    assert 0 < found.recomputed.flops < n


def simulated(graph, cuts):
    """Peak bytes of reverse mode with checkpoints at the cuts, by keeping sets of slots and adding their sizes."""
    n = len(graph.nodes)
    made = {s.id: i for i, node in enumerate(graph.nodes) for s in node.outputs}
    size = {
        s.id: s.size * 8 if cost(graph).forward[graph.nodes[made[s.id]].id].flops else 0
        for s in graph.slots
        if s.id in made
    }
    read = {
        s: max(
            [i for i, node in enumerate(graph.nodes) if any(x.id == s for x in node.inputs)],
            default=made[s],
        )
        for s in made
    }
    read.update({s.id: n for s in graph.outputs if s.id in made})
    alive = lambda i: {s for s in made if made[s] <= i <= read[s]}
    crossing = lambda i: {s for s in made if any(made[s] < c <= min(read[s], i) for c in cuts)}
    total = lambda slots: sum(size[s] for s in slots)
    there = [total(alive(i) | crossing(i)) for i in range(n)]
    back = []
    for i in range(n):
        start = max(c for c in cuts if c <= i)
        kept = {s for s in made if any(made[s] < c <= min(read[s], start) for c in cuts)}
        back.append(
            total(kept) + total({s for s in made if start <= made[s] <= i}) + total(alive(i))
        )
    return max(there + back)


@pytest.mark.parametrize("name", ["worked_example", "tanh_network", "residual_network"])
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_memory_is_that_of_a_simulation_with_sets(name, segments):
    g = graph(name)
    n = len(g.nodes)
    cuts = sorted({round(k * n / segments) for k in range(segments)})
    found = gradient_memory(g, segments)
    assert found.checkpointed == simulated(g, cuts) and found.reverse == simulated(g, [0])
    assert found.checkpointed <= found.reverse


def test_counted_memory_agrees_with_what_xla_allots_with_and_without_checkpoints():
    w = np.eye(32) * 0.9
    x = np.ones((32, 32))
    n = 64
    step = lambda x: jnp.tanh(w @ x)
    repeated = lambda f, times: (
        lambda x: jax.lax.scan(lambda s, _: (f(s), None), x, None, length=times)[0]
    )
    plain = lambda x: jnp.sum(repeated(step, n)(x))
    kept = lambda x: jnp.sum(repeated(jax.checkpoint(repeated(step, 8)), 8)(x))
    analyses: list[Any] = [
        jax.jit(jax.grad(f)).lower(x).compile().memory_analysis() for f in (plain, kept)
    ]
    allotted = [analysis.temp_size_in_bytes for analysis in analyses]
    found = gradient_memory(trace(plain, x))
    assert found.reverse == pytest.approx(allotted[0], rel=0.02)
    assert found.checkpointed == pytest.approx(allotted[1], rel=0.25)


def test_a_view_keeps_what_it_shows_alive_and_a_body_counts_with_its_node():
    """2x is held while the sine of its reshaped view is made, and read again by nobody; a body of three holds more."""
    seen = trace(lambda x: jnp.sin(jnp.reshape(2 * x, (2, 3))), np.ones(6))
    assert function_memory(seen) == 2 * 6 * 8

    def body(x):
        a, b = jnp.sin(x), jnp.cos(x)
        return a * b

    flat = trace(body, np.ones(6))
    called = jax.custom_jvp(body)
    called.defjvp(lambda at, along: (body(*at), along[0]))
    inside = trace(called, np.ones(6))
    assert any(node.graphs for node in inside.nodes)
    assert function_memory(flat) == function_memory(inside) == 3 * 6 * 8
