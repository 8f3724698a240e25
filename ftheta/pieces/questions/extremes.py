"""The least and the greatest value of an output: attained at corners, found in float64, settled in rationals."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError

from ..cells import Cells
from .corner_values import corner_values, exact_corner, exact_value, is_exact, map_error, size_of

MOST_SETTLED = 2000  # corners that are evaluated exactly; the float64 bound speaks for those beyond


@dataclass(frozen=True)
class Extreme:
    """A value, the corner where it is attained (in the coordinates of the domain) and a cell there."""

    value: Enclosure
    point: tuple[Fraction, ...]
    cell: int


def extreme(cells: Cells, output: int, sign: int) -> Extreme:
    """The greatest value of `sign` times the output; the enclosure is that of the output itself."""
    if not 0 <= output < cells.plan.outputs:
        raise UsageError(
            "There is no such output.", got=output, remedy=f"0 … {cells.plan.outputs - 1}"
        )
    if not cells.certificate.complete:
        raise UsageError(
            "An extreme value needs all cells.",
            got=cells.certificate.stopped_by,
            remedy="a larger budget",
        )
    values, error = corner_values(
        cells, sign * cells.maps[:, output], map_error(cells.plan, size_of(cells))
    )
    owner = np.repeat(np.arange(len(cells)), np.diff(cells.ends))
    least = float((values - error).max())
    order = np.argsort(-(values + error), kind="stable")
    order = order[: int((values + error >= least).sum())]
    if not is_exact(cells):
        v = int(values.argmax())
        found = Enclosure(least, float((values + error)[order[0]]), Basis.FLOAT)
        return Extreme(
            found if sign > 0 else -found,
            tuple(map(Fraction, cells.vertices[v].tolist())),
            int(owner[v]),
        )
    best = None
    at = (0, 1)
    cell = -1
    for v in order[:MOST_SETTLED].tolist():
        i = int(owner[v])
        point = exact_corner(cells, i, v)
        value = sign * exact_value(cells, i, point, output)
        if best is None or value > best:
            best = value
            at = point
            cell = i
    assert best is not None
    known = Enclosure.exact(best)
    rest = float((values + error)[order[MOST_SETTLED]]) if len(order) > MOST_SETTLED else known.hi
    found = Enclosure(known.lo, max(known.hi, rest), cells.certificate.basis)
    return Extreme(found if sign > 0 else -found, tuple(Fraction(x, at[-1]) for x in at[:-1]), cell)
