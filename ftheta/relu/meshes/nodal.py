r"""Meshes to networks: nodal (finite-element) functions and any continuous piecewise-affine interpolant."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.errors import SubjectError

from ..calculus import combination, stack
from ..geometry import (
    Form,
    Point,
    Simplex,
    centre,
    constant,
    plus,
    positive_part,
    times,
    value,
    where_all_positive,
)
from ..line.cpa1d import PiecewiseAffine
from ..line.points import from_slopes, line_network, through_points
from ..matrices import fraction
from ..maxima.maximum import max_affine, max_min
from ..maxima.planar import planar_nodal, planar_sum
from ..maxima.sums import MaximaSum, Term
from ..maxima.wang_sun import few_maxima, lifted_star
from ..mesh import Mesh
from ..network import ExactNetwork


def compile_cpa(points: Any, simplices: Any, values: Sequence[Any]) -> ExactNetwork:
    r"""A network equal, on the whole mesh, to the interpolant of `values` at the vertices.

    $d=1$: one hidden layer. $d=2$: two. $d=3$: the sum of nodal functions (see `nodal`). Convex interpolants become the
    maximum of their pieces with `convex_network`.
    """
    mesh = Mesh.of(points, simplices)
    v = mesh.vertex_values(values)
    if mesh.dimension == 1:
        return line_network(_interpolant_on_line(mesh, v))
    if mesh.dimension == 2 and mesh.is_convex:
        return planar_sum(mesh, v).network()
    used = [i for i, star in enumerate(mesh.stars) if star and v[i]]
    if not used:
        return ExactNetwork.affine([[0] * mesh.dimension])
    return combination([v[i] for i in used], [nodal(mesh, i) for i in used])


def fem_basis(points: Any, simplices: Any, nodes: Sequence[int] | None = None) -> ExactNetwork:
    r"""The network $x\mapsto(\phi_i(x))_i$ of the P1 nodal functions of `nodes` (all by default).

    Affine maps: $L=2$ for $d=1$; $L=3$ for $d=2$; $L=3$ for $d=3$ at inner vertices and on convex meshes
    (if the star carries a strictly convex function, as almost all do).
    """
    mesh = Mesh.of(points, simplices)
    chosen = [i for i, star in enumerate(mesh.stars) if star] if nodes is None else list(nodes)
    return stack(*[nodal(mesh, i) for i in chosen])


def nodal(mesh: Mesh, i: int) -> ExactNetwork:
    r"""$\phi_i$: 1 at vertex `i`, 0 at the others, affine on every simplex.

    $d=1$: three neurons. $d=2$: `planar`, two hidden layers, any star. $d=3$: two hidden layers at inner vertices and
    on convex meshes, by `convex_star` or `lifted_star`. Otherwise `lattice_nodal`, deeper but general.
    """
    if not mesh.stars[i]:
        raise SubjectError(
            "The vertex belongs to no simplex.", where=f"vertex {i}", got="an isolated point"
        )
    if mesh.dimension == 1:
        return line_network(_hat_on_line(mesh, i))
    if mesh.dimension == 2:
        return planar_nodal(mesh, i).network()
    return _solid_nodal(mesh, i) or lattice_nodal(mesh, i)


def convex_pieces(mesh: Mesh, values: Sequence[Any]) -> list[Form] | None:
    """The distinct pieces if the interpolant is convex (no inner facet bends down, the mesh is convex); else None."""
    pieces = mesh.pieces(values)
    for facet, cells in mesh.facets.items():
        if len(cells) == 2:
            (apex,) = set(mesh.simplices[cells[1]]) - set(facet)
            if value(pieces[cells[0]], mesh.points[apex]) > value(
                pieces[cells[1]], mesh.points[apex]
            ):
                return None
    return list(dict.fromkeys(pieces)) if mesh.is_convex else None


def convex_network(points: Any, simplices: Any, values: Sequence[Any]) -> ExactNetwork:
    """A convex interpolant as the maximum of its pieces; two hidden layers up to dimension three."""
    pieces = convex_pieces(Mesh.of(points, simplices), values)
    if pieces is None:
        raise SubjectError(
            "The interpolant is not convex.",
            got="a facet that bends down, or a mesh that is not convex",
            remedy="use compile_cpa",
        )
    few = few_maxima(pieces) if len(pieces[0]) <= 4 else None
    return few.network() if few else max_affine([f[:-1] for f in pieces], [f[-1] for f in pieces])


# ---- one dimension -------------------------------------------------------------------------------------------------


def _interpolant_on_line(mesh: Mesh, v: Sequence[fmpq]) -> PiecewiseAffine:
    """Gaps between the simplices are bridged."""
    used = sorted((mesh.points[i][0], v[i]) for i, star in enumerate(mesh.stars) if star)
    return through_points([x for x, _ in used], [y for _, y in used])


def _hat_on_line(mesh: Mesh, i: int) -> PiecewiseAffine:
    x = fraction(mesh.points[i][0])
    near = sorted(
        fraction(mesh.points[j][0]) for k in mesh.stars[i] for j in mesh.simplices[k] if j != i
    )
    all_points = [fraction(p[0]) for p, star in zip(mesh.points, mesh.stars) if star]
    left = max([t for t in all_points if t < x], default=2 * x - near[-1])
    right = min([t for t in all_points if t > x], default=2 * x - near[0])
    return from_slopes([left, x, right], [0, 1 / (x - left), -1 / (right - x), 0], x, 1)


# ---- three dimensions and more ---------------------------------------------------------------------------------------


def _solid_nodal(mesh: Mesh, i: int) -> ExactNetwork | None:
    """Two hidden layers in three dimensions, where one of the two constructions applies."""
    inside = i not in mesh.boundary_vertices
    if mesh.dimension != 3 or not (inside or mesh.is_convex):
        return None
    if inside and star_is_convex(mesh, i):
        return convex_star(mesh, i).network()
    found = lifted_star(mesh, i)
    return found.network() if found else None


def _forms(mesh: Mesh, i: int) -> dict[int, Form]:
    return {k: mesh.coordinates[k][i] for k in mesh.stars[i]}


def star_is_convex(mesh: Mesh, i: int) -> bool:
    r"""$\ell_j\ge0$ at every vertex of the star for all $j$: then $\phi_i=\min_k\ell_k$ on it."""
    around = {v for k in mesh.stars[i] for v in mesh.simplices[k]}
    return all(
        value(form, mesh.points[v]) >= 0 for form in _forms(mesh, i).values() for v in around
    )


def convex_star(mesh: Mesh, i: int) -> MaximaSum:
    r"""$\phi_i$ on a convex star around an inner vertex, $d=3$, by maxima of at most four affine forms.

    With $m_k=1-\ell_k$ it is $\max\{1,m\}-\max\{0,m\}$. The support function is a valuation: coning the boundary of the
    polytope of gradients from the origin, with faces $\tau$ of its triangulated boundary,
    $$\phi_i=\sum_{\tau}(-1)^{d-|\tau|}\big(\max\{1,m_k:k\in\tau\}-\max\{0,m_k:k\in\tau\}\big),$$
    where $\tau$ runs over all faces, the empty one included.
    """
    d = mesh.dimension
    one = constant(1, mesh.dimension)
    slopes = [plus(one, f, -1) for f in dict.fromkeys(_forms(mesh, i).values())]
    terms: list[Term] = []
    for face in _boundary_faces(mesh, i, slopes):
        sign = fmpq((-1) ** (d - len(face)))
        m = [slopes[k] for k in sorted(face)]
        terms += [(sign, tuple(plus(f, one, -1) for f in m)), (-sign, tuple(m))]
    cell = mesh.stars[i][0]
    return MaximaSum.fit(terms, mesh.corners(cell), [fmpq(v == i) for v in mesh.simplices[cell]])


def _boundary_faces(mesh: Mesh, i: int, slopes: Sequence[Form]) -> set[frozenset[int]]:
    """Non-empty faces of the boundary of the polytope of gradients; its facets belong to the neighbours."""
    x = mesh.points[i]
    faces: set[frozenset[int]] = set()
    for v in {v for k in mesh.stars[i] for v in mesh.simplices[k]} - {i}:
        facet = [k for k, f in enumerate(slopes) if value(f, mesh.points[v]) == 1]
        ring = _ring(
            [slopes[k][:-1] for k in facet], tuple(b - a for a, b in zip(x, mesh.points[v]))
        )
        for a, b in pairwise(ring[1:]):
            triangle = [facet[ring[0]], facet[a], facet[b]]
            faces |= {frozenset(s) for s in (triangle, *_proper(triangle))}
    return faces


def _proper(triangle: list[int]) -> list[list[int]]:
    a, b, c = triangle
    return [[a, b], [b, c], [a, c], [a], [b], [c]]


def _ring(points: list[Point], normal: Point) -> list[int]:
    """The order in which coplanar points in convex position lie around their polygon; fewer than three: no facet."""
    drop = max(range(3), key=lambda j: abs(normal[j]))
    flat = sorted((tuple(t for j, t in enumerate(p) if j != drop), k) for k, p in enumerate(points))
    lower: list[Any] = []
    upper: list[Any] = []
    for chain, order in ((lower, flat), (upper, flat[::-1])):
        for item in order:
            while len(chain) > 1 and _turns(chain[-2][0], chain[-1][0], item[0]) <= 0:
                chain.pop()
            chain.append(item)
    ring = [k for _, k in lower[:-1] + upper[:-1]]
    return ring if len(ring) > 2 else []


def _turns(p: Any, q: Any, r: Any) -> fmpq:
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def lattice_nodal(mesh: Mesh, i: int) -> ExactNetwork:
    r"""$\phi_i=\max\{0,\max_P\min_{j\in S_P}\ell_j\}$ with $S_P=\{j:\ell_j\ge\ell_k\text{ on }P\}$.

    $P$ runs over the parts of the simplices $k$ of the star on which no difference $\ell_j-\ell_k$ changes sign.
    Holds for an inner vertex on all of space, and for any vertex on a convex mesh. On other meshes a boundary vertex
    also gets forms $\ell_k+c\nu$ that fall steeply outside its boundary facets, and the result is verified exactly on
    every simplex.
    """
    safe = i not in mesh.boundary_vertices or mesh.is_convex
    for steepness in (0,) if safe else (0, *(4**k for k in range(16))):
        forms, groups = _lattice(mesh, i, steepness)
        if safe or _verify(mesh, i, forms, groups):
            zero = constant(0, mesh.dimension)
            return max_min(
                [*groups, [len(forms)]],
                [f[:-1] for f in (*forms, zero)],
                [f[-1] for f in (*forms, zero)],
            )
    raise SubjectError(
        "The nodal function of a boundary vertex could not be separated from the rest of the mesh.",
        where=f"vertex {i}",
        got="a slit or a domain that touches itself",
        remedy="extend the mesh to a convex one",
    )


def _lattice(mesh: Mesh, i: int, steepness: int) -> tuple[list[Form], list[list[int]]]:
    own = _forms(mesh, i)
    forms = list(dict.fromkeys(own.values()))
    for facet, cells in mesh.facets.items() if steepness else ():
        if len(cells) == 1 and i in facet:
            forms.append(plus(own[cells[0]], mesh.opposite(facet, cells[0]), steepness))
    groups = {
        frozenset(group)
        for k, form in own.items()
        for group in _orders(mesh.corners(k), form, forms)
    }
    least = [sorted(g) for g in groups if not any(h < g for h in groups)]
    return forms, sorted(least)


def _orders(corners: Simplex, form: Form, forms: list[Form]) -> Iterator[list[int]]:
    """Which forms are above the given one, on each part of the simplex where that does not change."""
    cells = [corners]
    for other in forms:
        gap = plus(other, form, -1)
        sides = (gap, times(fmpq(-1), gap)) if any(gap) else ()
        cells = [
            part for cell in cells for side in sides for part in positive_part(cell, side)
        ] or cells
    for cell in cells:
        x = centre(cell)
        yield [j for j, other in enumerate(forms) if value(other, x) >= value(form, x)]


def _verify(mesh: Mesh, i: int, forms: list[Form], groups: list[list[int]]) -> bool:
    """On every simplex no group exceeds the nodal function (each simplex of the star attains it by construction)."""
    zero = constant(0, mesh.dimension)
    own = _forms(mesh, i)
    return all(
        where_all_positive(mesh.corners(k), [plus(forms[j], own.get(k, zero), -1) for j in group])
        is None
        for k in range(len(mesh.simplices))
        for group in groups
    )
