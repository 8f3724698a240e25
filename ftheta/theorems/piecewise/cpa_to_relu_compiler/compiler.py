r"""Continuous piecewise-affine functions to networks: $f=g-h$, $g$ a tree of maxima, $h$ a layer of ridges, $[1,-1]$.

The pieces may come from a mesh or from a network, so that a network can be read and written again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Axis, Basis, Chart, Dag, Finding, Identity, SubjectError, Table, Vertex
from ftheta.pieces.functions.composition import Listing, Window, budget, enclose_rational, within_budget
from ftheta.pieces.functions.convexity import Difference
from ftheta.pieces.functions.partitions import OutOfBudget, Piece
from ftheta.pieces.functions.polyhedra import Corner, Polyhedron, bounded_by, box, everywhere, primitive
from ftheta.pieces.normal_forms import Form as Normal
from ftheta.pieces.pictures import axes_of
from ftheta.relu.calculus import combination, parts, postcompose
from ftheta.relu.counts import count
from ftheta.relu.exact import ExactNetwork
from ftheta.relu.geometry import Form
from ftheta.relu.matrices import rational
from ftheta.relu.maxima.maximum import hidden_layers, max_affine
from ftheta.relu.meshes.nodal import compile_cpa
from ftheta.theorems.charts_cells import draw_cells

from .mesh_function import MeshFunction


def mesh_pieces(function: MeshFunction) -> list[Piece]:
    """The simplices of a mesh with their affine forms."""
    mesh = function.mesh
    corners = [primitive((*x, fmpq(1))) for x in mesh.points]
    return [
        Piece(
            bounded_by([primitive(f) for f in own.values()], tuple(corners[i] for i in own), mesh.dimension),
            (function.forms[k],),
        )
        for k, own in enumerate(mesh.coordinates)
    ]


def fills_convex_set(function: MeshFunction) -> Finding:
    """A mesh with a gap or a dent may hold functions that no maximum goes on from."""
    good = function.mesh.is_convex
    note = f"{len(function.mesh.simplices):,} simplices that {'fill' if good else 'do not fill'} a convex set"
    return Finding.decide(good, note, "its boundary is compared with its hull in rationals", basis=Basis.EXACT)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A function, the cells on which its two convex parts are affine, and the network made of them."""

    difference: Difference
    refined: list[Piece]

    @classmethod
    def of(cls, pieces: Sequence[Piece], max_cells: int) -> "Compiled | None":
        """None where there are more cells than allowed."""
        made = Difference.of(pieces)
        try:
            return cls(made, made.refined(budget(max_cells)))
        except OutOfBudget:
            return None

    @cached_property
    def forms(self) -> list[Form]:
        return list(dict.fromkeys(p.rows[1] for p in self.refined))

    @cached_property
    def convex(self) -> ExactNetwork:
        """$g$ by a tree of maxima."""
        return max_affine([form[:-1] for form in self.forms], [form[-1] for form in self.forms])

    @cached_property
    def subtracted(self) -> ExactNetwork | None:
        """$h$ by one hidden layer, if there is one."""
        ridges = self.difference.ridges
        if not ridges:
            return None
        planes = [plane for _, plane in ridges]
        weights = [w for w, _ in ridges]
        return ExactNetwork.dense([[p[:-1] for p in planes], [weights]], [[p[-1] for p in planes], [0]])

    @cached_property
    def network(self) -> ExactNetwork:
        """Both padded to one depth, in parallel on one input, then $[1,-1]$."""
        return self.convex if self.subtracted is None else combination((1, -1), (self.convex, self.subtracted))

    @property
    def depth(self) -> int:
        r"""$\lceil\log_2M\rceil+1$ affine maps for $M$ pieces of $g$, and two where there is an $h$."""
        return max(hidden_layers(len(self.forms)) + 1, 2 if self.difference.ridges else 1)

    @cached_property
    def generators(self) -> dict[Corner, fmpq]:
        """Vertices of the cells with the values of $f$, directions to infinity with its slopes: homogeneous."""
        found: dict[Corner, fmpq] = {}
        for piece in self.refined:
            for c in piece.cell.corners:
                found[c] = sum((a * x for a, x in zip(piece.rows[0], c)), fmpq(0))
        return found

    def gap(self, net: ExactNetwork) -> fmpq:
        r"""The largest $|\text{net}-f|$ over the generators of all cells.

        Zero proves that the compiled network is $f$: on a cell it is a maximum of forms, one of them $g$'s own, less an
        affine $h$. The same for any network that is affine on the cells. At infinity offsets do not count.
        """
        far = net.rebuilt([(A, [0] * len(b), mask) for A, b, mask in parts(net)])
        worst = fmpq(0)
        for (*x, w), meant in self.generators.items():
            at = net([fmpq(t, w) for t in x]) if w else far(x)
            worst = max(worst, abs(rational(at[0]) * (w or 1) - meant))
        return worst

    def again(self, max_cells: int) -> "Compiled | None":
        """The network read as pieces on all of space, and compiled once more."""
        pieces = within_budget(self.network, everywhere(self.network.widths[0]), max_cells)
        return None if pieces is None else Compiled.of(pieces, max_cells)

    @property
    def claims(self) -> list[Identity]:
        rays = sum(not c[-1] for c in self.generators)
        where = f"{len(self.generators) - rays:,} vertices" + (f" and {rays:,} directions" if rays else "")
        return [
            Identity(
                f"largest |network − f| at all {where} of the cells",
                enclose_rational(self.gap(self.network)),
                enclose_rational(0),
            ),
            Identity(
                "affine maps L, and ⌈log₂ M⌉ + 1 (with an h, at least two)",
                enclose_rational(len(self.network.steps)),
                enclose_rational(self.depth),
            ),
        ]

    @property
    def sizes(self) -> dict[str, int]:
        size = count(self.network)
        made = {"pieces": len(self.difference.pieces), "hyperplanes in h": len(self.difference.ridges)}
        made |= {"M": len(self.forms), "L": len(self.network.steps)}
        return made | {"N": size.neurons, "W": size.connections}

    @property
    def summary(self) -> str:
        n = self.sizes
        return f"{n['pieces']:,} pieces, g a maximum of M = {n['M']}: L = {n['L']}, N = {n['N']:,}, W = {n['W']:,}"

    def pipeline(self) -> Dag:
        """What is made of what, with the sizes on the way."""
        g = self.convex
        h = self.subtracted
        n = self.sizes
        size = lambda net: f"L = {len(net.steps)}, N = {count(net).neurons}"
        told = [
            ("f", "f", f"{n['pieces']} pieces"),
            ("g", "g = f + h", f"max of {n['M']}"),
            ("tree", "tree of maxima", size(g)),
            ("net", "[1, −1]", f"{size(self.network)}, W = {n['W']}"),
        ]
        edges = [("f", "g"), ("g", "tree"), ("tree", "net")]
        if h is not None:
            pad = max(0, len(g.steps) - len(h.steps))
            told += [("h", "h", f"{n['hyperplanes in h']} ridges"), ("pad", f"one layer, padded by {pad}", size(h))]
            edges += [("f", "h"), ("h", "g"), ("h", "pad"), ("pad", "net")]
        return Dag("from pieces to weights", tuple(Vertex(*v) for v in told), tuple(edges))


