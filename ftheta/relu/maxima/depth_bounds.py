r"""How many hidden layers a continuous piecewise-affine function needs: bounds above by dimension, below by its kinks.

With one hidden layer the gradient jumps by the same amount all along a hyperplane, but for finitely many faces on it
(`ridge_form`). So two points of one hyperplane, next to which $f$ has no other kink, with two different jumps across
it, exclude one hidden layer. The points are found in float-free arithmetic and hold for $f$ as it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq  # type: ignore[import-untyped]

from ..counts import count
from ..geometry import Point, plus, times
from ..local import across, is_clean, kink
from ..matrices import fraction
from ..network import ExactNetwork
from .maximum import max_affine
from .sums import depth_bound, recent_hidden_layers

# along the hyperplane of a kink
STOPS = tuple(fmpq(k, 11) for k in (*range(-10, 0), *range(1, 11)))
NEAR = fmpq(1, 2**80)
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
        points = (self.x, self.y)
        along = across(self.normal)
        on_one = not sum(n * (a - b) for n, a, b in zip(self.normal, *points))
        again = tuple(_second_difference(net, p, self.normal, self.output) for p in points)
        different = self.jumps[0] != self.jumps[1]
        return (
            on_one
            and different
            and again == self.jumps
            and all(is_clean(net, p, along) for p in points)
        )

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


def necessary(
    net: ExactNetwork, candidates: Iterable[tuple[Point, Point]], window: Window
) -> Necessary:
    """A lower bound from points and normals where there may be kinks; one hidden layer is excluded by a broken one."""
    bent = False
    shallow = count(net).activations <= 1
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


def maximum_with_zero(d: int) -> ExactNetwork:
    r"""$\max\{0,x_1,\dots,x_d\}$ by a tree: $\lceil\log_2(d+1)\rceil$ hidden layers."""
    eye = [[int(i == j) for j in range(d)] for i in range(d)]
    return max_affine([[0] * d, *eye], [0] * (d + 1))
