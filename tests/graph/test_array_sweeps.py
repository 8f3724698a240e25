"""Values and adjoints in NumPy are those of JAX, primitive by primitive, and need no compilation."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.graph import NoRule, active_slots, backward, forward, trace
from ftheta.graph.domains.adjoints import ADJOINTS
from ftheta.graph.domains.array_adjoints import array_adjoints
from ftheta.graph.domains.arrays import array_values
from ftheta.graph.domains.values import VALUES, flat_inputs
from ftheta.networks import random_mlp

from .table import BOXES, TABLE
from .zoo import QUICK, ZOO, graph, program


def by_jax(g, *args):
    """All values and adjoints, compiled together and quickly."""
    active = active_slots(g)
    seeds = {s.id: jnp.ones(s.shape, s.dtype) for s in g.outputs if s.id in active}

    def both(inputs):
        value = forward(VALUES, g, *inputs)
        return value.values, backward(ADJOINTS, value, seeds, active).values

    return jax.jit(both, compiler_options=QUICK)(flat_inputs(g, args))


def assert_agree(g, *args, rtol=2e-13):
    """Every value and adjoint beside those of the graph compiled by JAX."""
    value = array_values(g, *args)
    adjoint = array_adjoints(g, value)
    (expected, slopes) = by_jax(g, *args)
    for slot in g.slots:
        if slot.id in g.constants or not isinstance(slot.dtype, np.dtype):
            continue
        assert value[slot].dtype == slot.dtype and value[slot].shape == slot.shape, slot
        np.testing.assert_allclose(
            value[slot], expected[slot.id], rtol, rtol, err_msg=str(g.producers.get(slot.id))
        )
        if slot.id in slopes:
            assert adjoint[slot].dtype == slot.dtype and adjoint[slot].shape == slot.shape, slot
            theirs = slopes[slot.id]
            np.testing.assert_allclose(
                adjoint[slot], theirs, rtol, rtol * np.abs(theirs).max(initial=1), err_msg=str(slot)
            )


NOT_DIFFERENTIABLE = ("reduce_window_max", "reduce_window_min")  # with dilated windows, by JAX


def test_every_primitive_of_the_table_has_the_value_and_the_adjoints_of_jax():
    inside = {name: 0.3 * box.lo + 0.7 * box.hi for name, box in BOXES.items()}
    with jax.enable_x64(True):
        entries = {name: entry for name, entry in TABLE.items() if name not in NOT_DIFFERENTIABLE}
        g = trace(lambda v: {name: entry(v) for name, entry in entries.items()}, inside)
        assert {"dot_general", "select_n", "integer_pow", "reduce_max"} <= {
            node.primitive for node in g.nodes
        }
        assert_agree(g, inside)


def test_single_precision_stays_single():
    f = lambda x, y: (
        jnp.sum(jnp.tanh(x @ y) ** 3 / jnp.maximum(jax.nn.relu(y).max(0), 0.5)) + jnp.exp(x).mean()
    )
    x, y = (np.random.default_rng(k).normal(size=(4, 4)).astype(np.float32) for k in (0, 1))
    with jax.enable_x64(True):
        g = trace(f, x, y)
        assert all(slot.dtype == np.float32 for slot in g.slots if slot.is_real)
        assert_agree(g, x, y, rtol=1e-5)


@pytest.mark.parametrize("name", NOT_DIFFERENTIABLE)
def test_what_jax_cannot_differentiate_is_said_with_the_line(name):
    with pytest.raises(NoRule, match=f"no derivative of the primitive '{name}'") as error:
        ft.graph(lambda x: jnp.sum(TABLE[name]({"image": x})), BOXES["image"].lo)
    assert "table.py" in str(error.value)


@pytest.mark.parametrize("name", ZOO)
def test_programs_have_the_values_and_adjoints_of_jax(name):
    assert_agree(graph(name), *program(name).args)


TIES = {
    "max": lambda x: jnp.sum(jnp.maximum(x, x[::-1]) * jnp.arange(1.0, 5)),
    "min": lambda x: jnp.sum(jnp.minimum(x, x[::-1]) * jnp.arange(1.0, 5)),
    "reduce_max": lambda x: 3 * jnp.max(x),
    "reduce_min": lambda x: 3 * jnp.min(x.reshape(2, 2), 0).sum(),
    "abs": lambda x: jnp.sum(jnp.abs(x)),
    "relu": lambda x: jnp.sum(jax.nn.relu(x)),
    "logaddexp": lambda x: jnp.logaddexp(x[0], x[2]),
    "sign": lambda x: jnp.sum(jnp.sign(x)),
    "one for many": lambda x: jnp.sum(x * x[:1] + x[1] / (1 + x)),
    "power 0": lambda x: jnp.sum(jax.lax.integer_pow(x, 0) + jax.lax.integer_pow(x, 1)),
}


@pytest.mark.parametrize("name", TIES)
def test_the_conventions_at_kinks_are_those_of_jax(name):
    x = np.array([1.0, 0.0, 0.0, 1.0])
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            ft.graph(TIES[name], x).gradient, jax.grad(TIES[name])(x), rtol=1e-15
        )


def test_a_contraction_of_any_axes_is_transposed_correctly():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    y = np.random.default_rng(1).normal(size=(5, 2, 6, 3))
    with jax.enable_x64(True):
        f = lambda x, y: jnp.cos(jax.lax.dot_general(x, y, (((3, 1), (0, 3)), ((0,), (1,))))).sum()
        assert_agree(trace(f, x, y), x, y)


@jax.custom_jvp
def relu(x):
    return jnp.maximum(x, 0)


relu.defjvp(lambda primals, tangents: (relu(*primals), 7.0 * tangents[0]))


def test_a_custom_derivative_by_the_name_of_another_keeps_its_own_rule():
    assert ft.graph(lambda x: relu(x), 2.0).gradient.tolist() == [7.0]
    assert ft.graph(lambda x: jax.nn.relu(x), 2.0).gradient.tolist() == [1.0]


@jax.custom_vjp
def hidden_loop(x):
    return jax.lax.while_loop(lambda v: v < 1, lambda v: 2 * v, x)


hidden_loop.defvjp(
    lambda x: (hidden_loop(x), x),
    lambda x, above: (jax.lax.while_loop(lambda v: v > 1, jnp.sqrt, above),),
)


def test_a_loop_that_only_its_user_can_differentiate_is_left_to_jax():
    assert ft.graph(lambda x: hidden_loop(x), 0.3).result == pytest.approx(1.2)
    assert ft.graph(lambda x: hidden_loop(x), 0.3).gradient.tolist() == [1.0]


def test_numbers_that_are_not_finite_are_those_of_jax_and_no_warning():
    with np.errstate(all="raise"):
        found = ft.graph(lambda x: jnp.log(x) + jnp.exp(1000 * x), 0.0)
        assert found.result == -np.inf and found.gradient.tolist() == [np.inf]
        assert np.isnan(ft.graph(lambda x: jnp.sqrt(x - 1) * 0.0, 0.0).result)


@pytest.mark.parametrize(
    "activation", ["relu", "leaky-relu", "tanh", "sigmoid", "softplus", "gelu", "silu"]
)
def test_a_network_of_layers_that_all_differ_is_not_compiled(activation):
    """JAX compiles once for every shape; none of these nodes is handed to it."""
    net = random_mlp(np.random.default_rng(0), (3, 7, 5, 6, 2), activation)
    x = np.array([0.3, -0.4, 0.5])
    f = lambda params, x: jnp.mean(net.apply(params, x) ** 2)
    with jax.enable_x64(True):
        g = trace(f, net.params, x)
        refusing = replace(
            g, nodes=tuple(replace(node, evaluate=refuse, kind=None) for node in g.nodes)
        )
        value = array_values(refusing, net.params, x)
        gradient = array_adjoints(refusing, value)
        quick = jax.jit(jax.grad(f, argnums=(0, 1)), compiler_options=QUICK)
        expected = jax.tree.leaves(quick(net.params, x))
    for slot, theirs in zip(g.inputs, expected):
        np.testing.assert_allclose(gradient[slot], theirs, rtol=1e-12, atol=1e-14)


def refuse(*values):
    raise AssertionError("evaluated by JAX")
