"""Runge's phenomenon: closed forms against interpolation by scipy, linear programs, quadrature and dense grids."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.interpolate import BarycentricInterpolator

import ftheta as ft
from ftheta.estimates.rational_maxima import largest_quotient, polynomial
from ftheta.logic import UsageError, Verdict
from ftheta.running import run
from ftheta.theorems.generalisation.runge import runge
from ftheta.theorems.generalisation.runge.interval_function import extend_broken_line
from ftheta.theorems.generalisation.runge.nodes import (
    KINDS,
    Interpolant,
    between,
    lebesgue_constant,
    nodes,
)
from ftheta.theorems.generalisation.runge.runge_function import Runge
from ftheta.theorems.generalisation.runge.sampled_function import SampledFunction

from ...thoroughness import max_examples

GRID = -np.cos(np.linspace(0, np.pi, 40_001))
FEW: dict[str, Any] = {"steps": 20}


@pytest.mark.parametrize(
    "n, even, good", [(5, 0.4327, 0.5559), (10, 1.9157, 0.10915), (20, 59.822, 0.015334)]
)
def test_the_values_of_the_catalogue(n, even, good):
    f = Runge()
    assert f.error("equispaced", n).middle == pytest.approx(even, rel=1e-4)
    assert f.error("Chebyshev", n).middle == pytest.approx(good, rel=1e-4)
    if n == 10:
        assert lebesgue_constant("equispaced", n).middle == pytest.approx(29.900, rel=2e-5)
        assert lebesgue_constant("Chebyshev", n).middle == pytest.approx(2.4894, rel=2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("a", [1.0, 25.0, 60.5])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10, 15, 22])
def test_the_enclosed_error_is_that_of_the_polynomial(kind, a, n):
    f = Runge(a)
    x = nodes(kind, n)
    p = BarycentricInterpolator(x, f(x))
    seen = np.abs(p(GRID) - f(GRID)).max()
    found = f.error(kind, n)
    assert found.width < 1e-12 * found.hi
    rounding = 1e-15 * n * lebesgue_constant(kind, n).hi
    assert seen <= found.hi * (1 + 1e-7) + rounding and found.lo <= seen * (1 + 1e-5) + rounding
    assert np.allclose(
        f.errors_at(kind, n, GRID[::50]),
        f(GRID[::50]) - p(GRID[::50]),
        atol=1e-6 * found.hi + rounding,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 20, 30])
def test_lebesgue_constants_are_the_largest_sums_anywhere(kind, n):
    x = nodes(kind, n)
    t = between(x if kind == "equispaced" else np.unique([-1, *x, 1]), 400)
    cardinal = [BarycentricInterpolator(x, row)(t) for row in np.eye(n + 1)]
    seen = np.abs(cardinal).sum(0).max()
    found = lebesgue_constant(kind, n)
    assert seen <= found.hi * (1 + 1e-6) and found.lo <= seen * (1 + 1e-4)


@pytest.mark.parametrize("a, n", [(25.0, 4), (25.0, 9), (25.0, 10), (3.0, 6), (100.0, 12)])
def test_the_best_error_is_that_of_a_linear_program(a, n):
    """Chebyshev's closed form against minimax on a grid, which is never more."""
    f = Runge(a)
    closed = float(f.best_error(n))
    found = SampledFunction(f).best_error(n).lo
    assert found <= closed * (1 + 1e-7) + 1e-9 and closed == pytest.approx(found, rel=2e-3)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 11])
def test_the_error_of_the_broken_line(n):
    f = Runge()
    x = nodes("equispaced", n)
    seen = np.abs(np.interp(GRID, x, f(x)) - f(GRID)).max()
    found = f.bent_line_error(n)
    assert seen <= found.hi + 1e-12 and found.lo <= seen + 1e-6
    outside = extend_broken_line(x, f(x), np.array([-2.0, 2.0]))
    slope = (f(x[-1]) - f(x[-2])) / (x[-1] - x[-2])
    assert outside == pytest.approx([f(1.0) + slope] * 2)


@pytest.mark.parametrize("a", [2.0, 25.0, 400.0])
def test_the_growth_factor_is_a_difference_of_potentials(a):
    U = lambda z: quad(lambda t: np.log(abs(z - t)) / 2, -1, 1, points=[0.0])[0]
    assert Runge(a).growth == pytest.approx(np.exp(U(1.0) - U(1j / np.sqrt(a))), rel=1e-6)


