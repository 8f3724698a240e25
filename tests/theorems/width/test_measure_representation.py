"""Measures of least mass on the line, exactly; masses of creases in space by brute force."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ftheta.logic import Verdict
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.relu.line.cpa1d import affine, combination, from_jumps, realisation, relu
from ftheta.relu.line.hat import HAT, shallow
from ftheta.running import run
from ftheta.subjects import Network
from ftheta.theorems.width.measure_representation import (
    claims_about_hat,
    claims_about_network,
    measure_representation,
    variation,
)

from ...thoroughness import max_examples

rationals = st.fractions(-3, 3, max_denominator=8)


@max_examples(40)
@given(st.dictionaries(rationals, rationals, max_size=5), rationals, rationals)
def test_the_lightest_measure_is_the_function_and_weighs_what_the_formula_says(jumps, left, value):
    f = from_jumps(left, jumps, 0, value)
    atoms = variation.lightest(f)
    assert atoms.function() == f
    assert atoms.mass == variation.least_mass(f)


@max_examples(20)
@given(
    st.dictionaries(
        st.sampled_from([Fraction(k) for k in range(-2, 3)]), rationals, min_size=1, max_size=4
    ),
    rationals,
)
def test_no_measure_on_the_same_kinks_is_lighter(jumps, left):
    """A linear program over neurons at all of the kinks, looking both ways, with a free constant."""
    f = from_jumps(left, jumps, 0, 0)
    points = [Fraction(k, 2) for k in range(-10, 11)]
    neurons = [(sign, t) for t in range(-2, 3) for sign in (1, -1)]
    columns = [[max(0.0, float(sign * (x - t))) for x in points] for sign, t in neurons]
    A = np.column_stack(
        [*columns, *(-np.array(c) for c in columns), np.ones(len(points)), -np.ones(len(points))]
    )
    cost = np.array([1.0] * (2 * len(columns)) + [0.0, 0.0])
    best = linprog(cost, A_eq=A, b_eq=[float(f(x)) for x in points])
    assert best.fun == pytest.approx(float(variation.least_mass(f)), abs=1e-7)


def test_the_hat_bends_by_four_and_its_neurons_weigh_six_with_their_offsets():
    assert variation.bending(HAT) == variation.least_mass(HAT) == 4
    assert variation.lightest(HAT).moment == 6
    assert realisation(shallow()) == HAT
    assert all(
        claim.judge().verdict.name in ("PROVED", "CERTIFIED") for claim in claims_about_hat(100.0)
    )


def test_a_deep_network_on_the_line_is_a_measure_too():
    net = random_mlp(np.random.default_rng(0), (1, 4, 3, 1), bias=0.5)
    found = variation.measure_variation(net)
    f = realisation(net)
    t = np.linspace(-50, 50, 40_001)
    with jax.enable_x64(True):
        y = np.asarray(net.apply(net.params, t[:, None]))[:, 0]
    slopes = np.diff(y) / np.diff(t)
    ends = abs(slopes[0] + slopes[-1])
    assert found.least.middle == pytest.approx(max(np.abs(np.diff(slopes)).sum(), ends), rel=1e-3)
    assert found.kinks == len(f.kinks)
    assert all(
        claim.judge().verdict.name in ("PROVED", "CERTIFIED")
        for claim in claims_about_network(found, hidden_layers=2)
    )


def test_a_shallow_network_on_the_line_is_compared_with_its_lightest_measure_exactly():
    for seed in range(4):
        found = variation.measure_variation(
            random_mlp(np.random.default_rng(seed), (1, 9, 1), bias=0.5)
        )
        assert found.surplus >= 0
        assert found.given.middle - found.least.middle == pytest.approx(
            float(found.surplus), abs=1e-12
        )
        judged = [
            claim.judge().verdict.name for claim in claims_about_network(found, hidden_layers=1)
        ]
        assert set(judged) <= {"PROVED", "CERTIFIED"} and judged[-1] == "PROVED"


def test_neurons_with_the_same_crease_add_up():
    w = np.array([[3.0, 4.0], [-6.0, -8.0], [1.0, 0.0]])
    b = np.array([1.0, -2.0, 5.0])
    a = np.array([[1.0, -0.25, 2.0]])
    net = Description((Dense(w, b, "relu"), Dense(a, np.zeros(1))))
    assert sorted(variation.creases(net)) == pytest.approx([2, abs(1.0 * 5 - 0.25 * 10)])
    line = combination([(Fraction(3), relu(affine(2, -1)))])
    one = Description(
        (Dense(np.array([[2.0]]), np.array([-1.0]), "relu"), Dense(np.array([[3.0]]), np.zeros(1)))
    )
    assert variation.creases(one).sum() == float(variation.bending(line)) == 6


@pytest.mark.parametrize(
    ("widths", "hidden", "why"),
    [
        ((2, 3, 3, 1), "relu", "hidden layers"),
        ((1, 2000, 1), "relu", ""),
        ((2, 3, 1), "tanh", "tanh"),
        ((5, 9, 2), "relu", None),
    ],
)
def test_what_is_not_read_is_said(widths, hidden, why):
    net = random_mlp(np.random.default_rng(1), widths, hidden)
    found = variation.unreadable(net)
    assert (why in found) if why is not None else not found
    assert variation.unreadable(None)


def test_an_affine_function_has_no_neurons_whose_mass_could_be_too_small():
    affine_map = Description((Dense(np.array([[2.0]]), np.array([1.0])),))
    result = run(measure_representation, Network.described(affine_map))
    assert result.verdict is Verdict.INAPPLICABLE  # max(∫|f″|, |f′(−∞) + f′(∞)|) = 4 > 2
