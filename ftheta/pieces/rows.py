"""Rows of data in a planar domain: where they lie, and whether they get the class they have."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Int

from .cells import Cells

_NEAR = 1e-9  # how far from the plane, relative to their size, rows still lie in it: rounding
UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Marked:
    """`points` `(rows, 4)`: coordinates in the domain, the class of the row (or UNKNOWN), the class that it is given.

    `classes` are the names of the classes, where the data have any; `left_out` rows lie elsewhere.
    """

    points: Float[np.ndarray, "rows 4"]
    classes: tuple[str, ...]
    left_out: int


def rows_among(cells: Cells, data: Any) -> Marked:
    """The rows of a `Dataset`, or of a pair of inputs and class numbers, that lie in the domain of a planar complex."""
    inputs, labels, names = (data.x, data.y, data.classes) if hasattr(data, "x") else (*data, ())
    x = np.asarray(inputs, np.float64)
    x = x.reshape(len(x), -1)
    wanted = len(cells.plan.chart.origin)
    if x.shape[1] != wanted:
        raise UsageError(
            "The rows are no inputs of the network.",
            got=f"{x.shape[1]} numbers",
            remedy=f"give {wanted}",
        )
    classes = (
        np.full(len(x), UNKNOWN)
        if labels is None
        else class_numbers(labels, len(x), cells.plan.outputs)
    )
    t, inside = _coordinates(cells, x)
    values = np.asarray(cells.plan.net(x[inside])).reshape(int(inside.sum()), -1)
    given = values.argmax(axis=1) if cells.plan.outputs > 1 else (values[:, 0] > 0).astype(int)
    points = np.column_stack([t[inside], classes[inside], given])
    return Marked(points, tuple(names), int((~inside).sum()))


def class_numbers(labels: Any, rows: int, outputs: int) -> Int[np.ndarray, "rows"]:
    """Labels as the numbers of classes 0, 1, …: as they are, one-hot, or of two classes any two numbers in order."""
    y = np.asarray(labels)
    most = max(2, outputs)
    if y.ndim == 2 and y.shape == (rows, outputs) and outputs > 1 and ((y == 0) | (y == 1)).all():
        return y.argmax(axis=1)
    y = y.reshape(-1)
    if outputs == 1 and len(np.unique(y)) == 2:
        return (y == y.max()).astype(int)
    if len(y) != rows or not (y == np.floor(y)).all() or not ((y >= 0) & (y < most)).all():
        got = f"{len(y)} labels from {y.min():g} to {y.max():g}" if y.size else "none"
        remedy = f"give a class number from 0 to {most - 1} for each of the {rows} rows"
        raise UsageError("Labels of rows to mark are class numbers.", got=got, remedy=remedy)
    return y.astype(int)


def _coordinates(cells: Cells, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the inputs in the plane of the domain, and which of them lie in the domain."""
    chart = cells.plan.chart
    basis = chart.basis + chart.tail
    t = np.linalg.lstsq(basis, (x - chart.origin).T, rcond=None)[0].T
    size = np.abs(x).max(initial=0.0) + np.abs(chart.origin).max(initial=0.0)
    inside = np.abs(chart(t) - x).max(axis=1) <= _NEAR * size
    corners = cells.domain.corners  # type: ignore[union-attr]
    room = _NEAR * np.abs(corners).max() ** 2
    for a, b in zip(
        corners, np.roll(corners, -1, axis=0)
    ):  # anticlockwise: the inside is to the left of each side
        inside &= (b[0] - a[0]) * (t[:, 1] - a[1]) - (b[1] - a[1]) * (t[:, 0] - a[0]) >= -room
    return t, inside
