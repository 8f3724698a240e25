"""Complexes on a line or in a plane, drawn.

The one core that makes charts: `pieces(...).chart(...)` is public, and the theorems on cells draw theirs with it.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ftheta.logic.chart import Axis, Chart, Regions, draw_curves
from ftheta.logic.errors import UsageError
from ftheta.shapes import Real

from .cells import Cells
from .domains import Box, Polygon, Segment
from .geometry import adjacency, number_linear_regions
from .questions.boundaries import boundary as boundary_of
from .questions.boundaries import class_boundary
from .questions.decisions import class_pieces
from .rows import rows_among

MOST_DRAWN = 20_000  # polygons beyond these would make a chart of many megabytes
Colour = Literal["slope", "active", "output", "region", "class"]
LABELS = {
    "slope": "steepest slope",
    "active": "active neurons",
    "output": "value",
    "region": "",  # these colours mean nothing, neighbours only differ in them
    "class": "largest output",
}


def draw_complex(
    cells: Cells,
    colour: Colour = "slope",
    *,
    output: int = 0,
    boundary: bool = False,
    data: Any = None,
) -> Chart:
    """The pieces, coloured by their steepest slope in the metric of the inputs, by their number of active neurons, by
    the value of an output at their centres, by linear region, or by class: cut where the class changes, so that each
    part has one. `boundary` draws over them where outputs tie (the largest two; with one output, where it vanishes).

    `data` are rows to mark in the picture of classes: a `Dataset`, or a pair of inputs and their class numbers. Those
    that do not lie in the domain are counted in the title.
    """
    if cells.dimension > 2:
        remedy = "take a Segment, a Polygon (a planar slice) or a box with at most two sides"
        raise UsageError(
            "Pieces are drawn on a line or in a plane.", got=f"d = {cells.dimension}", remedy=remedy
        )
    if colour not in LABELS:
        raise UsageError(
            "Pieces are not coloured by this.", got=colour, remedy=f"one of {', '.join(LABELS)}"
        )
    if data is not None and (colour != "class" or cells.dimension != 2):
        raise UsageError(
            "Rows are marked in the picture of classes in a plane.",
            got=colour,
            remedy='take "class"',
        )
    lines = _boundary_lines(cells) if boundary and cells.dimension == 2 else ()
    title = f"{len(cells):,} pieces" + ("" if cells.certificate.complete else " (not all)")
    if colour == "class":
        return _draw_classes(cells, title, lines, data)
    if colour == "region":
        return _draw_linear_regions(cells, title, lines)
    return picture(cells, title, _colours(cells, colour, output), LABELS[colour], lines)


def _draw_linear_regions(cells: Cells, title: str, lines: tuple[Any, ...]) -> Chart:
    regions = number_linear_regions(cells, adjacency(cells))
    if cells.dimension == 1:
        return picture(cells, title, regions.astype(float), "number of the linear region")
    title += f" in {len(np.unique(regions)):,} linear regions, each in a colour of its own"
    jumping = regions * 0.618033988749895 % 1.0  # so that neighbours differ in colour
    return picture(cells, title, jumping, LABELS["region"], lines)


def _colours(cells: Cells, colour: Colour, output: int) -> np.ndarray:
    if colour == "active":
        return cells.activation.sum(axis=1).astype(float)
    if colour == "slope":
        basis = cells.plan.chart.basis
        unit = np.linalg.inv(np.linalg.cholesky(basis.T @ basis)).T
        return np.linalg.norm(cells.maps[:, :, :-1] @ unit, 2, axis=(1, 2))
    values = np.einsum("cod,cd->co", cells.maps[:, :, :-1], cells.centres) + cells.maps[:, :, -1]
    return values[:, output]


def _draw_classes(cells: Cells, title: str, lines: tuple[Any, ...], data: Any) -> Chart:
    """The parts of the cells in the colours of their classes, with the rows of the data that lie among them."""
    found = class_pieces(cells, _largest(cells).tolist())
    label = LABELS["class"] if cells.plan.outputs > 1 else "the output"
    if cells.dimension == 1:
        ends = np.array([np.sort(piece[:, 0]) for piece in found.pieces])
        return _steps(cells, title, ends, found.classes, label)
    marked = None if data is None else rows_among(cells, data)
    names = _class_names(cells.plan.outputs, () if marked is None else marked.classes)
    if marked is not None and marked.left_out:
        title += (
            f"; {len(marked.points):,} of {len(marked.points) + marked.left_out:,} rows lie here"
        )
    points = () if marked is None else marked.points
    polygons: Any = found.pieces
    return _regions(
        cells, title, polygons, found.classes.astype(float), label, lines, names, points
    )


def _class_names(outputs: int, known: Sequence[str]) -> tuple[str, ...]:
    if outputs == 1:
        return tuple(known) if len(known) == 2 else ("at most 0", "above 0")
    return tuple(known) if len(known) == outputs else tuple(f"class {c}" for c in range(outputs))


def _boundary_lines(cells: Cells) -> tuple[Any, ...]:
    """The decision boundary as segments: between the two largest outputs, or where the only one vanishes."""
    if cells.plan.outputs == 1:
        return _segments(boundary_of(cells, 0, None).pieces)
    return tuple(line for part in class_boundary(cells).values() for line in _segments(part.pieces))


def _segments(pieces: Any) -> tuple[Any, ...]:
    return tuple(tuple(map(tuple, np.asarray(piece).tolist())) for piece in pieces)


def axes_of(domain: Polygon | Segment | Box) -> tuple[Axis, Axis]:
    """Names of the coordinates: those of the inputs, or steps from the first row to the second and the third."""
    if not isinstance(domain, Polygon) or np.array_equal(
        domain.basis, np.eye(len(domain.basis))[:, :2]
    ):
        return Axis("x₁"), Axis("x₂")
    return Axis("from the first row towards the second"), Axis(
        "from the first row towards the third"
    )


def _axes(cells: Cells) -> tuple[Axis, Axis]:
    assert isinstance(cells.domain, Polygon | Segment | Box)
    return axes_of(cells.domain)


def _largest(cells: Cells) -> np.ndarray:
    """The cells that are drawn, in their order."""
    return np.sort(np.argsort(-cells.volumes, kind="stable")[:MOST_DRAWN])


def picture(
    cells: Cells,
    title: str,
    colours: Real[np.ndarray, "cells"],
    label: str,
    lines: tuple[Any, ...] = (),
) -> Chart:
    """The cells as coloured polygons with lines over them; on a line the colours as a step curve."""
    if cells.dimension == 1:
        return _steps(cells, title, cells.vertices.reshape(-1, 2), colours, label)
    largest = _largest(cells)
    polygons = tuple(tuple(map(tuple, cells.corners(int(i)).tolist())) for i in largest)
    return _regions(cells, title, polygons, colours[largest], label, lines)


def _regions(
    cells: Cells, title: str, polygons: Any, colours: np.ndarray, label: str, *more: Any
) -> Regions:
    """Polygons in the coordinates of the domain; `more` are lines, the names of classes, and points."""
    x, y = _axes(cells)
    return Regions(title, x, y, polygons, colours, label, *more)


def _steps(cells: Cells, title: str, ends: np.ndarray, heights: np.ndarray, label: str) -> Chart:
    """A height for each interval of the domain's coordinate; `ends` has shape `(intervals, 2)`."""
    at = cells.plan.chart(ends.reshape(-1, 1))[:, 0].reshape(-1, 2)
    order = np.argsort(at[:, 0])
    xs = at[order].ravel()
    ys = np.repeat(heights[order], 2)
    return draw_curves(title, xs, x=_axes(cells)[0].label, y=label, measured={label: ys})
