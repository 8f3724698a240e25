r"""The linear maps $W$ with $\rho_2(g)W=W\rho_1(g)$ for all $g$: how many there are, a basis, the nearest one.

The dimension is found in three ways that share nothing: the rank of the equations for generators of the group, the
mean of $\overline{\chi_2}\chi_1$, and, where coordinates are permuted, the orbits of pairs (Burnside counts them).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpz_mat  # type: ignore[import-untyped]

from ftheta.logic.errors import UsageError
from ftheta.shapes import Int, Num, Real

from .permutations import commutators, pair_orbits, reynolds
from .representations import Representation, _same_group

MOST_UNKNOWNS = 4096  # entries of W, up to which the equations are solved
MOST_EXACT = 700  # up to which their rank is found in integers
SMALL = 1e-8  # a singular value below this, relative to the largest, is zero


@dataclass(frozen=True, eq=False)
class EquivariantMaps:
    """The linear maps from `source` to `target` that commute with the group."""

    source: Representation
    target: Representation

    def __post_init__(self) -> None:
        _same_group(self.source, self.target)

    @property
    def _permute(self) -> bool:
        return self.source.action is not None and self.target.action is not None

    @cached_property
    def orbits(self) -> Int[np.ndarray, "target source"] | None:
        """For permutations: the number of the orbit of every entry of W; W is constant on each."""
        if self.source.action is None or self.target.action is None:
            return None
        names = pair_orbits(self.source.action, self.target.action)
        return np.unique(names, return_inverse=True)[1].reshape(names.shape)

    @cached_property
    def by_characters(self) -> Fraction | float:
        r"""$\frac1{|G|}\sum_g\overline{\chi_2(g)}\chi_1(g)$; exact where the characters are integers."""
        one = self.source.character
        two = self.target.character
        if one.dtype.kind in "iu" and two.dtype.kind in "iu":
            return Fraction(int(one @ two), self.source.group.order)
        return float(np.real(np.vdot(two, one))) / self.source.group.order

    @cached_property
    def by_orbits(self) -> int | None:
        """The number of orbits of pairs; None where a representation does not permute coordinates."""
        return None if self.orbits is None else int(self.orbits.max()) + 1

    @cached_property
    def by_null_space(self) -> int | None:
        """Unknowns minus the rank of the equations, the rank in integers where that is affordable; None where not."""
        d = self.source.dimension * self.target.dimension
        if d > MOST_UNKNOWNS or (self._permute and d > MOST_EXACT):
            return None
        rows = self._equations()
        if d <= MOST_EXACT and rows.dtype.kind in "iu":
            return d - (fmpz_mat(rows.tolist()).rank() if len(rows) else 0)
        return len(self._null_space(rows))

    @cached_property
    def dimension(self) -> int:
        """By orbits or by characters: the ways that always work."""
        return self.by_orbits if self.by_orbits is not None else round(self.by_characters)

    @cached_property
    def basis(self) -> Num[np.ndarray, "dimension target source"]:
        """Orthogonal maps, shape (dimension, target, source); of permutations, one of 0 and 1 an orbit."""
        if self.orbits is not None:
            if self.orbits.size * self.dimension > 1 << 26:
                got = f"{self.dimension} maps of {self.orbits.size} entries"
                raise UsageError(
                    "This basis is too large.", got=got, remedy="use `orbits` or `project`"
                )
            return (self.orbits == np.arange(self.dimension)[:, None, None]).astype(np.float64)
        shape = self.target.dimension, self.source.dimension
        if shape[0] * shape[1] > MOST_UNKNOWNS:
            raise UsageError(
                "This basis is too large.", got=f"maps of shape {shape}", remedy="use `project`"
            )
        return self._null_space(self._equations()).reshape(-1, *shape)

    def project(self, W: Any) -> Num[np.ndarray, "target source"]:
        r"""The Reynolds operator $\frac1{|G|}\sum_g\rho_2(g)^{-1}W\rho_1(g)$: if they are unitary, the nearest one."""
        W = np.asarray(W)
        if W.shape != (self.target.dimension, self.source.dimension):
            wanted = self.target.dimension, self.source.dimension
            raise UsageError(
                "This map is not between these representations.",
                got=f"shape {W.shape}, not {wanted}",
            )
        if self.source.action is not None and self.target.action is not None:
            return reynolds(W, self.source.action, self.target.action)
        inverse = self.target.matrices[self.source.group.inverses]
        return np.mean([a @ W @ b for a, b in zip(inverse, self.source.matrices)], axis=0)

    def commutators(self, W: Num[np.ndarray, "target source"]) -> Real[np.ndarray, "g"]:
        r"""The largest entry of $|\rho_2(g)W-W\rho_1(g)|$ for every $g$."""
        if self.source.action is not None and self.target.action is not None:
            return commutators(W, self.source.action, self.target.action)
        pairs = zip(self.target.matrices, self.source.matrices)
        return np.array([np.abs(a @ W - W @ b).max() for a, b in pairs])

    def _equations(self) -> np.ndarray:
        r"""$\rho_2(g)W-W\rho_1(g)=0$ for generators $g$, on the entries of $W$ in row-major order."""
        m = self.target.dimension
        n = self.source.dimension
        exact = all(r.matrices.dtype.kind in "iu" for r in (self.source, self.target))
        kind = np.int64 if exact else np.result_type(self.source.matrices, self.target.matrices)
        blocks = [
            np.kron(self.target.matrices[g].astype(kind), np.eye(n, dtype=kind))
            - np.kron(np.eye(m, dtype=kind), self.source.matrices[g].T.astype(kind))
            for g in self.source.group.generators
        ]
        return np.concatenate(blocks) if blocks else np.zeros((0, m * n), kind)

    def _null_space(self, rows: np.ndarray) -> np.ndarray:
        if not len(rows):
            return np.eye(rows.shape[1])
        gram = rows.conj().T.astype(np.result_type(rows, np.float64)) @ rows
        values, vectors = np.linalg.eigh(gram)
        return vectors.T[values <= SMALL * max(float(values[-1]), 1.0)]


def equivariant_maps(source: Representation, target: Representation) -> EquivariantMaps:
    """The linear maps that commute with the group, between two of its representations."""
    return EquivariantMaps(source, target)
