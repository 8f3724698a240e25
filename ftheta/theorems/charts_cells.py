"""Cells of piecewise-affine functions, drawn: coloured polygons in the plane, the graph of the function on a line."""

from collections.abc import Sequence
from math import atan2

import numpy as np

from ftheta.logic import Axis, Chart, Curves, Regions, Series
from ftheta.pieces.functions.composition import Listing, floats
from ftheta.relu.geometry import Simplex


def draw_cells(cells: Listing, title: str, axes: tuple[Axis, Axis], output: int = 0) -> Chart:
    """Cells coloured by their slope; on a line the graph of one output."""
    if cells.frame.dimension == 1:
        ends = [
            (x, floats(p(x))[output])
            for p, some in cells.inside
            for simplex in some
            for x in simplex
        ]
        xs, ys = zip(*sorted((floats(x)[0], y) for x, y in ends))
        kinks = Series("ends of cells", xs, ys, "other", "points")
        return Curves(title, axes[0], Axis("value"), (Series("value", xs, ys), kinks))
    slopes = [float(np.linalg.norm([floats(row[:-1]) for row in p.rows])) for p, _ in cells.inside]
    polygons = tuple(_order_around(some) for _, some in cells.inside)
    return Regions(title, *axes, polygons, slopes, "slope |A|")


def _order_around(some: Sequence[Simplex]) -> tuple[tuple[float, float], ...]:
    """The vertices of a triangulated convex polygon, in order around it."""
    points = {tuple(floats(x)) for simplex in some for x in simplex}
    x, y = (sum(c) / len(points) for c in zip(*points))
    return tuple(sorted(points, key=lambda p: atan2(p[1] - y, p[0] - x)))  # type: ignore[arg-type]
