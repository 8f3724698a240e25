"""Bounds along gradient descent: every iterate is compared, and rounding is what intervals show it to be."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.logic import Verdict
from ftheta.theorems.optimisation.gd_strongly_convex import claim_contraction
from ftheta.training import gradient_descent
from ftheta.training.rates import largest_ratio
from ftheta.training.rounding import step_errors, value_errors


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def claims_on(objective, start, mu, L, steps=20, tau=None):
    tau = 2 / (mu + L) if tau is None else tau
    gamma = 1 - 2 * tau * mu * L / (mu + L)
    path = gradient_descent(objective, np.asarray(start, float), tau, steps)
    return claim_contraction(objective, path, np.zeros(len(start)), 0.0, gamma, (tau, mu, L))


@pytest.mark.parametrize("steps", [1, 3, 50])
def test_a_bound_of_zero_leaves_nothing_out(steps):
    quartic = lambda theta: jnp.sum(theta**2) / 2 + 0.001 * jnp.sum(theta**4)
    whole, single = claims_on(quartic, [3.0], 1.0, 1.0, steps)
    assert not whole.judge().verdict.holds
    assert single.judge().verdict is Verdict.REFUTED


@pytest.mark.parametrize("kappa, dimension", [(1.0, 1), (1.0, 7), (10.0, 3), (1e6, 2)])
def test_a_true_bound_is_certified_also_where_it_is_zero_or_underflows(kappa, dimension):
    curvatures = np.geomspace(1.0, kappa, dimension) if dimension > 1 else np.array([kappa])
    quadratic = lambda theta: jnp.sum(curvatures * theta**2) / 2
    for claim in claims_on(
        quadratic, np.linspace(1, 2, dimension), float(curvatures[0]), kappa, steps=3000
    ):
        assert claim.judge().verdict is Verdict.CERTIFIED


def test_the_error_of_a_step_is_bounded_by_what_intervals_say_of_it():
    objective = lambda theta: jnp.sum(3 * theta**2) / 2
    tau = 0.1
    path = gradient_descent(objective, np.array([0.1, 0.7]), tau, 5)
    bounds = step_errors(objective, path, tau)
    for before, after, bound in zip(path[:-1].tolist(), path[1:].tolist(), bounds):
        off = [
            abs(Fraction(b) - Fraction(a) * (1 - 3 * Fraction(tau))) for a, b in zip(before, after)
        ]
        assert max(off) <= Fraction(float(bound)) < Fraction(1, 10**14)


def test_the_error_of_a_value_grows_with_what_cancels_in_it():
    points = np.array([[0.1], [0.2]])
    plain = lambda theta: jnp.sum(theta**2)
    far = lambda theta: (jnp.sum(theta**2) + 1e12) - 1e12
    near, wide = (
        value_errors(f, points, np.array([float(f(p)) for p in points])) for f in (plain, far)
    )
    assert (near < 1e-15).all() and (wide > 1e-5).all()


def test_an_excess_beyond_its_bound_shows_however_large_the_values_are():
    excess = np.array([1.0, 0.01])
    bound = np.array([2.0, 1e-6])
    assert largest_ratio(excess, bound, size=1.0, errors=np.full(2, 1e-4)).lo > 50
