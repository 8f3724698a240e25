"""The polyhedral complex of a ReLU network on a domain: the `cells`, and what one asks of them."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ftheta.logic.chart import Chart
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Int

from .cells import Cells
from .geometry import adjacency, cell_of, nearest_facet, number_linear_regions
from .pictures import draw_complex
from .questions.activity import Activity, activity
from .questions.boundaries import Boundary, boundary, class_boundary
from .questions.decisions import DecisionRegions, decision_regions
from .questions.extremes import Extreme, extreme
from .questions.norms import Norm, lipschitz
from .questions.polytopes import face_counts, polytope


@dataclass(frozen=True, eq=False)
class Complex(Cells):
    """What `pieces` returns: the cells, with a method for every question."""

    def __repr__(self) -> str:
        state = "" if self.certificate.complete else f", stopped by {self.certificate.stopped_by}"
        rounded = ", constants rounded" if self.plan.net.rounded else ""
        return f"Complex({len(self):,} cells, d = {self.dimension}, {self.certificate.basis}{rounded}{state})"

    # -- measure and place ------------------------------------------------------------------------

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
        return cell_of(self, self._point(point))

    def nearest_facet(self, point: Any) -> tuple[int, float]:
        """Label of the nearest facet of the cell of a point, and its distance in the coordinates of the domain."""
        return nearest_facet(self, self._point(point))

    def _point(self, point: Any) -> np.ndarray:
        p = np.atleast_1d(np.asarray(point, np.float64))
        if p.shape != (self.dimension,):
            raise UsageError(
                "A point of the domain has its dimension.", got=f"shape {p.shape}", where="Complex"
            )
        return p

    # -- neighbours -------------------------------------------------------------------------------

    @cached_property
    def adjacency(self) -> Int[np.ndarray, "pairs 3"]:
        """Pairs of cells with a common facet, and its label: `(pairs, 3)`, each pair once, the smaller cell first."""
        return adjacency(self)

    def neighbours(self, i: int) -> list[int]:
        pairs = self.adjacency
        return sorted([*pairs[pairs[:, 0] == i, 1].tolist(), *pairs[pairs[:, 1] == i, 0].tolist()])

    def linear_regions(self) -> Int[np.ndarray, "cells"]:
        """For every cell the number of its linear region: neighbours with the same affine map are merged.

        Maps that float64 cannot tell apart are compared exactly, unless the complex itself was guessed at.
        """
        return number_linear_regions(self, self.adjacency)

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

    def decision_boundary(
        self, first: int = 0, second: int | None = None
    ) -> Float[np.ndarray, "n *piece"] | list[Float[np.ndarray, "_ _"]]:
        """The pieces alone: points `(n, 1)` on a line, segments `(n, 2, 2)` in the plane, else a list of vertices."""
        pieces = list(self.boundary(first, second).pieces)
        d = self.dimension
        if d > 2:
            return pieces
        return (
            np.array(pieces).reshape(-1, 2, 2)
            if d == 2
            else np.unique(np.array(pieces).reshape(-1, 1), axis=0)
        )

    def class_boundary(self) -> dict[tuple[int, int], Boundary]:
        """For every pair of outputs where both are the largest."""
        return class_boundary(self)

    def chart(
        self, colour: str = "slope", *, output: int = 0, boundary: bool = False, data: Any = None
    ) -> Chart:
        """A picture on a line or in a plane: see `pictures.draw_complex`. `ft.save` writes it as .svg, .png, .pdf."""
        return draw_complex(self, colour, output=output, boundary=boundary, data=data)  # type: ignore[arg-type]

    def decision_regions(self) -> DecisionRegions:
        """The cells refined by the largest output, and the share of every class."""
        return decision_regions(self)
