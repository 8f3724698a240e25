"""Groups that permute coordinates and the maps that commute with them."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.groups import commutant_dimension, commutators, pair_orbits, reynolds, translations
from ftheta.groups.permutations import characters

grids = st.sampled_from([(1,), (4,), (5,), (2, 3), (4, 4), (2, 2, 3)])


def matrix_of(permutation: np.ndarray) -> np.ndarray:
    P = np.zeros((len(permutation),) * 2, int)
    P[permutation, np.arange(len(permutation))] = 1
    return P


@given(grids, st.data())
def test_translations_form_a_group_that_moves_images_as_roll_does(grid, data):
    group = translations(grid)
    assert len(group) == np.prod(grid) == len({tuple(g) for g in group})
    tau = data.draw(st.integers(0, len(group) - 1))
    shift = np.unravel_index(tau, grid)
    x = np.arange(len(group)).reshape(grid)
    rolled = np.roll(x, shift, tuple(range(len(grid))))
    assert (matrix_of(group[tau]) @ x.ravel() == rolled.ravel()).all()
    sigma = data.draw(st.integers(0, len(group) - 1))
    assert tuple(group[tau][group[sigma]]) in {tuple(g) for g in group}


@given(grids, grids)
def test_characters_orbits_and_rank_agree_on_the_dimension_of_the_commutant(one, other):
    source = translations(one)
    target = translations(other)
    if len(source) != len(target) or one != other:
        source = target
    dimension = commutant_dimension(source, target)
    assert dimension == len(np.unique(pair_orbits(source, target)))
    n = source.shape[1]
    if n <= 6:  # the rank of the projection, as a matrix on matrices
        images = [reynolds(e.reshape(n, n), source, target).ravel() for e in np.eye(n * n)]
        assert np.linalg.matrix_rank(np.array(images)) == dimension


def test_the_symmetric_group_commutes_with_a_plane_of_matrices():
    group = np.array(list(permutations(range(4))))
    assert commutant_dimension(group, group) == 2
    projected = reynolds(np.arange(16.0).reshape(4, 4) ** 2, group, group)
    assert len(np.unique(np.round(projected, 12))) == 2


def test_the_commutant_of_a_four_by_four_torus_has_dimension_sixteen():
    group = translations((4, 4))
    assert commutant_dimension(group, group) == Fraction(16)
    assert list(characters(group)) == [16] + [0] * 15


@given(grids, st.integers(0, 99))
def test_the_reynolds_projection_commutes_is_idempotent_and_nearest(grid, seed):
    group = translations(grid)
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(len(group),) * 2)
    P = reynolds(W, group, group)
    assert commutators(P, group, group).max() < 1e-12
    assert np.abs(reynolds(P, group, group) - P).max() < 1e-12
    other = reynolds(rng.normal(size=W.shape), group, group)
    assert ((W - P) * other).sum() == pytest.approx(0, abs=1e-9)


@given(grids, st.integers(0, 99))
def test_commutators_are_those_of_the_permutation_matrices(grid, seed):
    group = translations(grid)
    W = np.random.default_rng(seed).integers(-3, 4, (len(group),) * 2)
    brute = [np.abs(W @ matrix_of(g) - matrix_of(g) @ W).max() for g in group]
    assert sorted(commutators(W, group, group)) == sorted(brute)
