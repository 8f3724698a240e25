"""Kinks of a network on a planar slice, followed exactly: do they say that one hidden layer is too few?"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.pieces import pieces
from ftheta.pieces.complex import Complex
from ftheta.pieces.domains import Polygon, Segment
from ftheta.pieces.slices import storable
from ftheta.relu.exact import exact
from ftheta.relu.geometry import Point
from ftheta.relu.matrices import rational
from ftheta.relu.maxima.depth_bounds import Necessary, necessary
from ftheta.relu.network import ExactNetwork, ReluNetwork

FOLLOWED = 60  # kinks
MOST_CELLS = 20_000
MOST_WORK = 3e8


@dataclass(frozen=True, eq=False)
class OnSlice:
    """A network on a slice: its cells, itself in the coordinates of the slice, and the layers that it needs there.

    What one hidden layer cannot do on a plane it cannot do on all of space.
    """

    cells: Complex
    plane: ExactNetwork
    needs: Necessary

    @classmethod
    def of(cls, net: ReluNetwork, domain: Polygon | Segment, rng: np.random.Generator) -> "OnSlice":
        cells = pieces(net, domain, max_cells=storable(net, MOST_CELLS), max_work=MOST_WORK)
        chart = domain.chart
        pairs = zip(chart.basis.tolist(), chart.tail.tolist())
        basis = [[Fraction(a) + Fraction(b) for a, b in zip(*rows)] for rows in pairs]
        plane = exact(net) @ ExactNetwork.affine(basis, chart.origin.tolist())
        lo, hi = (rational(float(t)) for t in (domain.corners.min(), domain.corners.max()))
        return cls(cells, plane, necessary(plane, _candidates(cells, rng), (lo, hi)))


def _candidates(cells: Complex, rng: np.random.Generator) -> Iterator[tuple[Point, Point]]:
    """Points near the middle of facets between two cells, exactly on their hyperplanes; and the exact normals."""
    chosen = rng.permutation(len(cells.adjacency))[:FOLLOWED]
    for i, j, label in cells.adjacency[chosen].tolist():
        form = [fmpq(int(t)) for t in cells.exact_forms.neuron_form(label, cells.pattern_number(i))]
        k = max(range(len(form) - 1), key=lambda m: abs(form[m]))
        if form[k]:
            x = [rational(float(t)) for t in (cells.centres[i] + cells.centres[j]) / 2]
            x[k] -= sum((a * t for a, t in zip(form, x)), form[-1]) / form[k]
            yield tuple(x), tuple(t / form[k] for t in form[:-1])
