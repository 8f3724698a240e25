r"""The cells of a ReLU network on a domain, as arrays.

**Cell.** A closed, full-dimensional set on which every neuron keeps its sign; the cells are the maximal ones, that is
the common refinement of the zero sets of all neurons, each as a function on the domain. The activation pattern of a
cell says which neurons are positive in its interior; *a neuron that vanishes on a whole cell counts as inactive* (its
ReLU is zero either way) and does not split it. So patterns and cells correspond one to one: no cell occurs twice, none
is lower-dimensional, and together they cover the domain.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, nan

import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Bool, Float, Int, Shaped

from .domains import Domain, Polyline
from .enumeration import NO_LABEL, Tally
from .maps import input_map, maps_of
from .measures import volumes
from .plan import Plan
from .signs import ExactForms, exact_body


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
    vertices: Float[np.ndarray, "corners d"]
    pattern: Bool[np.ndarray, "neurons"]  # Boolean, over all neurons
    slope: Float[np.ndarray, "outputs d"]  # (outputs, d)
    constant: Float[np.ndarray, "outputs"]  # (outputs,)
    facets: tuple[int, ...]  # neuron numbers; -1-i for side i of the domain


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells as flat arrays: corners `ends[i]` to `ends[i+1]` of `vertices` belong to cell `i`, in the plane in order.

    `labels` names the hyperplane of every facet: in one dimension that of each corner, in the plane that of the edge
    that leaves each corner, above those of all facets at each corner. A label is the number of a neuron (its step and
    coordinate are `units[label]`) or `-1-i` for side `i` of the domain. Coordinates are those of the domain.
    """

    has_corners = True  # not so in many dimensions: `ftheta.pieces.by_points`

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

    @property
    def dimension(self) -> int:
        return self.plan.dimension

    @property
    def units(self) -> Int[np.ndarray, "neurons 2"]:
        """Step and coordinate of every neuron, `(neurons, 2)`."""
        return self.plan.units

    @property
    def count(self) -> Enclosure:
        return self.certificate.count(len(self))

    @cached_property
    def activation(self) -> Bool[np.ndarray, "cells neurons"]:
        """Patterns unpacked: Boolean, `(cells, neurons)`."""
        return unpack_patterns(self.patterns, self.plan.neurons)

    @cached_property
    def maps(self) -> Float[np.ndarray, "cells outputs {self.dimension}+1"]:
        r"""The affine map of every cell, `(cells, outputs, d+1)`: $f(t)=A_it+c_i$ with $c_i$ in the last column."""
        if self.stored_maps is not None:
            return self.stored_maps
        return maps_of(self.plan, self.activation)

    def input_map(
        self, i: int
    ) -> tuple[Float[np.ndarray, "outputs D"], Float[np.ndarray, "outputs"]]:
        r"""$(A,c)$ with $f(x)=Ax+c$ for the inputs $x$ of cell `i`."""
        return input_map(self.plan, self.activation[i])

    def corners(self, i: int) -> Float[np.ndarray, "corners d"]:
        return self.vertices[self.ends[i] : self.ends[i + 1]]

    def __getitem__(self, i: int) -> Cell:
        i = range(len(self))[i]
        here = slice(self.ends[i], self.ends[i + 1])
        facets = tuple(sorted(set(self.labels[here].ravel().tolist())))
        facets = tuple(label for label in facets if label > NO_LABEL)
        pattern = unpack_patterns(self.patterns[i : i + 1], self.plan.neurons)[0]
        slope = self.maps[i, :, :-1]
        constant = self.maps[i, :, -1]
        return Cell(i, self.vertices[here], pattern, slope, constant, facets)

    @cached_property
    def centres(self) -> Float[np.ndarray, "cells d"]:
        """The mean of the corners of every cell: a point of its interior."""
        return np.add.reduceat(self.vertices, self.ends[:-1]) / np.diff(self.ends)[:, None]

    @cached_property
    def volumes(self) -> Float[np.ndarray, "cells"]:
        """Length, area or volume of every cell in the coordinates of the domain."""
        return volumes(self.vertices, self.labels, self.ends)

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
                "Exact forms are those of one chart.",
                got="a polyline",
                remedy="take its segments one by one",
            )

    def pattern_number(self, i: int) -> int:
        """The pattern as an integer whose bit `k` says that neuron `k` is active."""
        return int.from_bytes(self.patterns[i].tobytes(), "little")


def unpack_patterns(
    patterns: Shaped[np.ndarray, "cells words"], neurons: int
) -> Bool[np.ndarray, "cells neurons"]:
    """Activation `patterns`, 64 neurons to a word, as an array of booleans (cells, `neurons`)."""
    bits = np.unpackbits(np.ascontiguousarray(patterns).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :neurons].astype(bool)
