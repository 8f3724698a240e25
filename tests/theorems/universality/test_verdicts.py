"""What is true is not refuted, and what was not shown is not said: hypotheses that are easily taken for met."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.approximation import monomials
from ftheta.approximation.bernstein import find_unseparated
from ftheta.approximation.staircases import SIGMOIDS, find_fall
from ftheta.catalogue import theorem
from ftheta.logic import AtMost, Basis, Result, Verdict
from ftheta.networks import ACTIVATIONS
from ftheta.running import run
from ftheta.subjects import Family, Target


def failed(result: Result) -> list[str]:
    return [check.name for check in result.checks if check.finding.status.value == "failed"]


@pytest.mark.parametrize(
    "name, lo, hi", [("relu", 1.0, 2.0), ("leaky-relu", -3.0, -2.0), ("tanh", -1e-4, 1e-4)]
)
def test_an_activation_that_is_a_polynomial_on_its_interval_alone_refutes_nothing(name, lo, hi):
    rho = Target(name, ACTIVATIONS[name].function, (lo,), (hi,))
    found = run(theorem("uat-step2-mollification"), rho, width=1e-3)
    assert not failed(found) and found.verdict is not Verdict.REFUTED


def test_the_order_of_an_error_is_not_fitted_to_rounding():
    relu = Target("relu", ACTIVATIONS["relu"].function, (1.0,), (2.0,))
    found = run(theorem("uat-step2-mollification"), relu)
    assert "rate" not in [judged.claim.kind for judged in found.claims]


@pytest.mark.parametrize("labels", [(-1, 1), (0, 2), (1, 2)])
def test_labels_other_than_0_and_1_are_no_labellings(labels):
    def member(n: int, _: np.random.Generator) -> np.ndarray:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
        return np.array(labels)[bits]

    found = run(theorem("no-free-lunch"), Family("two labels", member), learner="majority")
    assert found.verdict is Verdict.INAPPLICABLE


def test_labellings_of_another_number_of_points_fail_a_hypothesis():
    member = lambda n, _: np.zeros((2**n, n + 1), int)
    found = run(theorem("no-free-lunch"), Family("one point more", member))
    assert found.verdict is Verdict.INAPPLICABLE


def test_a_squashing_function_that_falls_on_its_way_is_not_sigmoidal():
    bump = lambda z: jax.nn.sigmoid(z) + 30 * jnp.exp(-(z**2))
    target = Target("x", lambda x: x, (0.0,), (1.0,))
    found = run(theorem("uat-cybenko-hornik"), Family("bump", lambda k, _: bump, target, (0,)))
    assert failed(found) == ["sigmoidal"] and found.verdict is Verdict.INAPPLICABLE


@pytest.mark.parametrize("name", SIGMOIDS)
def test_no_fall_is_found_in_sigmoids(name):
    assert find_fall(SIGMOIDS[name], 16.0) is None


def test_a_fall_is_found_between_two_points_and_far_out():
    first, last = find_fall(lambda z: jnp.where(z > 1e4, 0.5, jax.nn.sigmoid(z)), 16.0) or (0, 0)
    assert first <= 1e4 < last


def test_a_small_derivative_is_not_zero():
    rho = Target("tanh", monomials.PROGRAMS["tanh"], (-1.0,), (1.0,))
    found = run(theorem("uat-step3-monomials"), rho, power=1, bias=20.0)
    assert not failed(found) and found.verdict is Verdict.CONSISTENT
    flat = run(theorem("uat-step3-monomials"), rho, power=2, bias=0.0)  # tanh″(0) = 0
    assert flat.verdict is Verdict.INAPPLICABLE


def test_directions_of_any_size_separate_points():
    f = Target("a sum", lambda x: jnp.sin(x.sum() * 1e-20), (0.0, 0.0), (1e20, 1e20))
    found = run(theorem("uat-step1-ridge-exponentials"), f, reach=1, cells=2)
    assert "separating" not in failed(found)
    claim = next(j for j in found.claims if j.claim.what.startswith("dimension ≤ rank"))
    assert claim.judgement.verdict is Verdict.PROVED


ABSOLUTE = Target("|x|", jnp.abs, (-1.0,), (1.0,))


def generated_by(*generators) -> Family:
    return Family("own", lambda k, _: generators[k], ABSOLUTE, tuple(range(len(generators))))


def test_a_generator_that_saturates_in_float64_still_separates():
    found = run(
        theorem("stone-weierstrass"), generated_by(lambda x: 1.0, lambda x: jnp.tanh(100 * x))
    )
    assert not failed(found)


@pytest.mark.parametrize("flat", [lambda x: jnp.maximum(x, 0.0), lambda x: max(x, Fraction(0))])
def test_neighbours_on_which_all_generators_surely_agree_are_found(flat):
    pairs = find_unseparated([lambda x: 1.0, flat], -1.0, 1.0, 65)
    assert len(pairs) == 32 and max(y for pair in pairs for y in pair) == 0


def test_the_distance_from_an_algebra_is_known_from_below_alone():
    found = run(theorem("stone-weierstrass"), generated_by(lambda x: 1.0, lambda x: x**3))
    distance = next(j for j in found.claims if j.claim.what.startswith("distance"))
    assert isinstance(distance.claim, AtMost) and distance.claim.left.basis is Basis.SAMPLED
    assert distance.judgement.verdict is Verdict.CONSISTENT
