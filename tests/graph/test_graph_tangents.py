"""Forward mode on the graph: tangents of every slot, gradients pass by pass."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.graph import GraphError, NoRule, forward_gradient, tangents, trace
from ftheta.graph.domains.tangents import directional
from ftheta.graph.domains.values import flat_inputs

from .test_graph_adjoints import derivatives
from .zoo import QUICK, ZOO, graph, program


def speeds(name, seed=0):
    """A direction with the structure of the program's arguments, and its floating-point leaves."""
    rng = np.random.default_rng(seed)
    is_float = lambda leaf: (
        isinstance(leaf, (np.ndarray, float)) and np.result_type(leaf).kind == "f"
    )
    return jax.tree.map(
        lambda leaf: rng.normal(size=np.shape(leaf)) if is_float(leaf) else leaf, program(name).args
    )


def runs_backwards_only(name):
    """Whether a program of the zoo has a derivative without forward mode."""
    return any(node.primitive == "custom_vjp_call" for node in graph(name).nodes)


@pytest.mark.parametrize("name", ZOO)
def test_tangents_and_adjoints_are_transposed_to_each_other(name):
    """⟨adjoint of inputs, direction⟩ = tangent of the outputs' sum: two sweeps in opposite directions."""
    g = graph(name)
    args = program(name).args
    along = speeds(name)
    if runs_backwards_only(name):
        with pytest.raises(NoRule, match="forward mode"):
            tangents(g, *args, along=along)
        return
    moved = [v if s.is_real else None for s, v in zip(g.inputs, g.signature.inputs_of(along))]
    push = jax.jit(directional(g), compiler_options=QUICK)
    ahead = sum(
        float(jnp.sum(t)) for t, s in zip(push(flat_inputs(g, args), moved), g.outputs) if s.is_real
    )
    back = derivatives(name)[0]
    swept = sum(float(jnp.sum(back[s.id] * v)) for s, v in zip(g.inputs, moved) if s.is_real)
    assert ahead == pytest.approx(swept, rel=1e-9, abs=1e-10)


@given(st.floats(-1, 1), st.floats(0.5, 2))
def test_the_worked_example_has_the_tangents_of_its_closed_formulas(t1, t2):
    with jax.enable_x64(True):
        f = lambda t1, t2: t2 * jnp.exp(t1) * jnp.sqrt(t1 + 2 + t2 * jnp.exp(t1))
        g = trace(f, t1, t2)
        u = t2 * np.exp(t1)
        e = np.exp(t1)
        root = np.sqrt(t1 + 2 + u)
        out = g.outputs[0]
        one, two = (float(tangents(g, t1, t2, along=name)[out]) for name in ("t1", "t2"))
        assert one == pytest.approx(u * root + u * (1 + u) / (2 * root), rel=1e-12)
        assert two == pytest.approx(e * (root + u / (2 * root)), rel=1e-12)


def test_forward_mode_gives_the_gradient_coordinate_by_coordinate_in_blocks():
    f = lambda w, x: jnp.sum(jnp.tanh(w @ x) ** 2)
    rng = np.random.default_rng(0)
    w = rng.normal(size=(30, 11))
    x = rng.normal(size=11)
    expected = np.concatenate([np.ravel(g) for g in jax.grad(f, (0, 1))(w, x)])
    np.testing.assert_allclose(
        forward_gradient(trace(f, w, x), w, x), expected, rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(
        forward_gradient(trace(f, w, x), w, x, wrt=["x"]), expected[330:], rtol=1e-12
    )


def test_stop_gradient_stops_a_tangent_and_integers_do_not_move():
    g = trace(lambda x, n: jax.lax.stop_gradient(x) * x * n, 3.0, 2)
    assert float(tangents(g, 3.0, 2, along="x")[g.outputs[0]]) == 6.0


def test_directions_that_are_none_are_refused_with_a_remedy():
    g = trace(lambda x, y: jnp.sum(x) * y, np.ones(3), 2.0)
    with pytest.raises(GraphError, match="one scalar input"):
        tangents(g, np.ones(3), 2.0, along="x")
    with pytest.raises(GraphError, match="structure"):
        tangents(g, np.ones(3), 2.0, along=np.ones(3))
    with pytest.raises(GraphError, match="one number"):
        forward_gradient(trace(lambda x: x * 2, np.ones(3)), np.ones(3))
