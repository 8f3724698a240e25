r"""The same list in an analytic, strictly increasing, sigmoidal activation: three of its units give any function.

The functions of the list with $m+q=s$ have periods of length $P_s$: a stretch of at least $G_s$ on which the activation
is affine, a ramp, $m$ cells, a ramp; ramps and cells have the length $\ell=8s$. On the $n$-th period, from $p_n$ on,

$$h(t)=\tfrac12+\tfrac n{2(n+1)}+\kappa_n(t-p_n)+d_nv_n(t),\qquad
\kappa_n=\frac1{2(n+1)(n+2)P_s},\ d_n=\tfrac14\kappa_n\ell,$$

where $v_n$ is $u_n$, stretched over the cells, 0 on the stretch, and affine on the ramps; $h(-t)=1-h(t)$. Its slopes
are between $\frac12\kappa_n$ and $\frac32\kappa_n$, and it rises from 0 to 1. So $\varrho=h*\varphi$, $\varphi$ the
density of the normal law, is strictly increasing and sigmoidal, and it is analytic, as $\varphi$ is entire. It is $h$
where $h$ is affine; a kink of height $\Delta$ at the distance $z$ adds $\Delta E(z)$,
$E(z)=\varphi(z)-z\int_z^\infty\varphi\le\varphi(z)$.

On the cells $u_n$ is $(\varrho-\text{an affine function})/d_n$, up to $\frac5\ell(E(0)+4E(\frac\ell2))$, since kinks
are at least $\ell$ apart and at most $5d_n/\ell$ high; the affine function is a sum of two units that look at the
middle of the stretch. Their coefficients are of the size $n^4$, but kinks are $\frac12G_s-1$ away, and $G_s$ is twice
the number of binary digits of $n$, plus 40: what they add is less than $10^{-60}$.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from math import floor

from flint import arb, ctx, fmpq

from ftheta.logic import Enclosure

from .concatenated import Member, before, member, size

HALF = Fraction(1, 2)
SPARE = 200  # binary digits beyond those of the smallest differences


@dataclass(frozen=True, slots=True)
class Level:
    """The functions with m + q = s: the number of the first one, where its period begins, how many there are."""

    s: int
    first: int
    start: int
    count: int

    @property
    def digits(self) -> int:
        """Of the numbers of its functions."""
        return (self.first + self.count).bit_length()

    @property
    def stretch(self) -> int:
        """What its affine stretches have at least."""
        return 2 * self.digits + 40

    @property
    def cell(self) -> int:
        return 8 * self.s

    @property
    def length(self) -> int:
        """Of a period: that of the most cells, which are s − 1."""
        return self.stretch + (self.s + 1) * self.cell


@cache
def levels(last: int) -> tuple[Level, ...]:
    """Those up to s = last."""
    found = []
    start = 0
    for s in range(2, last + 1):
        count = sum(size(m, s - m) for m in range(1, s))
        found.append(Level(s, before(1, s - 1), start, count))
        start += count * found[-1].length
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Period:
    """The part of the activation that has the function of the number n in it."""

    n: int
    level: Level
    u: Member

    @property
    def start(self) -> int:
        return self.level.start + (self.n - self.level.first) * self.level.length

    @property
    def height(self) -> Fraction:
        """Of h where the period begins."""
        return HALF + Fraction(self.n, 2 * (self.n + 1))

    @property
    def slope(self) -> Fraction:
        """κ, that of the affine stretch."""
        return Fraction(1, 2 * (self.n + 1) * (self.n + 2) * self.level.length)

    @property
    def scale(self) -> Fraction:
        """d, by which the function is multiplied."""
        return self.slope * self.level.cell / 4

    @property
    def width(self) -> int:
        """Of all cells."""
        return self.u.m * self.level.cell

    @property
    def cells(self) -> int:
        """Where they begin."""
        return self.start + self.level.length - self.width - self.level.cell

    @property
    def middle(self) -> Fraction:
        """Where the two units for an affine function begin to look: two long, in the middle of the stretch."""
        return Fraction(self.start + self.cells - self.level.cell - 2, 2)

    def line(self, t: Fraction | int) -> Fraction:
        """h without the function."""
        return self.height + self.slope * (t - self.start)

    def corners(self) -> Iterator[tuple[int, Fraction]]:
        """Places at which h may have a kink, and its values."""
        yield self.start, self.height
        ramp = self.cells - self.level.cell
        yield ramp, self.line(ramp)
        for k, step in enumerate(self.u.steps):
            t = self.cells + k * self.level.cell
            yield t, self.line(t) + self.scale * Fraction(step, self.u.q)


@lru_cache(64)
def period(n: int) -> Period:
    """That of the number n."""
    u = member(n)
    s = u.m + u.q
    return Period(n, levels(s)[s - 2], u)


def period_at(t: Fraction) -> Period:
    """The one that contains t ≥ 0."""
    last = 4
    while t >= levels(last)[-1].start:
        last *= 2
    known = levels(last)
    level = known[bisect_right(known, t, key=lambda one: one.start) - 1]
    return period(level.first + floor((t - level.start) / level.length))


@dataclass(frozen=True, slots=True)
class Corners:
    """Where h has kinks, its values there, and its slopes between them."""

    places: list[int]
    heights: list[Fraction]
    slopes: list[Fraction]

    def __call__(self, t: Fraction) -> Fraction:
        """h(t), exactly."""
        k = bisect_right(self.places, t) - 1
        return self.heights[k] + self.slopes[k] * (t - self.places[k])

    def kinks(self, t: Fraction, reach: int) -> Iterator[tuple[Fraction, Fraction]]:
        """How far and how high those are that t may notice."""
        for k in range(bisect_left(self.places, t - reach), bisect_right(self.places, t + reach)):
            if 0 < k < len(self.slopes):
                yield abs(t - self.places[k]), self.slopes[k] - self.slopes[k - 1]


@lru_cache(64)
def corners_around(n: int) -> Corners:
    """Of the n-th period and of its neighbours."""
    around = [period(k) for k in range(max(n - 1, 0), n + 2)]
    found = [corner for here in around for corner in here.corners()]
    found.append(next(period(n + 2).corners()))
    slopes = [(v - u) / (b - a) for (a, u), (b, v) in pairwise(found)]
    return Corners([place for place, _ in found], [height for _, height in found], slopes)


def rise(t: Fraction) -> Fraction:
    """h(t), exactly."""
    return corners_around(period_at(t).n)(t) if t >= 0 else 1 - rise(-t)


@contextmanager
def _precision_of(here: Period) -> Iterator[None]:
    """Coefficients of the units are of the size n⁴."""
    usual = ctx.prec
    ctx.prec = 5 * here.level.digits + SPARE
    try:
        yield
    finally:
        ctx.prec = usual


def activation(t: Fraction) -> arb:
    """ϱ(t) in a ball, so small that differences between the functions of its list are seen."""
    if t < 0:
        return 1 - activation(-t)
    here = period_at(t)
    with _precision_of(here):
        corners = corners_around(here.n)
        reach = here.level.stretch
        kinks = (as_ball(height) * _kink(z) for z, height in corners.kinks(t, reach))
        return sum(kinks, as_ball(corners(t))) + arb(0, _far(reach).abs_upper())


@dataclass(frozen=True, slots=True)
class Unit:
    """x ↦ c ϱ(w x + b)."""

    coefficient: Fraction
    weight: int
    bias: Fraction

    def __call__(self, x: Fraction) -> arb:
        return as_ball(self.coefficient) * activation(self.weight * x + self.bias)


@lru_cache(8)
def three_units(u: Member) -> tuple[Unit, Unit, Unit]:
    """One that looks at the cells, and two whose sum is the affine function there."""
    here = period(u.index)
    low = here.line(here.middle)
    second = (here.width * low - here.line(here.cells)) / (here.scale * here.slope)
    first = -here.width / here.scale - second
    return (
        Unit(1 / here.scale, here.width, Fraction(here.cells)),
        Unit(first, 1, here.middle),
        Unit(second, 1, here.middle + 1),
    )


def network(u: Member, x: Fraction) -> arb:
    """The sum of the three units."""
    with _precision_of(period(u.index)):
        return sum((unit(x) for unit in three_units(u)), arb(0))


def deviation(u: Member) -> Enclosure:
    """No more than this is between the three units and u, on all of [0, 1]."""
    here = period(u.index)
    cell = Fraction(here.level.cell)
    near = as_ball(5 / cell) * (_kink(Fraction(0)) + 4 * _kink(cell / 2))
    _, *affine = three_units(u)
    room = Fraction(here.cells - here.level.cell - here.start, 2) - 1
    far = as_ball(1 / here.scale) * _far(here.level.stretch)
    lines = as_ball(sum(abs(unit.coefficient) for unit in affine)) * _far(room)
    return Enclosure.between(0.0, Enclosure.ball(near + far + lines).hi)


def slopes(u: Member) -> tuple[Fraction, Fraction]:
    """The least and the largest one of h on the period of u, as multiples of κ."""
    here = period(u.index)
    corners = corners_around(here.n)
    own = slice(
        corners.places.index(here.start), corners.places.index(here.start + here.level.length)
    )
    found = [slope / here.slope for slope in corners.slopes[own]]
    return min(found), max(found)


def _far(room: Fraction | int) -> arb:
    """No more is added by all kinks that are at least so far away, on both sides: none is higher than 3κ₀/2."""
    return 6 * as_ball(period(0).slope) * _density(Fraction(room))


def _kink(z: Fraction) -> arb:
    """E(z), z ≥ 0."""
    return _density(z) - as_ball(z) * (as_ball(z) / arb(2).sqrt()).erfc() / 2


def _density(z: Fraction) -> arb:
    return (-as_ball(z * z / 2)).exp() / (2 * arb.pi()).sqrt()


def as_ball(x: Fraction | int) -> arb:
    """As narrow as the precision at hand allows."""
    x = Fraction(x)
    return arb(fmpq(x.numerator, x.denominator))
