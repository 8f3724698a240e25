"""The constructions of the universality theorems: staircases, difference quotients, smoothing, fits of |x|."""

from fractions import Fraction
from math import expm1, factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from ftheta.approximation import fourier
from ftheta.approximation import monomials as m
from ftheta.approximation import staircases as s
from ftheta.approximation.jumps import find_jumps
from ftheta.approximation.suprema import Oscillation
from ftheta.logic import SubjectError, UsageError
from ftheta.theorems.universality.uat_cybenko_hornik import error_of_jumps
from ftheta.theorems.universality.uat_nonpolynomial_iff import density
from ftheta.theorems.universality.uat_step2_mollification import mollified
from ftheta.theorems.universality.uat_step3_monomials import (
    errors_against_step,
    power_of_exp,
    rates_in_the_step,
)

from ..thoroughness import max_examples

WAVE = lambda x: jnp.sin(5 * x)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "arctan"])
def test_the_error_of_a_staircase_is_within_its_bound_and_above_a_dense_search(name):
    tail = 1e-2 if name == "arctan" else 1e-4
    made = s.staircase(WAVE, s.SIGMOIDS[name], 0.0, 2.0, 12, tail)
    found = made.error().value
    bound = made.bound(Oscillation.of(WAVE, 0.0, 2.0), tail)
    x = np.linspace(0, 2, 20_001)
    z = made.steepness * (x[:, None] - made.thresholds)
    values = {
        "sigmoid": 1 / (1 + np.exp(-z.clip(-700))),
        "tanh": (1 + np.tanh(z)) / 2,
        "arctan": 0.5 + np.arctan(z) / np.pi,
    }
    dense = np.abs(np.sin(5 * x) - made.start - values[name] @ made.rises).max()
    assert dense <= found.hi * (1 + 1e-9) and found.lo <= dense * 1.01 and found.hi <= bound.lo


@given(st.integers(1, 40))
def test_jumps_miss_the_identity_by_half_a_cell(n):
    assert error_of_jumps(n) == Fraction(1, 2 * n)


def test_a_steep_staircase_comes_close_to_the_jumps():
    made = s.staircase(lambda x: x, s.SIGMOIDS["sigmoid"], 0.0, 1.0, 10, 1e-6)
    assert made.error().value.hi == pytest.approx(0.05, rel=0.02)


def test_a_constant_never_reaches_its_limits():
    assert s.steepness(s.SIGMOIDS["constant ½"], 1e-3) == s.STEEPEST


@pytest.mark.parametrize("name", [n for n in m.SMOOTH if n != "gelu"])
def test_derivatives_from_power_series_are_those_of_nested_jax(name):
    f = m.PROGRAMS[name]
    with jax.enable_x64(True):
        for order in range(1, 5):
            f = jax.grad(f)
            assert m.derivative_at(name, order, Fraction(1, 3)).middle == pytest.approx(
                float(f(1 / 3)), abs=1e-9
            )


@pytest.mark.parametrize("name", list(m.SMOOTH))
def test_balls_floats_and_programs_are_one_function(name):
    x = np.array([-1.5, -0.25, 0.0, 0.75, 2.0])
    with jax.enable_x64(True):
        program = np.asarray(m.PROGRAMS[name](x))
    np.testing.assert_allclose(m.FLOATS[name](x), program, atol=1e-14)
    quotient = m.Quotient(name, Fraction(0), 1, Fraction(1))  # ϱ(x) − ϱ(0)
    balls = [m.value_at(quotient, Fraction(t)).middle for t in x.tolist()]
    np.testing.assert_allclose(balls, program - program[2], atol=1e-13)


@given(
    st.integers(1, 8),
    st.fractions(-2, 2, max_denominator=20),
    st.sampled_from([Fraction(1, 4), Fraction(1, 100)]),
)
def test_the_quotient_of_exp_is_a_power(k, x, h):
    made = m.value_at(m.Quotient("exp", Fraction(0), k, h), x)
    other = power_of_exp(h, k, x)
    assert (
        made.lo <= other.hi and other.lo <= made.hi and made.width <= 1e-12 * (1 + abs(made.middle))
    )


def test_the_values_of_the_catalogue():
    quotient = m.value_at(m.Quotient("exp", Fraction(0), 2, Fraction(1, 100)), Fraction(1))
    assert quotient.middle == pytest.approx((expm1(0.01) / 0.01) ** 2, rel=1e-14)  # 1.0100585842
    assert -2.0 in m.derivative_at("tanh", 3, Fraction(0))
    assert m.derivative_at("square", 3, Fraction(1)).middle == pytest.approx(0.0)


