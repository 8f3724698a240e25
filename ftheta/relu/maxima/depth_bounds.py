r"""How many hidden layers a continuous piecewise-affine function needs: bounds above by dimension, below by its kinks.

With one hidden layer the gradient jumps by the same amount all along a hyperplane, but for finitely many faces on it
(`ridge_form`). So two points of one hyperplane, next to which $f$ has no other kink, with two different jumps across
it, exclude one hidden layer. The points are found in float-free arithmetic and hold for $f$ as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.graph.enclosing import enclose_entry
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Identity, Series, SubjectError, Table, Witness
from ftheta.networks.description import Description, random_mlp

from ..counts import count
from ..describe import described
from ..exact import ExactNetwork, exact
from ..geometry import Form, Point, plus, times, value
from ..line.cpa1d import known
from ..local import across, is_clean, kink
from ..matrices import fraction, rational
from ..meshes.mesh import Mesh
from ..meshes.nodal import nodal
from ..meshes.simplex_cells import box_mesh, box_simplices, cells
from ..network import ReluNetwork
from ..reading.enclosing import gap_to
from .maximum import max_affine
from .sums import depth_bound, recent_hidden_layers
from .wang_sun import few_maxima

STOPS = tuple(fmpq(k, 11) for k in (*range(-10, 0), *range(1, 11)))  # along the hyperplane of a kink
NEAR = fmpq(1, 2**80)
KINDS = ("maximum of 0 and the inputs", "nodal function", "random", "tanh")
FARTHEST = 64  # dimensions in the picture
Window = tuple[fmpq, fmpq]
"""The least and the largest coordinate."""


def enough(d: int) -> int:
    r"""Hidden layers that suffice in dimension $d$: the better of $\lceil\log_2(d+1)\rceil$ and the recent bound."""
    return min(depth_bound(d) - 1, recent_hidden_layers(d) if d >= 3 else depth_bound(d) - 1)


@dataclass(frozen=True)
class BrokenKink:
    """Two points of a hyperplane with the given normal, and how the slope of one output jumps across it there."""

    normal: Point
    x: Point
    y: Point
    jumps: tuple[Fraction, Fraction]
    output: int

    def holds(self, net: ExactNetwork) -> bool:
        """Whether it excludes one hidden layer: jumps by second differences, and no other kink next to the points."""
        points, along = (self.x, self.y), across(self.normal)
        on_one = not sum(n * (a - b) for n, a, b in zip(self.normal, *points))
        again = tuple(_second_difference(net, p, self.normal, self.output) for p in points)
        different = self.jumps[0] != self.jumps[1]
        return on_one and different and again == self.jumps and all(is_clean(net, p, along) for p in points)

    def __str__(self) -> str:
        x, y = (", ".join(f"{float(fraction(t)):.3g}" for t in p) for p in (self.x, self.y))
        return f"jump {float(self.jumps[0]):.3g} at ({x}), {float(self.jumps[1]):.3g} at ({y})"


def _second_difference(net: ExactNetwork, x: Point, normal: Point, output: int) -> Fraction:
    ahead, here, behind = (net(plus(x, times(h, normal)))[output] for h in (NEAR, fmpq(0), -NEAR))
    return (ahead - 2 * here + behind) / fraction(NEAR)


@dataclass(frozen=True)
class Necessary:
    """Hidden layers that cannot be done without, and the kink that says so (for two)."""

    layers: int
    why: BrokenKink | None = None


def necessary(net: ExactNetwork, candidates: Iterable[tuple[Point, Point]], window: Window) -> Necessary:
    """A lower bound from points and normals where there may be kinks; one hidden layer is excluded by a broken one."""
    bent, shallow = False, count(net).activations <= 1
    for x, normal in candidates:
        along = across(normal)
        if not is_clean(net, x, along):
            continue
        here = kink(net, x, normal)
        bent |= any(here)
        if bent and (shallow or not along):
            return Necessary(1)
        for y in _stops(x, along[0], window) if any(here) else ():
            if is_clean(net, y, along) and (there := kink(net, y, normal)) != here:
                k = next(i for i, pair in enumerate(zip(here, there)) if pair[0] != pair[1])
                found = BrokenKink(normal, x, y, (here[k], there[k]), k)
                if found.holds(net):
                    return Necessary(2, found)
    return Necessary(int(bent))


def _stops(x: Point, u: Point, window: Window) -> Iterator[Point]:
    """Points on the line through `x` along `u` in the window."""
    lo, hi = window
    reach = (hi - lo) / max(map(abs, u))
    points = (plus(x, times(reach * stop, u)) for stop in STOPS)
    return (y for y in points if all(lo <= t <= hi for t in y))


def along_kink(net: ExactNetwork, broken: BrokenKink, reach: float) -> Curves:
    """The jump across the hyperplane of a kink, on either side of the point."""
    (u, *_), s = across(broken.normal), np.linspace(-reach, reach, 161)
    places = [plus(broken.x, times(rational(t), u)) for t in s.tolist()]
    jumps = [float(kink(net, p, broken.normal)[broken.output]) for p in places]
    away = plus(broken.y, broken.x, -1)
    marks = [0.0, float(fraction(sum((a * t for a, t in zip(away, u)), fmpq(0)) / sum((t * t for t in u), fmpq(0))))]
    series = (
        Series("jump across the line", s, jumps, mark="step"),
        Series("the two points", marks, [float(j) for j in broken.jumps], "reference", "points"),
    )
    return Curves("a kink that changes: not one hidden layer", Axis("along the line"), Axis("jump of ∂f"), series)


# ---- sums of small maxima ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conversion:
    """A maximum of affine forms, as a signed sum of maxima of at most $d+1$, and how far the two are apart."""

    forms: int
    largest_term: int
    layers: int
    gap: Fraction

    def claims(self, d: int) -> tuple[Identity, AtMost, AtMost]:
        return (
            Identity(f"sup |small maxima − max of {self.forms} forms| on a box, d = {d}", known(self.gap), known(0)),
            AtMost(f"forms in one of its maxima, d = {d}", known(self.largest_term), known(d + 1)),
            AtMost(f"hidden layers of the sum, d = {d}", known(self.layers), known(depth_bound(d) - 1)),
        )


def converted(d: int, forms: int, rng: np.random.Generator) -> Conversion:
    """A random maximum in one, two or three dimensions, converted and compared on every cell in a box."""
    rows: list[Form] = [tuple(fmpq(int(t)) for t in row) for row in rng.integers(-6, 7, (forms, d + 1))]
    few = few_maxima(rows)
    if few is None:
        raise SubjectError("No triangulation could be verified.", got=f"{forms} forms", remedy="take another seed")
    gap = max(abs(fraction(few(x) - max(value(form, x) for form in rows))) for x in _order_corners(rows))
    terms = max((len(term) for _, term in few.terms), default=0)
    return Conversion(forms, 1 + terms, count(few.network()).activations, gap)


def _order_corners(forms: Sequence[Form]) -> set[Point]:
    """Corners of the cells of a box on which the order of the forms does not change: there all maxima are affine."""
    d = len(forms[0]) - 1
    gaps = [plus(f, g, -1) for f, g in combinations(dict.fromkeys(forms), 2)] or [forms[0]]
    order = ExactNetwork.dense([[gap[:-1] for gap in gaps], [[0] * len(gaps)]], [[gap[-1] for gap in gaps], [0]])
    return {x for simplex in box_simplices([-4] * d, [4] * d) for cell, _ in cells(order, simplex) for x in cell}


def example(kind: str, inputs: int, width: int, layers: int, rng: np.random.Generator) -> Description:
    """Networks by name."""
    if kind == KINDS[0]:
        return described(maximum_with_zero(inputs))
    if kind == KINDS[1]:
        points, simplices = box_mesh([-1] * min(inputs, 3), [1] * min(inputs, 3), 2)
        return described(nodal(Mesh.of(points, simplices), len(points) // 2))
    return random_mlp(rng, (inputs, *[width] * layers, 1), "tanh" if kind == KINDS[3] else "relu", bias=0.5)


def maximum_with_zero(d: int) -> ExactNetwork:
    r"""$\max\{0,x_1,\dots,x_d\}$ by a tree: $\lceil\log_2(d+1)\rceil$ hidden layers."""
    eye = [[int(i == j) for j in range(d)] for i in range(d)]
    return max_affine([[0] * d, *eye], [0] * (d + 1))


def three_way_maximum() -> Necessary:
    r"""What $\max\{0,x_1,x_2\}$ needs: its kink at $x_1=x_2$ ends at the origin."""
    on_diagonal = ((fmpq(1), fmpq(1)), (fmpq(1), fmpq(-1)))
    return necessary(maximum_with_zero(2), [on_diagonal], (fmpq(-2), fmpq(2)))


# ---- pictures and tables -----------------------------------------------------------------------------------------


def growth(d: int, used: int) -> Curves:
    """Both bounds against the dimension, and where the network stands."""
    x = range(1, max(FARTHEST, d) + 1) if d <= 4 * FARTHEST else sorted({1, 2, 3, 4, 8, 16, 28, 64, 256, d})
    series = (
        Series("⌈log₂(d+1)⌉", x, [depth_bound(k) - 1 for k in x], "bound", "step"),
        Series("⌈log₃(d−1)⌉ + 1", x[2:], [recent_hidden_layers(k) for k in x[2:]], "reference", "step"),
        Series("this network", [d], [used], "measured", "points"),
    )
    return Curves("hidden layers that are enough", Axis("dimension d", "log"), Axis("hidden layers"), series)


def bounds_table(d: int) -> Table:
    """The bounds at the dimensions of the catalogue and of the network."""
    shown = sorted({1, 2, 3, 4, 7, 8, 10, 15, 16, 28, d})
    rows = [(k, depth_bound(k), depth_bound(k) - 1, recent_hidden_layers(k) if k >= 3 else "") for k in shown]
    return Table("layers that are enough", ("d", "affine maps", "hidden layers", "since 2025"), tuple(rows))


def reading(f: Callable[[np.ndarray], Any], form: ReluNetwork, x: np.ndarray) -> Identity:
    """The function beside its normal form at some inputs (rows)."""
    gap = lambda row: float(np.abs(np.ravel(f(row)) - np.ravel(form(row.ravel()))).max())
    gaps = [gap(row) for row in x]
    k = int(np.argmax(gaps))
    size = max(1.0, max(float(np.abs(form(row.ravel())).max()) for row in x))
    measured = Enclosure.measured(gaps[k], samples=len(x))
    atol = 1e-9 * size
    if gaps[k] <= atol:
        return Identity("largest |f − its normal form|", measured, known(0), atol=atol)
    meant = np.ravel(form(x[k].ravel()))
    worst = int(np.abs(np.ravel(f(x[k])) - meant).argmax())
    real = gap_to(f, x[k], worst, float(meant[worst]))
    if real is not None and real.lo <= atol:  # rounding of the program alone would explain it
        return Identity("largest |f − its normal form|", real, known(0), atol=atol)
    return Identity("largest |f − its normal form|", measured, known(0), _reading_again(f, form, x[k]), atol=atol)


def worse_dimensions(most: int = 3000) -> int:
    """Dimensions from 3 on in which the recent bound exceeds the older one."""
    return sum(recent_hidden_layers(d) > depth_bound(d) - 1 for d in range(3, most + 1))


def _reading_again(f: Callable[[np.ndarray], Any], form: ReluNetwork, x: np.ndarray) -> Witness:
    """The input at which they differ most, with f in intervals and the normal form in rationals."""
    values = np.ravel(np.asarray(f(x), np.float64))
    made = np.ravel(form(x.ravel()))
    output = int(np.argmax(np.abs(values - made)))
    left = enclose_entry(f, x, entry=output)
    at = {"x": tuple(x.ravel()[:8].tolist())}
    right = Enclosure.exact(exact(form)(x.ravel().tolist())[output])
    return Witness(at, left, right, "f in intervals rounded outward, its normal form in rationals")
