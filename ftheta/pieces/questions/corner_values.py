r"""Values of the outputs at corners: in float64 with a rigorous error bound, and exactly.

The affine map of a cell is a product of steps; in float64 it errs by at most $E$ (Frobenius norm, the coordinates
scaled by the size of the domain), the recursion of `ftheta.pieces.plan` run once with bounds that hold on every cell.
"""

from fractions import Fraction
from math import inf

import numpy as np

from ftheta.shapes import Float

from ..cells import Cells
from ..domains import Polyline
from ..plan import UNIT_ROUNDOFF, Plan, frobenius
from .corners import Point, corner_at, planes_of

TINY = 1e-290  # more than underflow can take


def is_exact(cells: Cells) -> bool:
    """Whether corners and maps of the complex can be computed exactly: of the network, whatever that was read from."""
    return cells.certificate.is_certain and not isinstance(cells.domain, Polyline)


def map_error(plan: Plan, size: float) -> float:
    r"""A bound on $\|(\delta A\cdot\text{size},\delta c)\|_F$ for the float64 map of any cell."""
    chart = plan.chart_forms() * np.array([size] * plan.dimension + [1.0])[:, None]
    largest = 1.001 * frobenius(chart)
    error = plan.chart_error(size)
    for spectral, absolute, gamma, offset in plan.weights.norms.tolist():
        error = 1.001 * (
            spectral * error + gamma * (absolute * (largest + error) + offset)
        ) + TINY * (1 + size)
        largest = 1.001 * (spectral * largest + offset)
    return error if error < inf else inf


def size_of(cells: Cells) -> float:
    """The largest coordinate of a corner of `cells`: the scale that rounding errors are compared with."""
    if not cells.has_corners:
        return float(np.abs([cells.domain.lower, cells.domain.upper]).max())  # type: ignore[union-attr]
    return max(1e-300, float(np.abs(cells.vertices).max(initial=0.0)))


def corner_values(
    cells: Cells, forms: Float[np.ndarray, "cells {cells.dimension}+1"], error: float
) -> tuple[Float[np.ndarray, "corners"], Float[np.ndarray, "corners"]]:
    """One form `(cells, d+1)` of every cell at its corners, and a bound on the error of each value.

    `error` bounds that of the forms, as `map_error` does.
    """
    d = cells.dimension
    size = size_of(cells)
    mine = np.repeat(forms, np.diff(cells.ends), axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = mine[:, :-1] * cells.vertices
        slope = np.abs(mine[:, :-1]).sum(axis=1) + d * error / size
        rounding = 4 * (d + 2) * UNIT_ROUNDOFF * (np.abs(terms).sum(axis=1) + np.abs(mine[:, -1]))
        bound = 1.01 * ((d + 1) ** 0.5 * error + slope * cells.radius + rounding) + TINY
        values = terms.sum(axis=1) + mine[:, -1]
    known = np.isfinite(values) & np.isfinite(bound)  # nothing is known of a value that overflows
    return np.where(known, values, 0.0), np.where(known, bound, inf)


def exact_corner(cells: Cells, i: int, v: int) -> Point:
    """Corner `v` (a row of `vertices`) of cell `i`, homogeneous."""
    begin = int(cells.ends[i])
    end = int(cells.ends[i + 1])
    labels = cells.labels[begin:end]
    if labels.ndim == 2:
        labels = cells.labels[v : v + 1]
        at = 0
    else:
        near = [begin + (v - begin - 1) % (end - begin), v]
        labels, at = (cells.labels[near], 1) if cells.dimension == 2 else (cells.labels[[v]], 0)
    planes = planes_of(cells.exact_forms, cells.exact_sides, labels, cells.pattern_number(i))
    return corner_at(planes, labels, at)


def exact_value(cells: Cells, i: int, point: Point, output: int) -> Fraction:
    """An output at a point of cell `i`."""
    layer = len(cells.plan.net.steps)
    form = cells.exact_forms.form(layer, output, cells.pattern_number(i))
    return Fraction(
        sum(a * x for a, x in zip(form, point)), point[-1] * cells.exact_forms.denominator(layer)
    )
