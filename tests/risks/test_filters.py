"""Ridge paths, rows left out, cross-validation and early stopping: against scikit-learn, brute force and rationals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, cross_val_score

import ftheta as ft
from ftheta.estimates import mean
from ftheta.kernels.reproducing import kernel, kernel_ridge
from ftheta.logic import SubjectError, UsageError, Verdict
from ftheta.networks import random_mlp
from ftheta.risks.filters import (
    Spectrum,
    component_filter,
    cross_validate,
    descent_filter,
    flow_filter,
    folds_of,
    kernel_ridge_path,
    refit_left_out,
    ridge_filter,
    ridge_path,
)
from ftheta.running import run
from ftheta.theorems.generalisation.explicit_regularisation import explicit_regularisation
from ftheta.theorems.generalisation.explicit_regularisation.descent import (
    run_decays_in_rationals,
    run_descent,
)
from ftheta.theorems.generalisation.explicit_regularisation.tradeoff import (
    Tradeoff,
    compare_filters_in_rationals,
    simulate_risks,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)) * [3.0, 1.0, 1.0, 0.1]
Y = RNG.normal(size=30)
WIDE = RNG.normal(size=(8, 20))
RIDGES = np.geomspace(1e-3, 1e3, 13)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [X, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_path_is_scikit_learns_ridge_at_every_lambda(rows, intercept, outputs):
    y = np.random.default_rng(1).normal(size=(len(rows), outputs)).squeeze()
    path = ridge_path(rows, y, RIDGES, intercept=intercept)
    assert path.weights is not None
    for i, ridge in enumerate(RIDGES):
        peer = Ridge(alpha=ridge, fit_intercept=intercept, solver="cholesky").fit(rows, y)
        assert np.allclose(path.weights[i].T, peer.coef_, atol=1e-9)
        assert np.allclose(path.fitted[i], peer.predict(rows), atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_is_that_of_ridge_cv_and_of_fitting_again(intercept):
    path = ridge_path(X, Y, RIDGES, intercept=intercept)
    peer: Any = RidgeCV(alphas=RIDGES, fit_intercept=intercept, store_cv_results=True).fit(X, Y)
    assert np.allclose(path.left_out().T ** 2, peer.cv_results_, rtol=1e-6)
    assert float(RIDGES[path.validation_risk().argmin()]) == pytest.approx(float(peer.alpha_))
    alone = [np.array([i]) for i in range(len(X))]
    assert np.allclose(
        path.left_out()[5], refit_left_out(X, Y, RIDGES[5], alone, intercept=intercept)
    )
    assert np.allclose(path.left_out(alone), path.left_out())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("count", [2, 5, 7])
def test_folds_left_out_are_those_of_scikit_learn(count, intercept):
    folds = folds_of(len(X), count, np.random.default_rng(3))
    assert sorted(np.concatenate(folds).tolist()) == list(range(len(X)))
    path = ridge_path(X, Y, RIDGES[::4], intercept=intercept)
    chosen = cross_validate(path, folds)
    where = np.zeros(len(X), int)
    for j, rows in enumerate(folds):
        where[rows] = j
    for i, ridge in enumerate(path.ridges):
        model = Ridge(alpha=ridge, fit_intercept=intercept, solver="cholesky")
        peer = -cross_val_score(
            model, X, Y, cv=PredefinedSplit(where), scoring="neg_mean_squared_error"
        )
        assert np.allclose(chosen.risks[i], peer)
    assert chosen.best in path.ridges and chosen.careful >= chosen.best


def test_kernel_ridge_path_and_its_folds_are_those_of_scikit_learn():
    lift = kernel("Gaussian", width=1.5)
    folds = folds_of(len(X), 5)
    path = kernel_ridge_path(X, Y, lift, RIDGES)
    for i, ridge in enumerate(RIDGES[4:], 4):
        peer = KernelRidge(alpha=ridge, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(X, Y)
        assert np.allclose(path.dual[i], peer.dual_coef_, atol=1e-8)
        ours = kernel_ridge(X, Y, lift, ridge)
        assert np.allclose(path.left_out()[i], ours.residuals_left_out, atol=1e-8)
    search = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=1 / (2 * 1.5**2)),
        {"alpha": RIDGES.tolist()},
        cv=KFold(5),
        scoring="neg_mean_squared_error",
    ).fit(X, Y)
    chosen = cross_validate(path, folds)
    assert np.allclose(chosen.mean, -search.cv_results_["mean_test_score"])
    assert chosen.best == search.best_params_["alpha"]


def test_a_linear_kernel_is_the_primal_path():
    primal = ridge_path(X, Y, RIDGES)
    dual = kernel_ridge_path(X, Y, kernel("linear"), RIDGES)
    assert np.allclose(primal.fitted, dual.fitted) and np.allclose(primal.freedom, dual.freedom)
    assert np.allclose(primal.left_out(), dual.left_out())
    assert primal.weights is not None and np.allclose(dual.dual @ X, primal.weights)


def test_generalised_cross_validation_replaces_leverages_by_their_mean():
    path = ridge_path(X, Y, 0.7, intercept=True)
    H = path.spectrum.map_on(np.arange(len(X)), ridge_filter(0.7))
    assert path.freedom[0] == pytest.approx(np.trace(H))
    assert np.allclose(np.diag(H), path.spectrum.leverages(ridge_filter(0.7)))
    expected = np.mean((Y - H @ Y) ** 2) / (1 - np.trace(H) / len(X)) ** 2
    assert path.generalised_risk()[0] == pytest.approx(expected)


@pytest.mark.parametrize("steps", [1, 7, 100])
def test_descent_from_zero_is_its_filter(steps):
    spectrum = Spectrum.of_rows(X)
    tau = 1 / spectrum.values[0]
    assert np.allclose(
        run_descent(X, Y, tau, steps), spectrum.weights(Y, descent_filter(tau, steps))
    )


def test_filters_end_at_least_squares_and_at_principal_components():
    spectrum = Spectrum.of_rows(X)
    peer = LinearRegression(fit_intercept=False).fit(X, Y).predict(X)
    for phi in (ridge_filter(1e-12), flow_filter(1e6), component_filter(0.0)):
        assert np.allclose(spectrum.fit(Y, phi), peer)
    first = spectrum.fit(Y, component_filter(float(spectrum.values[0])))
    u = np.linalg.svd(X, full_matrices=False)[0][:, 0]
    assert np.allclose(first, u * (u @ Y))


@given(st.floats(1e-6, 1.0), st.integers(1, 300))
def test_descent_lets_through_between_ridge_and_twice_ridge(x, k):
    """In exact rationals, for every eigenvalue with τs = x ≤ 1."""
    q = Fraction(x)
    stopped = 1 - (1 - q) ** k
    ridge = q * k / (1 + q * k)
    assert ridge <= stopped <= 2 * ridge


def test_the_filters_of_the_catalogue():
    walked, filtered = compare_filters_in_rationals([Fraction(1), Fraction(1, 10)], Fraction(1), 10)
    assert walked == filtered == [1, Fraction(6513215599, 10**10)]


def test_the_best_ridge_of_the_catalogue_and_the_rule_that_beats_least_squares():
    single = Tradeoff([Fraction(1)], [Fraction(4)], Fraction(1))
    assert single.safe_ridge == Fraction(1, 4) and single.least_squares == 1
    assert single.risk(single.ridge(single.safe_ridge)) == single.oracle == Fraction(4, 5)


@given(
    st.lists(st.fractions(Fraction(1, 50), 50), min_size=1, max_size=5),
    st.lists(st.fractions(0, 9), min_size=5, max_size=5),
    st.fractions(Fraction(1, 20), 4),
    st.fractions(Fraction(1, 100), Fraction(199, 100)),
)
def test_every_ridge_below_twice_the_safe_one_beats_least_squares(values, signal, noise, share):
    model = Tradeoff(values, signal[: len(values)], noise)
    if model.safe_ridge is not None:
        ridge = share * model.safe_ridge
        assert model.oracle <= model.risk(model.ridge(ridge)) < model.least_squares


def test_bias_and_variance_are_those_of_a_simulation():
    theta = np.array([1.0, -2.0, 0.5, 3.0])
    spectrum = Spectrum.of_rows(X)
    phi = ridge_filter(2.0)
    model = Tradeoff.on(spectrum, theta, 0.49)
    seen = mean(simulate_risks(X, theta, 0.49, phi, np.random.default_rng(0), 4000))
    assert model.risk(phi(spectrum.values)) in seen
    assert model.bias(phi(spectrum.values)) not in seen


def test_decay_is_the_penalty_under_descent_and_not_under_adam():
    descent, adam = run_decays_in_rationals()
    assert descent.penalty == descent.beside
    assert adam.penalty == Fraction(37, 10)
    # θ ← θ − 1/10 − θ/100, three times from 4
    assert float(adam.beside) == pytest.approx(4 * 0.99**3 - 0.1 * (1 + 0.99 + 0.99**2))


def test_the_numbers_of_the_catalogue():
    result = run(explicit_regularisation, n=16, steps=1)
    assert [judged.judgement.verdict for judged in result.examples] == [Verdict.PROVED] * 5
    numbers = result.example_numbers
    assert (numbers["θ 1"].middle, numbers["θ 2"].middle) == (1, 1)
    assert (
        0.6513215599 in numbers["filter at 0.1"]
        and Fraction(4, 5) in numbers["risk of the best ridge"]
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: ridge_path(X, Y, 0.0),
        lambda: ridge_path(X, Y, [1.0, np.nan]),
        lambda: folds_of(5, 6),
        lambda: folds_of(5, 1),
        lambda: Spectrum.of_kernel(np.eye(3)).weights(np.ones(3), ridge_filter(1.0)),
    ],
)
def test_what_cannot_be_asked_is_refused(call):
    with pytest.raises(UsageError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: ridge_path(X, Y[:-1], 1.0),
        lambda: ridge_path(np.full((3, 2), np.inf), np.ones(3), 1.0),
        lambda: ridge_path(np.ones(3), np.ones(3), 1.0),
        lambda: kernel_ridge_path(X, Y, kernel("minus distance"), 1.0),
    ],
)
def test_data_that_cannot_be_used_are_refused(call):
    with pytest.raises(SubjectError):
        call()


def test_the_theorem_on_data_and_on_a_network_of_ones_own():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(25, 3))
    data = ft.Dataset("own", x, x @ [1.0, 2.0, 0.0] + 0.1 * rng.normal(size=25))
    assert run(explicit_regularisation, data).verdict is Verdict.CONSISTENT
    net = ft.Network.described(random_mlp(rng, (3, 6, 1), "tanh")).with_data(data)
    found = run(explicit_regularisation, net)
    assert (
        found.verdict is Verdict.CONSISTENT
        and found.numbers["Adam: penalty against decay"].middle > 1e-3
    )
    classes = ft.Network.described(random_mlp(rng, (3, 6, 2), "relu")).with_data(
        ft.Dataset("classes", x, (x[:, 0] > 0).astype(int))
    )
    assert run(explicit_regularisation, classes).verdict is Verdict.CONSISTENT
