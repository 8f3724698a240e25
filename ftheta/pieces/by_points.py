r"""Complexes of many dimensions: every cell by its pattern, its map and one interior point.

A cell of $[-1,1]^{20}$ has more corners than memory has room for. Facets are found on request by linear programming in
rationals: a row is a facet if and only if, left out, it takes negative values on the others. From an interior point
towards such a place one crosses the facet at a point $p$ of its relative interior, and the neighbour is the cell just
behind it: signs there are those of (value, slope) at $p$, in lexicographic order.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from flint import fmpq

from ftheta.logic.errors import UsageError

from .cells import Cell, Certificate, unpack_patterns
from .complex import Complex
from .domains import Box
from .enumeration import Chunk
from .methods.lp_exact import Bounds, Form, deepest, least, rationals, value_at
from .methods.rational import pattern_names
from .plan import Plan

Point = Sequence[fmpq]


def _no_corners(what: str) -> property:
    def refuse(self: Complex) -> NoReturn:
        raise UsageError(
            f"Cells in {self.dimension} dimensions are kept without their corners.",
            got=what,
            remedy="centres, activation, maps, lipschitz(), facets(i) and neighbours(i) need none; or take a slice: "
            "Polygon(vertices, origin, basis)",
        )

    return property(refuse)


class PointComplex(Complex):
    """Cells of a box in many dimensions. Whatever needs corners says so.

    `centres` are interior points, proved to be; of a cell too thin for that they are near to one, and `interior` has it
    exactly.
    """

    has_corners = False
    vertices = _no_corners("vertices")  # type: ignore[assignment]
    radius = _no_corners("radius of corners")  # type: ignore[assignment]
    labels = _no_corners("labels of corners")  # type: ignore[assignment]
    ends = _no_corners("ends of corners")  # type: ignore[assignment]
    adjacency = _no_corners("all neighbours at once")  # type: ignore[assignment]

    def __init__(
        self, plan: Plan, domain: Box, chunks: list[Chunk], certificate: Certificate
    ) -> None:
        joined = lambda name: np.concatenate([getattr(chunk, name) for chunk in chunks])
        own = {
            "plan": plan,
            "domain": domain,
            "certificate": certificate,
            "centres": joined("vertices"),
        }
        own |= {"names": joined("names"), "patterns": joined("patterns")}
        own["stored_maps"] = None if chunks[0].maps is None else joined("maps")
        self.__dict__.update(own)

    def corners(self, i: int) -> NoReturn:
        raise type(self).vertices.fget(self)  # type: ignore[attr-defined]

    def decision_regions(self) -> NoReturn:
        return self.corners(0)

    def __getitem__(self, i: int) -> Cell:
        """The cell with its interior point in place of vertices; its facets are found by linear programming."""
        i = range(len(self))[i]
        pattern = unpack_patterns(self.patterns[i : i + 1], self.plan.neurons)[0]
        return Cell(
            i,
            self.centres[i : i + 1],
            pattern,
            self.maps[i, :, :-1],
            self.maps[i, :, -1],
            self.facets(i),
        )

    @cached_property
    def _box(self) -> Bounds:
        return Bounds(rationals(self.domain.lower), rationals(self.domain.upper))  # type: ignore[union-attr]

    @cached_property
    def _index(self) -> dict[int, int]:
        return {name: i for i, name in enumerate(self.names.tolist())}

    def facets(self, i: int) -> tuple[int, ...]:
        """Labels of the facets of a cell: neurons by number, `-1-k` for side `k` of the box; coincident ones by one."""
        return tuple(sorted(self.facet_points(i)))

    def facet_points(self, i: int) -> Mapping[int, Point]:
        """For every facet a point of its relative interior, exactly."""
        rows = self._rows(i)
        centre = self.interior(i)
        found: dict[int, Point] = {}
        for k in range(-2 * self.dimension, 0):
            axis, upper = divmod(-1 - k, 2)
            low = list(self._box.low)
            high = list(self._box.high)
            (high if upper else low)[axis] += 1 if upper else -1
            form = [0] * self.dimension + [0]
            form[axis] = -1 if upper else 1
            at = high[axis] - 1 if upper else low[axis] + 1
            self._try(
                k,
                [*form[:-1], at if upper else -at],
                list(rows.values()),
                Bounds(low, high),
                centre,
                found,
            )
        for k, row in rows.items():
            self._try(
                k, row, [other for j, other in rows.items() if j != k], self._box, centre, found
            )
        return found

    def _try(
        self,
        k: int,
        row: Any,
        others: list[Form],
        box: Bounds,
        centre: Point,
        found: dict[int, Point],
    ) -> None:
        value, outside = least(row, others, box, enough=0)
        if value < 0:
            inside = value_at(row, centre)
            share = inside / (inside - value)
            found[k] = [a + share * (b - a) for a, b in zip(centre, outside)]

    def interior(self, i: int) -> Point:
        """An interior point, exactly: the centre, unless the cell is too thin for a float64 point to lie inside."""
        rows = self._rows(i).values()
        centre = rationals(self.centres[i])
        strict = all(low < x < high for low, x, high in zip(self._box.low, centre, self._box.high))
        if strict and all(value_at(row, centre) > 0 for row in rows):
            return centre
        return deepest(list(rows), self._box)

    def _rows(self, i: int) -> dict[int, Form]:
        """The neurons of a cell as rows that are positive inside, one for each hyperplane."""
        pattern = self.pattern_number(i)
        exact = self.exact_forms
        rows: dict[tuple[fmpq, ...], tuple[int, Form]] = {}
        for k in range(self.plan.neurons):
            form = exact.neuron_form(k, pattern)
            row = form if pattern >> k & 1 else tuple(-a for a in form)
            if any(row[:-1]):
                size = next(abs(a) for a in row if a)
                rows.setdefault(tuple(fmpq(a, size) for a in row), (k, row))
        return dict(rows.values())

    def neighbours(self, i: int) -> list[int]:
        """The cells across the facets of cell `i`, as far as they were found."""
        centre = self.interior(i)
        names = []
        for label, point in self.facet_points(i).items():
            if label >= 0:
                names.append(self._name(point, [p - c for p, c in zip(point, centre)]))
        return sorted({self._index[name] for name in names if name in self._index})

    def cell_of(self, point: Any) -> int:
        """The cell that contains a point of the domain (one of them, on a common face)."""
        at = rationals(self._point(point))
        inward = [low + high - 2 * x for low, high, x in zip(self._box.low, self._box.high, at)]
        inside = all(low <= x <= high for low, high, x in zip(self._box.low, self._box.high, at))
        name = self._name(at, inward) if inside else -1
        if name not in self._index:
            remedy = "take a point of the domain that is not on a kink, or a larger budget"
            raise UsageError("The point lies in no cell that was found.", got=point, remedy=remedy)
        return self._index[name]

    def _name(self, point: Point, direction: Point) -> int:
        """The name of the pattern just behind a point, seen along a direction."""
        pattern = 0
        exact = self.exact_forms
        number = 0
        for number in range(self.plan.neurons):
            form = exact.neuron_form(number, pattern)
            value = value_at(form, point)
            slope = sum((a * v for a, v in zip(form, direction)), fmpq(0))
            pattern |= (value > 0 or (value == 0 and slope > 0)) << number
        words = np.frombuffer(pattern.to_bytes(8 * self.plan.words, "little"), np.uint64)[None]
        return int(pattern_names(words, self.plan)[0])

    def nearest_facet(self, point: Any) -> tuple[int, float]:
        """Label of the nearest facet of the cell of a point, and its distance."""
        t = self._point(point)
        i = self.cell_of(point)
        box = {-1 - 2 * j: t[j] - self.domain.lower[j] for j in range(len(t))}  # type: ignore[union-attr]
        box |= {-2 - 2 * j: self.domain.upper[j] - t[j] for j in range(len(t))}  # type: ignore[union-attr]
        at = rationals(t)
        for k, row in self._rows(i).items():
            size = max(map(abs, row[:-1]))
            value = value_at(row, at) / size
            box[k] = (
                int(value.p) / int(value.q) / float(np.linalg.norm([a / size for a in row[:-1]]))
            )
        label = min(box, key=box.__getitem__)
        return label, float(box[label])
