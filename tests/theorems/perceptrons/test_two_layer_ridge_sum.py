"""Sums of ridge functions: nested terms, least squares, and the interpolation of a square."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError
from ftheta.relu.line.points import square_error
from ftheta.running import run
from ftheta.subjects import Dataset, Family, Target
from ftheta.subjects.values import grid, points_and_values
from ftheta.theorems.perceptrons.two_layer_ridge_sum import (
    claim_no_weights_needed,
    two_layer_ridge_sum,
)
from ftheta.theorems.perceptrons.two_layer_ridge_sum.fits import (
    choose_sizes,
    fit_more_and_more,
    fit_output_weights,
)
from ftheta.theorems.perceptrons.two_layer_ridge_sum.ridges import (
    Ridges,
    draw_ridges,
    largest_change_across,
    rescale_to_cube,
    square_interpolant,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(st.integers(1, 40), st.integers(1, 4))
def test_fewer_terms_from_the_same_seed_are_the_first_of_more(p, d):
    assert draw_ridges(rng(), p, d).begins(draw_ridges(rng(), 40, d))
    assert not draw_ridges(rng(1), p, d).begins(draw_ridges(rng(), 40, d))


@given(st.integers(0, 99), st.integers(1, 12))
def test_the_projection_is_the_least_squares_fit(seed, p):
    features = rng(seed).normal(size=(30, p))
    y = rng(seed + 1).normal(size=30)
    best = features @ np.linalg.lstsq(features, y, rcond=None)[0]
    np.testing.assert_allclose(fit_output_weights(features, y).values, best, atol=1e-9)


def test_terms_that_say_nothing_new_are_left_out():
    column = rng().normal(size=(20, 1))
    y = rng(1).normal(size=20)
    repeated = np.hstack([column, 2 * column, np.zeros((20, 1)), column + 1e-12])
    np.testing.assert_allclose(
        fit_output_weights(repeated, y).values, fit_output_weights(column, y).values, atol=1e-12
    )


@given(st.integers(1, 60))
def test_the_square_is_interpolated_with_the_error_of_the_closed_form(n):
    f = square_interpolant(n)
    assert square_error(f, n) == Fraction(1, 4 * n * n)
    assert all(f(Fraction(s, n)) == Fraction(s, n) ** 2 for s in range(n + 1))


def test_errors_never_grow_when_terms_are_added_and_do_when_they_are_drawn_anew():
    x = grid((-1.0,), (1.0,))
    y = np.sin(5 * x[:, 0])
    with jax.enable_x64(True):
        nested = fit_more_and_more(lambda p: draw_ridges(rng(), p, 1), x, y, 40, "tanh")
        anew = fit_more_and_more(lambda p: draw_ridges(rng(p), p, 1), x, y, 40, "tanh")
    assert nested.growth <= 1e-12 < anew.growth
    assert (
        nested.correlation < 1e-7 and claim_no_weights_needed(nested).judge().verdict == "refuted"
    )


def test_a_ridge_does_not_change_along_its_hyperplanes():
    assert largest_change_across(draw_ridges(rng(), 5, 4)) == 0


def test_the_sizes_of_the_seed_are_among_those_tried():
    assert (
        {6, 30, 100, 1000} <= set(choose_sizes(1000))
        and choose_sizes(1) == [1]
        and len(choose_sizes(1000)) < 110
    )


def test_points_are_moved_into_the_cube():
    moved = rescale_to_cube(np.array([[3.0, 5.0], [7.0, 5.0], [4.0, 5.0]]))
    assert moved.min() == -1 and moved.max() == 1 and (moved[:, 1] == 0).all()


def test_functions_data_and_families_are_accepted():
    subjects = [
        Target("f", lambda x, y: x * y, (-1.0, 0.0), (1.0, 2.0), ("x", "y")),
        Target("g", lambda x: x @ x, (-1.0,) * 3, (1.0,) * 3),
        Dataset("rows", rng().normal(size=(50, 5)), rng(1).normal(size=50)),
        Family(
            "mine", lambda p, r: draw_ridges(r, p, 1), Target("h", lambda x: x**2, (0.0,), (1.0,))
        ),
    ]
    for subject in subjects:
        assert run(two_layer_ridge_sum, subject, terms=30).verdict == "certified"


def test_what_cannot_be_fitted_is_inapplicable_and_refused_when_forced():
    bare = Dataset("rows", rng().normal(size=(50, 5)))
    pole = Target("1/x", lambda x: 1 / x, (-1.0,), (1.0,))
    for subject in (
        bare,
        pole,
        Family("aimless", lambda p, r: Ridges(np.ones((p, 1)), np.ones(p))),
    ):
        assert run(two_layer_ridge_sum, subject).verdict == "inapplicable"
        with pytest.raises(SubjectError):
            run(two_layer_ridge_sum, subject, force=True)
    with pytest.raises(SubjectError, match="more than one output"):
        points_and_values(Target("pair", lambda x: x * np.ones(2), (-1.0,), (1.0,)))
