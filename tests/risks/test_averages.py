"""What noise, dropout and augmentation minimise on average: in rationals, by enumeration and by simulation."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

import ftheta as ft
from ftheta.estimates import mean
from ftheta.groups import translations
from ftheta.logic import UsageError, Verdict
from ftheta.networks import random_mlp
from ftheta.risks.averages import (
    augmented_ridge,
    draw_dropout_losses,
    draw_noise_losses,
    dropout_fit,
    dropout_loss,
    dropout_loss_by_masks,
    fractions,
    invariant_part,
    moved_rows,
    noise_fit,
    noise_loss,
    noise_loss_by_signs,
    orbit_means,
    ridge_on_orbits,
)
from ftheta.running import run
from ftheta.theorems.generalisation.noise_dropout_augmentation import noise_dropout_augmentation
from ftheta.theorems.generalisation.noise_dropout_augmentation.charts import trace_ellipse

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4))
Y = RNG.normal(size=(12, 2))
W = RNG.normal(size=(4, 2))
SMALL = st.fractions(-3, 3, max_denominator=7)


def test_the_values_of_the_catalogue():
    result = run(noise_dropout_augmentation, draws=20)
    exact = ("half of (1, 2) dropped", "noise ±1/10", "ridge on all rotations")
    worked = [judged for judged in result.examples if judged.claim.what.startswith(exact)]
    assert len(worked) == 3
    assert all(judged.judgement.verdict is Verdict.PROVED for judged in worked)
    assert all(judged.judgement.verdict.holds for judged in result.examples)
    assert result.example_numbers["dropout loss of the example"].middle == 14
    assert Fraction(902, 100) in result.example_numbers["noise loss of the example"]


@given(
    st.data(),
    st.integers(1, 3),
    st.integers(1, 3),
    st.fractions(Fraction(1, 9), 1, max_denominator=9),
)
def test_every_mask_and_every_sign_add_up_to_the_formulas_in_rationals(data, n, d, keep):
    draw = lambda *shape: np.array(
        [data.draw(SMALL) for _ in range(int(np.prod(shape)))], object
    ).reshape(shape)
    X = draw(n, d)
    y = draw(n)
    w = draw(d)
    s = data.draw(SMALL)
    assert dropout_loss_by_masks(X, y, w, keep) == dropout_loss(X, y, w, keep)
    assert noise_loss_by_signs(X, y, w, s) == noise_loss(X, y, w, s**2)


def test_several_outputs_and_a_noise_that_is_not_centred():
    x = fractions(X[:3])
    y = fractions(Y[:3])
    w = fractions(W)
    half = Fraction(1, 2)
    assert dropout_loss_by_masks(x, y, w, half) == dropout_loss(x, y, w, half)
    assert noise_loss_by_signs(x, y, w, half) == noise_loss(x, y, w, half**2)
    shifted = noise_loss_by_signs(x, y, w, half, Fraction(1, 3))
    assert shifted != noise_loss(x, y, w, half**2)
    assert shifted == noise_loss(x + Fraction(1, 3), y, w, half**2)


def test_draws_agree_with_the_formulas_and_not_with_the_plain_loss():
    rng = np.random.default_rng(1)
    noisy = mean(draw_noise_losses(X, Y, W, 0.7, rng, 3000))
    dropped = mean(draw_dropout_losses(X, Y, W, 0.6, rng, 3000))
    assert noise_loss(X, Y, W, 0.49) in noisy and dropout_loss(X, Y, W, 0.6) in dropped
    plain = float(((Y - X @ W) ** 2).sum())
    assert plain not in noisy and plain not in dropped


def test_the_fits_minimise_the_formulas_and_noise_is_ridge():
    y = Y[:, 0]
    assert np.allclose(
        noise_fit(X, y, 0.3), Ridge(alpha=12 * 0.3, fit_intercept=False).fit(X, y).coef_
    )
    scale = np.sqrt((X**2).sum(0))
    peer = Ridge(alpha=(1 - 0.6) / 0.6, fit_intercept=False).fit(X / scale, y).coef_ / scale
    assert np.allclose(dropout_fit(X, y, 0.6), peer)
    for fit, loss in (
        (noise_fit(X, y, 0.3), lambda w: noise_loss(X, y, w, 0.3)),
        (peer, lambda w: dropout_loss(X, y, w, 0.6)),
    ):
        rivals = fit + 1e-3 * RNG.normal(size=(50, 4))
        assert all(loss(fit) <= loss(w) for w in rivals)


def test_dropout_does_not_feel_the_units_of_a_column_and_noise_does():
    y = Y[:, 0]
    units = np.array([100.0, 1.0, 0.1, 1.0])
    assert np.allclose(X @ dropout_fit(X, y, 0.6), (X * units) @ dropout_fit(X * units, y, 0.6))
    assert not np.allclose(X @ noise_fit(X, y, 0.3), (X * units) @ noise_fit(X * units, y, 0.3))


@pytest.mark.parametrize("grid", [(4,), (2, 2)])
def test_augmentation_is_averaging_over_orbits(grid):
    action = translations(grid)
    assert moved_rows(X, action).shape == (4, 12, 4)
    # translations move every entry everywhere
    assert np.allclose(orbit_means(X, action), X.mean(1, keepdims=True))
    fitted = augmented_ridge(X, Y, action, 0.5)
    assert np.allclose(fitted, ridge_on_orbits(X, Y, action, 0.5))
    assert np.allclose(fitted, invariant_part(fitted, action)) and np.allclose(fitted, fitted[0])
    rows = np.concatenate([X[:, np.argsort(g)] for g in action])
    peer = Ridge(alpha=0.5 * 4, fit_intercept=False).fit(rows, np.concatenate([Y] * 4)).coef_.T
    assert np.allclose(fitted, peer)


def test_a_reflection_leaves_the_even_part():
    swap = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    part = invariant_part(W, swap)
    assert np.allclose(part, (W + W[::-1]) / 2)


def test_an_ellipse_passes_through_its_point_and_a_degenerate_one_is_not_drawn():
    A = np.array([[2.0, 0.3], [0.3, 1.0]])
    centre = np.array([1.0, -1.0])
    through = np.array([2.0, 0.0])
    curve = trace_ellipse(A, centre, through)
    assert curve is not None
    values = [(p - centre) @ A @ (p - centre) for p in np.stack(curve, 1)]
    assert np.allclose(values, (through - centre) @ A @ (through - centre))
    assert trace_ellipse(np.diag([1.0, 0.0]), centre, through) is None


def test_too_many_masks_are_refused():
    with pytest.raises(UsageError):
        dropout_loss_by_masks(np.ones((1, 20)), np.ones(1), np.ones(20), 0.5)


def test_the_theorem_on_data_and_on_a_network_of_ones_own():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(25, 3))
    data = ft.Dataset("own", x, x @ [1.0, 2.0, 0.0])
    assert run(noise_dropout_augmentation, data).verdict is Verdict.CONSISTENT
    image = ft.Dataset("images", rng.normal(size=(10, 4, 4)), rng.normal(size=10))
    assert run(noise_dropout_augmentation, image).verdict is Verdict.CONSISTENT
    net = ft.Network.described(random_mlp(rng, (3, 6, 1), "relu")).with_data(data)
    found = run(noise_dropout_augmentation, net, keep=0.5)
    hidden = np.maximum(x @ net.description.layers[0].weight.T, 0)  # type: ignore[union-attr]
    added = ((hidden**2).sum(0) * net.description.layers[1].weight[0] ** 2).sum() / 25  # type: ignore[union-attr]
    assert found.verdict is Verdict.CONSISTENT and found.numbers[
        "dropout adds"
    ].middle == pytest.approx(added)
    assert run(noise_dropout_augmentation, data, offset=0.5).verdict is Verdict.INAPPLICABLE
    assert run(noise_dropout_augmentation, data, offset=0.5, force=True).verdict is Verdict.REFUTED