@max_examples(40)
@given(
    st.sampled_from(["exp", "tanh", "softplus", "sin", "arctan"]),
    st.integers(1, 6),
    st.fractions(-1, 1, max_denominator=8),
    st.sampled_from([Fraction(1, 3), Fraction(1, 50)]),
    st.booleans(),
)
def test_the_error_of_a_quotient_is_within_its_bound(name, k, bias, h, central):
    quotient = m.Quotient(name, bias, k, h, central)
    points = [Fraction(i, 5) for i in range(-5, 6)]
    assert m.error_at(quotient, points).lo <= m.bound_on(quotient, Fraction(1)).hi


def test_float64_cancels_where_more_bits_do_not():
    found = errors_against_step("exp", Fraction(0), 3, Fraction(1))
    assert found.rounded[-1] > 0.5 > found.rounded[6] and found.forward[-1] < 1e-5
    assert [round(-rate.slope.middle) for rate in rates_in_the_step(found)] == [1, 2]


@pytest.mark.parametrize("name", ["tanh", "softplus", "sin", "exp"])
def test_a_compiled_polynomial_is_within_its_proved_error(name):
    p = [Fraction(1, 2), Fraction(-1), Fraction(0), Fraction(2), Fraction(1, 3)]
    net = m.compile_polynomial(p, name, Fraction(1), Fraction(1, 64))
    assert net.neurons == 2 + 4 + 5 and net.error.hi < 0.1
    for x in [Fraction(i, 7) for i in range(-7, 8)]:
        wanted = sum(c * x**k for k, c in enumerate(p))
        assert abs(m.evaluate(net, name, x).middle - float(wanted)) <= net.error.hi


def test_polynomials_are_not_compiled_with_polynomials_or_beyond_reach():
    with pytest.raises(UsageError):
        m.compile_polynomial(
            [Fraction(0)] * 3 + [Fraction(1)], "square", Fraction(1), Fraction(1, 8)
        )
    with pytest.raises(UsageError, match="degree"):
        m.compile_polynomial([Fraction(1)] * 20, "tanh", Fraction(1), Fraction(1, 8))


@given(st.fractions(-2, 2, max_denominator=16))
def test_the_smoothed_rectifier_is_the_integral(x):
    eps = 0.75
    found = integrate.quad(
        lambda y: max(float(x) - y, 0.0), -eps, eps, points=[max(-eps, min(eps, float(x)))]
    )[0] / (2 * eps)
    assert float(mollified.rectified_box(Fraction(3, 4), x)) == pytest.approx(found, abs=1e-10)


def test_the_rectifier_and_the_box_at_zero_and_at_ends_of_cells():
    assert mollified.rectified_box(Fraction(1, 2), Fraction(0)) == Fraction(1, 8)  # ε/4
    assert all(mollified.exact_at_ends(Fraction(2, 5), cells) == 0 for cells in (1, 2, 7, 16))


@pytest.mark.parametrize("kernel", ["box", "bump"])
@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_a_smoothed_activation_is_the_convolution_within_the_bound(kernel, name):
    rho, plain = {"relu": (jax.nn.relu, lambda t: max(t, 0.0)), "tanh": (jnp.tanh, np.tanh)}[name]
    net = mollified.smooth(rho, -1.0, 1.0, 0.5, kernel, 20)
    psi = (lambda t: 1.0) if kernel == "box" else (lambda t: float(mollified.bump(np.array(t))))
    mass = integrate.quad(psi, -1, 1)[0]
    for x in (-0.7, -0.2, 0.0, 0.33):
        inside = [t for t in (x / 0.5,) if -1 < t < 1]
        true = (
            integrate.quad(
                lambda t, x=x: psi(t) * plain(x - 0.5 * t), -1, 1, points=inside or None
            )[0]
            / mass
        )
        assert abs(net.on(np.array([x]))[0] - true) <= net.bound()
    assert mollified.masses(kernel, 9).sum() == pytest.approx(1.0)
    assert mollified.steepest_on(lambda x: jnp.sign(x), -1.0, 1.0) == np.inf


def test_no_polynomial_is_closer_to_the_absolute_value_than_the_floor():
    assert density.polynomial_floor(2) == density.polynomial_floor(3) == Fraction(1, 8)
    assert density.polynomial_floor(0) == density.polynomial_floor(1) == Fraction(1, 2)
    x = np.linspace(-1, 1, 2001)
    for degree in (4, 8, 13):  # interpolation at Chebyshev points is a near-best rival
        rival = np.polynomial.chebyshev.Chebyshev.interpolate(np.abs, degree)(x)
        assert (
            0.1 / degree
            < float(density.polynomial_floor(degree))
            <= np.abs(rival - np.abs(x)).max()
        )


