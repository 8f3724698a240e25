"""Losses of the margin: proofs by intervals against grids, wrong losses found out, the new losses of the table."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from ftheta.logic import UsageError, Verdict
from ftheta.risks.surrogates import (
    LN2,
    MARGINS,
    PROFILES,
    cross_entropy_error,
    every_loss,
    least_bend,
    logistic_error,
    margin_loss,
    range_of,
    second_difference,
    surrogate,
)
from ftheta.theorems.risk.loss_zoo import convexity_claim
from ftheta.training import LOSSES, fit
from ftheta.training.losses import loss_named

GRID = np.linspace(-8, 8, 4001)


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", MARGINS)
def test_ranges_contain_the_values_on_a_grid(name):
    loss = MARGINS[name]
    s = surrogate(loss, 8.0)
    value = np.asarray(jax.vmap(loss.of)(GRID))
    slope = np.asarray(jax.vmap(jax.grad(loss.of))(GRID[GRID <= 0]))
    assert s.values.lo <= value[GRID >= 0].min() and value[GRID >= 0].max() <= s.values.hi
    assert s.slope.lo <= slope.min() and slope.max() <= s.slope.hi <= 0
    assert s.values.lo >= 0 and s.bend.lo >= 0 and s.jump.lo >= 0
    assert (s.excess.lo >= 0) == (name != "natural logistic") == bool((value >= (GRID <= 0)).all())


@pytest.mark.parametrize("name", [n for n in MARGINS if n not in ("hinge", "squared hinge")])
def test_the_second_derivatives_are_those_of_jax(name):
    loss = MARGINS[name]
    assert loss.bend is not None
    assert np.allclose(
        jax.vmap(loss.bend)(GRID),
        jax.vmap(jax.grad(jax.grad(loss.of)))(GRID),
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("name", PROFILES)
def test_the_losses_of_the_table_are_sums_of_their_profiles(name):
    h = PROFILES[name]
    rng = np.random.default_rng(0)
    for _ in range(20):
        a = rng.normal(size=3) * 3
        y = rng.choice([-1.0, 1.0], 3)
        r = a - y if name in ("squared", "absolute", "huber") else a * y
        assert float(LOSSES[name].of(a, y)) == pytest.approx(
            sum(float(h.of(v)) for v in r), rel=1e-12
        )
    assert h.bend is not None
    places = GRID[np.abs(np.abs(GRID) - 1) > 1e-9]
    step = 1e-4
    inside = places[(np.abs(places) > 2 * step) & (np.abs(np.abs(places) - 1) > 2 * step)]
    f = lambda m: np.array([float(v) for v in jax.vmap(h.of)(m)])
    numerical = (f(inside + step) - 2 * f(inside) + f(inside - step)) / step**2
    assert np.allclose(jax.vmap(h.bend)(inside), numerical, atol=1e-5)
    for at, jump in h.kinks:
        sides = [
            (f(np.array([at + s * step])) - f(np.array([at])))[0] / (s * step) for s in (1, -1)
        ]
        assert sides[0] - sides[1] == pytest.approx(jump, abs=1e-9)
    assert least_bend(50.0).lo >= 0


def test_a_loss_that_is_not_convex_is_found_out_by_a_witness():
    claim = convexity_claim(lambda m: 1 - jnp.tanh(m), 5.0)
    assert claim.judge().verdict is Verdict.REFUTED and claim.witness is not None
    assert convexity_claim(MARGINS["logistic"].of, 20.0).judge().verdict is Verdict.CONSISTENT


def test_kinks_are_not_taken_for_convexity_claim():
    assert margin_loss(lambda m: -jnp.abs(m), "tent").bend is None  # JAX's second derivative is 0
    assert surrogate(margin_loss(lambda m: -jnp.abs(m), "tent"), 2.0).bend.lo == -np.inf
    assert margin_loss(MARGINS["hinge"].of, "mine") is MARGINS["hinge"]


def test_a_range_without_rules_is_unknown():
    assert (
        range_of(
            lambda m: jnp.interp(m, jnp.arange(3.0), jnp.arange(3.0)),
            0.0,
            1.0,
            lambda lo, hi: lo >= 0,
        ).lo
        <= 0
    )


def test_nothing_overflows():
    logits = np.array(
        [
            [1e4, 0.0, -1e4],
            [-1e4, 1e4, 3.0],
            [-1e4, -1e4, 0.0],
            [1e3, 1e3, 1e3],
            [0.5, -0.25, 800.0],
        ]
    )
    assert logistic_error(np.r_[np.linspace(-1000, 1000, 41), -30.0, 30.0]).hi < 1e-15
    assert cross_entropy_error(logits).hi < 1e-15


def test_convex_losses_have_no_negative_second_difference_and_flat_ones_do():
    rng = np.random.default_rng(0)
    for name, loss in LOSSES.items():
        shape = (2,) if name in ("cross-entropy", "top-1") else (1,)
        assert (second_difference(loss, shape, rng) < 0) == loss.flat, name


def test_the_flat_losses_count():
    zero_one, top, sign = (LOSSES[name].of for name in ("zero-one", "top-1", "sign"))
    assert (
        zero_one(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0
        and zero_one(np.array([1.0]), np.array([2.0])) == 1
    )
    assert (
        top(np.array([0.1, 3.0, 2.0]), np.eye(3)[1]) == 0
        and top(np.array([0.1, 3.0, 2.0]), np.eye(3)[2]) == 1
    )
    assert sign(np.array([2.0, -1.0, 0.0]), np.array([1.0, 1.0, -1.0])) == 2


def test_flat_losses_measure_but_do_not_train():
    assert loss_named("top-1", to_train=False).flat
    with pytest.raises(UsageError, match="no slope to train by"):
        fit((np.ones(2), lambda w, x: w @ x), (np.ones((3, 2)), np.ones(3)), "zero-one", steps=1)


def test_every_loss_of_predictions_bounds_the_errors():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 4)) * 2
    y = rng.integers(0, 4, 300)
    found = every_loss(z, y)
    assert set(found) == {"cross-entropy", "top-1"}
    assert (found["top-1"] <= found["cross-entropy"] / LN2 + 1e-12).all()
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    assert found["cross-entropy"].mean() == pytest.approx(
        -np.mean(stats.multinomial.logpmf(np.eye(4)[y], 1, p))
    )
    scores = rng.normal(size=(100, 1))
    labels = rng.integers(0, 2, 100)
    assert {"squared", "absolute", "logistic", "hinge", "sign", "zero-one"} <= set(
        every_loss(scores, labels)
    )
