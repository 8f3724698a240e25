"""Equivariant linear maps: dimensions three ways, bases, projections."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.groups import (
    cyclic,
    dihedral,
    equivariant_maps,
    from_permutations,
    natural,
    on_graphs,
    on_images,
    on_sets,
    plane,
    regular,
    symmetric,
    trivial,
)
from ftheta.groups.group_convolution import convolution_matrix

from ..thoroughness import max_examples

PAIRS = [
    *((natural(symmetric(n)), natural(symmetric(n)), 2) for n in (2, 3, 4, 5)),
    (on_graphs(symmetric(2)), on_graphs(symmetric(2)), 8),
    (on_graphs(symmetric(3)), on_graphs(symmetric(3)), 14),
    (on_graphs(symmetric(4)), on_graphs(symmetric(4)), 15),  # Bell(4)
    (on_graphs(symmetric(4)), natural(symmetric(4)), 5),  # Bell(3)
    (on_sets(symmetric(3), 2), on_sets(symmetric(3), 3), 12),
    (regular(dihedral(3)), regular(dihedral(3)), 6),
    (on_images(cyclic(4), 3), on_images(cyclic(4), 3), 21),  # (81 + 1 + 1 + 1) / 4
    (on_images(dihedral(4), 4), trivial(dihedral(4)), 3),
    (
        natural(from_permutations([[1, 2, 0, 3], [1, 0, 3, 2]])),
        natural(from_permutations([[1, 2, 0, 3], [1, 0, 3, 2]])),
        2,
    ),
]


@pytest.mark.parametrize(
    "source, target, dimension", PAIRS, ids=lambda v: v if isinstance(v, int) else repr(v)
)
def test_null_space_characters_and_orbits_agree_with_the_textbook(source, target, dimension):
    if source.group is not target.group and source.group.order > 12:
        target = type(target)(source.group, target.name, target.action)
    maps = equivariant_maps(source, target)
    assert maps.by_null_space == maps.by_characters == maps.by_orbits == maps.dimension == dimension
    assert isinstance(maps.by_characters, Fraction)


@pytest.mark.parametrize(
    "source, target, dimension",
    [
        (plane(cyclic(5)), plane(cyclic(5)), 2),  # aI + bJ
        (plane(dihedral(5)), plane(dihedral(5)), 1),  # Schur
        (plane(dihedral(4)), natural(dihedral(4)), 1),
        (plane(cyclic(4)), trivial(cyclic(4)), 0),
        (plane(dihedral(3)) * plane(dihedral(3)), trivial(dihedral(3)), 1),
    ],
    ids=repr,
)
def test_representations_by_matrices_have_the_dimension_of_their_characters(
    source, target, dimension
):
    if source.group is not target.group:
        target = type(target)(source.group, target.name, target.action, target.given)
    maps = equivariant_maps(source, target)
    assert maps.by_null_space == dimension == pytest.approx(maps.by_characters)
    assert maps.by_orbits is None and len(maps.basis) == dimension
    for W in maps.basis:
        assert maps.commutators(W).max() < 1e-9
    W = np.random.default_rng(0).normal(size=(target.dimension, source.dimension))
    inside = sum((B * (B * W).sum() for B in maps.basis), np.zeros_like(W))
    assert maps.project(W) == pytest.approx(inside, abs=1e-9)


@max_examples(15)
@given(st.integers(0, 99), st.sampled_from(PAIRS))
def test_the_projection_is_orthogonal_and_is_the_expansion_in_the_basis(seed, pair):
    source, target, _ = pair
    maps = equivariant_maps(source, target if source.group is target.group else source)
    W = np.random.default_rng(seed).normal(size=(maps.target.dimension, maps.source.dimension))
    P = maps.project(W)
    assert maps.commutators(P).max() < 1e-12
    assert maps.project(P) == pytest.approx(P, abs=1e-12)
    assert ((W - P) * P).sum() == pytest.approx(0, abs=1e-9)
    expanded = sum(B * (B * W).sum() / (B**2).sum() for B in maps.basis)
    assert np.abs(P - expanded).max() < 1e-12


def test_the_textbook_matrix_is_projected_to_two_and_a_half():
    ring = natural(symmetric(2))
    assert equivariant_maps(ring, ring).project([[1, 2], [3, 4]]).tolist() == [
        [2.5, 2.5],
        [2.5, 2.5],
    ]


@given(st.integers(0, 50))
def test_convolutions_over_a_group_are_the_maps_that_commute_with_it(seed):
    group = dihedral(3)
    maps = equivariant_maps(regular(group), regular(group))
    kernel = np.random.default_rng(seed).normal(size=group.order)
    W = convolution_matrix(group, kernel)
    assert maps.commutators(W).max() == 0
    brute = [[kernel[group.table[group.inverses[h], g]] for h in range(6)] for g in range(6)]
    assert (np.array(brute) == W).all() and maps.dimension == group.order
