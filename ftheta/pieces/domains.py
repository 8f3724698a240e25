r"""Where a network is cut into pieces: segments, polylines, planar polygons, boxes, all of $\mathbb R^d$.

A domain is a convex set in its own coordinates $t\in\mathbb R^d$ together with an affine chart $t\mapsto p+Jt$ into the
inputs of the network. Numbers are taken at their exact binary values; where a chart needs the difference of two points,
its rounding error is kept beside it, so that nothing is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

LARGEST_BOX = 10  # above this dimension a cell of a box has too many corners to be kept
MOST_AXES = 20  # a box of more has too many corners to be listed


@dataclass(frozen=True, eq=False)
class Chart:
    r"""$t\mapsto p+(J+J')t$: `origin` $p$ `(D,)`, `basis` $J$ and its rounding remainder `tail` $J'$, `(D, d)`."""

    origin: Float[np.ndarray, "D"]
    basis: Float[np.ndarray, "D d"]
    tail: Float[np.ndarray, "D d"]

    @classmethod
    def identity(cls, dimension: int) -> "Chart":
        return cls(np.zeros(dimension), np.eye(dimension), np.zeros((dimension, dimension)))

    @classmethod
    def from_ends(cls, origin: Float[np.ndarray, "D"], *ends: np.ndarray) -> "Chart":
        """The chart that sends 0 to `origin` and the unit vectors to `ends`, exactly."""
        start = np.repeat(origin[:, None], len(ends), axis=1)
        basis, tail = exact_difference(np.stack(ends, axis=1), start)
        return cls(origin, basis, tail)

    def __call__(self, t: Any) -> Float[np.ndarray, "*n D"]:
        """The inputs of points `(n, d)` or of one point `(d,)`."""
        return self.origin + np.asarray(t, np.float64) @ (self.basis + self.tail).T


def exact_difference(
    a: Float[np.ndarray, "*shape"], b: Float[np.ndarray, "*shape"]
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """The rounded difference and what rounding lost: their sum is `a - b` exactly (Knuth's two-sum)."""
    high = a - b
    virtual = high - a
    return high, (a - (high - virtual)) + (-b - virtual)


def _numbers(name: str, values: Any, ndim: int) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim != ndim or array.size == 0 or not np.isfinite(array).all():
        got = (
            f"shape {array.shape}" if array.ndim != ndim or array.size == 0 else f"{array.tolist()}"
        )
        raise UsageError(
            f"{name} needs finite numbers in an array of {ndim} dimension(s).", got=got
        )
    return array


@dataclass(frozen=True, eq=False)
class Segment:
    r"""From `start` to `end` in $\mathbb R^D$; its coordinate runs from 0 to 1."""

    start: Any
    end: Any

    def __post_init__(self) -> None:
        a, b = (
            _numbers(f"Segment.{name}", value, 1)
            for name, value in (("start", self.start), ("end", self.end))
        )
        if a.shape != b.shape or np.array_equal(a, b):
            raise UsageError(
                "A segment needs two different points of one dimension.", got=f"{a} and {b}"
            )
        object.__setattr__(self, "start", a)
        object.__setattr__(self, "end", b)

    dimension = 1

    @property
    def chart(self) -> Chart:
        return Chart.from_ends(self.start, self.end)

    @property
    def corners(self) -> Float[np.ndarray, "2 1"]:
        return np.array([[0.0], [1.0]])


@dataclass(frozen=True, eq=False)
class Polyline:
    r"""Through `points` of shape `(m, D)` in order; on its $i$-th segment the coordinate runs from $i$ to $i+1$."""

    points: Any

    def __post_init__(self) -> None:
        points = _numbers("Polyline.points", self.points, 2)
        if len(points) < 2:
            raise UsageError("A polyline needs at least two points.", got=len(points))
        object.__setattr__(self, "points", points)
        _ = self.segments

    dimension = 1

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(Segment(a, b) for a, b in zip(self.points, self.points[1:]))

    @property
    def chart(self) -> Chart:
        return self.segments[0].chart


@dataclass(frozen=True, eq=False)
class Polygon:
    r"""A convex polygon in the plane $\{p+Jt\}$: `vertices` $t$ of shape `(m, 2)`, `origin` $p$, `basis` $J$ `(D, 2)`.

    Without `origin` and `basis` the plane is $\mathbb R^2$ itself. Repeated and collinear vertices are dropped; the
    orientation does not matter.
    """

    vertices: Any
    origin: Any = None
    basis: Any = None

    def __post_init__(self) -> None:
        corners = _convex(_numbers("Polygon.vertices", self.vertices, 2))
        basis = np.eye(2) if self.basis is None else _numbers("Polygon.basis", self.basis, 2)
        origin = (
            np.zeros(len(basis))
            if self.origin is None
            else _numbers("Polygon.origin", self.origin, 1)
        )
        if basis.shape != (len(origin), 2):
            raise UsageError(
                "A plane needs an origin (D,) and a basis (D, 2).",
                got=f"{origin.shape}, {basis.shape}",
            )
        chart = Chart(origin, basis, np.zeros_like(basis))
        self._fill(corners, chart)

    def _fill(self, corners: np.ndarray, chart: Chart) -> None:
        if _parallel(chart):
            raise UsageError(
                "The plane of a polygon is flat: its two directions are parallel.",
                got=chart.basis.T,
            )
        for name, value in (
            ("vertices", corners),
            ("origin", chart.origin),
            ("basis", chart.basis),
            ("_chart", chart),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def through(cls, p: Any, q: Any, r: Any, vertices: Any = ((0, 0), (1, 0), (0, 1))) -> "Polygon":
        """The plane through three inputs at the coordinates (0, 0), (1, 0) and (0, 1); by default their triangle."""
        p, q, r = (_numbers("A point of the plane", point, 1) for point in (p, q, r))
        if not p.shape == q.shape == r.shape:
            raise UsageError(
                "The three points need one dimension.", got=f"{p.shape}, {q.shape}, {r.shape}"
            )
        polygon = cls(vertices)
        polygon._fill(polygon.corners, Chart.from_ends(p, q, r))
        return polygon

    dimension = 2

    @property
    def chart(self) -> Chart:
        return self._chart  # type: ignore[attr-defined]

    @property
    def corners(self) -> Float[np.ndarray, "n 2"]:
        return self.vertices


@dataclass(frozen=True, eq=False)
class Box:
    r"""$\prod_i[a_i,b_i]$: `lower` and `upper` of shape `(d,)`."""

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        lower = _numbers("Box.lower", self.lower, 1)
        upper = _numbers("Box.upper", self.upper, 1)
        if lower.shape != upper.shape or not (lower < upper).all():
            raise UsageError(
                "A box needs lower < upper in every coordinate.",
                got=f"{lower} and {upper}",
                remedy="cut an empty side away, or take a slice (Polygon, Segment) for a flat domain",
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def cube(cls, dimension: int, radius: float = 1.0) -> "Box":
        r"""$[-r,r]^d$."""
        return cls(np.full(dimension, -radius), np.full(dimension, radius))

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @property
    def chart(self) -> Chart:
        return Chart.identity(self.dimension)

    @property
    def corners(self) -> Float[np.ndarray, "n d"]:
        """All corners; in the plane in anticlockwise order."""
        if self.dimension > MOST_AXES:
            raise UsageError(
                f"A box in {self.dimension} dimensions has 2^{self.dimension} corners, too many to list.",
                remedy="lower and upper say the same",
            )
        if self.dimension == 2:
            (a, c) = self.lower
            (b, d) = self.upper
            return np.array([[a, c], [b, c], [b, d], [a, d]])
        return np.array(list(product(*zip(self.lower, self.upper))))


@dataclass(frozen=True, eq=False)
class Space:
    r"""All of $\mathbb R^d$: its pieces are counted in homogeneous coordinates, unbounded ones included."""

    dimension: int

    def __post_init__(self) -> None:
        if not isinstance(self.dimension, int) or self.dimension < 1:
            raise UsageError("The dimension of a space is an integer >= 1.", got=self.dimension)

    @property
    def chart(self) -> Chart:
        return Chart.identity(self.dimension)

    def fan(self) -> list[Float[np.ndarray, "_ _"]]:
        r"""Cones that tile $\mathbb R^d$, each by its homogeneous generators $(x,w)$: the origin and $d$ directions.

        The directions are the unit vectors and $-(1,\dots,1)$; leaving out one of the $d+1$ gives one cone.
        """
        d = self.dimension
        rays = np.vstack([np.eye(d), -np.ones((1, d))])
        rays = np.hstack([rays, np.zeros((d + 1, 1))])
        origin = np.eye(d + 1)[-1:]
        return [np.vstack([origin, np.delete(rays, i, axis=0)]) for i in range(d + 1)]


Domain: TypeAlias = Segment | Polyline | Polygon | Box | Space


def as_domain(given: Domain | tuple[ArrayLike, ArrayLike]) -> Domain:
    """The domain itself; of a pair `(lower, upper)`, the box."""
    if isinstance(given, tuple) and len(given) == 2:
        return Box(*given)
    if not isinstance(given, Domain):
        remedy = "(lower, upper), Segment(a, b), Polyline(points), Polygon(vertices), Box(lower, upper) or Space(d)"
        raise UsageError("That is no domain.", got=type(given).__name__, remedy=remedy)
    return given


def _turn(a: Sequence[Fraction], b: Sequence[Fraction], c: Sequence[Fraction]) -> Fraction:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _convex(points: np.ndarray) -> np.ndarray:
    """The strictly convex polygon of the vertices, anticlockwise; decided in rational arithmetic."""
    if points.shape[1] != 2:
        raise UsageError(
            "The vertices of a polygon have two coordinates.", got=f"shape {points.shape}"
        )
    exact = [tuple(map(Fraction, p)) for p in points.tolist()]
    doubled = sum(
        (a[0] * b[1] - b[0] * a[1] for a, b in zip(exact, exact[1:] + exact[:1])), Fraction(0)
    )
    if doubled == 0:
        raise UsageError(
            "A polygon needs positive area.", got=f"{len(points)} vertices on a line or none"
        )
    ring = exact if doubled > 0 else exact[::-1]
    ring = [p for i, p in enumerate(ring) if p != ring[i - 1]]
    ring = [p for i, p in enumerate(ring) if _turn(ring[i - 1], p, ring[(i + 1) % len(ring)]) != 0]
    turns = [_turn(ring[i - 1], p, ring[(i + 1) % len(ring)]) for i, p in enumerate(ring)]
    falls = sum(1 for i, p in enumerate(ring) if ring[i - 1] < p > ring[(i + 1) % len(ring)])
    if min(turns) < 0 or falls != 1:  # a convex ring turns one way and has one rightmost vertex
        raise UsageError(
            "The polygon is not convex.",
            got=f"{len(points)} vertices",
            remedy="cut it into convex polygons",
        )
    return np.array([[float(x) for x in p] for p in ring])


def _parallel(chart: Chart) -> bool:
    """Whether the two columns of the basis are linearly dependent, exactly."""
    u, v = (
        [Fraction(a) + Fraction(b) for a, b in zip(*pair)]
        for pair in zip(chart.basis.T, chart.tail.T)
    )
    pivot = next((i for i, value in enumerate(u) if value), None)
    return pivot is None or all(u[pivot] * v[i] == u[i] * v[pivot] for i in range(len(u)))


def domain_volume(domain: "Domain") -> float:
    """In the coordinates of the domain; zero or infinite where float64 has no number for it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _volume(domain)


def _volume(domain: "Domain") -> float:
    if isinstance(domain, Box):
        return float(np.prod(domain.upper - domain.lower))
    corners = getattr(domain, "corners", None)
    if corners is None:
        return float(len(domain.segments))  # type: ignore[attr-defined]
    if corners.shape[1] == 2:
        x, y = corners.T
        return 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))
    return float(np.prod(corners.max(axis=0) - corners.min(axis=0)))