def test_a_fit_is_proved_everywhere_and_polynomial_activations_stay_above_the_floor():
    rng = np.random.default_rng(0)
    fit = density.best_fit(jnp.tanh, rng, 16)
    assert fit.error <= fit.supremum().value.hi < 1 / 8
    assert density.best_fit(jnp.square, rng, 40, tries=1).error >= 1 / 8 - 1e-9


def test_jumps_are_found_where_they_are():
    f = lambda x: jnp.where(x > 0.3, 2.0, 0.0) - jnp.where(x > -1.7, 0.5, 0.0) + jnp.sin(x)
    places = find_jumps(f, -3.0, 3.0)
    assert [round(x, 6) for x, _ in places] == [-1.7, 0.3]
    assert [round(h, 6) for _, h in places] == [-0.5, 2.0]
    assert find_jumps(jnp.tanh, -3.0, 3.0) == [] and find_jumps(jax.nn.relu, -3.0, 3.0) == []


def test_orders_of_derivatives_are_factorials_of_taylor_coefficients():
    assert m.derivative_at("exp", 7, Fraction(0)).middle == pytest.approx(1.0)
    assert m.derivative_at("arctan", 5, Fraction(0)).middle == pytest.approx(factorial(5) / 5)


def test_the_norms_of_gaussians_and_of_the_hat_are_those_of_the_catalogue_and_of_scipy():
    for d, value in {1: 0.7978846, 2: 1.2533141, 3: 1.5957691, 10: 3.0843278}.items():
        assert fourier.gaussian_norm(d).middle == pytest.approx(value, abs=6e-8)
        assert fourier.gaussian_norm_by_integral(d).middle == pytest.approx(
            fourier.gaussian_norm(d).middle, rel=1e-14
        )
    for cut in (0.5, 10.0, 300.0):
        ci = special.sici(cut)[1]
        assert fourier.hat_norm(cut).middle == pytest.approx(
            2 / np.pi * (np.euler_gamma + np.log(cut) - ci), rel=1e-12
        )
        assert fourier.hat_norm_by_integral(cut).middle == pytest.approx(
            fourier.hat_norm(cut).middle, rel=1e-14
        )


def test_spectra_from_samples_have_the_norms_of_the_closed_forms():
    line = fourier.sampled_spectrum(lambda x: jnp.exp(-x * x / 2), [-12.0], [12.0], 512)
    assert line.quiet and line.up_to(line.cut) == pytest.approx(np.sqrt(2 / np.pi), rel=1e-4)
    plane = fourier.sampled_spectrum(lambda x: jnp.exp(-x @ x / 2), [-14.0] * 2, [14.0] * 2, 128)
    assert plane.up_to(plane.cut) == pytest.approx(np.sqrt(np.pi / 2), rel=1e-2)
    wave = fourier.sampled_spectrum(
        lambda x: jnp.cos(3 * x[0] - 4 * x[1]), [0.0] * 2, [2 * np.pi] * 2, 32
    )
    assert not wave.quiet and wave.up_to(wave.cut) == pytest.approx(5.0) and wave.up_to(4.9) < 1e-9


def test_stretching_divides_the_norm_and_sums_add_at_most():
    f = lambda x: jnp.exp(-x * x / 2)
    g = lambda x: jnp.sin(3 * x) * jnp.exp(-x * x)
    norm = lambda h: (s := fourier.sampled_spectrum(h, [-20.0], [20.0], 512)).up_to(s.cut)
    assert norm(lambda x: f(x / 2)) == pytest.approx(norm(f) / 2, rel=1e-3)
    assert norm(lambda x: f(x) + g(x)) <= norm(f) + norm(g) + 1e-12


def test_the_integral_of_the_hat_follows_its_closed_form_up_to_a_frequency():
    found = fourier.sampled_spectrum(
        lambda x: jnp.maximum(1 - jnp.abs(x), 0.0), [-32.0], [32.0], 8192
    )
    for cut in (5.0, 20.0, 60.0):
        assert found.up_to(cut) == pytest.approx(fourier.hat_norm(cut).middle, rel=0.02)


def test_samples_that_are_not_finite_or_too_many_are_refused():
    with pytest.raises(SubjectError, match="finite"):
        fourier.Spectral.of(np.array([1.0, np.nan]), [0.0], [1.0])
    with pytest.raises(SubjectError, match="Too many"):
        fourier.sampled_spectrum(lambda x: x[0], [0.0] * 3, [1.0] * 3, 512)


def test_a_derivative_over_a_ball_that_is_too_wide_may_be_any_number():
    wide = m.derivative("tanh", 6, arb(0.25, 400.0))
    assert not wide.is_finite() and wide.contains(0) and wide.contains(10**9)
    assert m.derivative("tanh", 3, arb(0)).overlaps(arb(-2))
