"""Risks on finite laws against brute force over all samples, closed forms and simulation; the risk of a network."""

from fractions import Fraction
from itertools import product
from math import prod

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import hinge_loss, log_loss, zero_one_loss

import ftheta as ft
from ftheta.logic import SubjectError, UsageError
from ftheta.networks import random_mlp
from ftheta.risks.empirical import (
    FiniteLaw,
    bootstrap,
    classes_of_samples,
    expected_risks,
    mean_of,
    moments_of_risk,
    risk,
    samples,
    simulated_risks,
)

from ..thoroughness import max_examples

COIN = FiniteLaw.of(np.ones((2, 1)), np.array([0.0, 1.0]))
LINE = FiniteLaw.of(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([0.0, 1.0, 5.0]))
small = st.lists(st.tuples(st.integers(-2, 2), st.integers(-3, 3)), min_size=1, max_size=4)


@pytest.mark.parametrize("n", range(1, 9))
def test_a_fair_coin_has_the_risks_of_the_catalogue(n):
    e = expected_risks(COIN.probabilities, COIN.constants("squared"), n)
    assert (e.train, e.least, e.test) == (
        Fraction(1, 4) * (1 - Fraction(1, n)), Fraction(1, 4), Fraction(1, 4) * (1 + Fraction(1, n))
    )  # fmt: skip


def brute(law: FiniteLaw, n: int, learner) -> tuple[Fraction, Fraction]:
    """All kⁿ samples, one by one."""
    train = test = Fraction(0)
    for rows in product(range(len(law)), repeat=n):
        weights = [Fraction(rows.count(i), n) for i in range(len(law))]
        chance = prod(law.probabilities[i] for i in rows)
        losses = learner.exact(weights)
        train = train + chance * mean_of(weights, losses)
        test = test + chance * mean_of(law.probabilities, losses)
    return train, test


@max_examples(25)
@given(small, st.integers(1, 3), st.sampled_from(["squared", "absolute", "zero-one", "linear"]))
def test_counts_of_samples_are_all_samples_and_the_sandwich_holds(rows, n, how):
    law = FiniteLaw.of(
        np.array([[float(x), 1.0] for x, _ in rows]), np.array([float(y) for _, y in rows])
    )
    learner = law.linear() if how == "linear" else law.constants(how)
    e = expected_risks(law.probabilities, learner, n)
    assert (e.train, e.test) == brute(law, n, learner)
    assert e.train <= e.least <= e.test
    assert sum(chance for _, chance in samples(law.probabilities, n)) == 1
    assert len(list(samples(law.probabilities, n))) == classes_of_samples(len(law), n)


@max_examples(25)
@given(small, st.integers(1, 5), st.fractions(-2, 2, max_denominator=8))
def test_a_fixed_predictor_has_unbiased_risk_with_variance_over_n(rows, n, theta):
    law = FiniteLaw.of(
        np.array([[float(x)] for x, _ in rows]), np.array([float(y) for _, y in rows])
    )
    losses = law.losses(float(theta), "absolute")
    mean, variance = moments_of_risk(law.probabilities, losses, n)
    R = mean_of(law.probabilities, losses)
    assert mean == R
    assert n * variance == mean_of(law.probabilities, [(v - R) ** 2 for v in losses])


@pytest.mark.parametrize("how", ["linear", "squared", "absolute", "zero-one"])
def test_simulation_agrees_with_enumeration(how):
    learner = LINE.linear() if how == "linear" else LINE.constants(how)
    e = expected_risks(LINE.probabilities, learner, 5)
    found = simulated_risks(LINE.probabilities, learner, 5, np.random.default_rng(0), 20_000)
    for draws, exact in zip(found, (e.train, e.test)):
        z = (draws.mean() - float(exact)) / max(draws.std() / len(draws) ** 0.5, 1e-12)
        assert abs(z) < 5


def test_the_exact_line_is_numpys_least_squares():
    losses = LINE.linear().exact([Fraction(1, 3)] * 3)
    theta = np.linalg.lstsq(LINE.x, LINE.y, rcond=None)[0]
    assert np.allclose([float(v) for v in losses], (LINE.x @ theta - LINE.y) ** 2, rtol=1e-12)
    # one row: the minimiser of least norm
    alone = LINE.linear().exact([Fraction(1), Fraction(0), Fraction(0)])
    least = LINE.x[0] * LINE.y[0] / (LINE.x[0] @ LINE.x[0])
    assert np.allclose([float(v) for v in alone], (LINE.x @ least - LINE.y) ** 2)


def test_a_single_sample_may_invert_train_and_test():
    law = FiniteLaw.of(np.ones((5, 1)), np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    e = expected_risks(law.probabilities, law.constants("squared"), 4)
    # θ̂ = 1/4: R_n = 3/16, R = 4/25 + 1/400
    assert e.worst == Fraction(3, 16) - Fraction(4, 25) - Fraction(1, 400) > 0
    assert e.inverted == 4 * Fraction(1, 5) * Fraction(4, 5) ** 3


def test_losses_that_are_not_rational_are_refused():
    with pytest.raises(UsageError, match="rational"):
        COIN.losses(0.0, "logistic")


def test_risks_of_a_network_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    y = rng.integers(0, 4, 120)
    net = random_mlp(rng, (3, 8, 4), "tanh", bias=0.2)
    z = np.asarray(net.apply(net.params, x), float)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    assert risk(net, (x, y), "cross-entropy").value == pytest.approx(log_loss(y, p), rel=1e-6)
    assert risk(net, (x, y), "top-1").value == pytest.approx(zero_one_loss(y, z.argmax(1)))
    signs = np.where(x[:, 0] > 0, 1, -1)
    one = (np.ones(3), lambda w, row: jnp.dot(w, row))
    assert risk(one, (x, signs), "hinge").value == pytest.approx(
        hinge_loss(signs, x.sum(1)), rel=1e-12
    )
    assert risk(one, (x, signs), "sign").value == pytest.approx(np.mean(signs * x.sum(1) <= 0))
    assert "cross-entropy risk" in str(risk(net, (x, y), "cross-entropy"))


def test_the_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(120):
        interval = bootstrap(rng.exponential(size=60), rng, confidence=0.9)
        covered += 1.0 in interval
    # the percentile interval is a little too short
    assert abs(covered / 120 - 0.9) < 4 * (0.09 / 120) ** 0.5 + 0.03


def test_a_network_without_data_or_with_infinite_losses_is_refused():
    net = ft.Network.described(random_mlp(np.random.default_rng(0), (2, 3, 1)))
    with pytest.raises(UsageError, match="no data"):
        risk(net)
    with pytest.raises(SubjectError, match="not finite"):
        risk((np.array(800.0), lambda a, x: jnp.exp(a * x[0])), (np.ones((2, 1)), np.zeros(2)))
