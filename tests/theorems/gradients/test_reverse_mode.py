"""Orders of the nodes of a program, and what Jacobians cost."""

import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.graph.jaxprs import trace
from ftheta.theorems.gradients.reverse_mode.differentiation import differentiate
from ftheta.theorems.gradients.reverse_mode.jacobians import HIDDEN, INPUTS, jacobian_costs
from ftheta.theorems.gradients.reverse_mode.orders import largest_difference, shuffle_nodes


def branches(x, y):
    return jnp.sin(x) * jnp.cos(y) + jnp.exp(x) * jnp.tanh(y)


def test_a_shuffled_graph_has_the_same_nodes_and_parents_come_first():
    graph = trace(branches, 0.3, 0.7)
    orders = set()
    for seed in range(20):
        other = shuffle_nodes(graph, np.random.default_rng(seed))
        assert {node.id for node in other.nodes} == {node.id for node in graph.nodes}
        known = {slot.id for slot in graph.inputs} | set(graph.constants)
        for node in other.nodes:
            assert {slot.id for slot in node.inputs} <= known
            known |= {slot.id for slot in node.outputs}
        orders.add(tuple(node.id for node in other.nodes))
    assert len(orders) > 5


def test_another_order_gives_the_value_and_the_gradient():
    found = differentiate(branches, (0.3, 0.7), first_only=False)
    moved, size = largest_difference(found, np.random.default_rng(0))
    assert moved <= 1e-14 * size and size > 1


@pytest.mark.parametrize("counted", jacobian_costs(), ids=lambda counted: str(counted.outputs))
def test_the_operations_of_a_jacobian_are_those_of_its_products(counted):
    """A product of an n × m matrix with a vector takes n(2m − 1) operations; a ReLU and its derivative take one."""
    m = counted.outputs
    there = HIDDEN * (2 * INPUTS - 1) + HIDDEN + m * (2 * HIDDEN - 1)
    assert counted.function == there
    back = HIDDEN * (2 * m - 1) + HIDDEN + INPUTS * (2 * HIDDEN - 1)
    assert abs(counted.reverse - there - m * back) <= m * 2 * HIDDEN
