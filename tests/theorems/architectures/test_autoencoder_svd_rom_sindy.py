"""Sparse identification of dynamics: Lorenz in rationals and floats, a peer's monomials, order of the differences."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

import ftheta as ft
from ftheta.logic import Status, Verdict
from ftheta.theorems.architectures.autoencoder_svd_rom_sindy.sindy import (
    LORENZ,
    differences,
    exact_coefficients,
    fit_coefficients,
    fit_sparse_coefficients,
    library,
    library_rank,
    monomials,
    rational_states,
    term_name,
)


@pytest.mark.parametrize("dimension, degree", [(1, 3), (2, 2), (3, 3)])
def test_the_library_is_scikit_learns(dimension, degree):
    x = np.random.default_rng(0).normal(size=(6, dimension))
    assert np.allclose(
        library(x, monomials(dimension, degree)), PolynomialFeatures(degree).fit_transform(x)
    )
    exact = library(rational_states(x), monomials(dimension, degree))
    assert np.allclose(exact.astype(float), library(x, monomials(dimension, degree)))


def test_the_coefficients_of_lorenz_are_recovered_exactly_from_ten_states():
    terms = monomials(3, 2)
    x = np.random.default_rng(1).normal(size=(10, 3)) * 10
    assert exact_coefficients(x, LORENZ, terms) == [
        tuple(row) for row in LORENZ.coefficients(terms)
    ]
    assert LORENZ.coefficients(terms)[2][terms.index((2,))] == Fraction(-8, 3)
    assert exact_coefficients(x[:9], LORENZ, terms) is None  # one state too few


def test_thresholds_leave_the_seven_terms():
    terms = monomials(3, 2)
    x = LORENZ.trajectory((-8.0, 7.0, 27.0), np.linspace(0, 4, 150))
    slopes = LORENZ.slopes(x)
    found = fit_sparse_coefficients(library(x, terms), slopes, 0.1)
    assert np.allclose(found, np.array(LORENZ.coefficients(terms), float).T, atol=1e-9)
    assert int((found != 0).sum()) == 7 and term_name(terms[0], "xyz") == "1"
    assert np.allclose(fit_coefficients(library(x, terms), slopes), found, atol=1e-8)


def test_states_on_an_axis_do_not_tell_monomials_apart():
    x = np.column_stack([np.zeros(9), np.zeros(9), np.arange(1.0, 10)])
    assert library_rank(x, monomials(3, 2)) == 3


def test_differences_have_order_four():
    errors = []
    for h in (0.02, 0.01):
        t = np.arange(0, 1, h)
        errors.append(
            np.abs(differences(np.sin(3 * t)[:, None], h)[:, 0] - 3 * np.cos(3 * t[2:-2])).max()
        )
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.05)


def test_a_users_rows_without_derivatives():
    t = np.arange(0, 6, 0.01)
    decay = ft.Dataset(
        "spiral",
        np.column_stack([np.exp(-0.3 * t) * np.cos(2 * t), np.exp(-0.3 * t) * np.sin(2 * t)]),
    )
    result = ft.check("autoencoder-svd-rom-sindy", decay, degree=2, step=0.01)
    # that a polynomial of degree 2 moves them is assumed
    assert result.verdict is Verdict.CONSISTENT
    assert result.numbers["coefficient of x2 in dx1/dt"].middle == pytest.approx(-2, rel=1e-5)
    assert (
        ft.check("autoencoder-svd-rom-sindy", ft.Dataset("wide", np.ones((9, 20)))).verdict
        is Verdict.INAPPLICABLE
    )


def test_a_library_without_the_terms_of_the_law_is_no_counter_example():
    result = ft.check("autoencoder-svd-rom-sindy", degree=1)
    assert result.verdict is Verdict.INAPPLICABLE
    assert [check.name for check in result.checks if check.finding.status is Status.FAILED] == [
        "law among monomials"
    ]
