r"""How far a function with few pieces stays from a sawtooth with many: exactly, and by counting crossings.

$f=\Delta^{\circ k}$ crosses the level $\frac12$ at $2^k$ points of $[0,1]$, which leave $2^k-1$ triangles of area
$u=2^{-k-2}$ between graph and level, and half a triangle at either end: $\int_0^1|f-\frac12|=2^ku=\frac14$. Let
$g-\frac12$ change its sign $c$ times. Where $f$ and $g$ lie on different sides of the level, $|f-g|\ge|f-\frac12|$, so
$\int|f-g|$ is at least the area of all (parts of) triangles on the other side. A change of sign inside a triangle may
be moved to one of its ends without making that area larger. The changes then cut the row of triangles, which alternate,
into $c+1$ runs. In a run of total area $A$ and alternating sum $s$ at least $\frac12(A-|s|)$ is on the other side, and
$|s|\le u$ in an inner run, $|s|=\frac u2$ in each of the two outer ones ($s=0$ in the only run if $c=0$). Altogether
$$\int_0^1|f-g|\ge\tfrac12(2^ku-cu)=\tfrac18\Big(1-\frac c{2^k}\Big).$$
An affine piece changes sign once at most: $c$ is at most the number of pieces of $g$.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

from ftheta.logic import AtMost, Axis, Basis, Curves, Enclosure, Identity, Series
from ftheta.networks.description import Description

from ..counts import count
from ..exact import ExactNetwork
from .cpa1d import PiecewiseAffine, affine, known
from .pieces import along
from .points import from_slopes
from .sawtooth import sparse_zigzag

HALF, GAP = Fraction(1, 2), Fraction(1, 32)
MOST_FOLDS = 11  # of a sawtooth that is written out


@dataclass(frozen=True, slots=True)
class Size:
    """`layers` are affine maps; `nodes` are neurons and one output: both as the theorem counts them."""

    layers: int
    nodes: int

    @property
    def pieces(self) -> Fraction:
        r"""$(2m/L)^L$ for $m$ nodes in $L$ layers: $\prod_{\ell<L}(m_\ell+1)\le2^L\prod_{\ell\le L}m_\ell$, $m_L=1$,
        and the mean of the $m_\ell$."""
        return Fraction(2 * self.nodes, self.layers) ** self.layers

    @property
    def budget(self) -> int:
        r"""The smallest $L\ge2$ for which there are at most $L$ layers and $2^L$ nodes."""
        return max(2, self.layers, (self.nodes - 1).bit_length())


def size(description: Description) -> Size:
    """One output of the network; a number of them would be so many networks."""
    return Size(len(description.layers), sum(description.widths[1:-1]) + 1)


def folds(budget: int) -> int:
    r"""$L^2+2$."""
    return budget**2 + 2


def teeth(k: int) -> PiecewiseAffine:
    r"""$\Delta^{\circ k}$ on $[0,1]$, with its outermost slopes beyond."""
    n = 2**k
    return from_slopes([Fraction(i, n) for i in range(1, n)], [(-1) ** i * n for i in range(n)], 0, 0)


def _broken(h: PiecewiseAffine, lo: Fraction, hi: Fraction) -> list[Fraction]:
    """Ends, kinks and zeros: between two of them the function is affine and has one sign."""
    return sorted({lo, hi, *(t for t in (*h.kinks, *h.reaching(0)) if lo < t < hi)})


def distance(f: PiecewiseAffine, g: PiecewiseAffine, lo: int | Fraction = 0, hi: int | Fraction = 1) -> Fraction:
    r"""$\int_{lo}^{hi}|f-g|$, exactly: the breakpoints of both are merged, and zeros of the difference added."""
    h = f - g
    heights = [(t, abs(h(t))) for t in _broken(h, Fraction(lo), Fraction(hi))]
    return sum(((b - a) * (u + v) / 2 for (a, u), (b, v) in pairwise(heights)), Fraction(0))


def crossings(g: PiecewiseAffine, level: Fraction = HALF, lo: int | Fraction = 0, hi: int | Fraction = 1) -> int:
    """How often the function goes from one side of the level to the other."""
    h = g - affine(0, level)
    above = [h(t) > 0 for t in _broken(h, Fraction(lo), Fraction(hi)) if h(t)]
    return sum(a != b for a, b in pairwise(above))


def certificate(changes: int | Fraction, k: int) -> Fraction:
    r"""$\frac18(1-c2^{-k})$, or 0 if that is larger: a bound of $\int_0^1|\Delta^{\circ k}-g|$ from below."""
    return max(Fraction(0), (1 - Fraction(changes) / 2**k) / 8)


def defeated_from(pieces: int) -> int:
    r"""The fewest folds $k$ for which so many pieces leave $\int|\Delta^{\circ k}-g|\ge\frac1{32}$."""
    return ((4 * pieces + 2) // 3 - 1).bit_length()


@dataclass(frozen=True, eq=False)
class Duel:
    r"""What is known of $\int_0^1|\Delta^{\circ k}-g|$ for a function of so many pieces, at most `changes` of side."""

    k: int
    pieces: Enclosure
    changes: Fraction
    g: PiecewiseAffine | None = None

    @property
    def written_out(self) -> PiecewiseAffine | None:
        """The competitor, unless it is not known piece by piece or the sawtooth has too many teeth."""
        return self.g if self.k <= MOST_FOLDS else None

    def __str__(self) -> str:
        exactly = f" = {self.integral.middle:.6g}" if self.written_out else ""
        return f"∫|f − g|{exactly} ≥ {float(self.bound):.6g} by {float(self.changes):,.0f} crossings"

    @property
    def bound(self) -> Fraction:
        return certificate(self.changes, self.k)

    @cached_property
    def integral(self) -> Enclosure:
        """Exactly where both functions are written out, else from the bound upwards."""
        if self.written_out is not None:
            return known(distance(teeth(self.k), self.written_out))
        return Enclosure.between(known(self.bound).lo, inf, self.pieces.basis)

    @cached_property
    def drawn(self) -> "Duel | None":
        """The same with a sawtooth that can be written out: this one, or a small one that leaves $g$ behind as well."""
        if self.g is None:
            return None
        if self.k <= MOST_FOLDS:
            return self
        k = max(6, defeated_from(int(self.pieces.hi)))
        return replace(self, k=k) if k <= MOST_FOLDS else None

    def claims(self, most: Enclosure) -> tuple[AtMost, ...]:
        """On the pieces, which are at most so many, and on the integral."""
        found = [AtMost("pieces of g on [0, 1]", self.pieces, most)]
        if self.g is not None:
            found.append(AtMost("changes of side ≤ pieces", known(self.changes), self.pieces))
        if self.drawn is not None:
            k, exactly = self.drawn.k, self.drawn.integral
            found.append(AtMost(f"⅛(1 − c 2^−{k}) ≤ ∫|Δ^∘{k} − g|", known(self.drawn.bound), exactly))
        return (*found, AtMost("1/32 ≤ ∫|f − g|", known(GAP), self.integral))

    def pictures(self, name: str) -> tuple[Curves, ...]:
        shown = self.drawn
        return () if shown is None or shown.g is None else (picture(teeth(shown.k), shown.g, shown.k, name),)


def met(net: ExactNetwork, point: Sequence[Any], direction: Sequence[Any], k: int) -> Duel:
    """The first output of a network along a segment, in rationals."""
    g = along(net, point, direction).outputs[0]
    pieces = 1 + sum(0 < t < 1 for t in g.kinks)
    return Duel(k, known(pieces), Fraction(crossings(g)), g)


def met_in_cells(cells: Enclosure, most: Fraction, k: int) -> Duel:
    """A function known by a number of cells alone (there may be no end of them): every piece is at most one change."""
    changes = min(Fraction(cells.hi), most) if cells.hi < inf else most
    basis = cells.basis if cells.hi < inf else Basis.EXACT
    return Duel(k, Enclosure(cells.lo, known(changes).hi, basis), changes)


def about_the_sawtooth(budget: int) -> tuple[tuple[Identity, ...], dict[str, Enclosure]]:
    r"""Claims on $\Delta^{\circ(L^2+2)}$, built from $\Delta=r(2r(x)-4r(x-\frac12))$, and the numbers behind them."""
    k = folds(budget)
    net = sparse_zigzag(2, k)
    made, few = count(net), min(k, MOST_FOLDS)
    nodes, layers = made.neurons + 1, made.affine_layers
    pieces, flat = along(sparse_zigzag(2, few), [0], [1]).within(0, 1), distance(teeth(few), affine(0, HALF))
    claims = (
        Identity("nodes of f = 3L² + 6", known(nodes), known(3 * budget**2 + 6)),
        Identity("layers of f = 2L² + 4", known(layers), known(2 * budget**2 + 4)),
        Identity(f"pieces of the {few}-fold tent on [0, 1]", known(pieces), known(2**few)),
        Identity(f"∫|Δ^∘{few} − ½|", known(flat), known(Fraction(1, 4))),
    )
    numbers = {"nodes of f": known(nodes), "layers of f": known(layers), "∫|f − ½|": known(flat)}
    return claims, numbers | ({"pieces of f": known(pieces)} if few == k else {})


def picture(f: PiecewiseAffine, g: PiecewiseAffine, k: int, name: str) -> Curves:
    """Both functions over the first teeth."""
    end = min(Fraction(1), Fraction(64, 2**k))
    points = sorted({Fraction(0), end, *(t for h in (f, g) for t in h.kinks if 0 <= t <= end)})
    x = [float(t) for t in points]
    series = (
        Series(f"sawtooth, {2**k:,} pieces", x, [float(f(t)) for t in points], "reference"),
        Series(name, x, [float(g(t)) for t in points], "measured"),
        Series("½", [0.0, float(end)], [0.5, 0.5], "bound"),
    )
    return Curves("few pieces against many", Axis("t"), Axis("value"), series)
