r"""Representations of finite groups: a matrix $\rho(g)$ for every element, with $\rho(gh)=\rho(g)\rho(h)$.

Most groups of this field permute coordinates. Such a representation keeps its permutations, `action[g, p]` the
coordinate to which $g$ sends coordinate $p$, so that nothing is multiplied and every count is exact.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Int, Num

from .finite import Group, array_of
from .permutations import characters

# relative to the largest entry: what counts as rounding in matrices that are given
TOLERANCE = 1e-9
MOST_ENTRIES = 1 << 26  # of all matrices together


@dataclass(frozen=True, eq=False)
class Representation:
    """Give `action` (permutations) or `given` (matrices, one an element); it is checked to respect all products."""

    group: Group
    name: str
    action: Int[np.ndarray, "g d"] | None = None
    given: Num[np.ndarray, "g d d"] | None = None

    def __post_init__(self) -> None:
        _check_shapes(self)
        worst, where = homomorphism_gap(self)
        if worst > 0:
            g, h = (self.group.names[k] for k in where)
            raise UsageError(
                "This is no representation: it does not respect a product.",
                where=self.name,
                got=f"ρ({g}·{h}) and ρ({g})ρ({h}) differ by {worst:.3g}",
                remedy="give matrices with ρ(gh) = ρ(g)ρ(h) for all g and h",
            )

    @property
    def dimension(self) -> int:
        return self._rows.shape[-1]

    @property
    def _rows(self) -> np.ndarray:
        rows = self.given if self.action is None else self.action
        assert rows is not None
        return rows

    @cached_property
    def matrices(self) -> Num[np.ndarray, "g d d"]:
        r"""All $\rho(g)$, shape $(|G|,d,d)$; of integers where they are."""
        if self.action is None:
            return self._rows
        n, d = self.action.shape
        if n * d * d > MOST_ENTRIES:
            raise UsageError(
                "These matrices are too large.", where=self.name, got=f"{n} matrices {d} × {d}"
            )
        found = np.zeros((n, d, d), np.int8)
        found[np.arange(n)[:, None], self.action, np.arange(d)[None]] = 1
        return found

    @cached_property
    def character(self) -> Num[np.ndarray, "g"]:
        r"""$\chi(g)=\operatorname{tr}\rho(g)$; of a permutation, the number of coordinates that it leaves in place."""
        if self.action is not None:
            return characters(self.action)
        return np.trace(self._rows, axis1=1, axis2=2)

    @cached_property
    def is_unitary(self) -> bool:
        if self.action is not None:
            return True
        gram = self._rows.swapaxes(1, 2).conj() @ self._rows
        return bool(np.abs(gram - np.eye(self.dimension)).max() <= TOLERANCE)

    def move(self, g: int, x: Any) -> Any:
        r"""$\rho(g)x$ for vectors in the last axis of `x`."""
        if self.action is None:
            return x @ self._rows[g].T
        return x[..., self.action[self.group.inverses[g]]]

    def __add__(self, other: "Representation") -> "Representation":
        """The direct sum: both vectors, one after the other."""
        _same_group(self, other)
        name = f"{self.name} ⊕ {other.name}"
        d = self.dimension
        if self.action is not None and other.action is not None:
            return Representation(self.group, name, np.hstack([self.action, other.action + d]))
        blocks = np.zeros((self.group.order, d + other.dimension, d + other.dimension))
        blocks[:, :d, :d], blocks[:, d:, d:] = self.matrices, other.matrices
        return Representation(self.group, name, given=blocks)

    def __mul__(self, other: "Representation") -> "Representation":
        r"""The tensor product, on arrays of shape $(d,d')$ in row-major order."""
        _same_group(self, other)
        name = f"{self.name} ⊗ {other.name}"
        m = other.dimension
        if self.action is not None and other.action is not None:
            pairs = self.action[:, :, None] * m + other.action[:, None]
            return Representation(self.group, name, pairs.reshape(self.group.order, -1))
        kron = np.einsum("gij,gkl->gikjl", self.matrices, other.matrices)
        return Representation(
            self.group, name, given=kron.reshape(self.group.order, *[self.dimension * m] * 2)
        )

    def __repr__(self) -> str:
        return f"{self.name} of {self.group.name}, dimension {self.dimension}"


def trivial(group: Group, copies: int = 1) -> Representation:
    """Nothing moves: channels, features, and the values of invariant functions."""
    return Representation(
        group, "trivial" if copies == 1 else f"{copies} trivial", _still(group, copies)
    )


def natural(group: Group) -> Representation:
    """The points that the group was given with: the ring of a cyclic or dihedral group, the set of a symmetric one."""
    return Representation(group, "points", group.points)


def regular(group: Group) -> Representation:
    r"""Functions on the group, moved by $h\mapsto gh$."""
    return Representation(group, "regular", group.table)


def of_matrices(group: Group, matrices: Any, name: str = "matrices") -> Representation:
    """These matrices, one an element of the group in its order."""
    return Representation(group, name, given=array_of(matrices, "the matrices"))


def plane(group: Group) -> Representation:
    r"""Turns and reflections of $\mathbb R^2$ by $C_n$ and $D_n$: how the two entries of a vector field move."""
    n = group.points.shape[1]
    word = group.name[0]
    if word not in "CD" or group.name[1:] != str(n):
        raise UsageError(
            "Cyclic and dihedral groups alone turn the plane.",
            got=group.name,
            remedy="take cyclic(n)",
        )
    angle = 2 * np.pi * np.arange(n) / n
    turns = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], -1).reshape(
        n, 2, 2
    )
    both = turns if word == "C" else np.concatenate([turns, turns @ np.diag([1.0, -1.0])])
    return Representation(group, "plane", given=both)


