r"""Continuous piecewise-affine functions of two variables as sums of maxima of three affine forms: two hidden layers.

The kinks of $f$ lie on edges. Where an edge with direction $u$ is crossed to the left, the gradient jumps by
$c\,u^\perp$. Around an inner vertex the vectors $cu$ of its edges add up to zero, so that the edges, prolonged to
rays, carry a homogeneous function $T_p$. Rays from both ends of an edge cover its line once and the edge twice, hence
$$f=\sum_pT_p-\sum_{e}c_e\,r(\nu_e)+\text{affine},$$
with one ridge $r(\nu_e)$ on the line of each edge between two inner vertices (the sign turns, or the term vanishes, for
edges that end at the boundary). A ray with $c<0$ is its line minus the opposite ray, so that $T_p$ is, up to ridges,
convex with rays $v_1,\dots,v_n$ that add up to zero; it splits into ridges and triples $v+v'+v''=0$, each
$\max\{0,\ell,\ell'\}$.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.errors import SubjectError

from ..geometry import Form, Point, overlap
from ..mesh import Mesh
from .sums import MaximaSum, Term

ZERO = fmpq(0)
ONE = fmpq(1)
Vector = tuple[fmpq, ...]


@dataclass(frozen=True)
class Edge:
    r"""The edge from `p` to `q`: the gradient on its left minus that on its right is $c\,(q-p)^\perp$."""

    p: Point
    q: Point
    c: fmpq


def turn(u: Vector) -> Vector:
    """The vector `u` turned to the left by 90°."""
    return (-u[1], u[0])


def det(u: Vector, v: Vector) -> fmpq:
    """The determinant of two vectors: the signed area that they span."""
    return u[0] * v[1] - u[1] * v[0]


def dot(u: Vector, v: Vector) -> fmpq:
    r"""$\langle u,v\rangle$."""
    return u[0] * v[0] + u[1] * v[1]


def minus(q: Point, p: Point) -> Vector:
    """The vector from `p` to `q`."""
    return tuple(b - a for a, b in zip(p, q))


def terms(edges: Sequence[Edge], inner: frozenset[Point]) -> Iterator[Term]:
    """Ridges and triples with the kinks of the edges; `inner` are the vertices with all their edges given."""
    rays: defaultdict[Point, list[Vector]] = defaultdict(list)
    for e in edges:
        ends = (e.p in inner) + (e.q in inner)
        weight = e.c if e.c < 0 else e.c * (1 - ends)
        if weight:
            yield weight, (through(e.p, turn(minus(e.q, e.p))),)
        for here, there in ((e.p, e.q), (e.q, e.p)):
            if here in inner and e.c:
                rays[here].append(tuple(e.c * t for t in minus(there, here)))
    for p, vectors in rays.items():
        yield from fan(p, vectors)


def fan(p: Point, vectors: Sequence[Vector]) -> Iterator[Term]:
    """The convex homogeneous function around `p` with these rays (which add up to zero), as triples and lines.

    Rays `s` and `v` are replaced by their sum: the triple with rays `s`, `v`, `-(s + v)`, less the line of `s + v`.
    """
    s = vectors[0]
    for v in vectors[1:]:
        area = det(s, v)
        total = tuple(a + b for a, b in zip(s, v))
        if area:
            before = s if area > 0 else v
            yield ONE, (through(p, turn(before)), through(p, turn(total)))
            yield -ONE, (through(p, turn(total)),)
        elif dot(s, v) < 0:  # two opposite rays: the line of the shorter
            yield ONE, (through(p, turn(s if dot(s, s) <= dot(v, v) else v)),)
        s = total
    if any(s):
        raise SubjectError(
            "The kinks around a vertex do not close.", got=f"at {p}", remedy="check the mesh"
        )


def through(p: Point, normal: Vector) -> Form:
    """The form with this gradient that vanishes at `p`."""
    return (*normal, -dot(normal, p))


def jump(p: Point, q: Point, left: Form, right: Form) -> Edge:
    """The edge from `p` to `q` between the forms on its `left` and `right`, with the jump of the gradient."""
    normal = turn(minus(q, p))
    return Edge(p, q, dot(minus(left[:2], right[:2]), normal) / dot(normal, normal))


def planar_sum(mesh: Mesh, values: Sequence[object]) -> MaximaSum:
    """The interpolant of the vertex values on a convex mesh."""
    pieces = mesh.pieces(values)
    edges = []
    for facet, cells in mesh.facets.items():
        if len(cells) == 2:
            p, q = (mesh.points[i] for i in facet)
            left, right = cells if _is_left(mesh, facet, cells[0]) else cells[::-1]
            edges.append(jump(p, q, pieces[left], pieces[right]))
    rim = mesh.boundary_vertices
    inner = frozenset(x for i, x in enumerate(mesh.points) if i not in rim and mesh.stars[i])
    v = mesh.vertex_values(values)
    return MaximaSum.fit(terms(edges, inner), mesh.corners(0), [v[i] for i in mesh.simplices[0]])


def _is_left(mesh: Mesh, facet: tuple[int, ...], cell: int) -> bool:
    (apex,) = set(mesh.simplices[cell]) - set(facet)
    p, q = (mesh.points[i] for i in facet)
    return det(minus(q, p), minus(mesh.points[apex], p)) > 0


def planar_nodal(mesh: Mesh, i: int) -> MaximaSum:
    """The nodal function of vertex `i`: on all of the plane if the vertex is inside, else with a thin skirt outside."""
    star = [tuple(mesh.points[j] for j in mesh.simplices[k]) for k in mesh.stars[i]]
    if i in mesh.boundary_vertices:
        star += _skirt(mesh, i, star)
    x = mesh.points[i]
    around = (x, *sorted({y for cell in star for y in cell} - {x}))
    number = {y: k for k, y in enumerate(around)}
    local = Mesh(around, tuple(tuple(number[y] for y in cell) for cell in star))
    return _compact(local)


def _compact(star: Mesh) -> MaximaSum:
    """The hat of vertex 0 on its closed star: every vertex is inner, since the function is known on the whole plane."""
    values = [1] + [0] * (len(star.points) - 1)
    pieces = star.pieces(values)
    outside = (ZERO, ZERO, ZERO)
    edges = []
    for facet, cells in star.facets.items():
        p, q = (star.points[k] for k in facet)
        sides = [pieces[k] for k in cells] + [outside] * (2 - len(cells))
        left, right = sides if _is_left(star, facet, cells[0]) else sides[::-1]
        edges.append(jump(p, q, left, right))
    corner = star.simplices[0]
    return MaximaSum.fit(
        terms(edges, frozenset(star.points)), star.corners(0), [fmpq(values[k]) for k in corner]
    )


def _skirt(mesh: Mesh, i: int, star: list[tuple[Point, ...]]) -> list[tuple[Point, ...]]:
    """Thin triangles outside the mesh that close the star of a boundary vertex."""
    x = mesh.points[i]
    skirt: list[tuple[Point, ...]] = []
    for u, w in _gaps(x, star):
        middle = _between(minus(u, x), minus(w, x))
        for halvings in range(200):
            tip = tuple(a + b / fmpq(2) ** halvings for a, b in zip(x, middle))
            new = [(x, u, tip), (x, tip, w)]
            others = (mesh.corners(k) for k in range(len(mesh.simplices)))
            if not any(overlap(triangle, cell) for cell in others for triangle in new):
                skirt += new
                break
        else:
            raise SubjectError(
                "The star of a boundary vertex cannot be closed outside the mesh.",
                where=f"vertex {i}",
                got="a slit or a domain that touches itself",
                remedy="separate the two sides of the slit",
            )
    return skirt


def _gaps(x: Point, star: list[tuple[Point, ...]]) -> list[tuple[Point, Point]]:
    """Pairs (u, w) of neighbours of `x`: turning left from u one leaves the star, and enters it again at w."""
    starts = set()
    ends = set()
    for cell in star:
        a, b = (y for y in cell if y != x)
        a, b = (a, b) if det(minus(a, x), minus(b, x)) > 0 else (b, a)
        starts.add(a)
        ends.add(b)
    enter = sorted(starts - ends)
    leave = sorted(ends - starts)
    return [(u, min(enter, key=lambda w, u=u: _Angle(minus(u, x), minus(w, x)))) for u in leave]


class _Angle:
    """The angle in (0, 2π] from `u` to `v`, turning left, ordered without trigonometry."""

    def __init__(self, u: Vector, v: Vector):
        area = det(u, v)
        along = dot(u, v)
        self.half = 0 if area > 0 or (area == 0 and along < 0) else 1
        self.v = v

    def __lt__(self, other: "_Angle") -> bool:
        if self.half != other.half:
            return self.half < other.half
        return det(self.v, other.v) > 0


def _between(u: Vector, w: Vector) -> Vector:
    """A direction inside the sector from `u` left to `w`, less than a half turn from either."""
    size = lambda v: abs(v[0]) + abs(v[1])
    a, b = (tuple(t / size(v) for t in v) for v in (u, w))
    area = det(u, w)
    if area == 0 and dot(u, w) < 0:
        return turn(a)
    middle = tuple(s + t for s, t in zip(a, b))
    return middle if area > 0 else tuple(-t for t in middle)
