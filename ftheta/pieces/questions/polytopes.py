"""One cell as a polytope in exact arithmetic: its vertices, its faces, its simplices, its volume."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, gcd

from flint import fmpz_mat

from ftheta.logic.errors import UsageError

from ..cells import Cells
from ..signs import sign_at
from .corners import Form, Point, corners_of, planes_of

Face = frozenset[int]  # the numbers of its vertices


@dataclass(frozen=True)
class Polytope:
    """Different `points`, homogeneous and in lowest terms, and the vertices on each hyperplane of its boundary."""

    points: tuple[Point, ...]
    faces: tuple[Face, ...]

    @classmethod
    def of(cls, points: Collection[Point], planes: Collection[Form]) -> "Polytope":
        lowest = tuple(dict.fromkeys(tuple(x // gcd(*point) for x in point) for point in points))
        on = lambda form: frozenset(
            v for v, point in enumerate(lowest) if sign_at(form, point) == 0
        )
        return cls(lowest, tuple(dict.fromkeys(map(on, planes))))

    @property
    def dimension(self) -> int:
        return len(self.points[0]) - 1

    def renumber(self, number: Mapping[Point, int]) -> tuple[Face, list[Face]]:
        """The polytope and its faces with the numbers that its vertices have elsewhere."""
        names = [number[point] for point in self.points]
        return frozenset(names), [frozenset(names[v] for v in face) for face in self.faces]

    def volume(self) -> Fraction:
        simplices = pull_back(frozenset(range(len(self.points))), self.faces)
        return sum(
            (simplex_volume([self.points[v] for v in simplex]) for simplex in simplices),
            Fraction(0),
        )


def polytope(cells: Cells, i: int) -> Polytope:
    """Cell `i` of a complex whose signs are certain."""
    labels = cells.labels[cells.ends[i] : cells.ends[i + 1]]
    planes = planes_of(cells.exact_forms, cells.exact_sides, labels, cells.pattern_number(i))
    return Polytope.of(corners_of(planes, labels), planes.values())


def simplex_volume(points: Sequence[Point]) -> Fraction:
    """Of a simplex with homogeneous vertices."""
    bottom = factorial(len(points) - 1)
    for point in points:
        bottom *= point[-1]
    return Fraction(abs(int(fmpz_mat([list(point) for point in points]).det())), bottom)


def facets(face: Face, faces: Sequence[Face]) -> list[Face]:
    """The facets of a face: the largest among its intersections with the hyperplanes that do not contain it."""
    proper = {face & other for other in faces} - {face}
    return sorted((p for p in proper if p and not any(p < q for q in proper)), key=sorted)


def pull_back(face: Face, faces: Sequence[Face]) -> Iterator[tuple[int, ...]]:
    """The simplices of a polytope: its first vertex over its facets that do not contain it, each cut the same way."""
    apex = min(face)
    if len(face) == 1:
        yield (apex,)
        return
    for facet in facets(face, faces):
        if apex not in facet:
            yield from ((apex, *rest) for rest in pull_back(facet, faces))


def face_counts(cells: Cells) -> tuple[int, ...]:
    """How many different faces of dimension 0, 1, …, d all cells have together."""
    if not cells.certificate.complete:
        raise UsageError(
            "Faces are counted in a complete complex.", got=cells.certificate.stopped_by
        )
    number: dict[Point, int] = {}
    found: dict[Face, int] = {}
    for i in range(len(cells)):
        cell = polytope(cells, i)
        for point in cell.points:
            number.setdefault(point, len(number))
        level, faces = cell.renumber(number)
        layer = {level}
        for k in range(cells.dimension, -1, -1):
            found.update(dict.fromkeys(layer, k))
            layer = {facet for face in layer for facet in facets(face, faces)}
    sizes = Counter(found.values())
    return tuple(sizes[k] for k in range(cells.dimension + 1))
