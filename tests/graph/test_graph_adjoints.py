"""Adjoints of every slot equal JAX's own derivatives."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.graph import active_slots, adjoints, backward, forward, sweep, trace, values
from ftheta.graph.domains.adjoints import ADJOINTS
from ftheta.graph.domains.values import VALUES, flat_inputs

from .zoo import QUICK, ZOO, graph, program


def outputs_with_perturbations(g, inputs, shifts):
    """Re-run the graph with a shift added to every slot of `shifts` as it is computed; the sum of float outputs."""
    known = dict(g.constants) | {s.id: x + shifts.get(s.id, 0) for s, x in zip(g.inputs, inputs)}
    for node in g.nodes:
        results = node.evaluate(*[known[s.id] for s in node.inputs])
        known.update(
            (s.id, y + shifts[s.id] if s.id in shifts else y) for s, y in zip(node.outputs, results)
        )
    return sum(jnp.sum(known[s.id]) for s in g.outputs if s.is_real)


def function_of_floats(p):
    """The program's own function of its floating-point leaves, summed over floating-point results, and these leaves."""
    leaves, tree = jax.tree.flatten(p.args)
    moving = [
        i
        for i, leaf in enumerate(leaves)
        if isinstance(leaf, np.ndarray | float) and np.result_type(leaf).kind == "f"
    ]

    def total(variables):
        full = list(leaves)
        for i, v in zip(moving, variables):
            full[i] = v
        out = p.f(*jax.tree.unflatten(tree, full))
        return sum(
            jnp.sum(o)
            for o in jax.tree.leaves(out)
            if jnp.issubdtype(jnp.result_type(o), jnp.floating)
        )

    return total, [jnp.asarray(leaves[i]) for i in moving]


@cache
def derivatives(name):
    """Of a program of the zoo: all adjoints, derivatives by perturbing every slot, and the function's own gradient."""
    g = graph(name)
    p = program(name)
    inputs = flat_inputs(g, p.args)
    active = active_slots(g)
    seeds = {s.id: jnp.ones(s.shape, s.dtype) for s in g.outputs if s.id in active}
    zeros = {i: jnp.zeros(g.slots[i].shape, g.slots[i].dtype) for i in active}
    total, variables = function_of_floats(p)

    def everything(inputs, zeros, variables):
        return (
            backward(ADJOINTS, forward(VALUES, g, *inputs), seeds, active).values,
            jax.grad(lambda shifts: outputs_with_perturbations(g, inputs, shifts))(zeros),
            jax.grad(total)(variables),
        )

    return jax.jit(everything, compiler_options=QUICK)(inputs, zeros, variables)


@pytest.mark.parametrize("name", ZOO)
def test_the_adjoint_of_every_slot_is_the_derivative_with_respect_to_its_value(name):
    found, expected, _ = derivatives(name)
    assert set(found) == set(expected) == active_slots(graph(name))
    for i in expected:
        np.testing.assert_allclose(
            found[i], expected[i], rtol=1e-9, atol=1e-11, err_msg=str(graph(name).slots[i])
        )


@pytest.mark.parametrize("name", ZOO)
def test_adjoints_of_the_inputs_are_the_gradient_of_the_function(name):
    found, _, gradient = derivatives(name)
    real = [slot for slot in graph(name).inputs if slot.is_real]
    for slot, expected in zip(real, gradient, strict=True):
        np.testing.assert_allclose(found[slot.id], expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["worked_example", "relu_at_zero", "custom_derivatives"])
def test_the_adjoint_of_a_node_is_the_vjp_of_the_tail_of_the_graph_from_it(name):
    """Replace one node's value, run the rest: literally the function from that node to the outputs."""
    g = graph(name)
    args = program(name).args
    primal = values(g, *args)
    found = adjoints(g, *args)
    for position, node in enumerate(g.nodes):
        slot = node.outputs[0]

        def tail(value, position=position, slot=slot):
            known = dict(primal.values) | {slot.id: value}
            for later in g.nodes[position + 1 :]:
                known.update(
                    zip(
                        (s.id for s in later.outputs),
                        later.evaluate(*[known[s.id] for s in later.inputs]),
                    )
                )
            return sum(jnp.sum(known[s.id]) for s in g.outputs)

        np.testing.assert_allclose(
            found[slot], jax.grad(tail)(primal[slot]), rtol=1e-11, atol=1e-12
        )


def test_the_worked_example_has_the_gradients_of_the_catalogue():
    g = graph("worked_example")
    for t, gradient in (
        ((0.0, 1.0), (2.0, 1.5)),
        ((1.0, 1.0), (7.8624318312, 7.1575873005)),
        ((1.0, 2.0), (20.6891558433, 9.8088584253)),
    ):
        found = adjoints(g, *t)
        assert (float(found["t1"]), float(found["t2"])) == pytest.approx(gradient, abs=1e-9)


def test_relu_keeps_its_derivative_zero_at_zero():
    g = graph("relu_at_zero")
    assert [n.label for n in g.nodes if n.label] == ["relu", "relu"]
    np.testing.assert_array_equal(adjoints(g, np.array([0.0, 1.0, -1.0]))["x"], [0.0, 2.0, -1.0])


def test_stop_gradient_stops_the_sweep():
    g = trace(lambda x: jax.lax.stop_gradient(x) * 3 + x, 2.0)
    assert float(adjoints(g, 2.0)["x"]) == 1.0


def test_slots_off_the_path_to_the_outputs_have_adjoint_zero():
    g = trace(lambda x, y: (x * 2, (y > 0).astype(int)), 1.0, 2.0)
    assert float(adjoints(g, 1.0, 2.0)["y"]) == 0.0


def test_cotangents_weigh_the_outputs():
    g = trace(lambda x: (x**2, [jnp.sin(x)]), 0.5)
    found = adjoints(g, 0.5, cotangents=(3.0, [0.0]))
    assert float(found["x"]) == pytest.approx(3.0)


def test_restricting_the_sweep_leaves_out_what_does_not_vary():
    g = graph("tanh_network")
    args = program("tanh_network").args
    some = adjoints(g, *args, wrt=g.argument(1))
    every = adjoints(g, *args)
    np.testing.assert_allclose(some["x"], every["x"], rtol=1e-12)
    assert g.argument(0)[0] not in some and g.argument(0)[0] in every
    with pytest.raises(KeyError, match="does not vary"):
        some[g.argument(0)[0]]


def test_an_output_that_is_returned_twice_counts_twice():
    g = trace(lambda x: (lambda y: (y, y))(x * 5), 1.0)
    assert float(adjoints(g, 1.0)["x"]) == 10.0


def test_a_compiled_sweep_equals_the_eager_one_for_modules_with_functions_inside():
    g = graph("equinox_network")
    args = program("equinox_network").args
    eager = adjoints(g, *args, cotangents=np.array([1.0, -2.0]))
    compiled = sweep(g)(*args, cotangents=np.array([1.0, -2.0]))
    for slot in active_slots(g):
        np.testing.assert_allclose(compiled[slot], eager[slot], rtol=1e-11, atol=1e-12)


def test_the_domain_of_values_is_the_generic_one():
    assert not VALUES.rules and VALUES.default is not None
