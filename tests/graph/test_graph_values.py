"""The graph computes what the function computes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.graph import check, forward, run, trace, values
from ftheta.graph.domains.values import VALUES, flat_inputs

from .zoo import QUICK, ZOO, graph, program


def same(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)):
        assert jnp.result_type(x) == jnp.result_type(y) and jnp.shape(x) == jnp.shape(y)
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", ZOO)
def test_every_program_of_the_zoo_is_well_formed_and_computes_its_function(name):
    check(graph(name))
    g = graph(name)
    p = program(name)
    arrays, others = eqx.partition(p.args, eqx.is_array_like)
    own = jax.jit(lambda a: p.f(*eqx.combine(a, others)), compiler_options=QUICK)(arrays)
    found = jax.jit(lambda *x: forward(VALUES, g, *x).flat_outputs, compiler_options=QUICK)(
        *flat_inputs(g, p.args)
    )
    same(jax.tree.unflatten(g.signature.results, found), own)


@pytest.mark.parametrize("name", ["tanh_network", "branches", "pytrees"])
def test_eager_values_equal_compiled_values(name):
    args = program(name).args
    same(values(graph(name), *args).outputs, run(graph(name))(*args))


def test_every_slot_has_a_value_of_its_shape_and_type():
    g = graph("residual_network")
    args = program("residual_network").args
    found = values(g, *args)
    for slot in g.slots:
        assert jnp.shape(found[slot]) == slot.shape and jnp.result_type(found[slot]) == slot.dtype


def test_values_can_be_compiled_as_a_whole():
    g = graph("tanh_network")
    args = program("tanh_network").args
    compiled = jax.jit(lambda *a: values(g, *a))(*args)
    for slot in g.slots:
        np.testing.assert_allclose(compiled[slot], values(g, *args)[slot], rtol=1e-12, atol=1e-13)


def test_the_worked_example_has_the_values_of_the_catalogue():
    g = graph("worked_example")
    for t, loss in (((0.0, 1.0), 1.0), ((1.0, 1.0), 5.2416212208), ((1.0, 2.0), 13.7927705622)):
        assert float(values(g, *t).outputs) == pytest.approx(loss, abs=1e-10)
    assert float(values(g, 1.0, 2.0)["u"]) == pytest.approx(2 * np.e)


def test_a_graph_traced_in_double_precision_runs_in_double_precision_anywhere():
    g = graph("worked_example")
    with jax.enable_x64(False):
        assert values(g, 1.0, 2.0).outputs.dtype == np.float64
        assert run(g)(1.0, 2.0).dtype == np.float64


def test_a_graph_traced_in_single_precision_runs_in_single_precision():
    with jax.enable_x64(False):
        g = trace(lambda x: jax.nn.softmax(x) * 0.1, np.ones(3, np.float32))
    check(g)
    assert {str(s.dtype) for s in g.slots} == {"float32"}
    assert run(g)(np.ones(3, np.float32)).dtype == np.float32


def test_tracing_and_interpreting_leave_the_global_configuration_alone():
    with jax.enable_x64(False):
        before = jax.config.values.copy()
        g = trace(lambda x: jnp.tanh(x), np.ones(2, np.float32))
        values(graph("worked_example"), 1.0, 2.0)
        run(g)(np.ones(2, np.float32))
        assert jax.config.values == before and not jax.config.read("jax_enable_x64")
