"""Filters as differential operators, and the heat equation as a residual network."""

from fractions import Fraction
from math import cos

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import ftheta as ft
from ftheta.logic import SubjectError
from ftheta.theorems.equivariance.pde_net_stencils.heat import (
    Diffusion,
    diffusion_of,
    learn,
    slide,
    start_on,
    symbol_on,
)
from ftheta.theorems.equivariance.pde_net_stencils.stencils import (
    STENCILS,
    Stencil,
    filters_of,
    from_moments,
    with_moments,
)

from ...thoroughness import max_examples

weights = arrays(
    np.float64,
    st.sampled_from([(3,), (4,), (5,), (3, 3), (2, 5)]),
    elements=st.floats(-4, 4, width=16),
)


def test_the_textbook_differences_have_the_textbook_moments():
    second = Stencil(STENCILS["second difference"])
    centred = Stencil(STENCILS["centred difference"])
    assert [second.moment((k,)) for k in range(5)] == [0, 0, 2, 0, 2]
    assert [centred.moment((k,)) for k in range(4)] == [0, 1, 0, 1]
    value = second.apply(cos, (0.0,), 0.1) / 0.01
    assert (
        value == pytest.approx(-0.9991669444, abs=5e-11) == pytest.approx(2 * (cos(0.1) - 1) / 0.01)
    )


@given(weights)
def test_moments_and_filters_determine_each_other_exactly(q):
    stencil = Stencil(q)
    back = from_moments(stencil.moments, q.shape)
    assert all(back[at] == stencil.taps.get(at, 0) for at in back)


@max_examples(25)
@given(weights, st.sampled_from([0.05, 0.3]))
def test_on_polynomials_the_expansion_is_exact(q, h):
    """For monomials x^a y^b the series ends: Σ q f(x + kh) = Σ h^|α| m_α ∂^α f/α!, here at 0: h^|a| m_a."""
    stencil = Stencil(q)
    for alpha in np.ndindex(*([3] * q.ndim)):
        f = lambda *x, alpha=alpha: np.prod([v**a for v, a in zip(x, alpha)])
        assert stencil.apply(f, (0.0,) * q.ndim, h) == pytest.approx(
            h ** sum(alpha) * float(stencil.moment(alpha)), abs=1e-9
        )


@pytest.mark.parametrize(
    "name, derivative, accuracy",
    [
        ("second difference", 2, 2),
        ("centred difference", 1, 2),
        ("second difference, fourth order", 2, 4),
        ("Laplacian", 2, 2),
    ],
)
def test_orders_are_those_of_the_tables(name, derivative, accuracy):
    stencil = Stencil(STENCILS[name])
    assert (stencil.derivative(), stencil.accuracy()) == (derivative, accuracy)
    omega = (1.0, 0.7)[: stencil.dimension]
    f = lambda *x: np.cos(np.dot(omega, x) + 0.4)
    wanted = np.cos(0.4 + derivative * np.pi / 2) * (
        sum(w**2 for w in omega) if derivative == 2 else omega[0]
    )
    errors = [
        abs(stencil.apply(f, (0.0,) * stencil.dimension, h) / h**derivative - wanted)
        for h in (0.2, 0.1)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(accuracy, abs=0.1)


def test_a_filter_is_made_from_the_moments_that_are_wanted():
    assert with_moments({(2,): 2}, (3,)).tolist() == [1, -2, 1]
    assert with_moments({(1,): 1}, (3,)).tolist() == [-0.5, 0, 0.5]
    fourth = with_moments({(2,): 2}, (5,))
    assert fourth == pytest.approx(STENCILS["second difference, fourth order"], abs=1e-15)
    assert Stencil(with_moments({(1, 1): 1}, (3, 3))).operator().startswith("1 ∂xy")


@given(weights)
def test_the_remainder_bounds_the_series_on_waves(q):
    stencil = Stencil(q)
    omega = (1.3, 0.4)[: q.ndim]
    h = 0.25
    terms = 5
    value = stencil.apply(lambda *x: np.cos(np.dot(omega, x) + 0.2), (0.0,) * q.ndim, h)
    gap = abs(value - stencil.series(omega, 0.2, h, terms))
    assert gap <= stencil.remainder(h, terms, max(omega)) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("layout", ["OIHW", "HWIO"])
def test_the_first_convolution_is_read_in_any_layout(layout):
    q = np.random.default_rng(0).normal(size=(2, 3, 3, 3))
    kernel = q if layout == "OIHW" else np.transpose(q, (2, 3, 1, 0))
    numbers = ("NCHW", layout, "NCHW")

    def apply(params, x):
        return jnp.maximum(
            jax.lax.conv_general_dilated(
                x[None], params, (1, 1), "SAME", dimension_numbers=numbers
            )[0],
            0,
        )

    net = ft.Network("conv", apply, kernel, (3, 8, 8))
    assert filters_of(net) == pytest.approx(q)


def test_networks_without_windows_are_refused():
    dense = ft.Network("dense", lambda p, x: p @ x, np.ones((2, 3)), (3,))
    with pytest.raises(SubjectError, match="no convolution"):
        filters_of(dense)


def test_the_heat_equation_is_followed_in_closed_form_and_loses_no_heat():
    layers = diffusion_of(Stencil(0.4 * STENCILS["second difference"]), 64, 200)
    assert (
        layers is not None
        and layers.ratio == pytest.approx(0.4)
        and layers.growth == pytest.approx(1)
    )
    assert layers.states[-1] == pytest.approx(layers.by_waves, abs=1e-12)
    k = 3
    wave = np.sin(2 * np.pi * k * np.arange(64) / 64)
    decayed = Diffusion(layers.stencil, wave, 50).states[-1]
    factor = 1 - 4 * 0.4 * np.sin(np.pi * k / 64) ** 2
    assert decayed == pytest.approx(wave * factor**50, abs=1e-12)
    assert np.abs(layers.states[-1] - layers.exact(200)).max() < 0.01
    unstable = diffusion_of(Stencil(0.6 * STENCILS["second difference"]), 64, 200)
    assert (
        unstable is not None
        and unstable.growth == pytest.approx(abs(1 - 4 * 0.6))
        and np.abs(unstable.states[-1]).max() > 1e3
    )


def test_what_is_no_diffusion_is_none():
    assert diffusion_of(Stencil(STENCILS["centred difference"]), 16, 5) is None
    assert diffusion_of(Stencil(-STENCILS["second difference"]), 16, 5) is None
    assert diffusion_of(Stencil(np.ones(3)), 16, 5) is None


@given(st.integers(0, 50), st.floats(0.05, 0.5))
def test_a_filter_with_its_sum_rules_is_learnt_exactly(seed, r):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, 2)
    q = np.array([b, r, -2 * r - 2 * b, r, b]) + a * np.array([-1.0, 2, 0, -2, 1])  # m0 = m1 = 0
    u = rng.normal(size=(4, 24))
    assert learn(u, u + slide(Stencil(q), u)) == pytest.approx(q, abs=1e-9)


def test_the_symbol_is_what_waves_are_multiplied_by():
    q = Stencil(np.random.default_rng(0).normal(size=(3, 3)))
    u = start_on((8, 6))
    assert np.fft.fftn(slide(q, u)) == pytest.approx(
        np.fft.fftn(u) * symbol_on(q, (8, 6)), abs=1e-12
    )


def test_moments_are_rationals():
    assert Stencil(np.array([0.1, 0.2, 0.3])).moment((2,)) == Fraction(0.1) + Fraction(0.3)