def make_mesh_function(rng: np.random.Generator, kind: str, cells: int) -> MeshFunction:
    """Random dyadic values on a triangulated square, or on random points; or a U-shape with one arm that rises."""
    if kind == "random points":
        inner = rng.integers(1, 64, ((cells + 1) ** 2 - 4, 2)) / 64.0
        points = np.unique(np.vstack([inner, [[0, 0], [0, 1], [1, 0], [1, 1]]]), axis=0)
        return MeshFunction.delaunay(points, rng.integers(-16, 17, len(points)) / 16.0)
    cells = max(cells, 3) if kind == "U-shape" else cells
    points = list(product(range(cells + 1), repeat=2))
    number = {point: k for k, point in enumerate(points)}
    triangles = [
        (number[i, j], number[i + a, j + 1 - a], number[i + 1, j + 1])
        for i, j in product(range(cells), repeat=2)
        for a in (0, 1)
        if kind != "U-shape" or j == 0 or i in (0, cells - 1)
    ]
    if kind == "U-shape":
        return MeshFunction.of(points, triangles, [max(j - 1, 0) if i <= 1 else 0 for i, j in points])
    return MeshFunction.of(points, triangles, (rng.integers(-16, 17, len(points)) / 16.0).tolist())


def tabulate_counts(nets: dict[str, ExactNetwork]) -> Table:
    rows = [(name, len(net.steps), count(net).neurons, count(net).connections) for name, net in nets.items()]
    return Table("counts", ("network", "L", "N", "W"), tuple(rows))


