"""Gradients of flows: discrete, by the adjoint equation, by differences."""

from math import exp
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.limits.depth.adjoints import Gradients, Question, adjoint_flow, gradients, kinks, solve
from ftheta.limits.depth.chains import flowing, one_step, refined, residual_chain
from ftheta.logic import Verdict


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def growing(a: Any, x: Any) -> Any:
    return jax.lax.scan(lambda x, _: (x + a * x / 5, None), x, None, length=5)[0]


def question() -> Question:
    chain = residual_chain(growing, np.array(0.5), (1,))
    return Question.of(chain, np.array(0.5), np.ones((1, 1)), 2 * np.ones((1, 1)), np.random.default_rng(0))


def test_the_textbook_gradients_have_their_closed_forms():
    found = gradients(question(), growing)
    assert found.continuous[0] == pytest.approx((exp(0.5) - 2) * exp(0.5), abs=1e-9)
    assert found.continuous[0] == pytest.approx(-0.579160713, abs=1e-9)
    assert found.discrete[0] == pytest.approx((1.1**5 - 2) * 1.1**4, rel=1e-12)
    assert all(claim.judge().verdict.holds for claim in found.claims())


def field(theta: Any, x: Any) -> Any:
    return jnp.tanh(theta["W"] @ x + theta["b"])


def test_the_adjoint_equation_agrees_with_diffrax_and_with_differentiating_a_fine_solution():
    rng = np.random.default_rng(0)
    theta, x, w = {"W": rng.normal(size=(3, 3)), "b": rng.normal(size=3)}, rng.normal(size=3), rng.normal(size=3)
    ways = (adjoint_flow(40), lambda v, theta, x: solve(v, theta, x), flowing(80))
    slopes = lambda theta, x: [jax.grad(lambda t, x, s=s: w @ s(field, t, x), (0, 1))(theta, x) for s in ways]
    found = jax.jit(slopes)(theta, x)
    for other in found[1:]:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-7, atol=1e-8), found[0], other)


@pytest.mark.nightly
def test_diffrax_through_its_own_steps_gives_the_same_gradient():
    theta, x = {"W": np.array([[0.3]]), "b": np.zeros(1)}, np.ones(1)
    slopes = [jax.grad(lambda x, s=stored: solve(field, theta, x, stored=s)[0])(x)[0] for stored in (False, True)]
    assert slopes[0] == pytest.approx(float(slopes[1]), rel=1e-7)


def test_the_memory_of_the_adjoint_equation_does_not_grow_with_the_steps():
    held = lambda step: question().gradient(step)[1]
    assert held(adjoint_flow(64)) == held(adjoint_flow(16))
    assert held(refined(256)) > held(refined(64)) + 1000


def test_differences_see_a_hidden_derivative():
    hidden = lambda a, x: x + a * jax.lax.stop_gradient(a) * x
    chain = residual_chain(hidden, np.array(0.5), (1,))
    asked = Question.of(chain, np.array(0.5), np.ones((1, 1)), np.zeros((1, 1)), np.random.default_rng(0))
    slope = float(asked.gradient(one_step)[0] @ asked.direction)
    assert asked.difference(one_step) == pytest.approx(2 * slope, rel=1e-8)
    assert kinks(chain)[0] == ["stop_gradient"]


def test_kinks_are_named():
    chain = residual_chain(lambda W, x: x + jax.nn.relu(W @ x), np.eye(2), (2,))
    assert kinks(chain) == ([], ["relu"])


@pytest.mark.parametrize("bent, verdict", [(False, Verdict.INCONCLUSIVE), (True, Verdict.CONSISTENT)])
def test_across_kinks_differences_contradict_nothing(bent, verdict):
    """Differences and Runge-Kutta steps lose their order there: a gap of 10⁻³ speaks against smooth blocks alone."""
    g = np.ones(1)
    found = Gradients(4, g, g, g, np.array([0.8, 0.4, 0.2, 0.1]), {"continuous": (1.0, 1.001)}, {}, bent)
    judged = found.claims()[0].judge()
    assert judged.verdict is verdict and judged.contradicted is not bent
