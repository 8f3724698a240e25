"""Gradients of flows: discrete, by the adjoint equation, by differences."""

from math import exp
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from ftheta.flows.chains import (
    hidden_derivatives,
    make_euler_steps,
    make_flow,
    one_step,
    residual_chain,
)
from ftheta.logic import Verdict
from ftheta.theorems.depth.adjoint_method import gradient_claims
from ftheta.theorems.depth.adjoint_method.adjoints import (
    Gradients,
    Question,
    gradients,
    kinks,
    make_adjoint_flow,
    solve,
)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def growing(a: Any, x: Any) -> Any:
    return jax.lax.scan(lambda x, _: (x + a * x / 5, None), x, None, length=5)[0]


def question() -> Question:
    chain = residual_chain(growing, np.array(0.5), (1,))
    return Question.build(
        chain, np.array(0.5), np.ones((1, 1)), 2 * np.ones((1, 1)), np.random.default_rng(0)
    )


def test_the_textbook_gradients_have_their_closed_forms():
    found = gradients(question())
    assert found.continuous[0] == pytest.approx((exp(0.5) - 2) * exp(0.5), abs=1e-9)
    assert found.continuous[0] == pytest.approx(-0.579160713, abs=1e-9)
    assert found.discrete[0] == pytest.approx((1.1**5 - 2) * 1.1**4, rel=1e-12)
    assert all(claim.judge().verdict.holds for claim in gradient_claims(found))


def test_back_propagation_through_the_chain_is_that_through_the_network():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(3, 3, 3))
    x = rng.normal(size=(4, 2))
    y = rng.normal(size=(4, 3))

    def network(params: Any, x: Any) -> Any:
        x = params["in"] @ x
        for weight in params["W"]:
            x = x + jnp.tanh(weight @ x) / 3
        return x

    params = {"in": rng.normal(size=(3, 2)), "W": W}
    asked = Question.build(residual_chain(network, params, (2,)), params, x, y, rng)
    loss = lambda params: asked.distance(jax.vmap(lambda row: network(params, row))(jnp.asarray(x)))
    own = ravel_pytree(jax.jit(jax.grad(loss))(params))[0]
    np.testing.assert_allclose(asked.gradient(one_step)[0], own, rtol=1e-11)


def field(theta: Any, x: Any) -> Any:
    return jnp.tanh(theta["W"] @ x + theta["b"])


@pytest.mark.nightly
def test_the_adjoint_equation_agrees_with_diffrax_and_with_differentiating_a_fine_solution():
    rng = np.random.default_rng(0)
    theta = {"W": rng.normal(size=(3, 3)), "b": rng.normal(size=3)}
    x = rng.normal(size=3)
    w = rng.normal(size=3)
    ways = (make_adjoint_flow(40), lambda v, theta, x: solve(v, theta, x), make_flow(80))
    slopes = lambda theta, x: [
        jax.grad(lambda t, x, s=s: w @ s(field, t, x), (0, 1))(theta, x) for s in ways
    ]
    found = jax.jit(slopes)(theta, x)
    for other in found[1:]:
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-7, atol=1e-8), found[0], other
        )


@pytest.mark.nightly
def test_diffrax_through_its_own_steps_gives_the_same_gradient():
    theta = {"W": np.array([[0.3]]), "b": np.zeros(1)}
    x = np.ones(1)
    slopes = [
        jax.grad(lambda x, s=stored: solve(field, theta, x, stored=s)[0])(x)[0]
        for stored in (False, True)
    ]
    assert slopes[0] == pytest.approx(float(slopes[1]), rel=1e-7)


def test_the_memory_of_the_adjoint_equation_does_not_grow_with_the_steps():
    held = lambda step: question().gradient(step)[1]
    assert held(make_adjoint_flow(64)) == held(make_adjoint_flow(16))
    assert held(make_euler_steps(256)) > held(make_euler_steps(64)) + 1000


def test_differences_see_a_hidden_derivative():
    hidden = lambda a, x: x + a * jax.lax.stop_gradient(a) * x
    chain = residual_chain(hidden, np.array(0.5), (1,))
    asked = Question.build(
        chain, np.array(0.5), np.ones((1, 1)), np.zeros((1, 1)), np.random.default_rng(0)
    )
    slope = float(asked.gradient(one_step)[0] @ asked.direction)
    assert asked.difference(one_step) == pytest.approx(2 * slope, rel=1e-8)
    assert hidden_derivatives(chain) == ["stop_gradient"]


def test_kinks_are_named():
    chain = residual_chain(lambda W, x: x + jax.nn.relu(W @ x), np.eye(2), (2,))
    assert kinks(chain) == ["relu"] and not hidden_derivatives(chain)


@pytest.mark.parametrize(
    "bent, verdict", [(False, Verdict.INCONCLUSIVE), (True, Verdict.CONSISTENT)]
)
def test_across_kinks_differences_contradict_nothing(bent, verdict):
    """Differences and Runge-Kutta steps lose their order there: a gap of 10⁻³ speaks against smooth blocks alone."""
    g = np.ones(1)
    found = Gradients(
        4, g, g, np.array([0.8, 0.4, 0.2, 0.1]), {"continuous": (1.0, 1.001)}, {}, bent
    )
    judged = gradient_claims(found)[0].judge()
    assert judged.verdict is verdict and judged.contradicted is not bent


def test_what_is_compared_with_differences_is_measured_not_certified():
    g = np.ones(1)
    along = {"continuous": (1.0, 1.0), "discrete": (1.0, 1.0)}
    found = Gradients(4, g, g, np.array([0.8, 0.4, 0.2, 0.1]), along, {}, False)
    judged = [claim.judge().verdict for claim in gradient_claims(found)[: len(along)]]
    assert judged == [Verdict.CONSISTENT] * 2
