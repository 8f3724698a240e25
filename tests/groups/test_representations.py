"""Representations: respected products, sums and products of them, and how images, grids and graphs move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.groups import (
    Representation,
    cyclic,
    dihedral,
    natural,
    of_matrices,
    on_graphs,
    on_grid,
    on_images,
    on_sets,
    on_shape,
    plane,
    regular,
    symmetric,
    trivial,
)
from ftheta.logic import UsageError


def respects_products(rho: Representation) -> bool:
    M = rho.matrices.astype(float)
    wanted = np.einsum("gij,hjk->ghik", M, M)
    return bool(np.abs(M[rho.group.table] - wanted).max() < 1e-9)


D4 = dihedral(4)
S3 = symmetric(3)
EXAMPLES = [
    regular(S3),
    natural(D4) + trivial(D4, 2),
    natural(S3) * natural(S3),
    plane(cyclic(5)),
    plane(D4) * natural(D4),
    plane(dihedral(3)) + regular(dihedral(3)),
    on_images(D4, 3, channels=2),
    on_images(cyclic(2), (2, 5)),
    on_images(cyclic(4), 4, channels=3, channels_first=True),
    on_grid((4, 6), step=2),
    on_graphs(S3, features=2),
]


@pytest.mark.parametrize("rho", EXAMPLES, ids=repr)
def test_products_are_respected_and_characters_are_traces(rho):
    assert respects_products(rho)
    assert np.allclose(rho.character, np.trace(rho.matrices, axis1=1, axis2=2))
    assert rho.is_unitary


@pytest.mark.parametrize("rho", EXAMPLES, ids=repr)
def test_moving_is_multiplying_by_the_matrix(rho):
    x = np.random.default_rng(0).normal(size=(3, rho.dimension))
    for g in range(rho.group.order):
        assert np.allclose(rho.move(g, x), x @ rho.matrices[g].T)


def test_characters_add_and_multiply():
    one = natural(D4)
    two = plane(D4)
    assert np.allclose((one + two).character, one.character + two.character)
    assert np.allclose((one * two).character, one.character * two.character)


@given(st.integers(1, 6), st.integers(0, 3), st.booleans())
def test_images_turn_as_numpy_turns_them(side, quarter, flip):
    group = dihedral(4)
    image = np.arange(side * side).reshape(side, side)
    moved = on_images(group, side).move(4 * flip + quarter, image.ravel()).reshape(side, side)
    wanted = np.rot90(image[:, ::-1] if flip else image, quarter)
    other = np.rot90(image[:, ::-1] if flip else image, -quarter)
    assert (moved == wanted).all() or (moved == other).all()
    turned = on_images(group, side).move(1, image.ravel()).reshape(side, side)
    assert (turned == np.rot90(image)).all() or (turned == np.rot90(image, -1)).all()


def test_grids_sets_and_graphs_move_as_they_should():
    x = np.random.default_rng(0).normal(size=(4, 6))
    shift = 1 * 3 + 2  # by (2, 4) in steps of 2: C2 × C3
    assert (
        on_grid((4, 6), step=2).move(shift, x.ravel()) == np.roll(x, (2, 4), (0, 1)).ravel()
    ).all()
    rows = np.random.default_rng(1).normal(size=(3, 2))
    A = np.arange(9.0).reshape(3, 3)
    g = 4
    p = S3.points[g]
    assert (on_sets(S3, 2).move(g, rows.ravel()).reshape(3, 2)[p] == rows).all()
    assert (on_graphs(S3).move(g, A.ravel()).reshape(3, 3)[np.ix_(p, p)] == A).all()


def test_a_map_that_respects_no_products_is_refused_with_the_product_and_the_gap():
    # a shift that forgets what leaves the grid
    zero_filled = np.array([np.eye(4, k=-k) for k in range(4)])
    with pytest.raises(UsageError, match=r"ρ\(r1·r[0-9]\) and ρ\(r1\)ρ\(r[0-9]\) differ by 1"):
        of_matrices(cyclic(4), zero_filled, "zero-filled shifts")
    bent = plane(cyclic(3)).matrices.copy()
    bent[1, 0, 0] += 0.125
    with pytest.raises(UsageError, match="no representation"):
        of_matrices(cyclic(3), bent)
    with pytest.raises(UsageError, match="differ by 1"):
        # respects all products but that with the identity
        of_matrices(cyclic(2), np.zeros((2, 3, 3)))
    with pytest.raises(UsageError, match="no representation"):
        Representation(cyclic(2), "cycle", np.array([[0, 1, 2], [1, 2, 0]]))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: on_images(cyclic(4), (3, 5)), "square images"),
        (lambda: on_images(cyclic(3), 4), "does not map the pixels"),
        (lambda: on_grid((4, 5), step=2), "does not divide"),
        (lambda: natural(S3) + natural(D4), "one group"),
        (lambda: of_matrices(cyclic(2), np.ones((3, 2, 2))), "one row an element"),
        (lambda: of_matrices(cyclic(2), [[1], [2, 3]]), "different lengths"),
        (lambda: of_matrices(cyclic(2), np.full((2, 1, 1), np.nan)), "finite"),
        (lambda: Representation(cyclic(2), "bad", np.array([[0, 1], [0, 0]])), "no permutation"),
        (lambda: on_shape(symmetric(3), (4, 2)), "not clear"),
        (lambda: plane(S3), "Cyclic and dihedral"),
    ],
)
def test_bad_representations_are_said(make, words):
    with pytest.raises(UsageError, match=words):
        make()