@dataclass(frozen=True, eq=False)
class Source:
    """Pieces to compile, the box and axes to draw them in, and the network or the mesh that they were read from."""

    pieces: list[Piece]
    frame: Polyhedron
    axes: tuple[Axis, Axis]
    net: ExactNetwork | None = None
    mesh: MeshFunction | None = None

    @classmethod
    def of(
        cls, read: MeshFunction | Normal, rng: np.random.Generator, output: int, radius: float, max_cells: int
    ) -> "Source | None":
        """None where there is no normal form, or where there are too many pieces."""
        if isinstance(read, MeshFunction):
            return cls.from_mesh(read)
        if read.network is None or read.refusal:
            return None
        return cls.from_window(Window.of(read.network, None, rng, radius), output, max_cells)

    @classmethod
    def from_mesh(cls, function: MeshFunction) -> "Source":
        points = [x for x, star in zip(function.mesh.points, function.mesh.stars) if star]
        low, high = ([pick(column) for column in zip(*points)] for pick in (min, max))
        return cls(mesh_pieces(function), box(low, high), (Axis("x₁"), Axis("x₂")), mesh=function)

    @classmethod
    def from_window(cls, view: Window, output: int, max_cells: int) -> "Source | None":
        """One output of a network; None where it has more pieces than allowed."""
        rows = view.net.widths[-1]
        if not 0 <= output < rows:
            raise SubjectError("There is no such output.", got=output, remedy=f"0 … {rows - 1}")
        net = postcompose(view.net, [[int(k == output) for k in range(rows)]])
        pieces = Window(net, view.frame, view.domain).pieces(max_cells)
        return None if pieces is None else cls(pieces, view.frame, axes_of(view.domain), net)

    def claims(self, made: Compiled, max_cells: int) -> list[Identity]:
        """What was read and what was written are the same; and once more, where the network is small enough."""
        found = made.claims
        if self.net is not None:
            what = "round trip: largest |given network − f| at these points"
            return [*found, Identity(what, enclose_rational(made.gap(self.net)), enclose_rational(0))]
        back = made.again(max_cells)
        if back is not None:
            gap = max(back.gap(made.network), back.gap(back.network))
            what = f"round trip: network → {len(back.difference.pieces):,} pieces → network, largest gap everywhere"
            found.append(Identity(what, enclose_rational(gap), enclose_rational(0)))
        return found

    def charts(self, made: Compiled) -> tuple[Chart, ...]:
        drawable = self.frame.dimension <= 2
        cells = [replace(p, rows=p.rows[:1]) for p in made.refined]
        shown = (draw_cells(Listing(cells, self.frame), "f on the cells of g and h", self.axes),) if drawable else ()
        return (*shown, made.pipeline())

    def table(self, made: Compiled) -> Table:
        nets = {"maximum less ridges": made.network}
        if self.mesh is not None and self.mesh.mesh.dimension <= 2:
            points = self.mesh.mesh.points
            cells = self.mesh.mesh.simplices
            nets["sums of maxima of three"] = compile_cpa(points, cells, self.mesh.values)
        return tabulate_counts(nets | ({} if self.net is None else {"as given": self.net}))