@pytest.mark.parametrize(
    "a, ellipse", [(25.0, 1.2), (25.0, 1.21), (25.0, 1.5), (400.0, 1.2), (1.0, 2.0)]
)
def test_the_size_on_the_ellipse(a, ellipse):
    """Inside and outside of the ellipse of the pole, against many points."""
    holds, size = Runge(a).on_ellipse(ellipse)
    assert float(size) == pytest.approx(
        SampledFunction(Runge(a)).on_ellipse(ellipse, 100_000), rel=1e-6
    )
    assert holds == (ellipse < float(Runge(a).rho))


@max_examples(50)
@given(st.lists(st.fractions(-4, 4, max_denominator=8), min_size=1, max_size=6), st.integers(0, 3))
def test_the_largest_quotient_is_not_met_elsewhere(coefficients, k):
    below = [Fraction(1), Fraction(0), Fraction(k)]
    found = largest_quotient(
        polynomial(*coefficients), polynomial(*below), Fraction(-1), Fraction(2)
    )
    t = np.linspace(-1, 2, 3001)
    seen = np.abs(np.polyval([float(c) for c in coefficients[::-1]], t) / (1 + k * t * t)).max()
    assert seen <= found.hi * (1 + 1e-12) + 1e-12 and found.lo <= seen + 1e-4 * (1 + found.hi)


@max_examples(40)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_interpolants_reproduce_polynomials_and_agree_with_scipy(seed, n):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, n + 1) + 3 * np.arange(n + 1))
    c = rng.normal(size=n + 1)
    y = np.polynomial.chebyshev.chebval((x - x.mean()) / np.ptp(x), c)
    t = np.concatenate([x, rng.uniform(x[0], x[-1], 20)])
    p = Interpolant(x, y)
    scale = p.lebesgue(t).max()
    assert p(t) == pytest.approx(
        np.polynomial.chebyshev.chebval((t - x.mean()) / np.ptp(x), c), abs=1e-11 * scale
    )
    assert p(t) == pytest.approx(BarycentricInterpolator(x, y)(t), abs=1e-11 * scale)
    assert (p(x) == y).all() and p.cardinal(t[-1]).sum() == pytest.approx(1)


# ---- the theorem -----------------------------------------------------------------------------------------------------


def test_the_built_in_function_is_decided_exactly():
    result = run(runge, **FEW)
    decided = [*result.claims[:3], *result.examples]
    assert [j.judgement.verdict for j in decided] == [Verdict.PROVED] * 5
    assert result.numbers["ρ"].middle == pytest.approx((1 + 26**0.5) / 5)


@pytest.mark.nightly
def test_a_function_of_the_user_has_the_same_numbers():
    mine = run(runge, **FEW)
    theirs = run(runge, ft.load("1/(1+25*x^2)"), **FEW)
    for name in ("error, equispaced", "error, Chebyshev", "best error", "error of the broken line"):
        assert theirs.numbers[name].lo == pytest.approx(mine.numbers[name].lo, rel=1e-3)
    assert theirs.verdict is Verdict.CONSISTENT


def test_a_function_with_a_kink_is_not_analytic_and_an_interval_is_carried():
    assert run(runge, ft.load("abs(x)+0*x"), **FEW).verdict is Verdict.INAPPLICABLE
    wide = ft.Target("wide", lambda x: 1 / (1 + x * x), (-5.0,), (5.0,))  # Runge's own interval
    result = run(runge, wide, **FEW)
    assert result.numbers["error, equispaced"].lo == pytest.approx(1.91565, rel=1e-4)


def test_points_of_the_user_and_what_is_refused():
    x = np.linspace(0, 3, 11)
    result = run(runge, ft.Dataset("points", x[:, None], np.sin(x)))
    assert result.numbers["Λ"].middle == pytest.approx(29.9, rel=1e-3)
    assert result.claims[0].judgement.verdict is Verdict.CERTIFIED
    twice = ft.Dataset("twice", np.r_[x, x[:1]][:, None], np.zeros(12))
    plane = ft.Dataset("plane", np.ones((5, 2)), np.zeros(5))
    for bad in (twice, plane, ft.load("x*y")):
        assert run(runge, bad).verdict is Verdict.INAPPLICABLE
    with pytest.raises(UsageError):
        nodes("random", 3)
