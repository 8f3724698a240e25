r"""Finite elements as networks: meshes with values and their nodal basis, in rationals.

A mesh is read from simplices given by their corners, from points (then it is Delaunay's), or from a function on a box
(then it is Kuhn's). That a network equals the interpolant is proved on every simplex, cell by cell.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import SubjectError
from ftheta.relu.counts import count
from ftheta.relu.geometry import Form, Point, centre, constant, plus, value
from ftheta.relu.matrices import fraction, vector
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.nodal import compile_cpa, nodal
from ftheta.relu.meshes.simplex_cells import box_mesh, cells
from ftheta.relu.network import ExactNetwork

ZERO = fmpq(0)
WORK = 100_000  # cells times neurons, where a network is compared with an interpolant
CUBES = {1: 16, 2: 6, 3: 2}  # along every axis of a box
BASIS = 9  # nodal functions that are looked at


@dataclass(frozen=True, eq=False)
class Elements:
    """A mesh and one value for every vertex; `clashes` are corners that were given another value as well."""

    mesh: Mesh
    values: tuple[fmpq, ...]
    clashes: tuple[tuple[Point, fmpq], ...] = ()

    @classmethod
    def of_arrays(cls, x: np.ndarray, y: np.ndarray | None) -> "Elements":
        """Rows of `x` are points, or simplices by their corners."""
        if (
            x.ndim == 3
            and x.shape[1] == x.shape[2] + 1
            and (y is None or y.size == x.shape[0] * x.shape[1])
        ):
            return cls.of_simplices(x, y)
        if x.ndim == 2 and (y is None or y.size == len(x)):
            return cls.of_points(x, y)
        raise SubjectError(
            "This is no mesh with values.",
            got=f"x {x.shape}" + ("" if y is None else f", y {y.shape}"),
            remedy="give points (n, d) and n values, or simplices by corners (m, d + 1, d) and values (m, d + 1)",
        )

    @classmethod
    def of_simplices(cls, x: np.ndarray, y: np.ndarray | None) -> "Elements":
        """Simplices by their corners, `(m, d + 1, d)`, and values at the corners, `(m, d + 1)`."""
        number: dict[Point, int] = {}
        rows = [
            [number.setdefault(vector(corner), len(number)) for corner in simplex]
            for simplex in x.tolist()
        ]
        if y is None:
            return cls._hat(Mesh.of(list(number), rows))
        values: dict[int, fmpq] = {}
        clashes = []
        points = list(number)
        for row, given in zip(rows, y.reshape(len(rows), -1).tolist()):
            for i, v in zip(row, vector(given)):
                if values.setdefault(i, v) != v:
                    clashes.append((points[i], v))
        return cls(
            Mesh.of(points, rows), tuple(values[i] for i in range(len(points))), tuple(clashes)
        )

    @classmethod
    def of_points(cls, x: np.ndarray, y: np.ndarray | None) -> "Elements":
        """Points `(n, d)`, one value each: neighbours on a line, Delaunay's triangulation above."""
        if len(x) <= x.shape[1]:
            raise SubjectError(
                "A mesh needs more points than dimensions.", got=f"{len(x)} points in {x.shape[1]}"
            )
        if x.shape[1] == 1:
            order = np.argsort(x[:, 0], kind="stable")
            simplices = np.stack([order[:-1], order[1:]], axis=1)
        else:
            from scipy.spatial import Delaunay, QhullError  # slow to import

            try:
                simplices = Delaunay(x).simplices
            except QhullError as error:
                raise SubjectError(
                    "Delaunay's triangulation fails.", got=str(error).splitlines()[0]
                ) from error
        mesh = Mesh.of(x, simplices)
        return cls._hat(mesh) if y is None else cls(mesh, vector(y.reshape(len(x)).tolist()))

    @classmethod
    def of_function(
        cls, f: Callable[[list[float]], float], lo: Sequence[float], hi: Sequence[float]
    ) -> "Elements":
        """A function at the vertices of some cubes in its box."""
        if len(lo) > 3:
            raise SubjectError(
                "Meshes are built in one to three dimensions.", got=f"{len(lo)} variables"
            )
        points, simplices = box_mesh(lo, hi, CUBES[len(lo)])
        values = [f([float(fraction(t)) for t in x]) for x in points]
        return cls(Mesh.of(points, simplices), vector(values))

    @classmethod
    def _hat(cls, mesh: Mesh) -> "Elements":
        bare = cls(mesh, (ZERO,) * len(mesh.points))
        return cls(mesh, tuple(fmpq(i == bare.central) for i in range(len(mesh.points))))

    @property
    def dimension(self) -> int:
        return self.mesh.dimension

    @cached_property
    def central(self) -> int:
        """The vertex nearest to the middle of all, an inner one if there is any."""
        middle = centre(self.mesh.points)
        used = [i for i, star in enumerate(self.mesh.stars) if star]
        inner = [i for i in used if i not in self.mesh.boundary_vertices] or used
        return min(
            inner, key=lambda i: sum((a - b) ** 2 for a, b in zip(self.mesh.points[i], middle))
        )

    @cached_property
    def network(self) -> ExactNetwork:
        return compile_cpa(self.mesh.points, self.mesh.simplices, self.values)

    @cached_property
    def hat(self) -> ExactNetwork:
        return nodal(self.mesh, self.central)

    def gap(self, net: ExactNetwork, values: Sequence[Any]) -> tuple[Fraction, Point] | None:
        """The largest distance of a network to the interpolant on the mesh, and where; None out of budget."""
        neurons = count(net).neurons
        worst = fmpq(-1)
        place = ()
        left = WORK // max(neurons, 1)
        if self.dimension > 1 and neurons**2 > 30 * left:  # about as many cells as pairs of neurons
            return None
        try:
            for k, piece in enumerate(self.mesh.pieces(values)):
                for cell, (form, *_) in cells(net, self.mesh.corners(k), left):
                    left = left - 1
                    off = plus(form, piece, -1)
                    for x in cell if any(off) else cell[:1]:
                        if abs(value(off, x)) > worst:
                            worst = abs(value(off, x))
                            place = x
        except SubjectError:
            return None
        return fraction(worst), place

    def gap_at(self, net: ExactNetwork, points: int, rng: np.random.Generator) -> Fraction:
        """The largest distance of a network to the interpolant of the values at random points of the mesh, exactly."""
        pieces = self.mesh.pieces(self.values)
        return max(
            abs(net(x)[0] - fraction(value(pieces[k], x))) for k, x in self.samples(points, rng)
        )

    def samples(self, points: int, rng: np.random.Generator) -> Iterable[tuple[int, Point]]:
        """Simplices and rational points in them."""
        d = self.dimension
        for k in rng.integers(len(self.mesh.simplices), size=points).tolist():
            weights = [fmpq(int(w) + 1) for w in rng.integers(0, 64, d + 1)]
            corners = self.mesh.corners(k)
            yield (
                k,
                tuple(
                    sum((w * x[j] for w, x in zip(weights, corners)), ZERO) / sum(weights)
                    for j in range(d)
                ),
            )

    def basis_gap(self) -> tuple[Fraction, int]:
        """The largest distance of nodal networks to barycentric coordinates on the mesh, and how many were compared."""
        used = [i for i, star in enumerate(self.mesh.stars) if star]
        rest = [
            i
            for i in used
            if i != self.central and (self.dimension < 3 or i not in self.mesh.boundary_vertices)
        ]
        nets = {i: nodal(self.mesh, i) for i in [self.central, *rest][:BASIS]}
        found = [
            self.gap(net, [int(j == i) for j in range(len(self.mesh.points))])
            for i, net in nets.items()
        ]
        gaps = [gap for gap, _ in filter(None, found)]
        return max(gaps, default=Fraction(0)), len(gaps)

    def unity_gap(self) -> Fraction:
        r"""The largest coefficient of $\sum_i\lambda_i-1$ over all simplices, $\lambda_i$ the barycentric forms."""
        one = constant(1, self.dimension)
        sums = (_sum(forms.values(), self.dimension) for forms in self.mesh.coordinates)
        return max(fraction(max(abs(a) for a in plus(total, one, -1))) for total in sums)


def _sum(forms: Iterable[Form], d: int) -> Form:
    total = constant(0, d)
    for form in forms:
        total = plus(total, form)
    return total
