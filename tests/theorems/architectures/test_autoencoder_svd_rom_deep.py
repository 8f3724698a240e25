"""Curved codes: the linear start is principal component analysis, rings have Fourier tails, training goes below."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

import ftheta as ft
from ftheta.certify.low_rank import decompose
from ftheta.logic import Verdict
from ftheta.theorems.architectures.autoencoder_svd_rom_deep import one_number_claim
from ftheta.theorems.architectures.autoencoder_svd_rom_deep.curved_codes import (
    Codes,
    Shape,
    coordinates,
    first_rows,
    linear_share,
    memory_error,
    split,
    train_codes,
)
from ftheta.theorems.architectures.autoencoder_svd_rom_deep.moving_shapes import (
    fourier_tail,
    moving_shapes,
    whole_share,
)

RING = moving_shapes("circling pulse", 32, 32)


@pytest.mark.parametrize("r", [1, 2, 5])
def test_the_linear_code_is_principal_component_analysis(r):
    X = np.random.default_rng(0).normal(size=(21, 9)) @ np.diag(0.7 ** np.arange(9)) + 3
    found = coordinates(X)
    pca = PCA(r).fit(X[found.learnt])
    errors = ((pca.inverse_transform(pca.transform(X)) - X) ** 2).sum(1)
    assert np.allclose(found.linear_errors(r) * found.unit**2, errors)
    assert np.allclose(found.rows(found.y), X)


def test_every_fourth_row_is_left_out_and_few_rows_are_all_kept():
    assert split(12).sum() == 9 and split(7).all()


def test_more_columns_than_coordinates_leave_the_rest_outside():
    X = np.random.default_rng(1).normal(size=(120, 100))
    found = coordinates(X)
    assert found.y.shape[1] == 64
    assert np.allclose(
        (found.y**2).sum(1) + found.outside, ((X - found.mean) ** 2).sum(1) / found.unit**2
    )


def test_training_starts_at_the_linear_code():
    rows = coordinates(RING)
    shape = Shape((1, 3), 5, rows.spread)
    with jax.enable_x64(True):
        params = shape.initial(np.random.default_rng(0))
        start = np.asarray(jax.jit(jax.vmap(lambda y: shape.apply(params, y)))(rows.y))
    for i, r in enumerate(shape.sizes):
        assert np.allclose(start[:, i], np.where(np.arange(start.shape[2]) < r, rows.y, 0.0))


def test_two_numbers_that_bend_hold_a_ring_better_than_two_that_do_not():
    rows = coordinates(RING)
    found = train_codes(rows, (2,), 16, 300, np.random.default_rng(0))
    straight = rows.linear_errors(2)
    for some in (rows.learnt, ~rows.learnt):
        assert found.errors[0, some].mean() < 0.2 * straight[some].mean()
    assert (found.code.shape, found.output.shape) == ((1, 32, 2), (1, 32, rows.y.shape[1]))


def test_what_training_makes_worse_is_not_kept():
    rows = coordinates(RING)
    # worse, and better
    output = np.stack([0 * rows.y, np.where(np.arange(rows.y.shape[1]) < 3, rows.y, 0.0)])
    found = Codes(rows, Shape((1, 2), 4, rows.spread), np.zeros((2, 32, 2)), output)
    assert np.array_equal(found.errors[0], rows.linear_errors(1))
    assert np.allclose(found.errors[1], rows.linear_errors(3))


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=12), st.integers(1, 5))
def test_the_singular_values_of_rotations_are_fourier_coefficients(u, r):
    X = np.array([np.roll(u, k) for k in range(len(u))], float)
    waves = fourier_tail(X, r)
    assert waves is not None
    sigma = decompose(X - X.mean(0)).sigma
    if sigma[0] > 1e-6:
        assert waves == pytest.approx(whole_share(X, r), abs=1e-12)


def test_rows_that_are_no_rotations_have_no_fourier_tail():
    assert (
        fourier_tail(np.eye(4)[[0, 2, 1, 3]], 1) is None
        and fourier_tail(np.ones((2, 3)), 1) is None
    )


def test_one_number_remembers_rows_exactly_and_knows_nothing_of_others():
    assert one_number_claim(RING, np.random.default_rng(0)).judge().verdict is Verdict.PROVED
    assert (
        one_number_claim(np.ones((4, 3)), np.random.default_rng(0)).judge().verdict
        is Verdict.PROVED
    )
    found = coordinates(RING)
    assert memory_error(found, np.random.default_rng(0)) > linear_share(found, 2)


def test_a_users_images_are_coded():
    t = np.linspace(0, np.pi, 24)
    grid = np.linspace(-1, 1, 6)
    images = np.exp(
        -4
        * ((grid[:, None] - np.cos(t)[:, None, None]) ** 2 + (grid - np.sin(t)[:, None, None]) ** 2)
    )
    result = ft.check(
        "autoencoder-svd-rom-deep", ft.Dataset("a spot on an arc", images), rank=1, steps=200
    )
    assert result.verdict is Verdict.CONSISTENT
    assert (
        result.numbers["lost by the trained code"].middle
        < result.numbers["lost by the best linear code"].middle
    )
    huge = first_rows(1e200 * images)
    assert np.allclose(
        coordinates(huge).linear_errors(1), coordinates(first_rows(images)).linear_errors(1)
    )
    flat = ft.Dataset("a line", np.outer(np.arange(12.0), np.ones(5)))
    assert ft.check("autoencoder-svd-rom-deep", flat, rank=1).verdict is Verdict.INAPPLICABLE
