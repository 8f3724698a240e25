"""The regions of a classifier: cells refined by the largest output, and the exact share of every class.

Of a network with one output the classes are two: 0 where the output is not positive, 1 where it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np
from flint import arb, ctx, fmpq  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Bool, Float, Int

from ..cells import Cells
from ..methods.rational import Vertex, split
from ..signs import exact_body
from .boundaries import clip
from .corner_values import corner_values, is_exact, map_error, size_of
from .corners import Form
from .output_forms import OutputForms
from .polytopes import Face, Polytope, polytope, pull_back, simplex_volume

BITS = 256  # of the balls in which volumes are added up


@dataclass(frozen=True, eq=False)
class DecisionRegions:
    """Convex `pieces` (vertices, in the plane in order) on which `classes` says which output is largest.

    `shares` are those of the domain's volume, one for every class. Where several outputs are largest identically, the
    lowest number counts; the share of such pieces is `tied`.
    """

    pieces: tuple[Float[np.ndarray, "_ _"], ...]
    classes: Int[np.ndarray, "pieces"]
    owners: Int[np.ndarray, "pieces"]
    shares: tuple[Enclosure, ...]
    tied: Enclosure


def decision_regions(cells: Cells) -> DecisionRegions:
    """Every cell, cut where its largest output changes, in rational arithmetic."""
    if not is_exact(cells) or not cells.certificate.complete:
        raise UsageError(
            "Decision regions need all cells, exactly.",
            got=repr(cells),
            remedy="one chart, a larger budget",
        )
    whole = Polytope.of(*exact_body(cells.domain)).volume()
    precision = ctx.prec
    ctx.prec = BITS
    try:
        areas = [arb(0)] * cells.plan.outputs
        tied = arb(0)
        pieces = []
        classes = []
        owners = []
        possible = contenders(cells)
        contested = np.flatnonzero(possible.sum(axis=1) > 1).tolist()
        maps = dict(zip(contested, OutputForms(cells.plan)(map(cells.pattern_number, contested))))
        for i in range(len(cells)):
            cell = _vertices(polytope(cells, i))
            classes_here = np.flatnonzero(possible[i]).tolist()
            for part, winners in _parts(cell, classes_here, maps.get(i, ()), cells.dimension):
                share = _volume(part) / whole
                ball = arb(fmpq(share.numerator, share.denominator))
                areas[winners[0]] += ball
                tied += ball if len(winners) > 1 else 0
                pieces.append(_floats(part))
                classes.append(winners[0])
                owners.append(i)
        shares = tuple(map(_enclose, areas))
        return DecisionRegions(
            tuple(pieces), np.array(classes), np.array(owners), shares, _enclose(tied)
        )
    finally:
        ctx.prec = precision


@dataclass(frozen=True, eq=False)
class ClassPieces:
    """Convex `pieces` (corners, in the plane in order), each in one cell and of one class: its number in `classes`."""

    pieces: tuple[Float[np.ndarray, "_ _"], ...]
    classes: Int[np.ndarray, "pieces"]


def class_pieces(cells: Cells, chosen: Sequence[int]) -> ClassPieces:
    """The chosen cells, cut where their class changes: in rationals if the complex is exact, else in float64.

    Most cells are of one class, which the values at their corners show; they are left as they are.
    """
    possible = contenders(cells) if cells.plan.outputs > 1 else _signs_of(cells)
    contested = [i for i in chosen if possible[i].sum() > 1]
    exact = is_exact(cells)
    forms = iter(OutputForms(cells.plan)(map(cells.pattern_number, contested))) if exact else None
    pieces = []
    classes = []
    for i in chosen:
        rivals = np.flatnonzero(possible[i]).tolist()
        if len(rivals) == 1:
            found = [(cells.corners(i), rivals[0])]
        elif forms is not None:
            found = _parts_exactly(cells, i, rivals, next(forms))
        else:
            found = _parts_in_float(cells, i, rivals)
        for piece, winner in found:
            pieces.append(piece)
            classes.append(winner)
    return ClassPieces(tuple(pieces), np.array(classes, np.int64))


def _signs_of(cells: Cells) -> np.ndarray:
    """Which of the two classes of a single output each cell may have."""
    values, errors = corner_values(cells, cells.maps[:, 0], map_error(cells.plan, size_of(cells)))
    starts = cells.ends[:-1]
    below = np.logical_or.reduceat(values - errors <= 0, starts)
    above = np.logical_or.reduceat(values + errors > 0, starts)
    return np.column_stack([below, above])


def _parts_exactly(
    cells: Cells, i: int, rivals: list[int], forms: list[Form]
) -> list[tuple[np.ndarray, int]]:
    if cells.plan.outputs == 1:
        forms = [tuple(0 for _ in forms[0]), forms[0]]
    parts = _parts(_vertices(polytope(cells, i)), rivals, forms, cells.dimension)
    found = [(_floats(part), winners[0]) for part, winners in parts]
    # not so slivers thinner than float64
    return [(piece, winner) for piece, winner in found if _is_full(piece)]


def _parts_in_float(cells: Cells, i: int, rivals: list[int]) -> list[tuple[np.ndarray, int]]:
    maps = cells.maps[i]
    if cells.plan.outputs == 1:
        maps = np.vstack([np.zeros_like(maps), maps])
    found = []
    for c in rivals:
        piece: np.ndarray | None = cells.corners(i)
        for b in rivals:
            gap = maps[c] - maps[b]
            if b != c and piece is not None:
                # of equal ones the lowest number counts
                piece = clip(piece, gap) if gap.any() or c < b else None
        if piece is not None and _is_full(piece):
            found.append((piece, c))
    return found


def _is_full(piece: np.ndarray) -> bool:
    """Whether a convex piece in order has a length or an area."""
    if piece.shape[1] == 1:
        return bool(np.ptp(piece) > 0)
    x, y = (piece - piece[0]).T
    return len(piece) > 2 and bool(abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) > 0)


def _enclose(ball: arb) -> Enclosure:
    return Enclosure.exact(0) if ball == 0 else Enclosure.ball(ball)


def _vertices(cell: Polytope) -> list[Vertex]:
    bits = lambda v: sum(1 << k for k, face in enumerate(cell.faces) if v in face)
    return [Vertex(point, bits(v)) for v, point in enumerate(cell.points)]


def contenders(cells: Cells) -> Bool[np.ndarray, "cells outputs"]:
    """Which outputs can be largest on a part of each cell: those not certainly below another one at all its corners."""
    error = map_error(cells.plan, size_of(cells))
    values, errors = zip(
        *(corner_values(cells, cells.maps[:, c], error) for c in range(cells.plan.outputs))
    )
    possible = np.ones((len(cells), cells.plan.outputs), bool)
    for b, c in permutations(range(cells.plan.outputs), 2):
        below = (values[c] - values[b]) + (errors[c] + errors[b]) * 1.01 < 0
        possible[:, c] &= ~np.logical_and.reduceat(below, cells.ends[:-1])
    return possible


def _parts(
    cell: list[Vertex], classes: list[int], forms: Sequence[Form], d: int
) -> Iterator[tuple[list[Vertex], list[int]]]:
    """Parts of a cell with the outputs that are largest on all of the part; no forms are needed for a single class."""
    if len(classes) == 1:
        yield cell, classes
        return
    waiting = [cell]
    while waiting:
        part = waiting.pop()
        values = [[sum(a * x for a, x in zip(forms[c], v.point)) for c in classes] for v in part]
        top = [max(row) for row in values]
        winners = [
            c
            for k, c in enumerate(classes)
            if all(row[k] == best for row, best in zip(values, top))
        ]
        if winners:
            yield part, winners
            continue
        a, b = _rivals(values, top)
        used = max(v.tight.bit_length() for v in part)
        waiting += split(part, [row[a] - row[b] for row in values], 1 << used, d)


def _rivals(values: list[list[int]], top: list[int]) -> tuple[int, int]:
    """Two outputs of which each is largest at some vertex and smaller than the other one at another."""
    leaders = {row.index(best) for row, best in zip(values, top)}
    for a in sorted(leaders):
        for b in sorted(leaders):
            gaps = [row[a] - row[b] for row in values]
            if min(gaps) < 0 < max(gaps):
                return a, b
    raise AssertionError("some output is largest everywhere")


def _volume(part: list[Vertex]) -> Fraction:
    everyone: Face = frozenset(range(len(part)))
    bits = max(v.tight.bit_length() for v in part)
    faces = [frozenset(k for k, v in enumerate(part) if v.tight >> bit & 1) for bit in range(bits)]
    simplices = pull_back(everyone, [face for face in dict.fromkeys(faces) if face])
    return sum(
        (simplex_volume([part[v].point for v in simplex]) for simplex in simplices), Fraction(0)
    )


def _floats(part: list[Vertex]) -> np.ndarray:
    points = np.array([[x / v.point[-1] for x in v.point[:-1]] for v in part])
    if points.shape[1] != 2:
        return points
    x, y = (points - points.mean(axis=0)).T
    return points[np.argsort(np.arctan2(y, x))]
