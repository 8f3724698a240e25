"""Residual networks and the flows they tend to."""

from dataclasses import replace
from fractions import Fraction
from math import exp, pi

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from ftheta.catalogue import theorem
from ftheta.flows.fields import FLOWS, Flow, circling_tanh, growth, rotation
from ftheta.logic import Basis, Enclosure, Verdict
from ftheta.running import run
from ftheta.subjects import Family, Network
from ftheta.theorems.depth.neural_ode_limit.convergence import (
    acceleration_of,
    allowed_variation,
    ball_euler,
    distance,
    euler,
    euler_constant,
    largest,
    limit_of,
    regularity,
    runge_kutta,
    runge_kutta_errors,
    steepest_slope,
)
from ftheta.theorems.orders import observed_order

from ...thoroughness import max_examples

dyadic = st.integers(-64, 64).map(lambda k: k / 32)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def linear_flow(start: np.ndarray) -> Flow:
    return Flow(lambda p, x: p[0] @ x + p[1], lambda t: None, start, balls=lambda u: u)


@max_examples(30)
@given(
    st.lists(st.tuples(dyadic, dyadic, dyadic, dyadic, dyadic, dyadic), min_size=1, max_size=9),
    dyadic,
    dyadic,
)
def test_balls_contain_the_network_evaluated_in_rational_numbers(layers, x0, x1):
    W = np.array([[[a, b], [c, d]] for a, b, c, d, _, _ in layers])
    bias = np.array([[e, f] for *_, e, f in layers])
    x = [Fraction(x0), Fraction(x1)]
    for weight, shift in zip(W, bias):
        v = [
            sum(Fraction(w) * z for w, z in zip(row, x)) + Fraction(s)
            for row, s in zip(weight, shift)
        ]
        x = [z + u / len(W) for z, u in zip(x, v)]
    balls = ball_euler(linear_flow(np.array([x0, x1])), (W, bias))
    for ball, exact in zip(balls, x):
        with ctx.workprec(400):
            assert ball.contains(arb(fmpq(exact.numerator, exact.denominator)))
        assert float(ball.rad()) < 1e-25


