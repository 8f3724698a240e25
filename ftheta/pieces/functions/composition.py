r"""Are the cells of $g\circ f$ a partition? Volumes, overlaps and flat cells in a window, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.relu.exact import exact
from ftheta.relu.geometry import Point, Simplex
from ftheta.relu.matrices import fraction, rational
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.shapes import Float, Real

from ..domains import Polygon, Segment
from ..search import count_pieces
from ..slices import slice_of
from .partitions import Budget, OutOfBudget, Piece, compose_pieces, on_chart, pieces_of, split
from .polyhedra import Polyhedron, box, everywhere, overlapping, simplices, volume

MOST_PRODUCTS = 2_000_000  # of rationals, in checks that could be left out


@dataclass(frozen=True, eq=False)
class Window:
    """A network on a line or a plane of its inputs, in rationals, and the box that is measured and drawn."""

    net: ExactNetwork
    frame: Polyhedron
    domain: Polygon | Segment

    @classmethod
    def of(
        cls,
        net: ReluNetwork,
        data: Real[np.ndarray, "n *shape"] | None,
        rng: np.random.Generator,
        radius: float,
    ) -> "Window":
        """The plane of `slice_of`; on a line the coordinate is the input itself."""
        domain = slice_of(net.widths[0], data, rng, radius)
        if isinstance(domain, Segment):
            return cls(exact(net), box(domain.start, domain.end), domain)
        low = domain.corners.min(axis=0).tolist()
        high = domain.corners.max(axis=0).tolist()
        return cls(on_chart(exact(net), domain.chart), box(low, high), domain)

    def has_more_pieces(self, net: ReluNetwork, most: int) -> bool:
        """Whether the network that the window is of has more pieces in it: they are counted sooner than listed."""
        count = count_pieces(net, self.domain, max_cells=most + 1)
        return count.basis is Basis.EXACT and count.lo > most

    @property
    def volume(self) -> Enclosure:
        """The volume of the box."""
        return enclose_rational(volume(simplices(everywhere(self.frame.dimension), self.frame)))

    def inputs(self, points: Sequence[Point]) -> Float[np.ndarray, "n D"]:
        """Points of the window as inputs of the network, in float64."""
        t = np.array([floats(x) for x in points])
        return t if isinstance(self.domain, Segment) else self.domain.chart(t)

    def rounding(self, point: Point) -> Float[np.ndarray, "D"]:
        """How far the row of `inputs` may be from the point itself, coordinate by coordinate."""
        t = np.abs(floats(point))
        if isinstance(self.domain, Segment):
            return 4 * np.finfo(float).eps * t
        chart = self.domain.chart
        sizes = np.abs(chart.origin) + (np.abs(chart.basis) + np.abs(chart.tail)) @ t
        return 4 * (len(t) + 2) * np.finfo(float).eps * sizes

    def pieces(self, max_pieces: int) -> list[Piece] | None:
        """On all of the line or plane, or in the window where that is too much; None where that is too much as well."""
        found = within_budget(self.net, everywhere(self.frame.dimension), max_pieces)
        return found or within_budget(self.net, self.frame, max_pieces)

    def largest_error(self, pieces: Sequence[Piece]) -> fmpq | None:
        """The largest difference between the network and the affine maps of the pieces, at the vertices and an inner
        point of each, in rationals: on a piece both are affine. None where it would take long.
        """
        weights = sum(step.matrix.nnz for step in self.net.steps)
        if weights * sum(len(p.cell.corners) + 1 for p in pieces) > MOST_PRODUCTS:
            return None
        worst = fmpq(0)
        for p in pieces:
            vertices = [tuple(fmpq(x, c[-1]) for x in c[:-1]) for c in p.cell.corners if c[-1]]
            for x in (p.cell.within, *vertices):
                worst = max(worst, *(abs(a - rational(b)) for a, b in zip(p(x), self.net(x))))
        return worst


def within_budget(net: ExactNetwork, cell: Polyhedron, max_pieces: int) -> list[Piece] | None:
    """The pieces, or None where there are more."""
    try:
        return pieces_of(net, cell, budget(max_pieces))
    except OutOfBudget:
        return None


def budget(max_pieces: int) -> Budget:
    """Cuts are tried for every neuron on every piece: a hundred a piece on average."""
    return Budget(max_pieces, 100 * max_pieces)


def enclose_rational(q: fmpq | int) -> Enclosure:
    """The rational number `q` as an exact enclosure."""
    return Enclosure.exact(q if isinstance(q, int) else fraction(q))


def floats(x: Sequence[fmpq]) -> list[float]:
    """The rational numbers of `x`, each rounded once to float64."""
    return [int(t.p) / int(t.q) for t in x]


# ---- a list of cells, measured ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Listing:
    """Pieces that are to be a partition, cut by the frame: those that meet its interior."""

    pieces: Sequence[Piece]
    frame: Polyhedron

    @cached_property
    def inside(self) -> list[tuple[Piece, list[Simplex]]]:
        return [(p, some) for p in self.pieces if (some := simplices(p.cell, self.frame))]

    @property
    def count(self) -> Enclosure:
        return enclose_rational(len(self.inside))

    @cached_property
    def volume(self) -> Enclosure:
        return enclose_rational(sum((volume(some) for _, some in self.inside), fmpq(0)))

    @cached_property
    def overlaps(self) -> Enclosure:
        """Pairs of pieces whose interiors meet in the frame."""
        return enclose_rational(
            len(overlapping([p.cell for p, _ in self.inside], [some for _, some in self.inside]))
        )

    @property
    def flat(self) -> Enclosure:
        """Pieces without interior points, by one linear program each."""
        return enclose_rational(sum(p.cell.interior_point is None for p in self.pieces))

    @property
    def unbounded_count(self) -> int:
        return sum(not p.cell.is_bounded for p in self.pieces)


@dataclass(frozen=True, eq=False)
class Composition:
    """The pieces of `inner`, those of the composition by owners, and all that a list of pairs would have (or None)."""

    inner: list[Piece]
    owned: list[Piece]
    listed: list[Piece] | None

    @classmethod
    def of(
        cls, net: ExactNetwork, cell: Polyhedron, hidden: int, max_pieces: int
    ) -> "Composition | None":
        """The network split after `hidden` layers; None where there are more pieces than allowed."""
        f, g = split(net, hidden)
        inner = within_budget(f, cell, max_pieces)
        if inner is None:
            return None
        for listed in (True, False):
            try:
                found = compose_pieces(g, inner, budget(max_pieces), listed)
                return cls(inner, [p for p in found if p.owner], found if listed else None)
            except OutOfBudget:
                continue
        return None
