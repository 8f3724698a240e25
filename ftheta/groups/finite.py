r"""Finite groups, given by their tables: `table[g, h]` is the number of $gh$.

A group may also come with what it moves: `points`, an action on the numbers $0,\dots,n-1$ (row $g$ sends $p$ to
`points[g, p]`), and `plane`, integer matrices that turn and reflect the plane and with it square images.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Int, Shaped

MOST_ELEMENTS = 2048


@dataclass(frozen=True, eq=False)
class Group:
    """A finite group; its elements are the numbers 0 to `order` − 1, called `names`."""

    name: str
    table: Int[np.ndarray, "g g"]
    names: tuple[str, ...]
    points: np.ndarray
    plane: np.ndarray | None = None

    @property
    def order(self) -> int:
        return len(self.table)

    @cached_property
    def identity(self) -> int:
        return int(np.flatnonzero((self.table == np.arange(self.order)).all(1))[0])

    @cached_property
    def inverses(self) -> Int[np.ndarray, "g"]:
        """The number of $g^{-1}$ for every $g$."""
        return np.argmax(self.table == self.identity, axis=1)

    @cached_property
    def generators(self) -> tuple[int, ...]:
        """A few elements whose products are all others; none for the trivial group."""
        return generating(self.table, self.identity)

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The conjugacy classes."""
        conjugates = self.table[self.table, self.inverses[:, None]]  # row g: g h g⁻¹
        return tuple(sorted({tuple(sorted(set(column.tolist()))) for column in conjugates.T}))

    @property
    def commutes(self) -> bool:
        return bool((self.table == self.table.T).all())

    def __mul__(self, other: "Group") -> "Group":
        """The direct product: pairs $(g,h)$, numbered $g|H|+h$; it moves the points of both."""
        n = self.order
        m = other.order
        _affordable(n * m, f"{self.name} × {other.name}")
        g, h = (k.ravel() for k in np.indices((n, m)))
        table = self.table[g[:, None], g] * m + other.table[h[:, None], h]
        points = np.hstack([self.points[g], other.points[h] + self.points.shape[1]])
        names = tuple(f"({a}, {b})" for a in self.names for b in other.names)
        return Group(f"{self.name} × {other.name}", table, names, points)

    def __repr__(self) -> str:
        return f"{self.name}, {self.order} elements"


