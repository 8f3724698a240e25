r"""Maxima of many affine forms as signed sums of maxima of at most $d+1$: the depth bound $\lceil\log_2(d+1)\rceil+1$.

$\max_k\ell_k$ is the support function of $P=\mathrm{conv}\{(a_k,c_k)\}$ (downwards closed), and $P\mapsto h_P$ is a
valuation. Let the upper hull of the points be triangulated, over the polytope of the gradients $a_k$. Then
$$\max_k\ell_k=\sum_{\sigma\not\subset\partial}(-1)^{\rho-\dim\sigma}\max_{k\in\sigma}\ell_k,$$
the sum over all faces $\sigma$ of the triangulation that are not in its boundary, $\rho$ its dimension. The
triangulation is proposed in float64 and verified in rationals.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

from ftheta.logic.errors import SubjectError

from ..geometry import Form, Point, constant, interpolant, plus, times, value
from ..matrices import rational
from ..mesh import Mesh
from .sums import MaximaSum

ZERO = fmpq(0)
ATTEMPTS = 5


def few_maxima(forms: Iterable[Form]) -> MaximaSum | None:
    """The maximum of the forms as a sum of maxima of at most $d+1$; None if no triangulation could be verified."""
    best: dict[Point, fmpq] = {}
    for form in forms:
        best[form[:-1]] = max(best.get(form[:-1], form[-1]), form[-1])
    lines = [(*a, c) for a, c in best.items()]
    points = _flatten([line[:-1] for line in lines])
    heights = [line[-1] for line in lines]
    if len(lines) == 1:
        return MaximaSum(lines[0], ())
    mesh = _upper_hull(points, heights)
    return None if mesh is None else _signed_sum(lines, mesh)


def _signed_sum(lines: Sequence[Form], mesh: Mesh) -> MaximaSum:
    rho = mesh.dimension
    rim = [set(facet) for facet, cells in mesh.facets.items() if len(cells) == 1]
    faces = {
        face
        for cell in mesh.simplices
        for k in range(rho + 1)
        for face in combinations(sorted(cell), k + 1)
    }
    affine = constant(0, len(lines[0]) - 1)
    terms = []
    for face in sorted(faces):
        if any(facet.issuperset(face) for facet in rim):
            continue
        sign = (-1) ** (rho + 1 - len(face))
        first = lines[face[0]]
        affine = plus(affine, first, sign)
        if len(face) > 1:
            terms.append((fmpq(sign), tuple(plus(lines[k], first, -1) for k in face[1:])))
    return MaximaSum(affine, tuple(terms))


def _flatten(points: Sequence[Point]) -> list[Point]:
    """Coordinates of the points on their affine hull: those of the columns in which they differ independently."""
    if len(points) == 1:
        return [()]
    base = points[0]
    reduced, rank = fmpq_mat([[t - s for s, t in zip(base, p)] for p in points[1:]]).rref()
    table = reduced.table()
    pivots = [next(j for j, t in enumerate(table[i]) if t) for i in range(rank)]
    return [tuple(p[j] for j in pivots) for p in points]


def _upper_hull(points: Sequence[Point], heights: Sequence[fmpq]) -> Mesh | None:
    """A triangulation of the points over which the heights are concave: proposed by Qhull, verified exactly."""
    for seed in range(ATTEMPTS):
        try:
            cells = [
                cell
                for cell in _proposal(points, heights, seed)
                if not _is_flat([points[k] for k in cell])
            ]
            mesh = Mesh.of([list(p) for p in points], cells)
        except (QhullError, SubjectError):
            continue
        if _is_upper_hull(mesh, heights):
            return mesh
    return None


def _is_flat(simplex: Sequence[Point]) -> bool:
    return fmpq_mat([[*x, fmpq(1)] for x in simplex]).det() == 0


def _proposal(points: Sequence[Point], heights: Sequence[fmpq], seed: int) -> list[list[int]]:
    """Upper facets of the lifted points, with heights perturbed a little so that every facet is a simplex."""
    rho = len(points[0])
    if len(points) == rho + 1:
        return [list(range(rho + 1))]
    x = np.array([[int(t.p) / int(t.q) for t in p] for p in points])
    h = np.array([int(t.p) / int(t.q) for t in heights])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    h = (h - h.mean()) / max(np.ptp(h), 1e-300)
    h += 1e-7 * np.random.default_rng(seed).random(len(h))
    lifted = np.vstack([np.c_[x, h], [*x.mean(axis=0), -10.0]])
    hull = ConvexHull(lifted, qhull_options="Qt")
    upper = (hull.equations[:, -2] > 0) & ~(hull.simplices == len(h)).any(axis=1)
    return hull.simplices[upper].tolist()


def _is_upper_hull(mesh: Mesh, heights: Sequence[fmpq]) -> bool:
    for facet, cells in mesh.facets.items():
        if len(cells) == 1 and any(
            value(mesh.opposite(facet, cells[0]), x) < 0 for x in mesh.points
        ):
            return False
    planes = (
        interpolant(mesh.corners(k), [heights[i] for i in cell])
        for k, cell in enumerate(mesh.simplices)
    )
    return all(value(plane, x) >= h for plane in planes for x, h in zip(mesh.points, heights))


# ---- nodal functions -------------------------------------------------------------------------------------------------


def lifted_star(mesh: Mesh, i: int) -> MaximaSum | None:
    r"""$\phi_i=\max\{0,T\}$ with $T=\ell_k$ on the cone of simplex $k$, by a convex function $H$ on these cones.

    $\max\{0,T\}=\max\{T+cH,\,cH\}-cH$, where $c$ makes $T+cH$ convex. Each of the two terms is a maximum of affine
    forms. Valid at inner vertices, and at all vertices of a convex mesh. None if the cones carry no strictly convex
    function or no triangulation was verified.
    """
    own = {k: mesh.coordinates[k][i] for k in mesh.stars[i]}
    inner = [
        (facet, cells) for facet, cells in mesh.facets.items() if i in facet and len(cells) == 2
    ]
    folds = [(cells[0], cells[1], facet) for facet, cells in inner]
    heights = _convex_heights(mesh, i, folds)
    if heights is None:
        return None
    H = {
        k: interpolant(mesh.corners(k), [heights.get(v, ZERO) for v in mesh.simplices[k]])
        for k in own
    }
    bends = [(_bend(mesh, own, fold), _bend(mesh, H, fold)) for fold in folds]
    if any(h <= 0 for _, h in bends):
        return None
    c = max([ZERO, *(-t / h for t, h in bends)])
    base = {k: times(c, H[k]) for k in own}
    top = few_maxima([*(plus(own[k], base[k]) for k in own), *base.values()])
    bottom = few_maxima(base.values())
    return None if top is None or bottom is None else top - bottom


def _bend(mesh: Mesh, pieces: dict[int, Form], fold: tuple[int, int, tuple[int, ...]]) -> fmpq:
    """How far the second piece lies above the first at the far vertex of the second simplex."""
    a, b, facet = fold
    (apex,) = set(mesh.simplices[b]) - set(facet)
    return value(plus(pieces[b], pieces[a], -1), mesh.points[apex])


def _convex_heights(
    mesh: Mesh, i: int, folds: list[tuple[int, int, tuple[int, ...]]]
) -> dict[int, fmpq] | None:
    """Values at the neighbours of vertex `i` (0 at `i`) whose interpolant bends up at every fold: a linear program."""
    around = sorted({v for k in mesh.stars[i] for v in mesh.simplices[k]} - {i})
    column = {v: j for j, v in enumerate(around)}
    rows = np.zeros((len(folds), len(around) + 1))  # the last unknown bounds all heights
    for row, (a, b, facet) in zip(rows, folds):
        (apex,) = set(mesh.simplices[b]) - set(facet)
        row[column[apex]] -= 1
        for v, form in mesh.coordinates[a].items():
            if v != i:
                weight = value(form, mesh.points[apex])
                row[column[v]] += int(weight.p) / int(weight.q)
    if not folds:
        return dict.fromkeys(around, ZERO)
    one = np.eye(len(around))
    last = np.ones((len(around), 1))
    limits = np.vstack([rows, np.hstack([one, -last]), np.hstack([-one, -last])])
    least = np.concatenate([-np.ones(len(folds)), np.zeros(2 * len(around))])
    found = linprog(np.eye(len(around) + 1)[-1], A_ub=limits, b_ub=least, bounds=(None, None))
    return (
        {v: rational(round(float(h) * 2**12)) / 2**12 for v, h in zip(around, found.x)}
        if found.success
        else None
    )
