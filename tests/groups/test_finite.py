"""Finite groups: axioms, constructions, and what is said of tables that are none."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.groups import cyclic, dihedral, from_permutations, from_table, symmetric
from ftheta.logic import UsageError

GROUPS = [
    cyclic(1),
    cyclic(5),
    dihedral(1),
    dihedral(2),
    dihedral(4),
    dihedral(5),
    symmetric(1),
    symmetric(4),
    cyclic(2) * symmetric(3),
    from_permutations([[1, 2, 0, 3], [1, 0, 3, 2]], "A4"),
]
each_group = pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.name)


@each_group
def test_every_group_satisfies_the_axioms_by_brute_force(group):
    T = group.table
    n = group.order
    e = group.identity
    assert (
        T[T]
        == np.take_along_axis(
            np.broadcast_to(T[:, None], (n, n, n)), np.broadcast_to(T[None], (n, n, n)), 2
        )
    ).all()
    assert (T[e] == np.arange(n)).all() and (T[:, e] == np.arange(n)).all()
    assert (T[np.arange(n), group.inverses] == e).all() and (
        T[group.inverses, np.arange(n)] == e
    ).all()


@each_group
def test_points_and_plane_move_as_products_do(group):
    for g in range(group.order):
        for h in range(group.order):
            assert (group.points[group.table[g, h]] == group.points[g][group.points[h]]).all()
            if group.plane is not None:
                assert (group.plane[group.table[g, h]] == group.plane[g] @ group.plane[h]).all()


@each_group
def test_the_generators_reach_every_element_and_classes_partition_the_group(group):
    reached = {group.identity}
    new = {group.identity}
    while new:
        new = {int(group.table[g, h]) for g in group.generators for h in new} - reached
        reached |= new
    assert reached == set(range(group.order))
    assert sorted(k for c in group.classes for k in c) == list(range(group.order))
    assert (len(group.classes) == group.order) == group.commutes


def test_orders_are_those_of_the_textbooks():
    assert [g.order for g in GROUPS] == [1, 5, 2, 4, 8, 10, 1, 24, 12, 12]
    # partitions of 4; D4 has five
    assert len(symmetric(4).classes) == 5 and len(dihedral(4).classes) == 5


@given(st.permutations(range(6)))
def test_a_renamed_table_is_the_same_group(names):
    group = symmetric(3)
    p = np.array(names)
    table = np.empty_like(group.table)
    table[np.ix_(p, p)] = p[group.table]
    again = from_table(table)
    assert again.identity == p[group.identity] and sorted(map(len, again.classes)) == [1, 2, 3]


def test_a_table_that_is_no_group_is_refused_with_the_axiom_and_the_elements():
    plus = np.add.outer(np.arange(3), np.arange(3))
    with pytest.raises(UsageError, match=r"`closed`[\s\S]*1·2 is 3"):
        from_table(np.where(plus == 3, 3, plus % 3))
    with pytest.raises(UsageError, match=r"`identity`"):
        # g − h: 0 is neutral on one side only
        from_table((np.subtract.outer(np.arange(3), np.arange(3))) % 3)
    with pytest.raises(UsageError, match=r"`inverse`[\s\S]*with 0 is 1"):
        from_table(np.multiply.outer(np.arange(3), np.arange(3)) % 3)
    # a loop of order 5 in which every element is its own inverse: no group of order 5 is so
    loop = np.array(
        [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]
    )
    with pytest.raises(UsageError, match=r"`associative`"):
        from_table(loop, names="eabcd")


def test_the_associativity_test_agrees_with_brute_force_on_small_loops():
    refused = 0
    accepted = 0
    squares = [
        np.array([[0, 1, 2, 3], [1, *a], [2, *b], [3, *c]])
        for a in permutations((0, 2, 3))
        for b in permutations((0, 1, 3))
        for c in permutations((0, 1, 2))
    ]
    for T in (s for s in squares if all(len(set(col)) == 4 for col in s.T)):
        brute = all(
            T[T[a, b], c] == T[a, T[b, c]] for a in range(4) for b in range(4) for c in range(4)
        )
        try:
            from_table(T)
            assert brute
            accepted += 1
        except UsageError:
            assert not brute
            refused += 1
    assert accepted == 4  # three ways to write C4 on {e, a, b, c}, and the Klein group
    assert refused == 0  # every loop of order four is a group


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: symmetric(9), "too large"),
        (lambda: symmetric(0), "empty"),
        (lambda: cyclic(0), "at least one"),
        (lambda: from_permutations([[0, 0, 1]]), "no permutation"),
        (lambda: from_permutations([]), "at least one point"),
        (lambda: from_permutations([[0, 1], [0]]), "different lengths"),
        (lambda: from_table([[0, 1]]), "square"),
        (lambda: from_table([[0, 1], [1]]), "different lengths"),
        (lambda: from_table([[0]], names=("a", "b")), "one name"),
        (lambda: symmetric(6) * symmetric(6), "too large"),
    ],
)
def test_what_is_no_group_or_too_large_is_said(make, words):
    with pytest.raises(UsageError, match=words):
        make()
