r"""Convex polyhedra by inequalities, bounded or not, in whole numbers: cutting, measuring, separating.

A polyhedron is $\{x:\ell_i(x)\ge0\}$ for affine forms with coprime integers. Where it holds no line it is also known by
its *corners*, the extreme rays $(x,w)$, $w\ge0$, of the cone above it: vertices $x/w$, and directions to infinity at
$w=0$. A form is then cut off by its signs at the corners; where there are none, by a linear program in rationals.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import factorial, gcd, lcm
from operator import mul, neg

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat  # type: ignore[import-untyped]

from ftheta.relu.geometry import Form, Point, Simplex, plus, positive_part
from ftheta.relu.linear_programs import has_interior, irredundant
from ftheta.relu.matrices import rational

from ..signs import common_zero

Side = tuple[int, ...]
Corner = tuple[int, ...]
ZERO = fmpq(0)


def primitive(form: Form) -> Side:
    """The positive multiple with coprime integers: equal half-spaces have equal forms."""
    bottom = lcm(*(int(a.q) for a in form))
    return coprime([int(a.p) * (bottom // int(a.q)) for a in form])


def coprime(numbers: Sequence[int]) -> tuple[int, ...]:
    """The whole `numbers` divided by their greatest common divisor."""
    top = gcd(*numbers)
    return tuple(n // top for n in numbers) if top else tuple(numbers)


def opposite(side: Side) -> Side:
    """The same hyperplane seen from its other side."""
    return tuple(map(neg, side))


def at(side: Side, corner: Sequence[int]) -> int:
    """The value of the form `side` at a point in homogeneous whole numbers."""
    return sum(map(mul, side, corner))


def rationals(sides: Sequence[Side]) -> list[Form]:
    """The `sides` with rational coefficients."""
    return [tuple(map(fmpq, side)) for side in sides]


@dataclass(frozen=True)
class Polyhedron:
    """`sides` are its facets, `within` is an interior point, `corners` generate it (none where it holds a line)."""

    sides: tuple[Side, ...]
    within: Point
    corners: tuple[Corner, ...] = ()

    @property
    def dimension(self) -> int:
        return len(self.within)

    @property
    def is_bounded(self) -> bool:
        return bool(self.corners) and all(c[-1] for c in self.corners)

    @property
    def interior_point(self) -> Point | None:
        """By a linear program on the sides alone; None would say that the polyhedron is flat or empty."""
        return has_interior(rationals(self.sides), self.dimension)

    def halves(self, side: Side) -> tuple["Polyhedron | None", "Polyhedron | None"]:
        """The parts where a form that is not constant is not negative, and not positive; None where there is none."""
        signs = [at(side, c) for c in self.corners]
        if not self.corners:
            return self._half_by_program(side), self._half_by_program(opposite(side))
        if min(signs) >= 0:
            return self, None
        if max(signs) <= 0:
            return None, self
        between = self._crossings(signs)
        above = [c for c, v in zip(self.corners, signs) if v >= 0]
        below = [c for c, v in zip(self.corners, signs) if v <= 0]
        return self._half(side, (*above, *between)), self._half(opposite(side), (*below, *between))

    def _crossings(self, signs: Sequence[int]) -> list[Corner]:
        """Where edges cross the zeros of a form with these `signs` at the corners; an edge joins two corners with $d-1$
        facets (infinity too) in common."""
        planes = (*self.sides, (*[0] * self.dimension, 1))
        tight = [{k for k, s in enumerate(planes) if not at(s, c)} for c in self.corners]
        return [
            coprime([p * b - n * a for a, b in zip(self.corners[i], self.corners[j])])
            for i, p in enumerate(signs)
            for j, n in enumerate(signs)
            if p > 0 > n and len(tight[i] & tight[j]) >= self.dimension - 1
        ]

    def _half(self, side: Side, corners: Sequence[Corner]) -> "Polyhedron":
        return bounded_by((*self.sides, side), tuple(dict.fromkeys(corners)), self.dimension)

    def _half_by_program(self, side: Side) -> "Polyhedron | None":
        d = self.dimension
        forms = rationals((*self.sides, side))
        within = has_interior(forms, d)
        if within is None:
            return None
        sides = tuple(primitive(form) for form in irredundant(forms, d))
        return Polyhedron(sides, within, corners_of(sides, d))


def bounded_by(sides: Sequence[Side], corners: tuple[Corner, ...], d: int) -> Polyhedron:
    """The polyhedron of these corners; among the sides, those that hold a facet of it."""
    facets = tuple(
        s for s in dict.fromkeys(sides) if _rank([c for c in corners if not at(s, c)], d) == d
    )
    total = [sum(c) for c in zip(*corners)]
    return Polyhedron(facets, tuple(fmpq(x, total[-1]) for x in total[:-1]), corners)


def _rank(corners: Sequence[Corner], d: int) -> int:
    return (
        min(len(corners), d)
        if len(corners) < d or d <= 2
        else fmpz_mat([list(c) for c in corners]).rank()
    )


def corners_of(sides: Sequence[Side], d: int) -> tuple[Corner, ...]:
    """All corners, by trying every `d` of the sides and of infinity; none if the polyhedron holds a line."""
    if not sides or fmpz_mat([list(s[:-1]) for s in sides]).rank() < d:
        return ()
    planes = (*sides, (*[0] * d, 1))
    found = {}
    for chosen in combinations(planes, d):
        point = coprime(common_zero(chosen))
        for corner in (point, opposite(point)):
            if any(point) and all(at(s, corner) >= 0 for s in planes):
                found[corner] = None
    return tuple(found)


def everywhere(d: int) -> Polyhedron:
    r"""$\mathbb R^d$."""
    return Polyhedron((), (ZERO,) * d)


def box(low: Sequence[object], high: Sequence[object]) -> Polyhedron:
    """The box with opposite corners `low` and `high`."""
    lower = [rational(t) for t in low]
    upper = [rational(t) for t in high]
    unit = [[fmpq(i == j) for j in range(len(lower))] for i in range(len(lower))]
    sides = [(*e, -a) for e, a in zip(unit, lower)] + [
        (*(-t for t in e), b) for e, b in zip(unit, upper)
    ]
    whole = tuple(map(primitive, sides))
    return Polyhedron(
        whole, tuple((a + b) / 2 for a, b in zip(lower, upper)), corners_of(whole, len(lower))
    )


# ---- in a box --------------------------------------------------------------------------------------------------------


def simplices(cell: Polyhedron, frame: Polyhedron) -> list[Simplex]:
    """The part of the cell in a box, triangulated."""
    parts = list(_triangulate(frame))
    for side in rationals(cell.sides):
        parts = [small for simplex in parts for small in positive_part(simplex, side)]
    return parts


def _triangulate(frame: Polyhedron) -> Iterator[Simplex]:
    """A box as $d!$ simplices, one for every order of the coordinates."""
    ends = sorted(tuple(fmpq(x, c[-1]) for x in c[:-1]) for c in frame.corners)
    low = ends[0]
    high = ends[-1]
    for order in permutations(range(frame.dimension)):
        corner = list(low)
        path = [low]
        for i in order:
            corner[i] = high[i]
            path.append(tuple(corner))
        yield tuple(path)


def volume(parts: Sequence[Simplex]) -> fmpq:
    """The volume of simplices together."""
    edges = ([plus(x, simplex[0], -1) for x in simplex[1:]] for simplex in parts)
    return sum((abs(fmpq_mat(e).det()) / factorial(len(e)) for e in edges), ZERO)


def overlapping(
    cells: Sequence[Polyhedron], parts: Sequence[Sequence[Simplex]]
) -> list[tuple[int, int]]:
    """Pairs of cells whose interiors meet in the box that the triangulated `parts` were cut by.

    A pair is apart if their bounding boxes are, or if all vertices of one lie beyond a side of the other; what is left
    is decided by a linear program.
    """
    points = [list({x for simplex in part for x in simplex}) for part in parts]
    ends = [
        [[int(t.p) / int(t.q) for t in x] for x in some] or [[np.nan] * cells[0].dimension]
        for some in points
    ]
    # one float outward of nearest rounding: sound
    low = np.nextafter([np.min(x, axis=0) for x in ends], -np.inf)
    high = np.nextafter([np.max(x, axis=0) for x in ends], np.inf)
    sides = [rationals(cell.sides) for cell in cells]
    found = []
    for i in range(len(cells)):
        near = np.flatnonzero(np.all((low[:i] < high[i]) & (high[:i] > low[i]), axis=1))
        found += [(int(j), i) for j in near if not _apart(sides, points, int(j), i)]
    return found


def _apart(
    sides: Sequence[Sequence[Form]], points: Sequence[Sequence[Point]], i: int, j: int
) -> bool:
    beyond = lambda side, some: all(
        sum((a * t for a, t in zip(side, x)), side[-1]) <= 0 for x in some
    )
    if any(beyond(side, points[b]) for a, b in ((i, j), (j, i)) for side in sides[a]):
        return True
    hull = [*sides[i], *sides[j]]
    return has_interior(hull, len(hull[0]) - 1) is None if hull else False
