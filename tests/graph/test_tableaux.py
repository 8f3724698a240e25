"""`ft.graph`: the table of values, partials, adjoints and tangents of any program."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.graph import NotTraceable, named
from ftheta.logic import UsageError

WORKED = "t2*exp(t1)*sqrt(t1+t2*exp(t1))"


def example(t1, t2):
    u = named(t2 * jnp.exp(t1), "u")
    return u * jnp.sqrt(t1 + u)


def test_the_package_is_callable_and_stays_a_package():
    found = ft.graph(example, 0.0, 1.0)
    assert found.result == 1.0 and found.gradient.tolist() == [2.0, 1.5]
    assert callable(ft.graph.trace) and "graph" in dir(ft)


@pytest.mark.parametrize(
    "at, value, gradient",
    [
        ((0.0, 1.0), 1.0, (2.0, 1.5)),
        ((1.0, 1.0), 5.2416212208, (7.8624318312, 7.1575873005)),
        ((1.0, 2.0), 13.7927705622, (20.6891558433, 9.8088584253)),
    ],
)
@pytest.mark.parametrize("program", [WORKED, example], ids=["expression", "function"])
def test_the_worked_example_has_the_values_of_the_catalogue(program, at, value, gradient):
    found = ft.graph(program, *at)
    assert found.result == pytest.approx(value, abs=1e-9) and found.gradient == pytest.approx(
        gradient, abs=1e-9
    )


@given(st.floats(0, 1), st.floats(1.5, 3))
def test_the_chain_rule_holds_at_every_node_of_the_table(t1, t2):
    """adjoint of r = Σ over its readers of adjoint · partial, from the table alone; likewise for tangents."""
    found = ft.graph(example, t1, t2)
    along = found.tangent("t1")
    nodes = found.graph.nodes
    for slot in found.graph.slots:
        readers = [n for n in nodes if (n.name, slot.name) in found.partials]
        if readers:
            total = sum(
                float(found.adjoint[n.name]) * found.partials[n.name, slot.name] for n in readers
            )
            assert total == pytest.approx(float(found.adjoint[slot]), rel=1e-12, abs=1e-14)
    for node in nodes:
        total = sum(
            found.partials[node.name, name] * float(along[name])
            for name in {s.name for s in node.inputs}
        )
        assert total == pytest.approx(float(along[node.name]), rel=1e-12, abs=1e-14)


def test_an_operand_that_is_used_twice_has_both_partials():
    assert ft.graph(lambda x: x * x, 3.0).partials == {("x2", "x"): 6.0}


def test_local_jacobians_of_arrays_are_those_of_jax():
    w = np.arange(6.0).reshape(2, 3)
    x = np.array([1.0, -1.0, 0.5])
    found = ft.graph(lambda w, x: jnp.sum(named(jnp.tanh(named(w @ x, "z")), "h")), w, x)
    np.testing.assert_allclose(found.partial("z", "x"), w)
    np.testing.assert_allclose(
        found.partial("h", "z"), np.diag(1 - np.tanh(w @ x) ** 2), atol=1e-15
    )
    with pytest.raises(UsageError, match="operands of h: z"):
        found.partial("h", "x")


def test_the_printed_table_names_parts_lines_and_the_gradient():
    text = str(ft.graph(example, 0.0, 1.0))
    lines = text.splitlines()
    assert "t1 = 0, t2 = 1" in lines[0] and lines[2].split()[:3] == ["node", "formula", "value"]
    (row,) = [line for line in lines if line.startswith("u ")]
    assert "t2 · " in row and "test_tableaux.py:" in row and "(example)" in row
    assert lines[-1] == "value 1; ∂/∂t1 = 2, ∂/∂t2 = 1.5"


def test_long_tables_are_cut_in_the_middle():
    def long(x):
        for _ in range(100):
            x = jnp.sin(x)
        return x

    text = str(ft.graph(long, 1.0))
    assert "… 41 more" in text and len(text.splitlines()) < 70


KINKS = [
    (lambda x: jax.nn.relu(x), 0.0, True),
    (lambda x: jnp.abs(x), 0.0, True),
    (lambda x: jnp.maximum(x, 2 * x), 0.0, True),
    (lambda x: jnp.max(jnp.stack([x, -x])), 0.0, True),
    (lambda x: jnp.sign(x), 0.0, True),
    (lambda x: jnp.round(x), 0.5, True),
    (lambda x: jnp.where(x > 1, x, 1.0), 1.0, True),
    (lambda x: jnp.sign(x), 1.0, False),
    (lambda x: jnp.round(x), 1.0, False),
    (lambda x: x * jax.nn.relu(x), 0.0, False),  # x·max(x, 0) is differentiable at 0
    (lambda x: jnp.abs(x) * x, 0.0, False),
    (lambda x: jax.nn.softplus(x), 0.0, False),
    (lambda x: jnp.maximum(x, x), 0.0, False),
    (lambda x: jax.nn.logsumexp(jnp.stack([x, -x])), 0.0, False),
    (lambda x: jax.nn.relu(x), 0.5, False),
]


@pytest.mark.parametrize("f, at, bent", KINKS)
def test_points_without_a_derivative_are_said_so_and_no_others(f, at, bent):
    found = ft.graph(f, at)
    assert bool(found.trouble) is bent
    assert ("no derivative here" in str(found)) is bent


def test_nan_is_traced_to_the_node_where_it_begins():
    found = ft.graph(lambda x: jnp.exp(jnp.log(x) + 1) * 2, -1.0)
    assert found.trouble[0] == "x2 = log(x) has no finite value at -1"


def test_bad_programs_are_refused_with_a_remedy():
    with pytest.raises(UsageError, match="return a scalar"):
        ft.graph(lambda x: x * 2, np.ones(3))
    with pytest.raises(UsageError, match="real number"):
        ft.graph(lambda x: x * 2, 3)
    with pytest.raises(NotTraceable, match="cannot be traced"):
        ft.graph(lambda x: x if x > 0 else -x, 1.0)
    with pytest.raises(UsageError, match="one value for each variable"):
        ft.graph("x*y", 1.0)


def test_a_network_of_a_hundred_layers_has_all_its_nodes():
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=(8, 8)) / 8**0.5 for _ in range(100)]

    def deep(layers, x):
        for w in layers:
            x = jnp.tanh(w @ x)
        return jnp.sum(x)

    started = time.process_time()
    found = ft.graph(deep, layers, np.ones(8))
    assert len(found.graph.nodes) == 201 and len(found.gradient) == 6408
    expected = jax.grad(deep, 1)(layers, jnp.ones(8))
    np.testing.assert_allclose(found.adjoint["x"], expected, rtol=1e-10)
    assert time.process_time() - started < 60  # a bound against hangs, not a measurement


def test_float32_arguments_stay_float32_and_the_configuration_is_left_alone():
    with jax.enable_x64(False):
        found = ft.graph(lambda x: jnp.sum(x**2), jnp.ones(3, jnp.float32))
        assert found.graph.inputs[0].dtype == np.float32 and not jax.config.read("jax_enable_x64")
        assert ft.graph(lambda x: x**2, 1.0).graph.inputs[0].dtype == np.float64
