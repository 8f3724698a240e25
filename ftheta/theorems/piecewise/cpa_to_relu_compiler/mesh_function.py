"""The interpolant of values at the vertices of a mesh, as a function that JAX can call."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import fmpq  # type: ignore[import-untyped]
from scipy.spatial import Delaunay, QhullError

from ftheta.logic import SubjectError
from ftheta.relu.geometry import Form
from ftheta.relu.mesh import Mesh


@dataclass(frozen=True, eq=False)
class MeshFunction:
    """Continuous and affine on every simplex; outside the mesh it goes on as on the nearest simplex, in float64."""

    mesh: Mesh
    values: tuple[fmpq, ...]

    @classmethod
    def of(cls, points: Any, simplices: Any, values: Sequence[Any]) -> "MeshFunction":
        """From a triangulation and one value a vertex."""
        mesh = Mesh.of(points, simplices)
        return cls(mesh, tuple(mesh.vertex_values(values)))

    @classmethod
    def delaunay(cls, points: np.ndarray, values: np.ndarray) -> "MeshFunction":
        """On the Delaunay triangulation of the points (on a line: between neighbours)."""
        rows = np.reshape(points, (len(points), -1)).astype(float)
        if rows.shape[1] == 1:
            order = np.argsort(rows[:, 0], kind="stable")
            return cls.of(rows, np.column_stack([order[:-1], order[1:]]), np.ravel(values).tolist())
        try:
            found = Delaunay(rows).simplices
        except (QhullError, ValueError) as error:
            raise SubjectError(
                "The points have no triangulation.",
                got=f"{len(rows)} points in dimension {rows.shape[1]}",
                remedy="give points that do not lie in one hyperplane",
            ) from error
        function = cls.of(rows, found, np.ravel(values).tolist())
        if not all(function.mesh.stars):
            where = next(i for i, star in enumerate(function.mesh.stars) if not star)
            got = f"row {where} is in no simplex"
            raise SubjectError(
                "The points are too close together.", got=got, remedy="merge equal points"
            )
        return function

    @property
    def box(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The ends of a box around the mesh."""
        low, high = ([pick(column) for column in zip(*self.mesh.points)] for pick in (min, max))
        return tuple(int(t.p) / int(t.q) for t in low), tuple(int(t.p) / int(t.q) for t in high)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        return self.mesh.pieces(self.values)

    @cached_property
    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        as_floats = lambda forms: [[int(a.p) / int(a.q) for a in form] for form in forms]
        return np.array([as_floats(c.values()) for c in self.mesh.coordinates]), np.array(
            as_floats(self.forms)
        )

    def __call__(self, x: Any) -> Any:
        coordinates, forms = map(jnp.asarray, self._tables)
        point = jnp.append(jnp.atleast_1d(x), 1.0)
        # where no barycentric coordinate is negative
        inside = jnp.argmax((coordinates @ point).min(axis=1))
        return forms[inside] @ point


def make_mesh_function(rng: np.random.Generator, kind: str, cells: int) -> MeshFunction:
    """Random dyadic values on a triangulated square, or on random points; or a U-shape with one arm that rises."""
    if kind == "random points":
        inner = rng.integers(1, 64, ((cells + 1) ** 2 - 4, 2)) / 64.0
        points = np.unique(np.vstack([inner, [[0, 0], [0, 1], [1, 0], [1, 1]]]), axis=0)
        return MeshFunction.delaunay(points, rng.integers(-16, 17, len(points)) / 16.0)
    cells = max(cells, 3) if kind == "U-shape" else cells
    points = list(product(range(cells + 1), repeat=2))
    number = {point: k for k, point in enumerate(points)}
    triangles = [
        (number[i, j], number[i + a, j + 1 - a], number[i + 1, j + 1])
        for i, j in product(range(cells), repeat=2)
        for a in (0, 1)
        if kind != "U-shape" or j == 0 or i in (0, cells - 1)
    ]
    if kind == "U-shape":
        return MeshFunction.of(
            points, triangles, [max(j - 1, 0) if i <= 1 else 0 for i, j in points]
        )
    return MeshFunction.of(points, triangles, (rng.integers(-16, 17, len(points)) / 16.0).tolist())