def cyclic(n: int) -> Group:
    r"""$C_n$: rotations of $n$ points in a ring. $C_1$, $C_2$ and $C_4$ turn square images."""
    k = _sides(n)
    turn = np.array([[0, -1], [1, 0]])
    plane = (
        np.array([np.linalg.matrix_power(turn, int(4 // n * j)) for j in k])
        if n in (1, 2, 4)
        else None
    )
    return Group(
        f"C{n}",
        (k[:, None] + k) % n,
        tuple(f"r{j}" if j else "e" for j in k),
        (k[:, None] + k) % n,
        plane,
    )


def dihedral(n: int) -> Group:
    r"""$D_n$: the $2n$ rotations and reflections of $n$ points in a ring. $D_1$, $D_2$, $D_4$ move square images.

    Element $j$ is $r^j$ and element $n+j$ is $r^js$, with the reflection $s:p\mapsto-p$.
    """
    k = _sides(n)
    _affordable(2 * n, f"D{n}")
    sign = np.repeat([1, -1], n)
    turn = np.tile(k, 2)
    flips = (sign[:, None] * sign[None] < 0).astype(int)
    table = flips * n + (turn[:, None] + sign[:, None] * turn[None]) % n
    points = (turn[:, None] + sign[:, None] * k[None]) % n
    names = tuple(f"r{j}" if j else "e" for j in k) + tuple(f"r{j}s" if j else "s" for j in k)
    plane = None
    if n in (1, 2, 4):
        turns = cyclic(n).plane
        plane = np.concatenate([turns, turns @ np.diag([1, -1])])  # type: ignore[operator]
    return Group(f"D{n}", table, names, points, plane)


def symmetric(n: int) -> Group:
    r"""$S_n$: all permutations of $n$ points, in lexicographic order, the identity first."""
    if not 1 <= n <= 6:
        raise UsageError(
            "This symmetric group is empty or too large to list.",
            got=f"n = {n}",
            remedy="take 1 ≤ n ≤ 6, or a subgroup by from_permutations",
        )
    return _of_rows(f"S{n}", np.array(list(permutations(range(n)))))


def from_permutations(generators: Any, name: str = "group") -> Group:
    """The group that these permutations of 0, …, n − 1 (one per row) generate."""
    rows = np.atleast_2d(array_of(generators, "permutations"))
    if not rows.size:
        raise UsageError("A permutation moves at least one point.", got=f"shape {rows.shape}")
    for i, row in enumerate(rows):
        if rows.ndim != 2 or sorted(row.tolist()) != list(range(rows.shape[1])):
            raise UsageError(
                "This is no permutation.",
                where=f"generator {i}",
                got=row.tolist(),
                remedy=f"each of 0 to {rows.shape[1] - 1} appears once",
            )
    found = {tuple(range(rows.shape[1])): None}
    new = list(found)
    while new:
        new = [
            p
            for p in dict.fromkeys(tuple(row[list(q)].tolist()) for q in new for row in rows)
            if p not in found
        ]
        found |= dict.fromkeys(new)
        _affordable(len(found), name)
    return _of_rows(name, np.array(sorted(found)))


def from_table(table: Any, names: Sequence[str] = (), name: str = "group") -> Group:
    """The group with this multiplication table, row $g$, column $h$ the number of $gh$; checked to be a group.

    A table that is none is refused with the axiom that fails and the elements where it does.
    """
    T = array_of(table, "a multiplication table")
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not T.size:
        raise UsageError("A multiplication table is a square array.", got=f"shape {T.shape}")
    _affordable(len(T), name)
    words = tuple(names) or tuple(map(str, range(len(T))))
    if len(words) != len(T):
        raise UsageError(
            "There must be one name an element.", got=f"{len(words)} names, {len(T)} elements"
        )
    _check_axioms(T, words)
    return Group(name, T.astype(np.int64), words, T.astype(np.int64))


def array_of(values: Any, what: str) -> Shaped[np.ndarray, "*shape"]:
    """The values as an array; rows of different lengths are none."""
    try:
        return np.asarray(values)
    except ValueError:
        lengths = sorted({len(row) for row in values})
        raise UsageError(
            f"The rows of {what} have different lengths.",
            got=f"lengths {lengths}",
            remedy="give rows of one length",
        ) from None


def generating(table: Int[np.ndarray, "g g"], identity: int) -> tuple[int, ...]:
    """Elements, found greedily, whose products in any order and bracketing are all elements."""
    known = np.zeros(len(table), bool)
    known[identity] = True
    chosen: list[int] = []
    while not known.all():
        chosen.append(int(np.argmin(known)))
        known[chosen[-1]] = True
        size = 0
        while size != known.sum():
            size = known.sum()
            known[table[np.ix_(known, known)].ravel()] = True
    return tuple(chosen)


def _check_axioms(T: np.ndarray, names: tuple[str, ...]) -> None:
    n = len(T)
    k = np.arange(len(T))
    outside = np.argwhere(~np.isin(T, k))
    if len(outside):
        g, h = outside[0]
        raise _no_group("closed", f"{names[g]}·{names[h]} is {T[g, h]!s}, no element 0 to {n - 1}")
    both = np.flatnonzero((k == T).all(1) & (k == T.T).all(1))
    if not len(both):
        nearest = int(np.argmax((k == T).sum(1) + (k == T.T).sum(1)))
        bad = int(np.flatnonzero((T[nearest] != k) | (T[:, nearest] != k))[0])
        left = names[T[nearest, bad]]
        right = names[T[bad, nearest]]
        told = f"nearest is {names[nearest]}, but with {names[bad]} it gives {left} and {right}"
        raise _no_group("identity", told)
    e = int(both[0])
    for rows in (T, T.T):
        without = np.flatnonzero(~(rows == e).any(1))
        if len(without):
            raise _no_group("inverse", f"no product with {names[without[0]]} is {names[e]}")
    for g in generating(
        T, e
    ):  # Light's test: the middle elements that associate are closed under products
        wrong = np.argwhere(T[T[:, g]] != T[:, T[g]])
        if len(wrong):
            x, y = wrong[0]
            left = names[T[T[x, g], y]]
            right = names[T[x, T[g, y]]]
            a = names[x]
            b = names[g]
            c = names[y]
            raise _no_group("associative", f"({a}·{b})·{c} = {left}, but {a}·({b}·{c}) = {right}")


def _no_group(axiom: str, told: str) -> UsageError:
    says = {
        "closed": "every product is an element",
        "identity": "some e has e·g = g·e = g for all g",
        "inverse": "every g has an h with g·h = e",
        "associative": "(g·h)·k = g·(h·k)",
    }
    return UsageError(
        f"This table is no group: it fails the axiom `{axiom}`.", got=told, remedy=says[axiom]
    )


def _of_rows(name: str, rows: np.ndarray) -> Group:
    """The group of all these permutations, which are closed under products: $(gh)(p)=g(h(p))$."""
    _affordable(len(rows), name)
    place = np.array(
        [rows.shape[1] ** k for k in range(rows.shape[1])],
        dtype=object if rows.shape[1] > 15 else int,
    )
    codes = rows @ place
    order = np.argsort(codes)
    # g(h(p))
    table = np.array([order[np.searchsorted(codes[order], g[rows] @ place)] for g in rows])
    separator = "" if rows.shape[1] <= 10 else " "
    names = tuple(separator.join(map(str, row)) for row in rows.tolist())
    return Group(name, table, names, rows)


def _sides(n: int) -> np.ndarray:
    if n != int(n) or n < 1:
        raise UsageError(
            "A ring has at least one point.", got=f"n = {n}", remedy="give a whole number from 1"
        )
    _affordable(int(n), "the group")
    return np.arange(int(n))


def _affordable(order: int, name: str) -> None:
    if order > MOST_ELEMENTS:
        raise UsageError(
            "This group is too large to be listed.",
            where=name,
            got=f"{order:,} elements or more",
            remedy=f"take a group of at most {MOST_ELEMENTS:,} elements, or a subgroup",
        )
