"""Networks with polynomial activations, in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError
from ftheta.networks import Dense, Description, random_mlp
from ftheta.theorems.perceptrons.degenerate_activations.plateau import (
    best_squared,
    fit_squared,
    nearest_squared,
)
from ftheta.theorems.perceptrons.degenerate_activations.polynomial import (
    collapse,
    degree_of,
    degree_on,
    difference_on,
    evaluate,
    gap_to_product,
    lines,
    rational,
    total_degree,
    within_reach,
)


def drawn(seed: int, word: str, maps: int, inputs: int = 2) -> Description:
    return random_mlp(np.random.default_rng(seed), (inputs, *[3] * (maps - 1), 2), word, bias=0.5)


@pytest.mark.parametrize("maps, degree", [(1, 1), (2, 2), (3, 4), (4, 8)])
def test_squares_double_the_degree_at_every_layer(maps, degree):
    theta = drawn(0, "square", maps)
    assert total_degree(theta) == degree
    assert all(degree_on(theta, line) == degree for line in lines(np.random.default_rng(1), 2, 3))


@given(st.integers(0, 99), st.integers(1, 4))
def test_differences_of_one_order_more_vanish_and_of_the_degree_do_not(seed, maps):
    theta = drawn(seed, "square", maps)
    (line,) = lines(np.random.default_rng(seed), 2, 1)
    degree = degree_on(theta, line)
    assert difference_on(theta, line, degree + 1).hi == 0 < difference_on(theta, line, degree).lo


@pytest.mark.parametrize("word", ["relu", "tanh", "leaky-relu", "gelu"])
def test_other_activations_have_a_difference_that_does_not_vanish(word):
    theta = drawn(1, word, 3)
    assert (
        max(difference_on(theta, line, 5).lo for line in lines(np.random.default_rng(0), 2, 16)) > 0
    )


def test_the_layers_on_rationals_are_the_network():
    theta = drawn(3, "square", 3)
    x = np.array([0.375, -1.25])
    exact = [float(Fraction(int(v.p), int(v.q))) for v in evaluate(theta, [rational(t) for t in x])]
    np.testing.assert_allclose(exact, theta.apply(theta.params, x), rtol=1e-5)


@given(st.integers(0, 99), st.integers(1, 5))
def test_a_network_without_activations_is_one_affine_map(seed, maps):
    theta = drawn(seed, "identity", maps)
    (line,) = lines(np.random.default_rng(seed), 2, 1)
    assert gap_to_product(theta, line) == 0 and collapse(theta).rank <= 2
    W = theta.layers[0].weight
    b = theta.layers[0].bias
    for layer in theta.layers[1:]:
        W = layer.weight @ W
        b = layer.weight @ b + layer.bias
    np.testing.assert_allclose(
        [float(v) for v in collapse(theta)([Fraction(1), Fraction(2)])], W @ [1, 2] + b
    )


def test_a_dead_network_has_degree_zero_and_rank_zero():
    theta = Description((Dense(np.zeros((3, 2)), np.ones(3)), Dense(np.ones((1, 3)), np.zeros(1))))
    assert total_degree(theta) == 0 == collapse(theta).rank


def test_many_inputs_are_sampled_on_lines():
    theta = drawn(0, "square", 4, inputs=32)
    whole, least = degree_of(theta, lines(np.random.default_rng(0), 32, 2))
    assert (whole.lo, whole.samples, least.lo) == (8, 2, 8)


def test_what_is_out_of_reach_is_refused():
    with pytest.raises(SubjectError, match="out of reach"):
        within_reach(random_mlp(np.random.default_rng(0), (2, *[3] * 12, 1), "square"), 4)


def test_the_best_polynomials_for_the_modulus():
    expected = [Fraction(1, 6), Fraction(1, 6), Fraction(1, 96), Fraction(1, 96), Fraction(1, 384)]
    assert [best_squared(n) for n in range(5)] == expected
    assert nearest_squared([Fraction(0), Fraction(0), Fraction(5)]) == Fraction(1, 96)
    assert (
        nearest_squared([Fraction(3), Fraction(1)])
        == nearest_squared([Fraction(7)])
        == Fraction(1, 6)
    )


@pytest.mark.parametrize("hidden", [1, 2, 3])
def test_no_width_beats_the_best_polynomial(hidden):
    best = float(best_squared(2**hidden))
    errors = fit_squared(np.random.default_rng(0), ["square"] * hidden)
    assert min(errors) >= best - 1e-12
    assert min(errors) == pytest.approx(best, rel=1e-6)
