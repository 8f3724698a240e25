r"""Are the cells of $g\circ f$ a partition? Volumes, overlaps and flat cells in a window, exactly; and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import atan2
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.graph import Interval
from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import Axis, Chart, Curves, Enclosure, Identity, Regions, Series, Witness
from ftheta.networks.description import Dense, Description
from ftheta.relu.elementary.hat import DEEP
from ftheta.relu.exact import ExactNetwork, exact
from ftheta.relu.geometry import Point, Simplex
from ftheta.relu.matrices import fraction, rational
from ftheta.relu.network import ReluNetwork
from ftheta.relu.reading.enclosing import gap_to

from ..domains import Polygon, Segment
from ..pictures import axes_of
from ..slices import slice_of
from .partitions import Budget, OutOfBudget, Piece, composed, on_chart, pieces_of, split
from .polyhedra import Polyhedron, box, everywhere, overlapping, simplices, volume

MOST_PRODUCTS = 2_000_000  # of rationals, in checks that could be left out
_ONE = Dense(np.ones((1, 1)), np.zeros(1), "relu")
_LINES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

COMPOSED = {
    # the negative half-line is sent to 0, where both cells of the second ReLU end
    "r∘r": Description((_ONE, _ONE, Dense(np.ones((1, 1)), np.zeros(1)))),
    # min{|x|, 1}: the hat after itself
    "h∘h": Description((*DEEP.layers[:-1], *DEEP.layers)),
    # f = (r(x₁), r(x₂)) sends a quadrant to 0, where four cells of g meet, and two others to a common edge
    "four quadrants at a point": Description(
        (
            Dense(np.eye(2), np.zeros(2), "relu"),
            Dense(_LINES, -np.eye(3)[2], "relu"),
            Dense(np.ones((1, 3)), np.zeros(1)),
        )
    ),
}


@dataclass(frozen=True, eq=False)
class Window:
    """A network on a line or a plane of its inputs, in rationals, and the box that is measured and drawn."""

    net: ExactNetwork
    frame: Polyhedron
    domain: Polygon | Segment

    @classmethod
    def of(cls, net: ReluNetwork, data: np.ndarray | None, rng: np.random.Generator, radius: float) -> "Window":
        """The plane of `slice_of`; on a line the coordinate is the input itself."""
        domain = slice_of(net.widths[0], data, rng, radius)
        if isinstance(domain, Segment):
            return cls(exact(net), box(domain.start, domain.end), domain)
        low, high = domain.corners.min(axis=0).tolist(), domain.corners.max(axis=0).tolist()
        return cls(on_chart(exact(net), domain.chart), box(low, high), domain)

    @property
    def volume(self) -> Enclosure:
        return known(volume(simplices(everywhere(self.frame.dimension), self.frame)))

    @property
    def axes(self) -> tuple[Axis, Axis]:
        return axes_of(self.domain)

    def inputs(self, points: Sequence[Point]) -> np.ndarray:
        """Points of the window as inputs of the network, in float64."""
        t = np.array([floats(x) for x in points])
        return t if isinstance(self.domain, Segment) else self.domain.chart(t)

    def rounding(self, point: Point) -> np.ndarray:
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

    def exactly(self, pieces: Sequence[Piece]) -> tuple[Identity, ...]:
        """The network at vertices and an inner point of every piece, in rationals: on a piece both are affine.

        Left out where it would take long.
        """
        weights = sum(step.matrix.nnz for step in self.net.steps)
        if weights * sum(len(p.cell.corners) + 1 for p in pieces) > MOST_PRODUCTS:
            return ()
        worst = fmpq(0)
        for p in pieces:
            vertices = [tuple(fmpq(x, c[-1]) for x in c[:-1]) for c in p.cell.corners if c[-1]]
            for x in (p.cell.within, *vertices):
                worst = max(worst, *(abs(a - rational(b)) for a, b in zip(p(x), self.net(x))))
        what = f"largest |g(f(x)) − (Ax + c)| at vertices and inner points of {len(pieces):,} cells"
        return (Identity(what, known(worst), known(0)),)

    def agreement(
        self, net: Any, pieces: Sequence[Piece], shape: tuple[int, ...], output: int | None = None
    ) -> Identity:
        """The function itself at the inner point of every piece, beside the affine map; in float64."""
        x, keep = (
            self.inputs([p.cell.within for p in pieces]),
            slice(None) if output is None else slice(output, output + 1),
        )
        found = np.stack([np.ravel(net(row.reshape(shape)))[keep] for row in x])
        meant = np.array([floats(p(p.cell.within))[keep] for p in pieces])
        gap, size = np.abs(found - meant), float(np.abs(meant).max(initial=0.0))
        k, o = (int(index) for index in np.unravel_index(int(gap.argmax()), gap.shape))
        atol = 1e-9 * max(size, 1e-300)
        witness = None
        if not gap[k, o] <= atol:
            entry = o if output is None else output
            near = Interval.around(x[k], self.rounding(pieces[k].cell.within)).map(lambda end: end.reshape(shape))
            here = Enclosure.exact(fraction(pieces[k](pieces[k].cell.within)[entry]))
            how = "the function near this input in intervals, and the affine map in rationals"
            witness = Witness({"x": tuple(x[k].tolist())}, enclose_entry(net, near, entry=entry), here, how)
        what = f"largest |f − (Ax + c)| at inner points of {len(pieces):,} pieces"
        if witness is not None:
            f = lambda point: jnp.ravel(net(point.reshape(shape)))[keep]
            real = gap_to(f, x[k], int(o), float(meant[k, o]))
            if real is not None and real.lo <= atol:  # rounding of the program alone would explain it
                return Identity(what, real, Enclosure.exact(0), atol=atol)
        return Identity(what, Enclosure.equal(float(gap.max())), Enclosure.exact(0), witness, atol=atol)


def within_budget(net: ExactNetwork, cell: Polyhedron, max_pieces: int) -> list[Piece] | None:
    """The pieces, or None where there are more."""
    try:
        return pieces_of(net, cell, budget(max_pieces))
    except OutOfBudget:
        return None


def budget(max_pieces: int) -> Budget:
    """Cuts are tried for every neuron on every piece: a hundred a piece on average."""
    return Budget(max_pieces, 100 * max_pieces)


def known(q: fmpq | int) -> Enclosure:
    return Enclosure.exact(q if isinstance(q, int) else fraction(q))


def floats(x: Sequence[fmpq]) -> list[float]:
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
        return known(len(self.inside))

    @cached_property
    def volume(self) -> Enclosure:
        return known(sum((volume(some) for _, some in self.inside), fmpq(0)))

    @cached_property
    def overlaps(self) -> Enclosure:
        """Pairs of pieces whose interiors meet in the frame."""
        return known(len(overlapping([p.cell for p, _ in self.inside], [some for _, some in self.inside])))

    @property
    def flat(self) -> Enclosure:
        """Pieces without interior points, by one linear program each."""
        return known(sum(p.cell.interior_point is None for p in self.pieces))

    @property
    def unbounded(self) -> int:
        return sum(not p.cell.is_bounded for p in self.pieces)

    def chart(self, title: str, axes: tuple[Axis, Axis], output: int = 0) -> Chart:
        """Cells coloured by their slope; on a line the graph of the function."""
        if self.frame.dimension == 1:
            ends = [(x, floats(p(x))[output]) for p, some in self.inside for simplex in some for x in simplex]
            xs, ys = zip(*sorted((floats(x)[0], y) for x, y in ends))
            kinks = Series("ends of cells", xs, ys, "other", "points")
            return Curves(title, axes[0], Axis("value"), (Series("value", xs, ys), kinks))
        slopes = [float(np.linalg.norm([floats(row[:-1]) for row in p.rows])) for p, _ in self.inside]
        return Regions(title, *axes, tuple(polygon(some) for _, some in self.inside), slopes, "slope |A|")


def polygon(some: Sequence[Simplex]) -> tuple[tuple[float, float], ...]:
    """The vertices of a triangulated convex polygon, in order around it."""
    points = {tuple(floats(x)) for simplex in some for x in simplex}
    x, y = (sum(c) / len(points) for c in zip(*points))
    return tuple(sorted(points, key=lambda p: atan2(p[1] - y, p[0] - x)))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Composition:
    """The pieces of `inner`, those of the composition by owners, and all that a list of pairs would have (or None)."""

    inner: list[Piece]
    owned: list[Piece]
    listed: list[Piece] | None

    @classmethod
    def of(cls, net: ExactNetwork, cell: Polyhedron, hidden: int, max_pieces: int) -> "Composition | None":
        """The network split after `hidden` layers; None where there are more pieces than allowed."""
        f, g = split(net, hidden)
        inner = within_budget(f, cell, max_pieces)
        if inner is None:
            return None
        for listed in (True, False):
            try:
                found = composed(g, inner, budget(max_pieces), listed)
                return cls(inner, [p for p in found if p.owner], found if listed else None)
            except OutOfBudget:
                continue
        return None


def relu_twice() -> tuple[int, int]:
    r"""Cells of $r\circ r$ as a list of pairs has them, and those of the partition."""
    r = ExactNetwork.dense([[[1]], [[1]], [[1]]], [[0], [0], [0]])
    made = Composition.of(r, everywhere(1), 1, 8)
    assert made is not None and made.listed is not None
    return len(made.listed), len(made.owned)
