r"""Largest values on a box, proved: what holds between the points of a grid.

On a cell with centre $m$ and half-widths $r$ a function $e$ satisfies

$$|e(x)|\le\min\Big(|e([m-r,m+r])|,\ |e(m)|+\sum_ir_i\,|\partial_ie([m-r,m+r])|\Big),$$

each term in interval arithmetic with outward rounding. Cells are halved where the bound is largest until the bounds
meet the largest value met, or the budget is spent. The second term asks for a function without jumps: a program that
compares, rounds or chooses is bounded by the first alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from ftheta.graph.certain import is_continuous
from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.shapes import Float

Scalar: TypeAlias = Callable[[Any], Any]  # of one point: a number for d = 1, an array (d,) above
CELLS = 200_000  # looked at in all
FINEST = 4097  # points of a modulus of continuity


@dataclass(frozen=True, slots=True)
class CellBounds:
    """On each cell: |e| is at least `least` at its centre, and at most `upper` on the whole cell."""

    least: Float[np.ndarray, "n"]
    upper: Float[np.ndarray, "n"]


@dataclass(frozen=True, slots=True)
class Supremum:
    """The supremum of |e|, both ends proved; the lower end is met `at` this point. `cells` were looked at."""

    value: Enclosure
    at: tuple[float, ...]
    cells: int


Bounds: TypeAlias = Callable[[np.ndarray, np.ndarray], CellBounds]


def supremum(
    bounds: Bounds, lo: Any, hi: Any, *, relative: float = 1e-3, budget: int = CELLS
) -> Supremum:
    r"""$\sup|e|$ over the box [lo, hi], to within `relative` of itself if the budget allows."""
    a, b = (np.atleast_2d(np.asarray(end, np.float64)) for end in (lo, hi))
    if a.shape != b.shape or not np.isfinite([a, b]).all() or (a >= b).any():
        raise SubjectError("A largest value is sought on a bounded box.", got=f"from {lo} to {hi}")
    best = 0.0
    at = (a[0] + b[0]) / 2
    done = 0.0
    looked = 0
    a, b = grid(a[0], b[0])
    while len(a):
        found = bounds(a, b)
        looked += len(a)
        top = int(np.argmax(found.least))
        if found.least[top] > best:
            best = float(found.least[top])
            at = (a[top] + b[top]) / 2
        wide = ~(found.upper <= best * (1 + relative))
        done = max(done, float(found.upper[~wide].max(initial=0.0)))
        if looked + 2 * wide.sum() > budget:
            done = max(done, float(found.upper.max()))
            break
        a, b = halve(a[wide], b[wide])
    return Supremum(Enclosure.between(best, max(done, best)), tuple(float(t) for t in at), looked)


def grid(
    a: Float[np.ndarray, "d"], b: Float[np.ndarray, "d"], cells: int = 1024
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
    """The box in about so many equal cells."""
    each = max(1, round(cells ** (1 / len(a))))
    edges = [np.linspace(s, t, each + 1) for s, t in zip(a, b)]
    lower = np.meshgrid(*(e[:-1] for e in edges))
    upper = np.meshgrid(*(e[1:] for e in edges))
    return np.stack([x.ravel() for x in lower], 1), np.stack([x.ravel() for x in upper], 1)


def halve(
    a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "m d"]]:
    """Every cell cut across its longest side."""
    rows = np.arange(len(a))
    axis = np.argmax(b - a, axis=1)
    middle = (a[rows, axis] + b[rows, axis]) / 2
    left = b.copy()
    right = a.copy()
    left[rows, axis] = right[rows, axis] = middle
    return np.concatenate([a, right]), np.concatenate([left, b])


def bounds_of(e: Scalar, dimension: int) -> Bounds:
    """The bounds of the docstring above for a function that JAX can trace."""
    smooth = without_jumps(e, dimension)

    def bounds(a: np.ndarray, b: np.ndarray) -> CellBounds:
        m = (a + b) / 2
        r = np.nextafter(np.maximum(b - m, m - a), np.inf)
        here = ranges(e, m, m)
        cell = ranges(e, a, b)
        least = np.maximum(0.0, np.maximum(here.lo, -here.hi))
        upper = _size(cell)
        if smooth:
            slope = ranges(jax.grad(e), a, b)
            steep = _above((_size(slope).reshape(r.shape) * r).sum(1), 2 * r.shape[1] + 2)
            upper = np.minimum(upper, _above(_size(here) + steep, 2))
        return CellBounds(least, upper)

    return bounds


def ranges(f: Scalar, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n d"]) -> Interval:
    """Enclosures of f on the cells between the rows of `a` and `b`; for one column f takes a number."""
    if a.shape[1] == 1:
        a = a[:, 0]
        b = b[:, 0]
    return intervals(_graph(jax.vmap(f), a.shape), Interval(a, b)).outputs


def _graph(f: Scalar, shape: tuple[int, ...]) -> Graph:
    try:
        with jax.enable_x64(True):
            return trace(f, jax.ShapeDtypeStruct(shape, np.float64), fold_rounded=False)
    except (GraphError, TypeError, ValueError) as error:
        raise SubjectError(
            "The function cannot be followed between the points of a grid.",
            got=str(error).splitlines()[0],
            remedy="write it with jax.numpy, as a function of one point with one real value",
        ) from None


def count_values(f: Scalar, dimension: int) -> int:
    """How many numbers f returns for a point: one, if it is real."""
    outputs = _graph(f, () if dimension == 1 else (dimension,)).outputs
    return sum(np.prod(slot.shape, dtype=int) for slot in outputs)


def without_jumps(f: Scalar, dimension: int) -> bool:
    """Whether the program of f has nothing that could jump, so that the mean value theorem holds for it."""
    return is_continuous(_graph(f, () if dimension == 1 else (dimension,)))


def _size(x: Interval) -> np.ndarray:
    return np.maximum(np.abs(x.lo), np.abs(x.hi))


def _above(x: np.ndarray, operations: int) -> np.ndarray:
    """Numbers ≥ 0 rounded up for so many operations in float64."""
    return np.nextafter(x * (1 + operations * 2.0**-52), np.inf)


@dataclass(frozen=True, slots=True)
class Oscillation:
    r"""Enclosures of f at `FINEST` points of an interval, the `edges`, and on the cells between them."""

    edges: Float[np.ndarray, "n"]
    at: Interval
    cell: Interval

    @classmethod
    def of(cls, f: Scalar, lo: float, hi: float) -> "Oscillation":
        edges = np.linspace(lo, hi, FINEST)[:, None]
        return cls(edges[:, 0], ranges(f, edges, edges), ranges(f, edges[:-1], edges[1:]))

    def _count_steps(self, distance: float) -> tuple[int, int]:
        """How many cells are together surely no longer than this, wherever they lie; and how many two points at this
        distance can touch. On a short interval far from 0 the edges are not even: several may fall together."""
        edges = self.edges
        places = np.arange(len(edges))
        near = np.nextafter(edges + distance * (1 - 1e-9), -np.inf)
        far = np.nextafter(edges + distance * (1 + 1e-9), np.inf)
        reached = np.searchsorted(edges, near, side="right") - 1 - places
        inside = reached[near <= edges[-1]].min(initial=len(edges) - 1)
        # from a point of a cell, at most from its end, one comes to cells that begin no further on
        touched = np.searchsorted(edges, far[1:], side="right") - places[:-1]
        return max(0, int(inside)), int(touched.max())

    def modulus(self, distance: float) -> Enclosure:
        r"""$\omega_f(\delta)=\sup\{|f(x)-f(y)|:|x-y|\le\delta\}$: pairs of points from below, cells from above."""
        inside, across = self._count_steps(distance)
        high = maximum_filter1d
        low = minimum_filter1d
        apart = _window(high, self.at.lo, inside + 1) - _window(low, self.at.hi, inside + 1)
        spread = _window(high, self.cell.hi, across) - _window(low, self.cell.lo, across)
        least = max(0.0, float(np.nextafter(apart.max(), -np.inf)))
        return Enclosure.between(least, max(least, float(np.nextafter(spread.max(), np.inf))))


def _window(extreme: Callable[..., np.ndarray], values: np.ndarray, size: int) -> np.ndarray:
    """The largest or least of `size` neighbours, for each place where they all exist."""
    size = min(size, len(values))
    return extreme(values, size, origin=-((size - 1) // 2), mode="nearest")[
        : len(values) - size + 1
    ]
