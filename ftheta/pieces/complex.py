r"""The polyhedral complex of a ReLU network on a domain.

**Cell.** A closed, full-dimensional set on which every neuron keeps its sign; the cells are the maximal ones, that is
the common refinement of the zero sets of all neurons, each as a function on the domain. The activation pattern of a
cell says which neurons are positive in its interior; *a neuron that vanishes on a whole cell counts as inactive* (its
ReLU is zero either way) and does not split it. So patterns and cells correspond one to one: no cell occurs twice, none
is lower-dimensional, and together they cover the domain.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, nan
from typing import Any

import numpy as np

from ftheta.logic.chart import Chart
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError
from ftheta.relu.network import ReluNetwork

from . import geometry
from .domains import LARGEST_BOX, Box, Domain, Polyline
from .enumeration import Chunk, Tally
from .methods.signs import ExactForms, exact_body
from .plan import Plan
from .questions.activity import Activity, activity
from .questions.boundaries import Boundary, boundary, class_boundary
from .questions.corner_values import exact_corner
from .questions.decisions import DecisionRegions, decision_regions
from .questions.extremes import Extreme, extreme
from .questions.measures import volumes
from .questions.norms import Norm, lipschitz
from .questions.polytopes import face_counts, polytope

POOR = 1e-6  # corners with a larger error bound, relative to the domain, are computed again: a handful, far below it


@dataclass(frozen=True)
class Certificate:
    """How far the complex can be trusted.

    It is about the function that `meaning` names: the real function with the stored weights, or one with rounded
    constants. `is_certain` says that every sign was certain by a rigorous error bound or decided in rational numbers:
    then the number of cells, their patterns and their neighbours are proved of the network. `basis` is exact if that
    network is the real function with the stored weights; else, or when `guessed` decisions took a sign below its error
    bound for zero, it is float.
    """

    basis: Basis
    meaning: str
    is_certain: bool
    complete: bool
    stopped_by: str  # the budget that ran out, if one did
    margin: float  # the narrowest sign decided in float64, as a multiple of its error bound
    rational_signs: int  # signs decided in rational arithmetic
    exact_zeros: int  # among them, those that are exactly zero
    guessed: int
    volume: float  # of all cells together; NaN where it was not summed
    volume_defect: float  # relative difference to the volume of the domain (of a complete complex)
    seconds: float

    @classmethod
    def of(cls, tally: Tally, exact: bool, domain_volume: float, net: ReluNetwork) -> "Certificate":
        is_certain = exact and tally.guessed == 0
        measured = tally.complete and 0 < domain_volume < inf
        return cls(
            basis=net.basis if is_certain else Basis.FLOAT,
            meaning=net.meaning,
            is_certain=is_certain,
            complete=tally.complete,
            stopped_by=tally.stopped_by,
            margin=tally.margin,
            rational_signs=tally.answered,
            exact_zeros=tally.vanished,
            guessed=tally.guessed,
            volume=tally.volume,
            volume_defect=abs(tally.volume - domain_volume) / domain_volume if measured else nan,
            seconds=tally.seconds,
        )

    def count(self, cells: int) -> Enclosure:
        """The number of cells: exactly, or at least those that were found."""
        return Enclosure(cells, cells if self.complete else float("inf"), self.basis)


@dataclass(frozen=True)
class Cell:
    """One cell, looked at: in the coordinates $t$ of the domain."""

    index: int
    vertices: np.ndarray
    pattern: np.ndarray  # Boolean, over all neurons
    slope: np.ndarray  # (outputs, d)
    constant: np.ndarray  # (outputs,)
    facets: tuple[int, ...]  # neuron numbers; -1-i for side i of the domain


@dataclass(frozen=True, eq=False)
class Complex:
    """Cells as flat arrays: corners `ends[i]` to `ends[i+1]` of `vertices` belong to cell `i`, in the plane in order.

    `labels` names the hyperplane of every facet: in one dimension that of each corner, in the plane that of the edge
    that leaves each corner, above those of all facets at each corner. A label is the number of a neuron (its step and
    coordinate are `units[label]`) or `-1-i` for side `i` of the domain. Coordinates are those of the domain.
    """

    has_corners = True  # not so in many dimensions: `ftheta.pieces.methods.by_points`

    plan: Plan
    domain: Domain
    vertices: np.ndarray
    radius: np.ndarray  # bound on the rounding error of each corner
    labels: np.ndarray
    ends: np.ndarray
    names: np.ndarray  # 64-bit names of the patterns
    patterns: np.ndarray  # packed, 64 neurons a word
    certificate: Certificate
    stored_maps: np.ndarray | None

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        state = "" if self.certificate.complete else f", stopped by {self.certificate.stopped_by}"
        rounded = ", constants rounded" if self.plan.net.rounded else ""
        return f"Complex({len(self):,} cells, d = {self.dimension}, {self.certificate.basis}{rounded}{state})"

    @property
    def dimension(self) -> int:
        return self.plan.dimension

    @property
    def units(self) -> np.ndarray:
        """Step and coordinate of every neuron, `(neurons, 2)`."""
        return self.plan.units

    @property
    def count(self) -> Enclosure:
        return self.certificate.count(len(self))

    @cached_property
    def activation(self) -> np.ndarray:
        """Patterns unpacked: Boolean, `(cells, neurons)`."""
        return unpack_patterns(self.patterns, self.plan.neurons)

    @cached_property
    def maps(self) -> np.ndarray:
        r"""The affine map of every cell, `(cells, outputs, d+1)`: $f(t)=A_it+c_i$ with $c_i$ in the last column."""
        if self.stored_maps is not None:
            return self.stored_maps
        return geometry.maps_of(self.plan, self.activation)

    def input_map(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        r"""$(A,c)$ with $f(x)=Ax+c$ for the inputs $x$ of cell `i`."""
        return geometry.input_map(self.plan, self.activation[i])

    def corners(self, i: int) -> np.ndarray:
        return self.vertices[self.ends[i] : self.ends[i + 1]]

    def __getitem__(self, i: int) -> Cell:
        i = range(len(self))[i]
        here = slice(self.ends[i], self.ends[i + 1])
        facets = tuple(sorted(set(self.labels[here].ravel().tolist())))
        facets = tuple(label for label in facets if label > -(2**31))
        pattern = unpack_patterns(self.patterns[i : i + 1], self.plan.neurons)[0]
        slope = self.maps[i, :, :-1]
        constant = self.maps[i, :, -1]
        return Cell(i, self.vertices[here], pattern, slope, constant, facets)

    # -- measure and place ------------------------------------------------------------------------

    @cached_property
    def centres(self) -> np.ndarray:
        """The mean of the corners of every cell: a point of its interior."""
        return np.add.reduceat(self.vertices, self.ends[:-1]) / np.diff(self.ends)[:, None]

    @cached_property
    def volumes(self) -> np.ndarray:
        """Length, area or volume of every cell in the coordinates of the domain."""
        return volumes(self)

    @cached_property
    def exact_volumes(self) -> tuple[Fraction, ...]:
        """The same in rationals; over a complete complex they add up to the volume of the domain exactly."""
        return tuple(polytope(self, i).volume() for i in range(len(self)))

    @cached_property
    def face_counts(self) -> tuple[int, ...]:
        """How many vertices, edges, …, cells there are, each counted once however many cells share it."""
        return face_counts(self)

    def euler(self) -> int:
        """The alternating sum of the numbers of faces: 1, as of every convex domain."""
        return sum((-1) ** k * n for k, n in enumerate(self.face_counts))

    def cell_of(self, point: Any) -> int:
        """The cell that contains a point of the domain (one of them, on a common face)."""
        return geometry.cell_of(self, self._point(point))

    def nearest_facet(self, point: Any) -> tuple[int, float]:
        """Label of the nearest facet of the cell of a point, and its distance in the coordinates of the domain."""
        return geometry.nearest_facet(self, self._point(point))

    def _point(self, point: Any) -> np.ndarray:
        p = np.atleast_1d(np.asarray(point, np.float64))
        if p.shape != (self.dimension,):
            raise UsageError("A point of the domain has its dimension.", got=f"shape {p.shape}", where="Complex")
        return p

    # -- neighbours -------------------------------------------------------------------------------

    @cached_property
    def adjacency(self) -> np.ndarray:
        """Pairs of cells with a common facet, and its label: `(pairs, 3)`, each pair once, the smaller cell first."""
        return geometry.adjacency(self)

    def neighbours(self, i: int) -> list[int]:
        pairs = self.adjacency
        return sorted([*pairs[pairs[:, 0] == i, 1].tolist(), *pairs[pairs[:, 1] == i, 0].tolist()])

    @cached_property
    def exact_forms(self) -> ExactForms:
        self._exactly()
        return ExactForms(self.plan)

    @cached_property
    def exact_sides(self) -> list[tuple[int, ...]]:
        """The sides of the domain as forms over the integers, positive inside."""
        self._exactly()
        return exact_body(self.domain)[1]

    def _exactly(self) -> None:
        if isinstance(self.domain, Polyline):
            raise UsageError(
                "Exact forms are those of one chart.", got="a polyline", remedy="take its segments one by one"
            )

    def pattern_number(self, i: int) -> int:
        """The pattern as an integer whose bit `k` says that neuron `k` is active."""
        return int.from_bytes(self.patterns[i].tobytes(), "little")

    def linear_regions(self) -> np.ndarray:
        """For every cell the number of its linear region: neighbours with the same affine map are merged.

        Maps that float64 cannot tell apart are compared exactly, unless the complex itself was guessed at.
        """
        return geometry.number_linear_regions(self)

    # -- the function -----------------------------------------------------------------------------

    def extreme(self, output: int = 0) -> tuple[Enclosure, Enclosure]:
        """Minimum and maximum of an output over the domain: attained at corners and settled there in rationals."""
        return self.argmin(output).value, self.argmax(output).value

    def argmin(self, output: int = 0) -> Extreme:
        """The least value of an output, the corner where it is attained, and a cell there."""
        return extreme(self, output, -1)

    def argmax(self, output: int = 0) -> Extreme:
        """The greatest value of an output, the corner where it is attained, and a cell there."""
        return extreme(self, output, 1)

    def lipschitz(self, norm: Norm | float = 2, output: int | None = None) -> Enclosure:
        r"""The Lipschitz constant on the domain, $\max_i\|A_i\|$ in the metric of the inputs; of one output, if given.

        `norm` is 1, 2 or infinity, on inputs and outputs alike; 1 and infinity on boxes, coordinate planes, segments.
        """
        return lipschitz(self, norm, output)

    @cached_property
    def activity(self) -> Activity:
        """Which neurons are on everywhere, nowhere, or both on and off."""
        return activity(self)

    # -- the classifier -----------------------------------------------------------------------------

    def boundary(self, first: int = 0, second: int | None = None) -> Boundary:
        """Where two outputs tie, or one vanishes: a convex piece a cell, and the cells on which they always tie."""
        return boundary(self, first, second)

    def decision_boundary(self, first: int = 0, second: int | None = None) -> np.ndarray | list[np.ndarray]:
        """The pieces alone: points `(n, 1)` on a line, segments `(n, 2, 2)` in the plane, else a list of vertices."""
        pieces = list(self.boundary(first, second).pieces)
        d = self.dimension
        if d > 2:
            return pieces
        return np.array(pieces).reshape(-1, 2, 2) if d == 2 else np.unique(np.array(pieces).reshape(-1, 1), axis=0)

    def class_boundary(self) -> dict[tuple[int, int], Boundary]:
        """For every pair of outputs where both are the largest."""
        return class_boundary(self)

    def chart(self, colour: str = "slope", *, output: int = 0, boundary: bool = False, data: Any = None) -> Chart:
        """A picture on a line or in a plane: see `pictures.draw_complex`. `ft.save` writes it as .svg, .png, .pdf."""
        from .pictures import draw_complex

        return draw_complex(self, colour, output=output, boundary=boundary, data=data)  # type: ignore[arg-type]

    def decision_regions(self) -> DecisionRegions:
        """The cells refined by the largest output, and the share of every class."""
        return decision_regions(self)


def unpack_patterns(patterns: np.ndarray, neurons: int) -> np.ndarray:
    """Activation `patterns`, 64 neurons to a word, as an array of booleans (cells, `neurons`)."""
    bits = np.unpackbits(np.ascontiguousarray(patterns).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :neurons].astype(bool)


def assemble(plan: Plan, domain: Domain, chunks: list[Chunk], certificate: Certificate) -> Complex:
    """One complex of all chunks."""
    d = plan.dimension
    if not chunks:
        empty = np.zeros(0)
        words = np.zeros((0, plan.words), np.uint64)
        none = (np.zeros((0, d)), empty, empty.astype(np.int32), np.zeros(1, np.int64), empty.astype(np.uint64), words)
        return Complex(plan, domain, *none, certificate, None)
    if isinstance(domain, Box) and d > LARGEST_BOX:
        from .methods.by_points import PointComplex

        return PointComplex(plan, domain, chunks, certificate)
    widest = max(chunk.labels.shape[1] if chunk.labels.ndim == 2 else 0 for chunk in chunks)
    labels = [_pad(chunk.labels, widest) for chunk in chunks]
    shifts = np.cumsum([0, *(len(chunk.vertices) for chunk in chunks[:-1])])
    ends = np.concatenate([[0], *(chunk.ends[1:] + shift for chunk, shift in zip(chunks, shifts))])
    join = lambda name: _join([getattr(chunk, name) for chunk in chunks])
    maps = None if chunks[0].maps is None else join("maps")
    arrays = (join("vertices"), join("radius"), _join(labels), ends, join("names"), join("patterns"))
    return Complex(plan, domain, *arrays, certificate, maps)


def shift_chunk(chunk: Chunk, by: int) -> Chunk:
    """The chunk of a segment of a polyline, its coordinate counted from the start of the polyline."""
    chunk.vertices = chunk.vertices + by
    if chunk.maps is not None:
        chunk.maps[:, :, -1] -= by * chunk.maps[:, :, 0]
    return chunk


def sharpen_corners(cells: Complex) -> Complex:
    """The complex with corners that float64 knows poorly (of nearly parallel facets) computed anew, exactly."""
    if not cells.has_corners:
        return cells
    size = max(1e-300, float(np.abs(cells.vertices).max(initial=0.0)))
    poor = np.flatnonzero(cells.radius > POOR * size)
    if not len(poor) or not cells.certificate.is_certain:
        return cells
    owner = np.searchsorted(cells.ends, poor, side="right") - 1
    for v, i in zip(poor.tolist(), owner.tolist()):
        point = exact_corner(cells, i, v)
        cells.vertices[v] = [x / point[-1] for x in point[:-1]]
        cells.radius[v] = 2.0**-52 * size
    return cells


def _join(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _pad(labels: np.ndarray, width: int) -> np.ndarray:
    if labels.ndim == 1 or labels.shape[1] == width:
        return labels
    return np.pad(labels, ((0, 0), (0, width - labels.shape[1])), constant_values=-(2**31))
