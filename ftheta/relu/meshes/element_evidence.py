"""Claims and pictures about networks as finite elements."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Axis, Chart, Curves, Enclosure, Exists, Heatmap, Identity, Regions, Series, Witness

from ..counts import count
from ..exact import ExactNetwork, rounded
from ..line.cpa1d import known
from ..matrices import fraction
from ..maxima.depth_bounds import necessary
from ..maxima.sums import depth_bound
from .elements import Elements
from .mesh import Mesh
from .nodal import nodal
from .simplex_cells import box_mesh, box_simplices, integral

ZERO = fmpq(0)
SHAPES = ("uniform", "scattered")
VALUES = ("hat", "wave")
POINTS = 64  # where networks are compared if cells are too many
TURN, LIFT, HEIGHT = 0.35, 0.8, 0.45  # of the view: angles in radians, and the height of the peak in mesh sizes
PARTS, MOST_TRIANGLES = 8, 4800  # parts of a side of a triangle in the picture, and triangles in all


def uniform_hat(d: int) -> ExactNetwork:
    """The nodal function of the origin on the cubes around it, each cut along its diagonal."""
    points, simplices = box_mesh([-1] * d, [1] * d, 2)
    return nodal(Mesh.of(points, simplices), points.index((ZERO,) * d))


def hexagon_gap() -> Fraction:
    r"""The largest distance of $\max(|x|,|y|,|x-y|)$ to $\max(x,y,0)-\min(x,y,0)$ on the rays $x=0$, $y=0$, $x=y$.

    On the six cones between them both are linear, so that equality on the rays is equality everywhere.
    """
    rays = [(s * x, s * y) for x, y in ((1, 0), (0, 1), (1, 1)) for s in (1, -1)]
    sides = [(max(abs(x), abs(y), abs(x - y)), max(x, y, 0) - min(x, y, 0)) for x, y in rays]
    return Fraction(max(abs(a - b) for a, b in sides))


# ---- examples ----------------------------------------------------------------------------------------------------


def example(
    d: int, n: int, shape: str, values: str, clash: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Simplices by their corners and values there; `clash` is added to one corner of the last simplex."""
    points, simplices = box_mesh([-n / 2] * d, [n / 2] * d, n)
    x = np.array([[float(fraction(t)) for t in p] for p in points])
    if shape == "scattered":
        inside = (np.abs(x) < n / 2).all(axis=1)
        x[inside] += rng.integers(-5, 6, (int(inside.sum()), d)) / 32  # less than half a cell: no simplex turns over
    hat = (x == x[np.argmin((x**2).sum(axis=1))]).all(axis=1).astype(float)
    wave = np.round(64 * np.prod(np.sin(2.5 * x / n + 0.5), axis=1)) / 64
    y = (hat if values == "hat" else wave)[np.array(simplices)]
    y[-1, -1] += clash
    return x[np.array(simplices)], y


# ---- claims ------------------------------------------------------------------------------------------------------


def interpolates(given: Elements, rng: np.random.Generator) -> Identity:
    """The compiled network against the interpolant: on all of the mesh, or at points where that is too much."""
    net, what = given.network, f"sup |network − interpolant| on {len(given.mesh.simplices)} simplices"
    if given.clashes:
        x, v = given.clashes[0]
        gap = known(abs(net(x)[0] - fraction(v)))
        again = Witness({"x": tuple(float(fraction(t)) for t in x)}, gap, known(0), "neuron by neuron in rationals")
        return Identity(what, gap, known(0), again)
    found = given.gap(net, given.values)
    if found is None:
        off = float(given.gap_at(net, POINTS, rng))
        return Identity(f"{what}, at points", Enclosure.measured(off, samples=POINTS), known(0))
    return Identity(what, known(found[0]), known(0))


def is_a_basis(given: Elements) -> tuple[Identity | Exists, ...]:
    """Nodal networks are barycentric coordinates, and these add up to one; depth and neurons."""
    (gap, looked), d, size = given.basis_gap(), given.dimension, count(given.hat)
    L = known(size.affine_layers)
    near = f"sup |φ − barycentric coordinate| on the mesh, {looked} of {len(given.mesh.points)} vertices"
    claims: list[Identity | Exists] = [
        *([Identity(near, known(gap), known(0))] if looked else []),
        Identity("largest coefficient of Σ φᵢ − 1 on a simplex", known(given.unity_gap()), known(0)),
        Exists("a nodal function of few affine maps", {"vertex": float(given.central)}, L, known(depth_bound(d))),
    ]
    if d == 1 and given.central not in given.mesh.boundary_vertices:
        claims.append(Identity("neurons of a nodal function on the line", known(size.neurons), known(3)))
    return tuple(claims)


