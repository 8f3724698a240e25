"""Complexes on a line or in a plane, drawn."""

from typing import Any, Literal

import numpy as np

from ftheta.logic import Axis, Chart, Curves, Regions, Series, UsageError

from .complex import Complex
from .domains import Box, Polygon, Segment

MOST_DRAWN = 20_000  # polygons beyond these would make a chart of many megabytes
Colour = Literal["slope", "active", "output", "region", "class"]
LABELS = {
    "slope": "steepest slope",
    "active": "active neurons",
    "output": "value",
    "region": "linear region",
    "class": "largest output",
}


def drawn(cells: Complex, colour: Colour = "slope", *, output: int = 0, boundary: bool = False) -> Chart:
    """The pieces, coloured by their steepest slope in the metric of the inputs, by their number of active neurons, by
    the value of an output at their centres, by linear region, or by the largest output there; `boundary` draws over
    them where outputs tie (the largest two; with one output, where it vanishes)."""
    if cells.dimension > 2:
        remedy = "take a Segment, a Polygon (a planar slice) or a box with at most two sides"
        raise UsageError("Pieces are drawn on a line or in a plane.", got=f"d = {cells.dimension}", remedy=remedy)
    if colour not in LABELS:
        raise UsageError("Pieces are not coloured by this.", got=colour, remedy=f"one of {', '.join(LABELS)}")
    lines = boundary_lines(cells) if boundary and cells.dimension == 2 else ()
    title = f"{len(cells):,} pieces" + ("" if cells.certificate.complete else " (not all)")
    return picture(cells, title, _colours(cells, colour, output), LABELS[colour], lines)


def _colours(cells: Complex, colour: Colour, output: int) -> np.ndarray:
    if colour == "active":
        return cells.activation.sum(axis=1).astype(float)
    if colour == "region":
        # numbers that jump, so that neighbours differ in colour
        return cells.linear_regions() * 0.618033988749895 % 1.0
    if colour == "slope":
        basis = cells.plan.chart.basis
        unit = np.linalg.inv(np.linalg.cholesky(basis.T @ basis)).T
        return np.linalg.norm(cells.maps[:, :, :-1] @ unit, 2, axis=(1, 2))
    values = np.einsum("cod,cd->co", cells.maps[:, :, :-1], cells.centres) + cells.maps[:, :, -1]
    return values.argmax(axis=1).astype(float) if colour == "class" else values[:, output]


def boundary_lines(cells: Complex) -> tuple[Any, ...]:
    """The decision boundary as segments: between the two largest outputs, or where the only one vanishes."""
    if cells.plan.outputs == 1:
        return _segments(cells.boundary(0).pieces)
    return tuple(line for part in cells.class_boundary().values() for line in _segments(part.pieces))


def _segments(pieces: Any) -> tuple[Any, ...]:
    return tuple(tuple(map(tuple, np.asarray(piece).tolist())) for piece in pieces)


def axes_of(domain: Polygon | Segment | Box) -> tuple[Axis, Axis]:
    """Names of the coordinates: those of the inputs, or steps from the first row to the second and the third."""
    if not isinstance(domain, Polygon) or np.array_equal(domain.basis, np.eye(len(domain.basis))[:, :2]):
        return Axis("x₁"), Axis("x₂")
    return Axis("from the first row towards the second"), Axis("from the first row towards the third")


def picture(cells: Complex, title: str, colours: np.ndarray, label: str, lines: tuple[Any, ...] = ()) -> Chart:
    """The cells as coloured polygons with lines over them; on a line the colours as a step curve."""
    assert isinstance(cells.domain, Polygon | Segment | Box)
    x, y = axes_of(cells.domain)
    if cells.dimension == 1:
        at = cells.plan.chart(cells.vertices)[:, 0]
        order = np.argsort(at[::2])
        xs, ys = at.reshape(-1, 2)[order].ravel(), np.repeat(colours[order], 2)
        return Curves(title, x, Axis(label), (Series(label, xs, ys, mark="line"),))
    largest = np.sort(np.argsort(-cells.volumes, kind="stable")[:MOST_DRAWN])
    polygons = tuple(tuple(map(tuple, cells.corners(int(i)).tolist())) for i in largest)
    return Regions(title, x, y, polygons, colours[largest], label, lines)
