"""SGD moments by enumeration; proximal maps against numerical minimisation; LASSO against its optimality."""

from fractions import Fraction
from itertools import product

import jax
import numpy as np
import pytest
from scipy.optimize import minimize

from ftheta.estimates.concentration import Law
from ftheta.networks import random_mlp
from ftheta.running import run
from ftheta.subjects import Dataset, Network, Target, Training
from ftheta.theorems.optimisation.adam import adam
from ftheta.theorems.optimisation.first_order_family import first_order_family
from ftheta.theorems.optimisation.nonconvex_stationarity import (
    claim_cosine_inequality,
    nonconvex_stationarity,
)
from ftheta.theorems.optimisation.nonsmooth_proximal import nonsmooth_proximal
from ftheta.theorems.optimisation.nonsmooth_proximal.prox import (
    PAIRS,
    shrink_norm,
    shrink_spectrum,
    soft_threshold,
)
from ftheta.theorems.optimisation.nonsmooth_proximal.sparse_regression import (
    AbsoluteDeviations,
    Lasso,
)
from ftheta.theorems.optimisation.sgd_robbins_monro import sgd_robbins_monro
from ftheta.theorems.optimisation.sgd_robbins_monro.stochastic import (
    constant,
    decreasing,
    mean_factor,
    second_moments,
)
from ftheta.training.landscapes import LastLayer
from ftheta.training.stationarity import careful_descent, smoothness_on_box

LAW = Law.of([-1.0, 0.5, 2.0], [0.25, 0.5, 0.25])


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def by_enumeration(c, start, steps):
    """E e² over every sequence of draws."""
    total = Fraction(0)
    for draws in product(range(3), repeat=steps):
        error = start
        weight = Fraction(1)
        for k, i in enumerate(draws, 1):
            error -= c(k) * (error - (LAW.values[i] - LAW.mean))
            weight *= LAW.probabilities[i]
        total += weight * error**2
    return total


@pytest.mark.parametrize("tau", [Fraction(1), Fraction(1, 3)])
def test_second_moments_are_those_of_an_enumeration_of_all_draws(tau):
    shrinking = second_moments(decreasing(tau), LAW.variance, Fraction(2), [5])[0]
    flat = second_moments(constant(tau), LAW.variance, Fraction(2), [5])[0]
    assert by_enumeration(lambda k: tau / k, Fraction(2), 4) in shrinking
    assert by_enumeration(lambda k: tau, Fraction(2), 4) in flat
    assert shrinking.width < 1e-15


def test_the_slow_factor_is_a_quotient_of_gamma_functions():
    from scipy.special import gammaln

    n = 10_000
    found = mean_factor(Fraction(1, 4), 10_000)
    assert found.middle == pytest.approx(
        np.exp(gammaln(n + 0.75) - gammaln(0.75) - gammaln(n + 1)), rel=1e-9
    )
    assert found.middle == pytest.approx(0.0816041, abs=5e-8)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_a_proximal_map_minimises(pair):
    """The penalty is replaced by a smooth one near it, and a quasi-Newton method minimises."""
    x = np.random.default_rng(2).normal(size=(4, 3)) * 2
    p = np.asarray(pair.prox(x))
    cost = lambda u: float(pair.value(u)) + float(((u - x) ** 2).sum()) / 2
    best = cost(p)
    assert np.isfinite(best)
    for seed in range(3):
        start = p + np.random.default_rng(seed).normal(size=p.shape) * 0.3
        safe = lambda u: min(cost(u.reshape(4, 3)), 1e6)
        found = minimize(safe, start.ravel(), method="Powell", options={"maxiter": 20})
        assert found.fun >= best - 1e-9


def test_closed_forms_at_points_known_by_hand():
    np.testing.assert_allclose(soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0), [-2, 0, 1])
    np.testing.assert_allclose(shrink_norm(np.array([3.0, 4.0]), 1.0), [2.4, 3.2])
    np.testing.assert_allclose(shrink_norm(np.zeros(2), 1.0), 0)
    np.testing.assert_allclose(
        shrink_spectrum(np.diag([3.0, 0.5]), 1.0), np.diag([2.0, 0.0]), atol=1e-14
    )


def test_the_lasso_solution_meets_the_optimality_conditions_and_the_gap_is_a_bound():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(20, 12))
    b = rng.normal(size=20)
    lasso = Lasso(A, b, 0.3 * float(np.abs(A.T @ b).max()))
    theta = lasso.solution
    slope = A.T @ (b - A @ theta)
    assert np.abs(slope).max() <= lasso.weight * (1 + 1e-9)
    np.testing.assert_allclose(
        slope[theta != 0], lasso.weight * np.sign(theta[theta != 0]), rtol=1e-8
    )
    assert 0 < np.count_nonzero(theta) < 12
    other = rng.normal(size=12)
    assert lasso.dual(other) <= float(lasso.value(theta)) <= float(lasso.value(other))
    Q, _ = np.linalg.qr(A)
    closed = soft_threshold(Q.T @ b, 0.2)
    np.testing.assert_allclose(Lasso(Q, b, 0.2).solution, closed, atol=1e-10)


