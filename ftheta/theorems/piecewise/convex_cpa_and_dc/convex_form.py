r"""A function as $\max_k\ell_k-\sum_Hw_Hr(\nu_H)$, from a network, a mesh or data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import SubjectError
from ftheta.pieces.domains import Polygon, Segment
from ftheta.pieces.functions.composition import Window, budget, floats
from ftheta.pieces.functions.convexity import Difference, cells_of_maximum, convex_fit, largest_gap
from ftheta.pieces.functions.partitions import OutOfBudget, Piece
from ftheta.pieces.functions.polyhedra import Polyhedron, box, rationals
from ftheta.relu.geometry import Form, value
from ftheta.relu.linear_programs import inside
from ftheta.relu.matrices import rational
from ftheta.relu.network import ReluNetwork

MORE = 2  # refined cells, as a multiple of the cells allowed


@dataclass(frozen=True, eq=False)
class ConvexForm:
    r"""`difference` is $f=g-h$; `refined` are the cells on which all three are affine, none where there would be too
    many. Of a fit to data, `distance` is the largest distance to them, and `excess` how far that exceeds the least that
    Jensen's inequality allows."""

    difference: Difference
    refined: list[Piece]
    frame: Polyhedron
    domain: Polygon | Segment | None = None
    excess: fmpq | None = None
    distance: float = 0.0

    @property
    def pieces(self) -> Sequence[Piece]:
        return self.difference.pieces

    @cached_property
    def forms(self) -> list[Form]:
        r"""The affine pieces $\ell_k$ of $g$."""
        return list(dict.fromkeys(p.rows[1] for p in self.refined))

    @cached_property
    def gap(self) -> fmpq:
        return largest_gap(self.refined, self.forms)

    def at(self, t: Fraction) -> dict[str, fmpq]:
        """$g$ and $h$ at the point with all coordinates `t`, if it lies in a piece."""
        x = (rational(t),) * self.frame.dimension
        here = next((p for p in self.pieces if inside(rationals(p.cell.sides), x)), None)
        h = self.difference.h(x)
        return {} if here is None else {"g(x)": here(x)[0] + h, "h(x)": h}

    @property
    def counts(self) -> dict[str, int]:
        made = self.difference
        counts = {
            "pieces": len(self.pieces),
            "facets": len(made.facets),
            "concave facets": len(made.concave),
        }
        counts |= {"hyperplanes in h": len(made.ridges)}
        return counts | ({"pieces of g": len(self.forms)} if self.refined else {})

    @property
    def summary(self) -> str:
        c = self.counts
        kind = (
            "convex"
            if not c["concave facets"]
            else f"not convex: {c['concave facets']:,} facets where it bends down"
        )
        many = f"{c['pieces of g']:,}" if self.refined else "too many"
        parts = f"g is the maximum of {many} forms, h has {c['hyperplanes in h']:,} ridges"
        return f"{c['pieces']:,} pieces, {kind}; {parts}"


def from_network(
    net: ReluNetwork, view: Window, output: int, max_cells: int, even: bool
) -> ConvexForm | None:
    """One output of a network on a line or a plane; None where there are more cells than allowed."""
    if not 0 <= output < view.net.widths[-1]:
        raise SubjectError(
            "There is no such output.", got=output, remedy=f"0 … {view.net.widths[-1] - 1}"
        )
    pieces = None if view.has_more_pieces(net, max_cells) else view.pieces(max_cells)
    if pieces is None:
        return None
    made = Difference.of([replace(p, rows=(p.rows[output],)) for p in pieces], even)
    try:
        return ConvexForm(made, made.refine(budget(MORE * max_cells)), view.frame, view.domain)
    except OutOfBudget:
        return ConvexForm(made, [], view.frame, view.domain)


def from_data(x: np.ndarray, y: np.ndarray | None) -> ConvexForm:
    """The convex function nearest to the data in the largest distance."""
    rows = np.reshape(x, (len(x), -1))
    targets = np.ravel(y)  # type: ignore[arg-type]
    fit = convex_fit(rows, targets)
    made = Difference.of(cells_of_maximum(fit.forms))
    pad = np.maximum(0.1 * np.ptp(rows, axis=0), 0.1)
    frame = box((rows.min(axis=0) - pad).tolist(), (rows.max(axis=0) + pad).tolist())
    points = [tuple(map(rational, row)) for row in rows.tolist()]
    off = [
        abs(max(value(f, p) for f in fit.forms) - rational(t))
        for p, t in zip(points, targets.tolist())
    ]
    refined = made.refine(budget(5000))
    return ConvexForm(
        made, refined, frame, excess=max(off) - fit.distance, distance=floats([fit.distance])[0]
    )
