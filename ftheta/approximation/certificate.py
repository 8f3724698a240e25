r"""The certificate: $\sup|f-g|$ over the box, proved between the points of any grid.

On a cell with centre $m$ and half-widths $r$

$$|f-g|\le|f(m)-g(m)|+\sum_jr_j\sup|\partial_jf-\partial_jg|,$$

where $f$ and $\partial f$ are enclosed by interval arithmetic on the graph of $f$, and $g$, $\partial g$ by
`enclosed`. A function that may jump is enclosed by its range on the cell instead. Cells are halved where the bound is
largest. What is certified is the network in real arithmetic, with its weights as stored.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.interval import Interval
from ftheta.graph.errors import GraphError
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float

from .enclosed import UNIT, Enclosed
from .goal import Goal
from .suprema import Bounds, CellBounds, ranges, supremum

AT_ONCE = 1 << 21  # numbers held in one matrix
RELATIVE = 0.02
NEGLIGIBLE = 1e-3  # of eps: below it nobody needs to know more
SAYS = "interval arithmetic on the graph of f and closed forms for the network, cells halved, outward rounding"


@dataclass(frozen=True, slots=True)
class Certificate:
    """An enclosure of the largest error; `at` is where the largest was met; `how` it was obtained."""

    error: Enclosure
    at: tuple[float, ...]
    cells: int
    how: str = SAYS


def certify(goal: Goal, net: Enclosed, eps: float, budget: int) -> Certificate:
    """The largest error on the box, to within a small share of itself or of `eps`, if the `budget` of cells allows."""
    floor = NEGLIGIBLE * eps
    plain = bounds_between(goal, net)

    def bounds(a: np.ndarray, b: np.ndarray) -> CellBounds:
        found = [plain(a[i : i + size], b[i : i + size]) for i in range(0, len(a), size)]
        least = np.concatenate([part.least for part in found])
        return CellBounds(
            np.maximum(least, floor),
            np.maximum(np.concatenate([part.upper for part in found]), floor),
        )

    size = max(64, AT_ONCE // max(net.neurons, 1))
    found = supremum(bounds, goal.lo, goal.hi, relative=RELATIVE, budget=budget)
    met = found.value.lo if found.value.lo > floor else 0.0
    return Certificate(Enclosure.between(met, found.value.hi), found.at, found.cells)


def bounds_between(goal: Goal, net: Enclosed) -> Bounds:
    """The bounds of the docstring above."""
    slope = None if goal.may_jump else jax.grad(goal.f)

    def bounds(a: np.ndarray, b: np.ndarray) -> CellBounds:
        m = (a + b) / 2
        r = np.nextafter(np.maximum(b - m, m - a), np.inf)
        here = ranges(goal.f, m, m)
        there = net.at(m)
        steep = net.slopes(a, b)
        least = np.maximum(0.0, np.maximum(here.lo - there.hi, there.lo - here.hi)) * (1 - 4 * UNIT)
        cell = None if slope is None else enclose_cells(slope, a, b)
        upper = np.full(len(a), np.inf)
        if cell is not None:
            lo = cell.lo.reshape(a.shape)
            hi = cell.hi.reshape(a.shape)
            upper = largest_gap(here, there) + (r * largest_gap(Interval(lo, hi), steep)).sum(1)
        if not np.isfinite(upper).all():  # by the range of f where its slope has no bound
            rest = ~np.isfinite(upper)
            whole = enclose_cells(goal.f, a[rest], b[rest])
            if whole is not None:
                level = Interval(there.lo[rest], there.hi[rest])
                climb = (r * np.maximum(np.abs(steep.lo), np.abs(steep.hi)))[rest].sum(1)
                upper[rest] = largest_gap(whole, level) + climb
        upper = np.where(np.isnan(upper), np.inf, upper)
        return CellBounds(least, np.nextafter(upper * (1 + 16 * a.shape[1] * UNIT), np.inf))

    return bounds


def largest_gap(x: Interval, y: Interval) -> Float[np.ndarray, "*shape"]:
    """The largest |x − y|."""
    with np.errstate(invalid="ignore"):
        return np.maximum(np.abs(x.hi - y.lo), np.abs(y.hi - x.lo))


def enclose_cells(
    f: Any, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]
) -> Interval | None:
    """The ranges of f on the cells, or None where the program has none."""
    try:
        return ranges(f, a, b)
    except GraphError:
        return None
