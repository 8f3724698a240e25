"""The risk of least squares with p of D features."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.estimates import mean
from ftheta.logic import SubjectError
from ftheta.risks.double_descent import (
    Features,
    Model,
    anisotropy,
    fit_minimum_norm,
    ridge_risk,
    sweep_data,
    sweep_features,
)
from ftheta.theorems.generalisation.double_descent import sweep_rows

positive = st.fractions(min_value=0, max_value=4, max_denominator=16)
models = st.builds(
    lambda n, extra, signal, noise: Model(n, n + 2 + extra, signal, noise),
    st.integers(4, 40),
    st.integers(0, 80),
    positive,
    positive,
)


def normal(D: int) -> Features:
    return Features(np.zeros((1, D)), np.ones(1), 1.0)


@given(models)
def test_the_risk_rises_up_to_the_threshold_and_ends_lower_than_just_beyond_it(model):
    assert model.steepest_drop() <= 0
    assert model.second_descent().hi <= 0
    risks = [model.risk(p) for p in range(model.n - 1)]
    assert all(b - a >= -model.steepest_drop() for a, b in pairwise(risks))
    for p in (model.n - 1, model.n, model.n + 1):
        assert (model.risk(p) is None) == (model.split(p)[1] > 0)


@given(models)
def test_the_risk_without_features_is_signal_plus_noise_in_the_formula_and_in_the_law(model):
    assert model.risk(0) == model.signal + model.noise == normal(model.features).null_risk(model)


@given(models)
def test_the_limit_is_what_the_exact_risk_tends_to(model):
    for p in (model.n // 2, 2 * model.n):
        if p > model.features:
            continue
        k = 10_000
        large = Model(k * model.n, k * model.features, model.signal, model.noise).risk(k * p)
        assert model.limit(p) == pytest.approx(float(large or 0), rel=1e-3, abs=1e-12)


def test_fits_agree_with_numpys_least_squares_also_without_full_rank():
    rng = np.random.default_rng(0)
    for n, p in ((12, 5), (5, 12), (6, 6)):
        X = rng.normal(size=(3, n, p))
        y = rng.normal(size=(3, n))
        X[2, :, -1] = X[2, :, 0]
        for fit, design, labels in zip(fit_minimum_norm(X, y), X, y):
            assert fit == pytest.approx(np.linalg.lstsq(design, labels, rcond=1e-8)[0], abs=1e-6)


def test_the_measured_risk_agrees_with_the_formula_where_the_mean_can_be_trusted():
    model = Model(16, 60, Fraction(2), Fraction(1, 2))
    found = sweep_features(model, np.random.default_rng(0), normal(60), 2000)
    assert len(found.at) >= 5
    for p, measured in zip(found.at, found.means()):
        assert float(model.risk(p) or 0) in measured


def test_the_measured_risk_contradicts_the_formula_for_stretched_features():
    model = Model(16, 60, Fraction(1), Fraction(1, 4))
    away = np.full(60, 0.3)
    law = Features(np.stack([away, -away]), np.full(2, 0.5), 1.0)
    found = sweep_features(model, np.random.default_rng(0), law, 1000)
    assert not any(float(model.risk(p) or 0) in m for p, m in zip(found.at, found.means()))
    assert float(law.null_risk(model)) == pytest.approx(1 + 0.09 * 60 + 0.25)


def test_the_ridge_risk_is_that_of_ridge_regression_averaged_over_signal_and_noise():
    rng = np.random.default_rng(1)
    model = Model(8, 12, Fraction(3), Fraction(1, 2))
    for p in (5, 12):
        X = rng.normal(size=(8, p))
        carried, rest = (float(v) for v in model.split(p))
        penalty = p * rest / carried
        beta = rng.normal(size=(100_000, p)) * np.sqrt(carried / p)
        y = beta @ X.T + np.sqrt(rest) * rng.normal(size=(100_000, 8))
        fit = y @ X @ np.linalg.inv(X.T @ X + penalty * np.eye(p))
        measured = mean(((fit - beta) ** 2).sum(1)) + rest
        assert float(ridge_risk(model, X[None])[0]) in measured


@given(models, st.integers(0, 100))
def test_the_best_ridge_never_exceeds_the_risk_without_features(model, seed):
    X = np.random.default_rng(seed).normal(size=(2, model.n, model.features))
    risks = np.array(
        [ridge_risk(model, X[:, :, :p]) for p in (1, model.n // 2, model.n, model.features)]
    )
    assert (risks <= float(model.signal + model.noise) * (1 + 1e-9) + 1e-12).all()


def test_training_errors_fall_and_vanish_from_p_equal_n_on():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 40))
    found = sweep_data(rng, x, x @ np.ones(40) + rng.normal(size=60), 15, 20)
    assert (np.diff(found.ridge, axis=1) <= 1e-9).all()
    interpolating = [i for i, p in enumerate(found.at) if p >= 15]
    assert found.ridge[:, interpolating].max() < 1e-9 < found.ridge[:, 0].min()


def test_standard_normal_features_pass_for_isotropic_and_others_do_not():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 30))
    assert anisotropy(x) < 6
    assert anisotropy(x * 1.2) > 6
    assert anisotropy(np.sign(x)) > 6
    assert anisotropy(x + 0.5 * x[:, :1]) > 6


def test_data_without_labels_or_rows_to_spare_are_refused():
    x = np.zeros((10, 20))
    for y, n in ((None, 5), (np.zeros(10), 9)):
        with pytest.raises(SubjectError, match="labels"):
            sweep_rows(np.random.default_rng(0), x, y, n, 10)