@pytest.mark.parametrize("name", FLOWS)
def test_the_float_network_lies_in_its_ball_up_to_rounding(name):
    flow = FLOWS[name](1.0)
    theta = flow.layers(50)
    output = np.asarray(flow.output(theta, flow.start))
    np.testing.assert_allclose(
        output, [float(x) for x in ball_euler(flow, theta)], rtol=1e-13, atol=1e-14
    )


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("rate", [0.3, 1.0, 2.5])
def test_the_closed_form_end_solves_the_equation(name, rate):
    flow = FLOWS[name](rate)
    np.testing.assert_allclose(
        np.asarray(runge_kutta(flow, 2000)[-1]), limit_of(flow)[0], rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize("name", FLOWS)
def test_stated_constants_agree_with_what_is_met_along_the_trajectory(name):
    flow = FLOWS[name](1.5)
    unstated = Flow(flow.field, flow.weights, flow.start)
    assert (
        flow.lipschitz is not None and flow.acceleration is not None and flow.variation is not None
    )
    assert steepest_slope(flow).middle <= flow.lipschitz.hi * (1 + 1e-9)
    assert acceleration_of(unstated).middle == pytest.approx(flow.acceleration.middle, rel=0.01)
    found = regularity(flow, flow.layers(4000))
    assert found is not None and found[1] <= flow.variation.hi + 1e-9


@max_examples(40)
@given(st.sampled_from(sorted(FLOWS)), st.floats(0.05, 3.0), st.integers(1, 60))
def test_the_error_never_exceeds_the_bound(name, rate, depth):
    flow = FLOWS[name](rate)
    theta = flow.layers(depth)
    with jax.enable_x64(True):
        error = distance(flow, np.asarray(flow.output(theta, flow.start)), theta)
    assert error.basis is Basis.EXACT
    assert error.hi * depth <= euler_constant(flow).lo


def test_the_bound_is_attained_as_the_rate_tends_to_zero():
    flow = growth(1e-3)
    error = distance(flow, np.zeros(1), flow.layers(4096))
    assert 0.999 < error.middle * 4096 / euler_constant(flow).middle < 1


def test_the_bound_without_growth_is_half_the_acceleration():
    flow = Flow(
        lambda p, x: p,
        lambda t: t[:, None],
        np.zeros(1),
        None,
        Enclosure.exact(0),
        Enclosure.exact(1),
    )
    assert 0.5 in euler_constant(flow)
    # sum of k/100
    assert float(euler(flow.field, flow.layers(10), flow.start)[-1][0]) == pytest.approx(0.45)


def test_euler_on_growth_and_rotation_has_its_closed_forms():
    assert float(growth(1.0).output(growth(1.0).layers(10), np.ones(1))[0]) == pytest.approx(
        1.1**10, rel=1e-14
    )
    turned = rotation(1.0).output(rotation(1.0).layers(100), np.array([1.0, 0.0]))
    assert float(jnp.linalg.norm(turned)) == pytest.approx(
        (1 + (2 * pi / 100) ** 2) ** 50, rel=1e-13
    )


def test_the_runge_kutta_method_has_order_four_and_euler_order_one():
    flow = circling_tanh(1.0)
    steps, errors = runge_kutta_errors(flow)
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(-4, abs=0.1)
    depths = np.array([100, 200, 400, 800])
    euler_errors = [distance(flow, np.zeros(2), flow.layers(int(n))).middle for n in depths]
    (rate,) = observed_order("", 1, depths, euler_errors, sharp=True)
    assert rate.judge().verdict.holds


def test_an_error_without_a_known_end_is_only_measured():
    flow = growth(1.0)
    unknown = Flow(flow.field, flow.weights, flow.start)
    error = distance(unknown, np.asarray(flow.output(flow.layers(64), flow.start)), flow.layers(64))
    assert error.basis is Basis.SAMPLED
    assert error.middle == pytest.approx(exp(1) - (1 + 1 / 64) ** 64, rel=1e-9)


def test_independent_noise_on_the_layers_is_seen():
    flow = growth(1.0)
    W, b = flow.layers(64)
    noisy = (W + np.random.default_rng(0).choice([-1.0, 1.0], W.shape), b)
    assert regularity(flow, (W, b)) == (0.0, 0.0)
    assert regularity(flow, noisy) == (1.0, 128.0)


def test_weights_laid_out_otherwise_are_not_compared():
    flow = growth(1.0)
    assert regularity(flow, ()) is None
    assert regularity(flow, [np.ones((4, 1, 1))]) is None
    assert regularity(flow, (np.ones((4, 2, 2)), np.ones((4, 2)))) is None


def test_rough_weights_outgrow_what_half_the_depth_allows():
    rough = Flow(lambda p, x: p * x, lambda t: np.sqrt(t)[:, None], np.ones(1))
    smooth = Flow(lambda p, x: p * x, lambda t: np.sin(t)[:, None], np.ones(1))
    for depth in (64, 1024):
        steepest = [regularity(flow, flow.layers(depth)) for flow in (rough, smooth)]
        assert steepest[0] is not None and steepest[0][1] > allowed_variation(rough, depth)
        assert steepest[1] is not None and steepest[1][1] <= allowed_variation(smooth, depth)


def test_the_largest_of_several_numbers_is_as_well_known_as_the_least_known():
    found = largest([Enclosure.exact(3), Enclosure.between(1, 4, Basis.FLOAT)])
    assert (found.lo, found.hi, found.basis) == (3, 4, Basis.FLOAT)


def test_too_few_errors_make_no_claim_of_a_rate():
    assert observed_order("", 1, [1, 2, 3], [1.0, 0.0, 0.5]) == ()


def test_an_infinite_error_makes_a_rate_inconclusive():
    (rate,) = observed_order("", 1, [1, 2, 3, 4], [1.0, 0.5, 0.3, np.inf])
    assert rate.judge().verdict is Verdict.INCONCLUSIVE


def test_ball_arithmetic_leaves_the_working_precision_alone():
    before = ctx.prec
    ball_euler(growth(1.0), growth(1.0).layers(3))
    assert ctx.prec == before


def family_of(flow: Flow, apply=None) -> Family:
    def member(T: int, rng: np.random.Generator) -> Network:
        return Network(f"{T} layers", apply or flow.output, flow.layers(T), flow.start.shape)

    return Family("stated", member, flow, [8, 16, 32, 64])


@pytest.mark.parametrize("name", FLOWS)
def test_what_is_stated_truly_of_a_flow_is_not_contradicted(name):
    found = run(theorem("neural-ode-limit"), family_of(FLOWS[name](1.0)))
    statements = next(check for check in found.checks if check.name.startswith("statements"))
    assert "end, acceleration" in statements.finding.note
    assert found.claims[0].judgement.verdict is Verdict.PROVED


@pytest.mark.parametrize(
    "wrong",
    [
        {"acceleration": Enclosure.exact(1)},  # e at the end
        {"end": [arb(2)]},
        {"balls": lambda u: u / 2},
    ],
)
def test_what_is_stated_wrongly_of_a_flow_refutes_nothing(wrong):
    found = run(theorem("neural-ode-limit"), family_of(replace(growth(1.0), **wrong)))
    assert found.verdict is Verdict.INAPPLICABLE
    assert [c.name for c in found.checks if c.finding.status.value == "failed"] == [
        "statements about the flow that are true"
    ]


def test_members_that_take_other_steps_are_not_judged_by_those_of_the_flow():
    found = run(theorem("neural-ode-limit"), family_of(growth(1.0), lambda theta, x: 5 * x))
    claim = found.claims[0]
    assert claim.judgement.contradicted and claim.claim.left.hi > 64 * (5 - exp(1)) * 0.99
