"""Nodal functions and interpolants, drawn: curves on a line, surfaces over the plane, a cut in space."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ftheta.logic import Axis, Chart, Curves, Heatmap, Regions, Series
from ftheta.relu.exact import round_weights
from ftheta.relu.matrices import fraction
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.nodal import nodal

from .elements import Elements

# of the view: angles in radians, and the height of the peak in mesh sizes
TURN = 0.35
LIFT = 0.8
HEIGHT = 0.45
# parts of a side of a triangle in the picture, and triangles in all
PARTS = 8
MOST_TRIANGLES = 4800


def draw_elements(given: Elements, name: str) -> list[Chart]:
    """The hat and the interpolant: curves on a line, surfaces over the plane, a cut in space."""
    if given.dimension == 1:
        return [_on_line(given, name)]
    hat = round_weights(given.hat).network
    whole = round_weights(given.network).network
    if given.dimension == 2:
        phi = lambda x: hat(x)[:, 0]
        net = lambda x: whole(x)[:, 0]
        return [
            _surface(given.mesh, phi, "a nodal function on its mesh"),
            _plan(given.mesh, net, f"{name}, from above"),
        ]
    t = [[float(fraction(x[j])) for x in given.mesh.points] for j in range(3)]
    level = float(fraction(given.mesh.points[given.central][2]))
    xs = np.linspace(min(t[0]), max(t[0]), 101)
    ys = np.linspace(min(t[1]), max(t[1]), 101)
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
        Series(
            f"φ{used.index(i) + 1}", at, [float(nodal(given.mesh, i)([t])[0]) for t in x], "other"
        )
        for i in shown
    ]
    whole = Series("network", at, [float(given.network([t])[0]) for t in x])
    return Curves(
        f"{name}: nodal functions and the network", Axis("x"), Axis("value"), (*hats, whole)
    )


def _triangles(
    mesh: Mesh, f: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Small triangles with the values at their corners, those where all is zero last and whole; how many are not."""
    corners = np.array(
        [
            [[float(fraction(t)) for t in x] for x in mesh.corners(k)]
            for k in range(len(mesh.simplices))
        ]
    )
    flat = ~f(corners.reshape(-1, 2)).reshape(-1, 3).any(axis=1)
    parts = max(1, min(PARTS, int((MOST_TRIANGLES / len(corners)) ** 0.5)))
    small = np.concatenate(
        [np.zeros((0, 3, 2)), *(_split(triangle, parts) for triangle in corners[~flat])]
    )
    every = np.concatenate([small, corners[flat]])
    return every, f(every.reshape(-1, 2)).reshape(-1, 3), len(small)


def _surface(mesh: Mesh, f: Callable[[np.ndarray], np.ndarray], title: str) -> Regions:
    """The graph of a nodal function over a planar mesh, seen from above at an angle."""
    x, heights, _ = _triangles(mesh, f)
    across = np.cos(TURN) * x[..., 0] - np.sin(TURN) * x[..., 1]
    back = np.sin(TURN) * x[..., 0] + np.cos(TURN) * x[..., 1]
    up = (
        np.sin(LIFT) * back
        + np.cos(LIFT) * HEIGHT * float(np.ptp(x.reshape(-1, 2), axis=0).max()) * heights
    )
    polygons: Any = np.stack([across, up], axis=2)
    return Regions(
        title,
        Axis("x₁, x₂ at an angle"),
        Axis("depth and height"),
        polygons,
        heights.mean(axis=1),
        "value",
    )


def _plan(mesh: Mesh, f: Callable[[np.ndarray], np.ndarray], title: str) -> Regions:
    """Values over a planar mesh from above; triangles where all is zero have no colour, so that the mesh shows."""
    x, heights, coloured = _triangles(mesh, f)
    polygons: Any = x
    return Regions(
        title, Axis("x₁"), Axis("x₂"), polygons, heights.mean(axis=1)[:coloured], "value"
    )


def _split(triangle: np.ndarray, parts: int) -> np.ndarray:
    """The triangle cut into `parts` squared smaller ones."""
    at = lambda i, j: (
        triangle[0] + (i * (triangle[1] - triangle[0]) + j * (triangle[2] - triangle[0])) / parts
    )
    found = []
    for i in range(parts):
        for j in range(parts - i):
            found.append([at(i, j), at(i + 1, j), at(i, j + 1)])
            if i + j < parts - 1:
                found.append([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)])
    return np.array(found)
