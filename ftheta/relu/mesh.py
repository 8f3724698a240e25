"""Simplicial meshes with rational vertices, checked to be meshes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import nan
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float, Int

from .geometry import Form, Point, Simplex, barycentric, interpolant, overlap, value
from .matrices import rational, vector

Facet = tuple[int, ...]
PAIRS = 4096  # simplices that are compared at once


@dataclass(frozen=True, eq=False)
class Mesh:
    r"""`points` $(n,d)$ and `simplices` $(m,d+1)$ of vertex numbers, in $d=1,2,3$ (or more).

    Two simplices meet in a common face or not at all; this is checked in rational arithmetic.
    """

    points: tuple[Point, ...]
    simplices: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, points: Any, simplices: Any) -> "Mesh":
        """From arrays (at their exact binary values) or nested sequences of rationals."""
        rows = points.tolist() if isinstance(points, np.ndarray) else points
        cells = simplices.tolist() if isinstance(simplices, np.ndarray) else simplices
        mesh = cls(
            tuple(vector(row if isinstance(row, (list, tuple)) else [row]) for row in rows),
            tuple(tuple(int(i) for i in cell) for cell in cells),
        )
        mesh._check()
        return mesh

    @property
    def dimension(self) -> int:
        return len(self.points[0])

    def corners(self, cell: int) -> Simplex:
        return tuple(self.points[i] for i in self.simplices[cell])

    @cached_property
    def coordinates(self) -> tuple[dict[int, Form], ...]:
        """For every simplex, the barycentric form of each of its vertices."""
        return tuple(
            dict(zip(cell, barycentric(self.corners(k)))) for k, cell in enumerate(self.simplices)
        )

    @cached_property
    def stars(self) -> tuple[tuple[int, ...], ...]:
        """For every vertex, the simplices around it."""
        around: list[list[int]] = [[] for _ in self.points]
        for k, cell in enumerate(self.simplices):
            for i in cell:
                around[i].append(k)
        return tuple(map(tuple, around))

    @cached_property
    def facets(self) -> dict[Facet, tuple[int, ...]]:
        """The simplices on either side of every facet; one at the boundary."""
        sides: defaultdict[Facet, list[int]] = defaultdict(list)
        for k, cell in enumerate(self.simplices):
            for facet in combinations(sorted(cell), len(cell) - 1):
                sides[facet].append(k)
        return {facet: tuple(cells) for facet, cells in sides.items()}

    @cached_property
    def boundary_vertices(self) -> frozenset[int]:
        return frozenset(
            i for facet, cells in self.facets.items() if len(cells) == 1 for i in facet
        )

    @cached_property
    def is_convex(self) -> bool:
        """Whether the union of the simplices is convex: every boundary facet supports all points."""
        used = [x for x, star in zip(self.points, self.stars) if star]
        return all(
            value(self.opposite(facet, cells[0]), x) >= 0
            for facet, cells in self.facets.items()
            if len(cells) == 1
            for x in used
        )

    def opposite(self, facet: Facet, cell: int) -> Form:
        """The barycentric form of the vertex of `cell` that is not on the facet: zero on it, positive inside."""
        (apex,) = set(self.simplices[cell]) - set(facet)
        return self.coordinates[cell][apex]

    def pieces(self, values: Sequence[Any]) -> tuple[Form, ...]:
        """The affine pieces of the interpolant of the vertex values."""
        v = self.vertex_values(values)
        return tuple(
            interpolant(self.corners(k), [v[i] for i in cell])
            for k, cell in enumerate(self.simplices)
        )

    def vertex_values(self, values: Sequence[Any]) -> list[fmpq]:
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        if len(listed) != len(self.points):
            raise SubjectError(
                "There is one value for every vertex.",
                got=f"{len(listed)} values, {len(self.points)} vertices",
            )
        return [rational(v) for v in listed]

    # ---- what makes it a mesh --------------------------------------------------------------------------------

    def _check(self) -> None:
        d = len(self.points[0]) if self.points else 0
        if not self.simplices or d < 1 or any(len(x) != d for x in self.points):
            raise SubjectError(
                "A mesh needs points of one dimension and simplices.",
                got=f"{len(self.points)} points",
            )
        for k, cell in enumerate(self.simplices):
            if len(set(cell)) != d + 1 or min(cell) < 0 or max(cell) >= len(self.points):
                raise SubjectError(
                    f"A simplex in dimension {d} has {d + 1} distinct vertices of the mesh.",
                    where=f"simplex {k}",
                    got=cell,
                )
        pairs = self._near_pairs()
        while block := list(islice(pairs, PAIRS)):
            for a, b in self._suspects(np.array(block)):
                if overlap(self.corners(a), self.corners(b)):
                    raise SubjectError(
                        "Two simplices overlap.",
                        where=f"simplices {a} and {b}",
                        got="a common interior",
                    )
                self._face_to_face(a, b)

    def _suspects(self, pairs: Int[np.ndarray, "pairs 2"]) -> Iterator[tuple[int, int]]:
        """The pairs that no facet of either separates, and those where a vertex of one lies in the other."""
        one, other = pairs.T
        simplices = np.array(self.simplices)
        suspect = np.ones(len(pairs), bool)
        hanging = np.zeros(len(pairs), bool)
        for cells, others in ((one, other), (other, one)):
            side = self._sides(cells, others)
            shared = np.any(simplices[cells][:, :, None] == simplices[others][:, None, :], axis=1)
            suspect &= ~np.any(np.all(side <= 0, axis=2), axis=1)
            hanging |= np.any(np.all(side >= 0, axis=1) & ~shared, axis=1)
        for k in np.flatnonzero(suspect | hanging):
            yield int(one[k]), int(other[k])

    def _sides(
        self, cells: Int[np.ndarray, "pairs"], others: Int[np.ndarray, "pairs"]
    ) -> Int[np.ndarray, "pairs n n"]:
        """The signs of the barycentric forms of `cells` (second axis) at the vertices of `others` (third axis).

        In float64 where an error bound makes them certain, else in rationals.
        """
        own = np.array(self.simplices)[cells]
        vertices = np.array(self.simplices)[others]
        forms, points = self._in_floats
        terms = forms[cells][:, :, None, :] * points[vertices][:, None, :, :]
        values = terms.sum(axis=3)
        rounding = (self.dimension + 6) * np.finfo(float).eps * np.abs(terms).sum(axis=3)
        certain = np.abs(values) > rounding
        signs = np.sign(np.where(certain, values, 0.0)).astype(int)
        same = own[:, :, None] == vertices[:, None, :]
        known = np.any(same, axis=1)  # a form is 1 at its own vertex and 0 at the others
        signs = np.where(known[:, None, :], same.astype(int), signs)
        for pair, i, j in np.argwhere(~certain & ~known[:, None, :]):
            exact = value(
                self.coordinates[cells[pair]][int(own[pair, i])], self.points[vertices[pair, j]]
            )
            signs[pair, i, j] = (exact > 0) - (exact < 0)
        return signs

    @cached_property
    def _in_floats(self) -> tuple[Float[np.ndarray, "cells n n"], Float[np.ndarray, "points n"]]:
        """The barycentric forms of every simplex, and the points with a one appended, rounded to float64."""
        forms = [
            [[_round(a) for a in form] for form in around.values()] for around in self.coordinates
        ]
        points = [[*map(_round, point), 1.0] for point in self.points]
        return np.array(forms), np.array(points)

    def _face_to_face(self, a: int, b: int) -> None:
        """No vertex of one simplex lies in the other unless it is one of its vertices."""
        for one, other in ((a, b), (b, a)):
            for i in set(self.simplices[one]) - set(self.simplices[other]):
                if all(
                    value(form, self.points[i]) >= 0 for form in self.coordinates[other].values()
                ):
                    raise SubjectError(
                        "A vertex lies on a simplex that it does not belong to.",
                        where=f"vertex {i}, simplex {other}",
                        got="a hanging vertex or a repeated point",
                        remedy="split the simplex at that vertex, or merge equal points",
                    )

    def _near_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs of simplices whose bounding boxes, rounded outward, meet."""
        x = np.array([[int(t.p) / int(t.q) for t in point] for point in self.points])
        corners = x[np.array(self.simplices)]
        low = np.nextafter(corners.min(axis=1), -np.inf)
        high = np.nextafter(corners.max(axis=1), np.inf)
        for a in range(len(low) - 1):
            meets = np.all((low[a + 1 :] <= high[a]) & (high[a + 1 :] >= low[a]), axis=1)
            yield from ((a, int(b)) for b in np.flatnonzero(meets) + a + 1)


def _round(number: fmpq) -> float:
    """The nearest float64 number; NaN, which decides nothing, where a product of two might leave its range."""
    if not number:
        return 0.0
    try:
        rounded = int(number.p) / int(number.q)
    except OverflowError:
        return nan
    return rounded if 1e-150 < abs(rounded) < 1e150 else nan
