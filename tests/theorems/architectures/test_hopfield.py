"""Hopfield's memory against brute force over all states, and its stored bits against the binomial law."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

import ftheta as ft
from ftheta.logic import SubjectError, Verdict
from ftheta.theorems.architectures.hopfield.memory import (
    as_signs,
    bit_error,
    corrupt,
    crosstalk,
    energies,
    energy,
    exact_bit_error,
    hebb,
    most_flips,
    random_patterns,
    recall,
    unstable_bits,
)

from ...thoroughness import max_examples

patterns = arrays(
    float, st.tuples(st.integers(1, 4), st.integers(2, 9)), elements=st.sampled_from([-1.0, 1.0])
)


def test_the_energies_of_the_catalogue():
    xi = np.array([1.0, -1.0, 1.0, 1.0])
    K = hebb(xi[None])
    assert energy(K, xi) == energy(K, -xi) == Fraction(-3, 2)
    assert energy(K, xi * [-1, 1, 1, 1]) == 0
    assert bit_error(0.138) == pytest.approx(0.0035522, abs=5e-8)
    assert bit_error(0.138) == pytest.approx(norm.sf(0.138**-0.5))


@max_examples(50)
@given(patterns, st.integers(0, 2**31))
def test_recall_ends_in_a_local_minimum_and_every_turn_pays(xi, seed):
    rng = np.random.default_rng(seed)
    K = hebb(xi)
    start = random_patterns(rng, 3, xi.shape[1])
    W = sum(np.outer(p, p) for p in xi) / xi.shape[1]
    np.fill_diagonal(W, 0)
    found = recall(K, start, rng)
    assert np.allclose(energies(K, start) / (2 * len(K)), [-s @ W @ s / 2 for s in start])
    assert found.least_drop is None or found.least_drop >= 2
    for state, begun, flips in zip(found.states, start, found.flips):
        assert flips <= most_flips(K, begun)
        for i in range(len(K)):
            turned = state * np.where(np.arange(len(K)) == i, -1, 1)
            assert energy(K, turned) >= energy(K, state)
    assert (np.diff(found.energies, axis=0) <= 0).all()


@max_examples(50)
@given(patterns)
def test_little_cross_talk_makes_both_signs_of_a_pattern_fixed(xi):
    K = hebb(xi)
    quiet = crosstalk(xi) <= xi.shape[1] - len(xi)
    assert not unstable_bits(K, xi[quiet]).any() and not unstable_bits(K, -xi[quiet]).any()


def test_the_law_of_unstable_bits_is_that_of_all_patterns():
    for p, N in ((2, 3), (3, 3), (2, 4)):
        seen = [
            unstable_bits(
                hebb(np.array(bits).reshape(p, N)), np.array(bits, float).reshape(p, N)
            ).sum()
            for bits in product([-1.0, 1.0], repeat=p * N)
        ]
        assert np.mean(seen) / (p * N) == pytest.approx(exact_bit_error(p, N), abs=1e-12)


def test_a_memory_with_a_small_load_recalls():
    rng = np.random.default_rng(0)
    xi = random_patterns(rng, 5, 200)
    assert np.array_equal(recall(hebb(xi), corrupt(xi, 0.2, rng), rng).states, xi)


def test_two_values_become_signs_and_three_do_not():
    assert as_signs(np.array([[0, 1], [1, 1]])) is not None
    assert as_signs(np.array([[0, 1, 2]])) is None
    with pytest.raises(SubjectError):
        hebb(np.array([[0.5, 1.0]]))


def test_users_patterns_of_zeros_and_ones_are_held():
    letters = np.array([[1, 1, 1, 0, 1, 0, 0, 1, 0], [1, 0, 1, 0, 1, 0, 1, 0, 1]])
    held = ft.check("hopfield", ft.Dataset("T and X", letters), neurons=50, trials=20)
    assert held.verdict in (Verdict.PROVED, Verdict.CERTIFIED, Verdict.CONSISTENT)
    grey = ft.check("hopfield", ft.Dataset("grey", np.array([[0.1, 0.5, 0.9]])))
    assert grey.verdict is Verdict.INAPPLICABLE
