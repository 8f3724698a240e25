r"""From a network back to a mesh: a triangulation of the cells with the values of the network at the vertices.

The cells are cut into simplices by *pulling*: a polytope is coned from its first vertex over its facets that do not
contain it, each of them cut the same way. With one order of all vertices the cuts of a common face agree from both
sides, so the simplices meet face to face, and $f$ is the interpolant of its values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.errors import UsageError
from ftheta.relu.calculus import stack
from ftheta.relu.geometry import (
    Form,
    Simplex,
    centre,
    interpolant,
    plus,
    positive_part,
    times,
    value,
)
from ftheta.relu.matrices import rational, vector
from ftheta.relu.maxima.maximum import max_min
from ftheta.relu.meshes.nodal import compile_cpa
from ftheta.relu.network import REAL, ExactNetwork

from ..cells import Cells
from ..domains import Box, Polygon, Segment
from ..normal_forms import AnyNetwork, network_of
from ..questions.equality import Values
from ..questions.output_forms import OutputForms
from ..questions.polytopes import polytope, pull_back
from ..search import pieces


@dataclass(frozen=True)
class Triangulation:
    """Rational `points` (in the coordinates of the domain), `simplices` of their numbers, `values` of all outputs.

    `meaning` names the function whose values they are.
    """

    points: tuple[Values, ...]
    simplices: tuple[tuple[int, ...], ...]
    values: tuple[Values, ...]
    meaning: str = REAL

    def network(self) -> ExactNetwork:
        """A network equal to the interpolant on the domain: two hidden layers in the plane."""
        return stack(
            *(compile_cpa(self.points, self.simplices, output) for output in zip(*self.values))
        )

    def lattice(self) -> ExactNetwork:
        r"""The same in lattice form, $f=\max_P\min_{j\in S_P}\ell_j$ with the affine pieces $\ell_j$ of $f$.

        $P$ runs over the parts of the simplices on which the pieces keep their order, $S_P$ over the pieces that are
        not below $f$ on $P$. Few neurons where there are few pieces, whatever the dimension.
        """
        return stack(
            *(self._lattice([rational(v) for v in output]) for output in zip(*self.values))
        )

    def _lattice(self, values: list[fmpq]) -> ExactNetwork:
        points = [vector(x) for x in self.points]
        corners = [tuple(points[v] for v in simplex) for simplex in self.simplices]
        pieces = [
            interpolant(x, [values[v] for v in simplex])
            for x, simplex in zip(corners, self.simplices)
        ]
        forms = list(dict.fromkeys(pieces))
        groups = {group for x, form in zip(corners, pieces) for group in _above(x, form, forms)}
        least = sorted(sorted(g) for g in groups if not any(h < g for h in groups))
        return max_min(least, [form[:-1] for form in forms], [form[-1] for form in forms])


def _above(simplex: Simplex, form: Form, forms: list[Form]) -> Iterator[frozenset[int]]:
    """Which forms are not below the given one, on each part of the simplex where that does not change."""
    parts = [simplex]
    for other in forms:
        gap = plus(other, form, -1)
        if any(gap):
            parts = [
                p
                for part in parts
                for side in (gap, times(fmpq(-1), gap))
                for p in positive_part(part, side)
            ]
    for x in map(centre, parts):
        yield frozenset(j for j, other in enumerate(forms) if value(other, x) >= value(form, x))


def decompile(
    net: AnyNetwork,
    domain: Box | Polygon | Segment,
    *,
    max_cells: int | None = None,
    max_seconds: float | None = None,
) -> Triangulation:
    """The network on the domain as a piecewise-affine interpolant, in rational arithmetic throughout."""
    cells = pieces(
        network_of(net), domain, max_cells=max_cells, max_seconds=max_seconds, maps=False
    )
    if not cells.certificate.complete:
        raise UsageError(
            "A mesh needs all cells.", got=cells.certificate.stopped_by, remedy="a larger budget"
        )
    return triangulate(cells)


def triangulate(cells: Cells) -> Triangulation:
    """All cells cut into simplices."""
    maps = OutputForms(cells.plan)
    number: dict[tuple[int, ...], int] = {}
    simplices = []
    values = []
    patterns = (cells.pattern_number(i) for i in range(len(cells)))
    for i, forms in enumerate(maps(patterns)):
        cell = polytope(cells, i)
        for point in cell.points:
            if number.setdefault(point, len(number)) == len(values):
                one = point[-1] * maps.denominator
                values.append(
                    tuple(Fraction(sum(a * x for a, x in zip(form, point)), one) for form in forms)
                )
        simplices += pull_back(*cell.renumber(number))
    points = tuple(tuple(Fraction(x, w) for x in t) for *t, w in number)
    return Triangulation(points, tuple(simplices), tuple(values), cells.certificate.meaning)