def test_least_absolute_deviations_of_one_column_are_a_median():
    b = np.array([1.0, 2.0, 7.0, 8.0, 100.0])
    point, least = AbsoluteDeviations(np.ones((5, 1)), b).best
    assert point == pytest.approx(7.0) and least == pytest.approx(np.abs(b - 7).mean())


def test_the_last_layer_is_the_mean_of_its_rows_and_its_optimum_is_flat():
    rng = np.random.default_rng(0)
    layers = random_mlp(rng, (3, 5, 2), "tanh")
    last = LastLayer.of(layers, rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), ridge=0.1)
    rows = np.mean([float(last.row(last.start, i)) for i in range(30)])
    assert rows == pytest.approx(float(last.value(last.start)))
    assert np.abs(jax.grad(last.value)(last.optimum)).max() < 1e-12
    W = rng.normal(size=last.start.shape)
    np.testing.assert_allclose(
        jax.grad(last.value)(W) - jax.grad(last.value)(W * 0), last.hessian @ W, atol=1e-10
    )


def test_smoothness_in_interval_arithmetic_bounds_the_hessian():
    wave = lambda x: jax.numpy.sum(1 - jax.numpy.cos(3 * x))
    assert smoothness_on_box(wave, np.array([-5.0]), np.array([5.0])) == pytest.approx(9.0)
    assert (smoothness_on_box(lambda x: x @ x, -np.ones(3), np.ones(3)) or 0.0) >= 2.0


def test_careful_descent_finds_a_step_that_descends():
    path, L = careful_descent(lambda x: jax.numpy.sum(x**4), np.array([0.1, 3.0]), 50, 1.0)
    assert (np.diff(path.values) <= 1e-12).all() and L >= 12 * 3.0**2 / 2


def test_the_closed_inequality_of_the_cosine_holds_on_a_fine_grid_where_no_balls_went():
    assert claim_cosine_inequality().judge().verdict == "proved"
    x = np.linspace(1e-3, np.pi - 1e-3, 20_001)
    assert (np.abs(np.sin((x - np.sin(x)) / 2)) <= np.sin(x / 2) ** 2).all()


def network(hidden):
    rng = np.random.default_rng(1)
    data = Dataset("rows", rng.normal(size=(40, 3)), rng.normal(size=(40, 2)))
    return Network.described(random_mlp(rng, (3, 6, 2), hidden)).with_data(data)


@pytest.mark.parametrize(
    "theorem",
    [first_order_family, sgd_robbins_monro, adam, nonconvex_stationarity],
    ids=lambda t: t.id,
)
def test_theorems_take_a_network_with_data(theorem):
    result = run(theorem, network("tanh"))
    assert result.verdict in ("consistent", "certified"), result.summary
    assert (
        run(theorem, Network.described(random_mlp(np.random.default_rng(0), (3, 4, 1)))).verdict
        == "inapplicable"
    )


def test_adam_is_right_for_huge_weights_and_slopes_of_any_size():
    slopes = np.array([0.5, -1e-130, 1e100, 0.0])
    tilted = Training(
        "tilted plane", lambda t: jax.numpy.sum(slopes * t), np.array([1e12, 1.0, -2e11, 5.0])
    )
    result = run(adam, tilted)
    assert result.verdict == "consistent", [judged.judgement.reason for judged in result.claims]


def test_a_relu_network_is_reported_as_not_smooth():
    result = run(nonconvex_stationarity, network("relu"))
    assert result.verdict == "inapplicable" and "kinks" in result.summary


def test_a_step_that_is_too_large_is_detected():
    wave = Training(
        "1 − cos x",
        lambda x: jax.numpy.sum(1 - jax.numpy.cos(x)),
        np.array([2.0]),
        np.zeros(1),
        smoothness=1.0,
    )
    assert run(nonconvex_stationarity, wave, step=3.5, force=True).verdict == "refuted"


def test_maps_of_a_user_are_told_from_proximal_ones():
    good = Target("my shrinkage", lambda x: x / (1 + 0.5), (-3.0,), (3.0,))
    assert run(nonsmooth_proximal, good).verdict == "consistent"
    steep = Target("too steep", lambda x: 1.5 * x, (-3.0,), (3.0,))
    assert run(nonsmooth_proximal, steep).verdict == "inapplicable"
    assert run(nonsmooth_proximal, steep, force=True).verdict == "refuted"
    turn = Target(
        "a rotation, halved",
        lambda x: jax.numpy.stack([x[0] - x[1], x[0] + x[1]]) / 2,
        (-1.0,) * 2,
        (1.0,) * 2,
    )
    assert run(nonsmooth_proximal, turn).verdict == "inapplicable"