def homomorphism_gap(rho: Representation) -> tuple[float, tuple[int, int]]:
    r"""The largest entry of $\rho(gh)-\rho(g)\rho(h)$ over generators $g$ and all $h$, 0 where it is rounding.

    Generators are enough: $\rho(abh)=\rho(a)\rho(bh)=\rho(a)\rho(b)\rho(h)$, and the case $h=e$ gives $\rho(ab)$.
    The identity is tried too, as $\rho=0$ respects all products.
    """
    group = rho.group
    rows = rho._rows
    e = group.identity
    worst = 0.0
    where = (group.identity, group.identity)
    if rho.action is not None:
        pairs = [(g, rows[g][rows], rows[group.table[g]]) for g in group.generators]
        pairs.append((e, rows[:1] * 0 + np.arange(rho.dimension), rows[e : e + 1]))
        scale = 0.0
    else:
        pairs = [(g, rows[g] @ rows, rows[group.table[g]]) for g in group.generators]
        pairs.append((e, np.eye(rho.dimension)[None], rows[e : e + 1]))
        scale = (
            0.0
            if rows.dtype.kind in "iu"
            else TOLERANCE * rho.dimension * max(1.0, float(np.abs(rows).max()) ** 2)
        )
    for g, product, wanted in pairs:
        apart = np.abs(product - wanted)
        if apart.max(initial=0) > max(worst, scale):
            worst = float(apart.max())
            where = (g, int(np.argmax(apart.reshape(len(apart), -1).max(1))))
    return (1.0 if rho.action is not None and worst else worst), where


def _check_shapes(rho: Representation) -> None:
    if (rho.action is None) == (rho.given is None):
        raise UsageError(
            "A representation is given by permutations or by matrices.", where=rho.name
        )
    rows = rho._rows
    n = rho.group.order
    wanted = 2 if rho.action is not None else 3
    if (
        rows.ndim != wanted
        or len(rows) != n
        or (wanted == 3 and rows.shape[1] != rows.shape[2])
        or not rows.size
    ):
        shape = f"({n}, d)" if wanted == 2 else f"({n}, d, d)"
        raise UsageError(
            "A representation has one row an element.",
            where=rho.name,
            got=f"shape {rows.shape}, not {shape}",
        )
    if wanted == 3 and not np.isfinite(rows).all():
        raise UsageError(
            "The matrices of a representation are finite.", where=rho.name, got="NaN or infinity"
        )
    if wanted == 2:
        bad = np.flatnonzero((np.sort(rows, axis=1) != np.arange(rows.shape[1])).any(1))
        if len(bad):
            at = f"{rho.name}, element {rho.group.names[bad[0]]}"
            raise UsageError(
                "This is no permutation of the coordinates.",
                where=at,
                got=rows[bad[0]].tolist()[:12],
            )


def _still(group: Group, copies: int) -> np.ndarray:
    return np.tile(np.arange(copies), (group.order, 1))


def _same_group(one: Representation, other: Representation) -> None:
    if one.group is not other.group and not np.array_equal(one.group.table, other.group.table):
        raise UsageError(
            "Two representations are joined where they are of one group.",
            got=f"{one.group.name} and {other.group.name}",
            remedy="make both from the same group",
        )
