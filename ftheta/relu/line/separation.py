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

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ftheta.networks.description import Description

from .cpa1d import PiecewiseAffine, affine
from .points import from_slopes

HALF = Fraction(1, 2)


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
    return from_slopes(
        [Fraction(i, n) for i in range(1, n)], [(-1) ** i * n for i in range(n)], 0, 0
    )


def _broken(h: PiecewiseAffine, lo: Fraction, hi: Fraction) -> list[Fraction]:
    """Ends, kinks and zeros: between two of them the function is affine and has one sign."""
    return sorted({lo, hi, *(t for t in (*h.kinks, *h.reaching(0)) if lo < t < hi)})


def distance(
    f: PiecewiseAffine, g: PiecewiseAffine, lo: int | Fraction = 0, hi: int | Fraction = 1
) -> Fraction:
    r"""$\int_{lo}^{hi}|f-g|$, exactly: the breakpoints of both are merged, and zeros of the difference added."""
    h = f - g
    heights = [(t, abs(h(t))) for t in _broken(h, Fraction(lo), Fraction(hi))]
    return sum(((b - a) * (u + v) / 2 for (a, u), (b, v) in pairwise(heights)), Fraction(0))


def crossings(
    g: PiecewiseAffine, level: Fraction = HALF, lo: int | Fraction = 0, hi: int | Fraction = 1
) -> int:
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
