"""What each construct of JAX becomes."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ftheta.graph import (
    GraphError,
    GraphTooLarge,
    NoRule,
    NotTraceable,
    UnknownTripCount,
    adjoints,
    check,
    cost,
    intervals,
    named,
    run,
    trace,
    values,
)
from ftheta.graph.interpret import Domain, forward

from .zoo import graph

X = np.array([0.5, -1.0, 2.0])


def primitives(g):
    return [node.primitive for node in g.nodes]


# ---- constants and dead code ------------------------------------------------------------------------------------


def test_what_depends_on_constants_alone_becomes_a_constant():
    g = trace(lambda x: x + jnp.arange(3.0) * jnp.sin(2.0) + jnp.ones(3).sum(), X)
    assert primitives(g) == ["add", "add"]


def test_the_constant_predicate_in_var_vanishes_with_its_nan():
    g = trace(jnp.var, X)
    assert "select_n" not in primitives(g)
    assert not any(np.isnan(c).any() for c in g.constants.values())


def test_literals_are_constants_and_equal_scalars_are_shared():
    g = trace(lambda x: (x * 2.0 + 2.0) * 2.0, X)
    assert len(g.constants) == 1


def test_what_no_output_needs_is_dropped():
    g = trace(lambda x: (jnp.exp(x), jnp.tanh(x))[1], X)
    assert primitives(g) == ["tanh"]


def test_unused_inputs_stay_inputs():
    g = trace(lambda x, y: x * 2, X, 1.0)
    check(g)
    assert [s.name for s in g.inputs] == ["x", "y"] and float(values(g, X, 3.0)["y"]) == 3.0


def test_an_input_or_a_constant_may_be_returned():
    g = trace(lambda x: (x, jnp.arange(2), 4.0), X)
    check(g)
    assert g.nodes == ()
    out = values(g, X).outputs
    assert out[0].tolist() == X.tolist() and out[1].tolist() == [0, 1] and float(out[2]) == 4.0


def test_random_numbers_from_a_fixed_key_are_constants():
    g = trace(lambda x: x + jax.random.normal(jax.random.key(3), (3,)), X)
    assert primitives(g) == ["add"]


# ---- calls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrap", [jax.jit, jax.checkpoint, lambda f: jax.jit(jax.checkpoint(jax.jit(f))), eqx.filter_jit]
)
def test_calls_are_entered(wrap):
    g = trace(wrap(lambda x: jnp.sin(x) * 2), X)
    check(g)
    assert primitives(g) == ["sin", "mul"]


def test_a_custom_derivative_is_one_node_with_its_body_inside():
    g = trace(jax.nn.relu, X)
    (node,) = g.nodes
    assert (node.primitive, node.label) == ("custom_jvp_call", "relu")
    assert primitives(node.graphs[0]) == ["max"]


def test_a_custom_vjp_is_one_node_and_its_closed_over_constants_are_not_differentiated():
    scale = jnp.arange(3.0)

    @jax.custom_vjp
    def f(x):
        return x * scale

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * 100,))
    g = trace(f, X)
    check(g)
    (node,) = g.nodes
    assert (node.primitive, node.label) == ("custom_vjp_call", "f")
    np.testing.assert_array_equal(adjoints(g, X)["x"], [100.0, 100.0, 100.0])


def test_a_custom_derivative_may_hide_a_loop_of_unknown_length():
    @jax.custom_vjp
    def root(x):
        return lax.while_loop(lambda s: jnp.abs(s * s - x) > 1e-12, lambda s: (s + x / s) / 2, x)

    root.defvjp(lambda x: (root(x), root(x)), lambda r, g: (g / (2 * r),))
    g = trace(lambda x: root(x) + 1, 2.0)
    check(g)
    assert float(values(g, 2.0).outputs) == pytest.approx(1 + np.sqrt(2))
    assert float(adjoints(g, 2.0)["x"]) == pytest.approx(1 / np.sqrt(8))
    with pytest.raises(UnknownTripCount):
        intervals(g, 2.0)


# ---- control flow -----------------------------------------------------------------------------------------------


def test_a_scan_is_written_out_with_the_lines_of_its_body():
    g = trace(lambda x: lax.scan(lambda c, v: (jnp.tanh(c + v), c), jnp.zeros(()), x), X)
    check(g)
    assert primitives(g) == ["unstack"] + ["add", "tanh"] * 3 + ["stack"]
    assert all("test_graph_trace.py" in node.source for node in g.nodes)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_scans_of_any_length_and_direction_compute_the_same(reverse, length):
    scale = jnp.asarray(1.5)

    def f(c, xs):
        return lax.scan(
            lambda c, x: ((c[0] * scale + x["v"], c[1] + 1), (c[0] - x["v"], c[1])),
            c,
            xs,
            reverse=reverse,
        )

    args = ((2.0, 1), {"v": np.arange(length, dtype=float)})
    g = trace(f, *args)
    check(g)
    for a, b in zip(jax.tree.leaves(run(g)(*args)), jax.tree.leaves(f(*args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_names_in_a_loop_carry_the_step():
    g = graph("recurrent_network")
    assert [s.name for s in g.slots if s.name.startswith("h[")] == [f"h[{t}]" for t in range(5)]


def test_a_while_loop_with_a_known_number_of_steps_is_written_out():
    g = trace(
        lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x)), 1.0
    )
    check(g)
    assert primitives(g) == ["mul"] * 3
    bound = jnp.asarray(4)
    assert (
        primitives(trace(lambda x: lax.fori_loop(0, bound, lambda i, v: v * 2, x), 1.0))
        == ["mul"] * 4
    )


def test_a_while_loop_with_an_unknown_number_of_steps_says_what_to_do():
    def halve_until_small(x):
        return lax.while_loop(lambda v: v > 1, lambda v: v / 2, x)

    line = inspect.getsourcelines(halve_until_small)[1] + 1
    with pytest.raises(UnknownTripCount) as error:
        trace(halve_until_small, 8.0)
    text = str(error.value)
    assert (
        f"test_graph_trace.py:{line} (halve_until_small)" in text
        and "fori_loop" in text
        and "reverse mode" in text
    )


def test_a_loop_beyond_the_budget_says_what_to_do():
    f = lambda x: lax.fori_loop(0, 1000, lambda i, v: jnp.sin(v) + 1, x)
    with pytest.raises(GraphTooLarge) as error:
        trace(f, 1.0, budget=500)
    text = str(error.value)
    assert "scan of length 1000" in text and "budget" in text and "test_graph_trace.py:" in text
    assert primitives(trace(f, 1.0, budget=5000)).count("sin") == 1000


def test_a_loop_that_folds_away_is_also_counted():
    with pytest.raises(GraphTooLarge):
        trace(
            lambda x: lax.while_loop(
                lambda s: s[0] < 10**9, lambda s: (s[0] + 1, s[1] + x), (0, x)
            ),
            1.0,
            budget=300,
        )


def test_a_branch_with_a_known_predicate_is_taken():
    flag = jnp.asarray(True)
    g = trace(lambda x: lax.cond(flag, jnp.sin, jnp.cos, x), 1.0)
    assert primitives(g) == ["sin"]
    g = trace(lambda x: lax.switch(jnp.asarray(7), [jnp.sin, jnp.cos, jnp.tan], x), 1.0)
    assert primitives(g) == ["tan"]  # indices are clamped


def test_a_branch_with_an_unknown_predicate_is_one_node_with_its_branches_inside():
    g = trace(lambda x: lax.cond(x > 0, jnp.sin, lambda v: v * 2, x), 1.0)
    check(g)
    node = g.nodes[-1]
    assert node.primitive == "cond"
    assert [primitives(b) for b in node.graphs] == [["mul"], ["sin"]]


# ---- arguments --------------------------------------------------------------------------------------------------


def test_inputs_carry_the_names_and_paths_of_the_arguments():
    g = trace(lambda params, x, *rest: params["w"] * x + rest[0], {"w": X, "b": 1.0}, 2.0, X)
    assert [s.name for s in g.inputs] == ["params['b']", "params['w']", "x", "rest[0]"]
    assert [s.name for s in g.argument(0)] == ["params['b']", "params['w']"] and g.argument(1)[
        0
    ].name == "x"


def test_names_can_be_given():
    g = trace(lambda a, b: a * b, 1.0, 2.0, names=["θ₁", "θ₂"])
    assert [s.name for s in g.slots] == ["θ₁", "θ₂", "x3"]
    with pytest.raises(NotTraceable, match="one name"):
        trace(lambda a, b: a * b, 1.0, 2.0, names=["θ₁"])


def test_sub_expressions_can_be_named_and_names_never_collide():
    g = trace(lambda x: named(named(x * 2, "u") + 1, "u") * named(x, "input"), X)
    assert g["u"].shape == (3,) and g["u'"].shape == (3,) and g["x"] is g.inputs[0]
    with pytest.raises(KeyError, match="no slot is named"):
        g["nothing"]


def test_shapes_are_enough_to_trace():
    g = trace(lambda x: jnp.tanh(x), jax.ShapeDtypeStruct((2, 3), np.float32))
    assert g.outputs[0].shape == (2, 3) and g.outputs[0].dtype == np.float32


def test_leaves_that_are_not_arrays_are_part_of_the_program():
    net = eqx.nn.MLP(2, 1, 3, 1, activation=jnp.tanh, key=jax.random.key(0))
    g = trace(lambda net, mode, x: net(x) if mode == "plain" else x, net, "plain", X[:2])
    assert len(g.inputs) == 5 and "tanh" in primitives(g)
    np.testing.assert_allclose(run(g)(net, "plain", X[:2]), net(jnp.asarray(X[:2])))


def test_arguments_of_another_structure_or_shape_are_refused():
    g = trace(lambda p: p["a"] * 2, {"a": X})
    with pytest.raises(GraphError, match="another structure"):
        values(g, {"b": X})
    with pytest.raises(GraphError, match="does not fit its slot"):
        values(g, {"a": X[:2]})
    with pytest.raises(GraphError, match="does not fit its slot"):
        values(trace(lambda n: n + 1, 3), 2.5)


def test_closing_over_a_value_that_is_being_traced_is_refused_with_advice():
    @jax.jit
    def outer(y):
        trace(lambda x: x * y, X)
        return y

    with pytest.raises(NotTraceable, match="closes over"):
        outer(1.0)


def test_tracing_inside_jit_is_fine_when_everything_is_passed():
    @jax.jit
    def outer(y):
        g = trace(lambda x: jnp.sin(x) * jnp.sum(jnp.arange(3.0)), y)
        return adjoints(g, y)["x"]

    assert float(outer(0.0)) == 3.0


# ---- printing ---------------------------------------------------------------------------------------------------


def test_a_graph_prints_as_a_table():
    g = trace(lambda x: jax.nn.relu(x) * 2.0, X)
    lines = str(g).splitlines()
    assert lines[0].split() == ["id", "name", "primitive", "inputs", "shape", "dtype", "source"]
    assert lines[1].split() == ["x", "input", "3", "float64"]
    assert lines[2].split()[:6] == ["0", "x2", "custom_jvp_call[relu]", "x", "3", "float64"]
    assert (
        lines[3].split()[:5] == ["1", "x3", "mul", "x2", "2"] and "test_graph_trace.py:" in lines[3]
    )
    assert lines[-1] == "returns x3"


def test_library_lines_are_given_the_users_line():
    def f(x):
        return jax.nn.softmax(x)

    line = inspect.getsourcelines(f)[1] + 1
    assert {node.source.rsplit("/", 1)[-1] for node in trace(f, X).nodes} == {
        f"test_graph_trace.py:{line} (f)"
    }


def test_a_library_function_traced_by_itself_still_has_a_place():
    net = eqx.nn.Linear(3, 2, key=jax.random.key(0))
    assert all("_linear.py:" in node.source for node in trace(net, X).nodes)


# ---- domains of one's own ---------------------------------------------------------------------------------------


def test_a_domain_is_a_value_type_and_a_table_and_names_what_is_missing():
    depth = Domain(
        "depth",
        "my/depth.py",
        lift=lambda c: 0,
        rules={"mul": lambda node, a, b: max(a, b) + 1, "add": lambda node, a, b: max(a, b)},
    )
    assert forward(depth, trace(lambda x: x * x * x + x, 1.0), 0).outputs == 2
    with pytest.raises(NoRule) as error:
        forward(depth, trace(lambda x: jnp.sin(x), 1.0), 0)
    text = str(error.value)
    assert (
        "'depth'" in text
        and "'sin'" in text
        and "my/depth.py" in text
        and "test_graph_trace.py:" in text
    )


def test_a_rule_with_several_outputs_returns_them_all():
    g = trace(lambda x: jnp.split(x, 3), X)
    lengths = Domain(
        "size",
        "my.py",
        lift=lambda c: 0,
        rules={"split": lambda node, a: [o.size for o in node.outputs]},
    )
    assert forward(lengths, g, 3).outputs == [1, 1, 1]


def test_slots_know_their_size_and_whether_they_are_real():
    g = trace(lambda x, n: (x * n, x > 0), X, 2)
    assert (
        g["x"].is_real and not g["n"].is_real and g["x"].size == 3 and str(g["x"]) == "x:float64[3]"
    )
    assert cost(g).forward_total.flops == 6
    assert trace(lambda x: x, jnp.ones(2, jnp.bfloat16)).inputs[0].is_real


def test_constants_of_a_function_that_chooses_64_bits_for_itself():
    def f(x):
        with jax.enable_x64(True):
            shift = jax.nn.relu(jnp.asarray(np.arange(3.0)) @ jnp.asarray(np.ones((3, 2))))
            return x.astype(np.float64) + shift

    graph = trace(f, np.zeros(2, np.float32), fold_rounded=False)
    assert graph.outputs[0].dtype == np.float64
