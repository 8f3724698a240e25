"""What is stated of a subject is proved by its program, or tested and assumed; never believed."""

from types import MethodType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.catalogue import theorems
from ftheta.logic import Status, SubjectError, Verdict
from ftheta.networks.description import Description, random_mlp
from ftheta.running import run
from ftheta.subjects import Network, Target, Training
from ftheta.subjects.continuity import bounded_part
from ftheta.subjects.layers import describes_this_function
from ftheta.subjects.stated import (
    floor_of,
    hessian_gap,
    optimum_gap,
    steepest_secant,
    why_quadratic,
)

QUARTIC = 0.001


def quartic(hessian: np.ndarray | None) -> Training:
    bowl = lambda t: jnp.sum(t**2 / 2 + QUARTIC * t**4)
    return Training("a bowl and a quartic", bowl, np.ones(1), np.zeros(1), hessian=hessian)


@pytest.fixture(autouse=True)
def in_float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(
    "id", ["gd-strongly-convex", "first-order-family", "function-classes", "gd-step-regimes"]
)
def test_a_hessian_that_is_not_the_functions_makes_a_theorem_inapplicable(id):
    result = run(theorems()[id], quartic(np.eye(1)))
    assert result.verdict is Verdict.INAPPLICABLE
    (failed,) = [c.finding for c in result.checks if c.finding.status is Status.FAILED]
    assert failed.number is not None and failed.number.lo > QUARTIC


def test_the_hessian_of_a_quadratic_program_is_proved_and_a_rounded_statement_is_the_same():
    H = np.array([[2.0, 1.0], [1.0, 3.0]])
    bowl = lambda t: jnp.sum((t - 1.5) * (H @ (t - 1.5))) / 2
    told = Training("written out", bowl, np.zeros(2), np.full(2, 1.5), hessian=H * (1 + 1e-15))
    assert why_quadratic(told) is not None
    findings = [
        hypothesis(told, {"step": 1.0}) for hypothesis in theorems()["gd-strongly-convex"].assumes
    ]
    assert all(finding.status is Status.PROVED and finding.why for finding in findings)


def test_a_matrix_of_parameters_has_the_hessian_of_each_column():
    H = np.array([[2.0, 1.0], [1.0, 3.0]])
    bowl = lambda W: jnp.sum(W * (jnp.asarray(H) @ W)) / 2
    assert (
        why_quadratic(Training("columns", bowl, np.ones((2, 3)), np.zeros((2, 3)), hessian=H))
        is not None
    )
    assert (
        why_quadratic(Training("columns", bowl, np.ones((2, 3)), np.zeros((2, 3)), hessian=2 * H))
        is None
    )


def test_what_the_points_cannot_contradict_is_assumed():
    F = lambda t: jnp.sum(t**2) / 2 + jnp.sum(jnp.maximum(jnp.abs(t) - 1e3, 0.0) ** 2)
    told = Training("a bowl with a far bend", F, np.ones(2), np.zeros(2), hessian=np.eye(2))
    assert not hessian_gap(told).contradicts
    assert run(theorems()["gd-strongly-convex"], told).verdict is Verdict.CONSISTENT


def test_rounding_does_not_contradict_a_hessian_beside_a_steep_slope():
    told = Training("steep", lambda t: jnp.sum(t**2 / 2 + 1e12 * t), np.ones(1), hessian=np.eye(1))
    assert not hessian_gap(told).contradicts


def test_a_hessian_is_symmetric():
    with pytest.raises(SubjectError, match="symmetric"):
        Training.quadratic("skew", np.array([[1.0, 2.0], [0.0, 1.0]]), np.ones(2))


@pytest.mark.parametrize("off", [1e-6, 1e-2, 1.0])
def test_a_minimiser_that_is_none_makes_a_theorem_inapplicable(off):
    bowl = lambda t: jnp.sum((t - 3) ** 2) / 2
    told = Training("shifted", bowl, np.zeros(2), np.full(2, 3 + off), hessian=np.eye(2))
    assert optimum_gap(told).contradicts
    assert run(theorems()["gd-strongly-convex"], told).verdict is Verdict.INAPPLICABLE


@pytest.mark.parametrize(
    "objective, optimum",
    [
        (lambda t: t[0], None),
        (lambda t: -jnp.sum(t**2) / 2, np.zeros(1)),
        (lambda t: jnp.sum(jnp.cos(t)), np.zeros(1)),
    ],
    ids=["θ", "−θ²/2", "a maximum"],
)
def test_what_falls_below_its_minimum_is_not_bounded_below(objective, optimum):
    told = Training("falls", objective, np.ones(1), optimum, smoothness=1.0)
    assert floor_of(told).fault
    assert run(theorems()["nonconvex-stationarity"], told).verdict is Verdict.INAPPLICABLE


def test_a_kink_is_not_smooth_though_its_second_derivative_vanishes():
    told = Training("relu", lambda t: jnp.sum(jax.nn.relu(t)), np.ones(1), smoothness=1.0)
    assert steepest_secant(told) > 1e3
    assert run(theorems()["nonconvex-stationarity"], told).verdict is Verdict.INAPPLICABLE


def test_a_wave_is_bounded_below_by_its_minimum_over_all_of_space():
    wave = lambda t: jnp.sum(1 - jnp.cos(t))
    assert floor_of(Training("wave", wave, np.ones(1), np.zeros(1))).proof
    assert not floor_of(Training("wave", lambda t: wave(t) + 1e-3 * t[0], np.ones(1))).proof


@pytest.mark.parametrize("degree", [1, 2, 5, 9, 15])
def test_a_polynomial_of_any_degree_is_one(degree):
    odd = Target("planted", lambda x: x**degree - 0.5 * x, (-2.0,), (2.0,))
    result = run(theorems()["uat-nonpolynomial-iff"], odd)
    assert result.verdict is Verdict.INAPPLICABLE
    assert f"degree at most {degree}" in result.summary


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.where(x > 0, x**3, x**3),
        lambda x: x**3 * jnp.exp(x) * jnp.exp(-x),
        lambda x: jnp.sin(x) ** 2 + jnp.cos(x) ** 2,
        lambda x: jnp.where(x == 1.0, 1.0, 0.0),
    ],
    ids=["branches", "cancellation", "a constant", "a point"],
)
def test_a_polynomial_in_disguise_is_not_proved_to_be_none(f):
    assert bounded_part(f) is None


@pytest.mark.parametrize("f", [jnp.tanh, jnp.sin, jnp.exp, lambda x: jnp.where(x > 0, 1.0, 0.0)])
def test_what_is_bounded_and_not_constant_is_no_polynomial(f):
    assert bounded_part(f) is not None


class Shifted(Description):
    def apply(self, params, x):
        return super().apply(params, x) + 1e-3


def test_a_method_of_the_list_that_computes_something_else_is_not_believed():
    told = random_mlp(np.random.default_rng(0), (2, 4, 1), "relu", bias=0.5)
    plain = Network.described(told)
    assert describes_this_function.check(plain).status is Status.PROVED
    other = MethodType(lambda self, params, x: Description.apply(self, params, x) + 1e-3, told)
    shifted = Shifted(told.layers)
    for net in (
        Network("method", other, told.params, (2,), told),
        Network("subclass", shifted.apply, shifted.params, (2,), shifted),
    ):
        assert describes_this_function.check(net).status is Status.FAILED
    far = lambda params, x: told.apply(params, x) + jax.nn.relu(jnp.sum(jnp.abs(x)) - 100)
    assert (
        describes_this_function.check(Network("far", far, told.params, (2,), told)).status
        is Status.SAMPLED
    )
