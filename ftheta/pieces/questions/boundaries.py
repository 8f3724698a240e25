"""Where two outputs tie: points on a line, segments in the plane, polygons in space, one convex piece a cell.

The signs of the difference at the corners are certain by an error bound or decided in rationals, so that pieces through
corners, along edges and on whole cells are told apart. The coordinates of the pieces are float64.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ftheta.logic.enclosure import Basis
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Int

from ..cells import Cells
from ..enumeration import NO_LABEL
from ..signs import sign_at
from .corner_values import corner_values, exact_corner, is_exact, map_error, size_of


@dataclass(frozen=True, eq=False)
class Boundary:
    """`pieces` are the vertices of convex sets (in space in order), `owners` the cells they lie in.

    On the `tied` cells the outputs agree identically: there the boundary has an interior, and no piece is listed. With
    an exact `basis` which cells are met, and how, is proved.
    """

    pieces: tuple[Float[np.ndarray, "_ _"], ...]
    owners: Int[np.ndarray, "pieces"]
    tied: Int[np.ndarray, "tied"]
    basis: Basis

    def __len__(self) -> int:
        return len(self.pieces)


def boundary(cells: Cells, first: int, second: int | None) -> Boundary:
    """Where output `first` equals output `second`, or zero."""
    for output in (first, *(() if second is None else (second,))):
        if not 0 <= output < cells.plan.outputs:
            raise UsageError(
                "There is no such output.", got=output, remedy=f"0 … {cells.plan.outputs - 1}"
            )
    values, signs = corner_signs(cells, first, second)
    starts = cells.ends[:-1]
    low, high = (
        (np.minimum.reduceat(signs, starts), np.maximum.reduceat(signs, starts))
        if len(cells)
        else (signs,) * 2
    )
    met = np.flatnonzero((low <= 0) & (high >= 0) & (low < high))
    tied = np.flatnonzero((low == 0) & (high == 0))
    found: dict[bytes, tuple[np.ndarray, int]] = {}
    for i in met.tolist():
        here = slice(cells.ends[i], cells.ends[i + 1])
        piece = _piece(cells.vertices[here], values[here], signs[here], cells.labels[here])
        if piece is not None:  # a piece along a facet lies in two cells and is listed once
            place = np.round(piece / size_of(cells), 10) + 0.0
            found.setdefault(place[np.lexsort(place.T)].tobytes(), (piece, i))
    basis = cells.certificate.basis if is_exact(cells) else Basis.FLOAT
    owners = np.array([i for _, i in found.values()], np.int64)
    return Boundary(tuple(piece for piece, _ in found.values()), owners, tied, basis)


def corner_signs(
    cells: Cells, first: int, second: int | None
) -> tuple[Float[np.ndarray, "corners"], Int[np.ndarray, "corners"]]:
    """The difference of two outputs at all corners, and its signs: exact ones, if the complex is exact."""
    form = cells.maps[:, first] - (cells.maps[:, second] if second is not None else 0.0)
    values, error = corner_values(cells, form, 2 * map_error(cells.plan, size_of(cells)))
    signs = np.sign(values).astype(np.int8)
    if not is_exact(cells):
        return values, signs
    owner = np.repeat(np.arange(len(cells)), np.diff(cells.ends))
    for v in np.flatnonzero(np.abs(values) <= error).tolist():
        i = int(owner[v])
        exact = cells.exact_forms
        layer = len(cells.plan.net.steps)
        pattern = cells.pattern_number(i)
        gap = exact.form(layer, first, pattern)
        if second is not None:
            gap = tuple(a - b for a, b in zip(gap, exact.form(layer, second, pattern)))
        signs[v] = sign_at(gap, exact_corner(cells, i, v)) if any(gap) else 0
    values[signs == 0] = 0.0
    return values, signs


def _piece(
    corners: np.ndarray, values: np.ndarray, signs: np.ndarray, labels: np.ndarray
) -> np.ndarray | None:
    """The cut of one cell with the hyperplane; None where it only touches a face of lower dimension."""
    d = corners.shape[1]
    points = [corners[k] for k in np.flatnonzero(signs == 0)]
    for u, v in _edges(labels, d):
        if signs[u] * signs[v] < 0:
            gap = values[u] - values[v]
            share = values[u] / gap if gap else 0.5
            points.append(corners[u] + min(max(share, 0.0), 1.0) * (corners[v] - corners[u]))
    points = _different(np.array(points), corners)
    if len(points) < d:
        return None
    return _in_order(points) if d == 3 else points


def _edges(labels: np.ndarray, d: int) -> list[tuple[int, int]]:
    """Pairs of corners that an edge joins."""
    n = len(labels)
    if d == 1:
        return [(0, 1)]
    if d == 2:
        return [(k, (k + 1) % n) for k in range(n)]
    sets = [frozenset(row) - {NO_LABEL} for row in labels.tolist()]
    near = [
        (u, v, sets[u] & sets[v])
        for u, v in combinations(range(n), 2)
        if len(sets[u] & sets[v]) >= d - 1
    ]
    simple = all(len(labels_at) == d for labels_at in sets)
    return [
        (u, v) for u, v, common in near if simple or sum(common <= other for other in sets) == 2
    ]


def _different(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The points without repetitions (corners of nearly the same place are one)."""
    if not len(points):
        return points
    width = float(np.ptp(corners, axis=0).max())
    _, first = np.unique(
        np.round((points - corners[0]) / width, 9) + 0.0, axis=0, return_index=True
    )
    return points[np.sort(first)]


def _in_order(points: np.ndarray) -> np.ndarray:
    """Points of a plane in space, around their polygon."""
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred)
    x = centred @ axes[0]
    y = centred @ axes[1]
    return points[np.argsort(np.arctan2(y, x))]


def class_boundary(cells: Cells) -> dict[tuple[int, int], Boundary]:
    """For every pair of outputs the pieces on which both are the largest, up to three dimensions."""
    if cells.dimension > 3:
        raise UsageError(
            "Boundaries of classes are drawn up to three dimensions.", got=f"d = {cells.dimension}"
        )
    found = {}
    for a, b in combinations(range(cells.plan.outputs), 2):
        whole = boundary(cells, a, b)
        pieces = []
        owners = []
        for piece, i in zip(whole.pieces, whole.owners.tolist()):
            for c in range(cells.plan.outputs):
                if c not in (a, b) and piece is not None:
                    piece = clip(piece, cells.maps[i, a] - cells.maps[i, c])
            if piece is not None:
                pieces.append(piece)
                owners.append(i)
        found[a, b] = Boundary(tuple(pieces), np.array(owners, np.int64), whole.tied, Basis.FLOAT)
    return found


def clip(
    piece: Float[np.ndarray, "n d"], form: Float[np.ndarray, "d+1"]
) -> Float[np.ndarray, "m d"] | None:
    """The part of a point, a segment or a polygon in order where a form is not negative."""
    value = piece @ form[:-1] + form[-1]
    value[np.abs(value) <= 1e-13 * (np.abs(piece) @ np.abs(form[:-1]) + abs(form[-1]))] = 0.0
    kept = []
    n = len(piece)
    for k in range(n):
        j = (k + 1) % n
        if value[k] >= 0:
            kept.append(piece[k])
        if value[k] * value[j] < 0 and (n > 2 or k == 0):
            kept.append(piece[k] + value[k] / (value[k] - value[j]) * (piece[j] - piece[k]))
    return np.array(kept) if len(kept) >= piece.shape[1] else None
