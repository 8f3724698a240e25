"""Closed forms of accuracies against samples, who obeys the bound, and what a weak adversary leaves."""

from fractions import Fraction

import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Verdict
from ftheta.networks import Dense, Description, random_mlp
from ftheta.running import run
from ftheta.theorems.robustness.robustness_accuracy_trade_off import (
    Law,
    classify,
    enclose,
    linear_weights,
    robustness_accuracy_trade_off,
)

RNG = np.random.default_rng(0)


def linear(weight: np.ndarray, bias: float = 0.0) -> ft.Network:
    return ft.Network.described(Description((Dense(weight[None], np.array([bias])),)))


@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_the_formulas_are_the_frequencies_of_a_sample(bias):
    weight = RNG.normal(size=6)
    net = linear(weight, bias)
    law = Law(Fraction(9, 10), Fraction(3, 10))
    found = linear_weights(net)
    assert found is not None
    shift = 0.4
    right, fooled = law.sample(classify(net), 5, shift, 200_000, RNG)
    wanted = [
        enclose(law.accuracy(found, Fraction(0), moved)).middle
        for moved in (Fraction(0), Fraction(shift))
    ]
    assert right.mean() == pytest.approx(wanted[0], abs=0.005) and fooled.mean() == pytest.approx(
        wanted[1], abs=0.005
    )
    # every entry moved against the label, along the sign of its weight
    robust = enclose(law.accuracy(found, Fraction(1, 10), Fraction(0))).middle
    harder = linear(weight, bias)
    y = RNG.choice([-1.0, 1.0], size=200_000)
    x = np.column_stack(
        [np.where(RNG.random(len(y)) < 0.9, y, -y), 0.3 * y[:, None] + RNG.normal(size=(len(y), 5))]
    )
    moved = x - 0.1 * y[:, None] * np.sign(weight)
    assert np.mean(classify(harder)(moved) == y) == pytest.approx(robust, abs=0.005)


def test_every_linear_classifier_obeys_the_bound():
    for _ in range(20):
        result = run(
            robustness_accuracy_trade_off,
            linear(RNG.normal(size=4), RNG.normal()),
            p=0.8,
            draws=100,
        )
        assert result.verdict is Verdict.PROVED


def test_a_weak_adversary_refutes_it_when_forced():
    result = run(robustness_accuracy_trade_off, reach=0.5, force=True, draws=100)
    assert result.verdict is Verdict.REFUTED


def test_networks_with_two_outputs_are_classifiers_and_others_are_not():
    two = ft.Network.described(random_mlp(RNG, (5, 8, 2), "tanh"))
    three = ft.Network.described(random_mlp(RNG, (5, 8, 3), "tanh"))
    assert run(robustness_accuracy_trade_off, two, draws=2000).verdict is Verdict.CONSISTENT
    assert run(robustness_accuracy_trade_off, three).verdict is Verdict.INAPPLICABLE
