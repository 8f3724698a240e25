"""Graphs with their colours, and meshes that move."""

from math import cos, pi, sin, sqrt

import numpy as np

from ftheta.logic import Axis, Curves, Regions, Series

from .graph import Graph, weisfeiler_leman
from .moving_mesh import InteriorLayer

SHOWN = 60  # nodes drawn


def draw_mesh(u: InteriorLayer, x: np.ndarray) -> Curves:
    fine = np.linspace(0, 1, 400)
    equal = np.linspace(0, 1, len(x))
    low = np.full(len(x), -1.25)
    series = (
        Series("u", fine, u(fine), "reference"),
        Series("interpolant on the moved mesh", x, u(x)),
        Series("moved nodes", x, low, mark="points"),
        Series("equal cells", equal, low - 0.15, "other", mark="points"),
    )
    return Curves("adapted mesh", Axis("x"), Axis("u"), series)


def _draw_nodes(meshes: np.ndarray) -> Curves:
    k = np.arange(len(meshes))
    series = tuple(Series(f"node {i}", k + 1, meshes[:, i]) for i in range(1, meshes.shape[1] - 1))
    return Curves(
        "nodes moved by messages from their neighbours", Axis("round", "log"), Axis("x"), series
    )


def draw_graph(graph: Graph, title: str, parts: tuple[int, ...] = ()) -> Regions:
    """The nodes as discs in the colours of Weisfeiler and Leman, on one circle per part; edges between them."""
    shown = min(len(graph), SHOWN)
    sizes = parts if sum(parts) == shown else (shown,)
    places: list[tuple[float, float]] = []
    right = 0.0
    for size in sizes:
        r = max(0.6, size / max(sizes))
        places += [
            (right + r + r * sin(2 * pi * k / size), r * cos(2 * pi * k / size))
            for k in range(size)
        ]
        right += 2 * r + 0.3
    radius = min(0.12, 2.2 / max(shown, 1))
    disc = [(radius * cos(2 * pi * k / 24), radius * sin(2 * pi * k / 24)) for k in range(24)]
    polygons = tuple(tuple((a + x, b + y) for x, y in disc) for a, b in places)
    pairs = [(i, j) for i, j in np.argwhere(graph.edges[:shown, :shown] != 0).tolist() if i < j]
    lines = tuple(_between(places[i], places[j], radius) for i, j in pairs)
    colours = weisfeiler_leman(graph)[-1][:shown]
    kinds, numbers = np.unique(colours, return_inverse=True)
    names = tuple(f"colour {k}" for k in range(len(kinds)))
    return Regions(
        title, Axis(""), Axis(""), polygons, numbers.astype(float), "colour", lines, names
    )


def _between(
    a: tuple[float, float], b: tuple[float, float], gap: float
) -> tuple[tuple[float, float], ...]:
    dx = b[0] - a[0]
    dy = b[1] - a[1]
    t = gap / max(sqrt(dx * dx + dy * dy), 1e-12)
    return (a[0] + t * dx, a[1] + t * dy), (b[0] - t * dx, b[1] - t * dy)
