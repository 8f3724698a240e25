"""Itô's correction: closed forms against quadrature, the ends of networks against their exact moments."""

import numpy as np
import pytest
from scipy import special

from ftheta.logic import Verdict
from ftheta.theorems.depth.depth_scaling_regimes import bias_claims, correction_claims, drift_claims
from ftheta.theorems.depth.depth_scaling_regimes.ito import draw_biased_ends, drift, sum_moments
from ftheta.theorems.depth.depth_scaling_regimes.random_blocks import RandomBlocks, fourth_moment

G, W = special.roots_hermitenorm(60)
W = W / W.sum()


@pytest.mark.parametrize("q, depth", [(1, 1), (1, 50), (4, 8)])
def test_the_drift_is_the_mean_of_the_activation(q, depth):
    assert float(drift(q, depth)) == pytest.approx(
        depth * W @ np.expm1(np.sqrt(q / depth) * G), rel=1e-12
    )


@pytest.mark.parametrize("depth", [1, 7, 100])
def test_mean_and_variance_of_the_sum_are_those_of_its_terms(depth):
    term = np.expm1(G / np.sqrt(depth))
    first, second, fourth = sum_moments(depth)
    centred = term - W @ term
    terms = depth * W @ centred**4 + 3 * depth * (depth - 1) * (W @ centred**2) ** 2
    assert fourth.middle == pytest.approx(terms, rel=1e-10)
    assert first.middle == pytest.approx(depth * W @ term, rel=1e-11)
    assert second.middle == pytest.approx(depth * (W @ term**2 - (W @ term) ** 2), rel=1e-11)


def test_the_drift_is_within_its_bound_of_half_the_curvature_and_the_moments_converge():
    assert all(
        claim.judge().verdict is Verdict.PROVED
        for depth in (1, 10, 1000)
        for claim in drift_claims(depth)
    )
    assert all(
        claim.judge().verdict is Verdict.CONSISTENT for claim in correction_claims((25, 50, 100))
    )


def test_networks_with_random_biases_have_these_moments_and_odd_activations_no_drift():
    seen = draw_biased_ends(20, np.random.default_rng(0), 2000)
    assert not any(claim.judge().contradicted for claim in bias_claims(seen))
    # no drift would be refused
    assert abs(seen.curved.mean()) > 10 * seen.curved.std() / np.sqrt(2000)


@pytest.mark.parametrize("relu, kappa", [(False, 1), (True, 6)])
def test_the_fourth_moment_of_one_coordinate_is_that_of_a_normal_factor(relu, kappa):
    """In dimension 1 a block multiplies by 1 + αsg: the mean of its fourth power is 1 + 6α² + 3α⁴ E s⁴."""
    a2 = 1 / 9
    expected = (1 + 6 * a2 + 3 * kappa * a2**2) ** 9
    assert fourth_moment(RandomBlocks(0.5, 1, relu), 9).middle == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("relu", [False, True])
def test_quotients_have_the_fourth_moment(relu):
    blocks = RandomBlocks(0.5, 20, relu)
    squares = blocks.quotients(0.5, (200_000,), np.random.default_rng(0)) ** 2
    exact = fourth_moment(RandomBlocks(0.5, 20, relu), 4).middle ** 0.25  # one block of four, α = ½
    assert abs(squares.mean() - exact) < 5 * squares.std() / np.sqrt(len(squares))
