r"""Convex piecewise-affine functions, and any other as a difference of two of them; in rational arithmetic.

Across a facet in the hyperplane $\{\nu=0\}$ a continuous piecewise-affine $f$ jumps by a multiple of it:
$f_+-f_-=c\,\nu$, with $f_+$ on the side $\nu>0$. On a convex set $f$ is convex if and only if no $c$ is negative.
Adding $h=\sum_Hw_H\,r(\nu_H)$ over the hyperplanes of the facets with $c<0$, $w_H=\max|c|$ there, makes $g=f+h$ convex.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm

import numpy as np
from flint import fmpq, fmpz_mat  # type: ignore[import-untyped]

from ftheta.logic.errors import SubjectError
from ftheta.relu.geometry import Form, Point, plus, times, value
from ftheta.relu.linear_programs import has_interior, maximise
from ftheta.relu.matrices import vector
from ftheta.shapes import Real

from .partitions import Budget, Piece, cut
from .polyhedra import Corner, Polyhedron, Side, at, everywhere, opposite, primitive, rationals

ZERO = fmpq(0)
ONE = fmpq(1)


@dataclass(frozen=True)
class Facet:
    r"""$f_{\text{above}}-f_{\text{below}}=\text{jump}\cdot\nu$ across a facet in $\{\nu=0\}$, `plane` $\nu$."""

    plane: Side
    below: int
    above: int
    jump: fmpq


def facets(pieces: Sequence[Piece]) -> list[Facet]:
    """Where two pieces meet in a facet, with the jump of their (first) affine forms."""
    below = defaultdict(list)
    above = defaultdict(list)
    for i, piece in enumerate(pieces):
        for side in piece.cell.sides:
            upwards = next(a for a in side if a) > 0
            (above if upwards else below)[side if upwards else opposite(side)].append(i)
    return [
        Facet(plane, i, j, _jump(plane, pieces[i].rows[0], pieces[j].rows[0]))
        for plane, lower in below.items()
        for i, j in _near(plane, lower, above[plane], pieces)
        if _touch(plane, pieces[i].cell, pieces[j].cell)
    ]


def _near(
    plane: Side, lower: Sequence[int], upper: Sequence[int], pieces: Sequence[Piece]
) -> list[tuple[int, int]]:
    """Pairs of pieces on either side of a hyperplane whose facets in it have boxes that meet: all that may touch."""
    one = np.array([_facet_box(plane, pieces[i].cell) for i in lower])
    other = np.array([_facet_box(plane, pieces[j].cell) for j in upper])
    if not len(one) or not len(other):
        return []
    apart = (one[:, None, 0] > other[None, :, 1]) | (one[:, None, 1] < other[None, :, 0])
    return [(lower[i], upper[j]) for i, j in np.argwhere(~apart.any(axis=2)).tolist()]


def _facet_box(plane: Side, cell: Polyhedron) -> np.ndarray:
    """The ends of a box around the facet, `(2, d)`: rounded outward, infinite where there are no corners or some are at
    infinity."""
    corners = [c for c in cell.corners if not at(plane, c)]
    if not corners or not all(c[-1] for c in corners):
        return np.array([np.full(cell.dimension, -np.inf), np.full(cell.dimension, np.inf)])
    points = np.array([[x / c[-1] for x in c[:-1]] for c in corners])
    return np.array([np.nextafter(points.min(0), -np.inf), np.nextafter(points.max(0), np.inf)])


def _touch(plane: Side, one: Polyhedron, other: Polyhedron) -> bool:
    """Whether two polyhedra on either side of a hyperplane have a piece of it in common.

    Two facets are apart if one lies beyond a side of the other, and meet if the centre of one lies in the other; what
    is left, in three dimensions or where there are no corners, is decided by a linear program.
    """
    for cell, far in ((one, other), (other, one)):
        corners = [c for c in cell.corners if not at(plane, c)]
        others = [s for s in far.sides if s not in (plane, opposite(plane))]
        if corners and any(all(at(s, c) <= 0 for c in corners) for s in others):
            return False
        if corners and all(at(s, [sum(t) for t in zip(*corners)]) >= 0 for s in others):
            return True
    sides = {s for cell in (one, other) for s in cell.sides} - {plane, opposite(plane)}
    pivot = next(k for k, a in enumerate(plane) if a)
    flat = [_restrict(form, plane, pivot) for form in rationals(list(sides))]
    return has_interior(flat, one.dimension - 1) is not None


def _restrict(form: Form, plane: Side, pivot: int) -> Form:
    """The form on the hyperplane, in the coordinates other than the pivot."""
    c = form[pivot] / plane[pivot]
    return tuple(a - c * b for k, (a, b) in enumerate(zip(form, plane)) if k != pivot)


def _jump(plane: Side, lower: Form, upper: Form) -> fmpq:
    gap = plus(upper, lower, -1)
    pivot = next(k for k, a in enumerate(plane) if a)
    c = gap[pivot] / plane[pivot]
    if any(a != c * b for a, b in zip(gap, plane)):
        raise SubjectError("The pieces do not fit together.", got=f"a discontinuity across {plane}")
    return c


# ---- differences of convex functions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    r"""$f=g-h$: `ridges` are the $(w_H,\nu_H)$ of $h=\sum_Hw_Hr(\nu_H)$, or of $\frac12\sum_Hw_H|\nu_H|$ if `even`."""

    pieces: tuple[Piece, ...]
    facets: tuple[Facet, ...]
    ridges: tuple[tuple[fmpq, Side], ...]
    even: bool = False

    @classmethod
    def of(cls, pieces: Sequence[Piece], even: bool = False) -> "Difference":
        found = facets(pieces)
        weight = defaultdict(lambda: ZERO)
        for facet in found:
            if facet.jump < 0:
                weight[facet.plane] = max(weight[facet.plane], -facet.jump)
        return cls(
            tuple(pieces), tuple(found), tuple((w, plane) for plane, w in weight.items()), even
        )

    @property
    def concave(self) -> list[Facet]:
        return [facet for facet in self.facets if facet.jump < 0]

    @cached_property
    def jumps(self) -> list[fmpq]:
        """Those of $g$ across the facets of $f$; across all others it is $h$ alone that bends, upwards."""
        weight = {plane: w for w, plane in self.ridges}
        return [facet.jump + weight.get(facet.plane, ZERO) for facet in self.facets]

    def h(self, x: Point) -> fmpq:
        return value(self._form(x), x)

    def _form(self, x: Point) -> Form:
        """The affine form of $h$ around a point that lies on no ridge."""
        total = (ZERO,) * (len(x) + 1)
        for w, plane in self.ridges:
            form = rationals([plane])[0]
            sign = 1 if value(rationals([plane])[0], x) > 0 else 0
            total = plus(total, times(w, form), sign)
            total = plus(total, times(w / 2, form), -1) if self.even else total
        return total

    def refine(self, budget: Budget) -> list[Piece]:
        """Cells on which $f$, $g$ and $h$ are affine, with these three as rows; each has corners."""
        pieces = list(self.pieces)
        for _, plane in self.ridges:
            pieces = cut(pieces, plane, budget)
        d = pieces[0].cell.dimension
        for axis in (tuple(int(i == k) for i in range(d + 1)) for k in range(d)):
            lines = [p for p in pieces if not p.cell.corners]
            pieces = [p for p in pieces if p.cell.corners] + cut(lines, axis, budget)
        forms = [(p.rows[0], self._form(p.cell.within)) for p in pieces]
        return [replace(p, rows=(f, plus(f, h), h)) for p, (f, h) in zip(pieces, forms)]


def largest_gap(refined: Sequence[Piece], forms: Sequence[Form]) -> fmpq:
    r"""The largest $|\max_k\ell_k-g|$ at corners of the refined cells, where $g$ is their second row.

    If the $\ell_k$ are all the affine pieces of $g$ on these cells, zero proves $g=\max_k\ell_k$ on them, directions to
    infinity included: the maximum is convex and not below $g$ on a cell, and equal at what generates it.
    """
    scale, matrix = _integers(forms)
    worst = ZERO
    for piece in refined:
        top = [max(row) for row in _products(piece.cell.corners, matrix)]
        own = rationals(piece.cell.corners)
        for corner, most in zip(own, top):
            meant = sum((a * x for a, x in zip(piece.rows[1], corner)), ZERO)
            worst = max(worst, abs(fmpq(most, scale) - meant))
    return worst


def _integers(forms: Sequence[Form]) -> tuple[int, fmpz_mat]:
    """The forms as columns of whole numbers over one denominator."""
    scale = lcm(*(int(a.q) for form in forms for a in form))
    return scale, fmpz_mat(
        [[int(f[k].p) * (scale // int(f[k].q)) for f in forms] for k in range(len(forms[0]))]
    )


def _products(corners: Sequence[Corner], matrix: fmpz_mat) -> list[list[int]]:
    product = fmpz_mat([list(c) for c in corners]) * matrix
    return [list(map(int, row)) for row in product.tolist()]


# ---- maxima of affine forms ------------------------------------------------------------------------------------------


def cells_of_maximum(forms: Sequence[Form]) -> list[Piece]:
    r"""$\max_k\ell_k$ on the cells where one form is the largest; forms that are largest nowhere have none."""
    different = list(dict.fromkeys(forms))
    found = []
    for form in different:
        cell: Polyhedron | None = everywhere(len(form) - 1)
        for other in different:
            gap = plus(form, other, -1)
            if cell is None or other is form:
                continue
            cell = (
                cell.halves(primitive(gap))[0] if any(gap[:-1]) else cell if gap[-1] > 0 else None
            )
        if cell is not None:
            found.append(Piece(cell, (form,)))
    return found


@dataclass(frozen=True)
class ConvexFit:
    """`forms` whose maximum is a convex function nearest to the data in the largest distance, which is `distance`."""

    forms: tuple[Form, ...]
    distance: fmpq


def convex_fit(x: Real[np.ndarray, "n *d"], y: Real[np.ndarray, "n"]) -> ConvexFit:
    r"""Convex regression in the largest distance: the convex envelope $e$ of the data, raised by half their excess.

    $e(x_j)=\max\{\ell(x_j):\ell\le y\text{ at the data}\}=\min\sum\lambda_iy_i$ over $\sum\lambda_ix_i=x_j$. By Jensen
    a convex $u$ has $u(x_j)\le\sum\lambda_iu(x_i)$: with $|u-y|\le t$ at the data, $y_j-t\le e(x_j)+t$. So no convex
    function is nearer than $t=\frac12\max_j(y_j-e(x_j))$, and $e+t$ is as near as that.
    """
    points = [vector(row) for row in np.reshape(x, (len(x), -1)).tolist()]
    heights = vector(np.ravel(y).tolist())
    below = [(*(-t for t in p), -ONE, h) for p, h in zip(points, heights)]
    forms: dict[Form, None] = {}
    excess = ZERO
    for p, h in zip(points, heights):
        found = maximise([*p, ONE], below)
        assert found is not None  # the data lie above a plane, and the point is one of them
        forms[found[1]] = None
        excess = max(excess, h - found[0])
    half = excess / 2
    return ConvexFit(tuple((*f[:-1], f[-1] + half) for f in forms), half)