@dataclass(frozen=True)
class Uniform:
    """The hat around the origin on cubes cut along their diagonals, in one to three dimensions."""

    nets: tuple[ExactNetwork, ...]

    @classmethod
    def built(cls) -> "Uniform":
        return cls(tuple(uniform_hat(d) for d in (1, 2, 3)))

    @property
    def mass(self) -> Fraction:
        r"""$\int\phi$ in the plane, cell by cell."""
        return integral(self.nets[1], box_simplices([-1, -1], [1, 1]))

    def needed(self, d: int) -> int:
        """Affine maps that it needs: the kink along the first axis ends at the next vertex."""
        x, normal = ((ZERO,), (fmpq(1, 2), ZERO), (fmpq(1, 2), fmpq(1, 16), ZERO))[d - 1], (*[ZERO] * (d - 1), fmpq(1))
        return necessary(self.nets[d - 1], [(x, normal)], (fmpq(-3), fmpq(3))).layers + 1

    def claims(self) -> tuple[Identity, ...]:
        sizes = [count(net).affine_layers for net in self.nets]
        depths = [
            Identity(
                f"affine maps of the hat in dimension {d}, and those that it needs", known(L), known(self.needed(d))
            )
            for d, L in enumerate(sizes, 1)
        ]
        mass = Identity("integral of the hat in the plane", known(self.mass), known(1))
        hexagon = Identity("max(|x|,|y|,|x−y|) − (max(x,y,0) − min(x,y,0)) on six rays", known(hexagon_gap()), known(0))
        return (*depths, mass, hexagon)

    def numbers(self) -> dict[str, Enclosure | float]:
        half, plane = Fraction(1, 2), self.nets[1]
        return {
            "integral of the uniform hat": known(self.mass),
            "φ(½, 0)": known(plane([half, 0])[0]),
            "φ(½, −½)": known(plane([half, -half])[0]),
            "neurons in dimension 1": known(count(self.nets[0]).neurons),
            **{f"affine maps in dimension {d}": known(count(net).affine_layers) for d, net in enumerate(self.nets, 1)},
        }


# ---- pictures ----------------------------------------------------------------------------------------------------


def pictures(given: Elements, name: str) -> list[Chart]:
    """The hat and the interpolant: curves on a line, surfaces over the plane, a cut in space."""
    if given.dimension == 1:
        return [_on_line(given, name)]
    hat, whole = rounded(given.hat).network, rounded(given.network).network
    if given.dimension == 2:
        phi, net = (lambda x: hat(x)[:, 0]), (lambda x: whole(x)[:, 0])
        return [
            _surface(given.mesh, phi, "a nodal function on its mesh"),
            _plan(given.mesh, net, f"{name}, from above"),
        ]
    t = [[float(fraction(x[j])) for x in given.mesh.points] for j in range(3)]
    level = float(fraction(given.mesh.points[given.central][2]))
    xs, ys = np.linspace(min(t[0]), max(t[0]), 101), np.linspace(min(t[1]), max(t[1]), 101)
    rows = np.stack([np.tile(xs, 101), np.repeat(ys, 101), np.full(101 * 101, level)], axis=1)
    extent = (xs[0], xs[-1], ys[0], ys[-1])
    title = f"a nodal function at height x₃ = {level:g}"
    return [Heatmap(title, Axis("x₁"), Axis("x₂"), hat(rows)[:, 0].reshape(101, 101), extent, "φ")]


def _on_line(given: Elements, name: str) -> Curves:
    x = sorted(p[0] for p, star in zip(given.mesh.points, given.mesh.stars) if star)
    at = [float(fraction(t)) for t in x]
    used = [i for i, star in enumerate(given.mesh.stars) if star]
    shown = used[max(0, len(used) // 2 - 2) :][:4]
    hats = [
        Series(f"φ{used.index(i) + 1}", at, [float(nodal(given.mesh, i)([t])[0]) for t in x], "other") for i in shown
    ]
    whole = Series("network", at, [float(given.network([t])[0]) for t in x])
    return Curves(f"{name}: nodal functions and the network", Axis("x"), Axis("value"), (*hats, whole))


def _triangles(mesh: Mesh, f: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray, int]:
    """Small triangles with the values at their corners, those where all is zero last and whole; how many are not."""
    corners = np.array([[[float(fraction(t)) for t in x] for x in mesh.corners(k)] for k in range(len(mesh.simplices))])
    flat = ~f(corners.reshape(-1, 2)).reshape(-1, 3).any(axis=1)
    parts = max(1, min(PARTS, int((MOST_TRIANGLES / len(corners)) ** 0.5)))
    small = np.concatenate([np.zeros((0, 3, 2)), *(_split(triangle, parts) for triangle in corners[~flat])])
    every = np.concatenate([small, corners[flat]])
    return every, f(every.reshape(-1, 2)).reshape(-1, 3), len(small)


def _surface(mesh: Mesh, f: Callable[[np.ndarray], np.ndarray], title: str) -> Regions:
    """The graph of a nodal function over a planar mesh, seen from above at an angle."""
    x, heights, _ = _triangles(mesh, f)
    across = np.cos(TURN) * x[..., 0] - np.sin(TURN) * x[..., 1]
    back = np.sin(TURN) * x[..., 0] + np.cos(TURN) * x[..., 1]
    up = np.sin(LIFT) * back + np.cos(LIFT) * HEIGHT * float(np.ptp(x.reshape(-1, 2), axis=0).max()) * heights
    polygons: Any = np.stack([across, up], axis=2)
    return Regions(title, Axis("x₁, x₂ at an angle"), Axis("depth and height"), polygons, heights.mean(axis=1), "value")


def _plan(mesh: Mesh, f: Callable[[np.ndarray], np.ndarray], title: str) -> Regions:
    """Values over a planar mesh from above; triangles where all is zero have no colour, so that the mesh shows."""
    x, heights, coloured = _triangles(mesh, f)
    polygons: Any = x
    return Regions(title, Axis("x₁"), Axis("x₂"), polygons, heights.mean(axis=1)[:coloured], "value")


def _split(triangle: np.ndarray, parts: int) -> np.ndarray:
    """The triangle cut into `parts` squared smaller ones."""
    at = lambda i, j: triangle[0] + (i * (triangle[1] - triangle[0]) + j * (triangle[2] - triangle[0])) / parts
    found = []
    for i in range(parts):
        for j in range(parts - i):
            found.append([at(i, j), at(i + 1, j), at(i, j + 1)])
            if i + j < parts - 1:
                found.append([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)])
    return np.array(found)
