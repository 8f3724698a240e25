r"""Continuous piecewise-affine functions of one variable in rational arithmetic.

A function is kept by its kinks, the slopes between them and its values at the kinks. Kinks where the slope does not
change are dropped, so two functions are equal on all of $\mathbb R$ exactly when the two records are equal: comparing
records *proves* an identity. Weights in float64 are dyadic rationals, so a network loses nothing on the way in.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import TypeAlias

from ftheta.logic.enclosure import Enclosure, nearest_float
from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Description, require_layers

Rational: TypeAlias = int | Fraction
MAX_PIECES = 20_000


@dataclass(frozen=True, slots=True)
class PiecewiseAffine:
    r"""`kinks` $t_1<\dots<t_m$, `slopes` $s_0,\dots,s_m$ ($s_{i-1}\ne s_i$), `values` $f(t_i)$, or $f(0)$ if $m=0$."""

    kinks: tuple[Fraction, ...]
    slopes: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def __call__(self, x: Rational) -> Fraction:
        i = bisect_right(self.kinks, x)
        j = max(i - 1, 0)
        origin = self.kinks[j] if self.kinks else Fraction(0)
        return self.values[j] + self.slopes[i] * (x - origin)

    def __add__(self, other: "PiecewiseAffine") -> "PiecewiseAffine":
        return combination(((1, self), (1, other)))

    def __sub__(self, other: "PiecewiseAffine") -> "PiecewiseAffine":
        return combination(((1, self), (-1, other)))

    @property
    def jumps(self) -> dict[Fraction, Fraction]:
        """The change of slope at every kink."""
        return {
            t: after - before for t, before, after in zip(self.kinks, self.slopes, self.slopes[1:])
        }

    def corners(self, lo: Rational, hi: Rational) -> tuple[list[float], list[float]]:
        """The graph between two points as a polygon: its ends and the kinks between them."""
        inside = [(t, value) for t, value in zip(self.kinks, self.values) if lo < t < hi]
        points = [(lo, self(lo)), *inside, (hi, self(hi))]
        return [nearest_float(t) for t, _ in points], [nearest_float(value) for _, value in points]

    def reaching(self, level: Rational) -> list[Fraction]:
        """The points where the graph crosses the level, or meets it and leaves it again."""
        found = {t for t, value in zip(self.kinks, self.values) if value == level}
        ends = (None, *self.kinks, None)
        for i, slope in enumerate(self.slopes):
            if slope:
                j = max(i - 1, 0)
                x = (self.kinks[j] if self.kinks else 0) + (level - self.values[j]) / slope
                left = ends[i]
                right = ends[i + 1]
                if (left is None or left < x) and (right is None or x < right):
                    found.add(x)
        return sorted(found)

    @property
    def support(self) -> tuple[Fraction | float, Fraction | float]:
        """The ends of the support, infinite where it does not vanish far out; (∞, −∞) for the zero function."""
        if not self.kinks:
            return (-inf, inf) if self.slopes[0] or self.values[0] else (inf, -inf)
        left = -inf if self.slopes[0] or self.values[0] else self.kinks[0]
        return left, inf if self.slopes[-1] or self.values[-1] else self.kinks[-1]

    @property
    def mass(self) -> Fraction | float:
        r"""$\int_{\mathbb R}|f|$, which may be infinite."""
        size = absolute(self)
        (left, right) = self.support
        if left == -inf or right == inf:
            return inf
        pieces = zip(size.kinks, size.kinks[1:], size.values, size.values[1:])
        return sum(((b - a) * (fa + fb) / 2 for a, b, fa, fb in pieces), Fraction(0))

    @property
    def largest(self) -> tuple[Fraction, Fraction | float]:
        r"""A point and $\sup|f|$: attained there, or infinite (then the point is one with $f\ne0$)."""
        points = self.kinks or (Fraction(0),)
        best = max(points, key=lambda x: abs(self(x)))
        if not (self.slopes[0] or self.slopes[-1]):
            return best, abs(self(best))
        away = points[-1] + 1 if self.slopes[-1] else points[0] - 1
        return (away if self(away) else away + (1 if self.slopes[-1] else -1)), inf


def from_jumps(
    left: Rational, jumps: Mapping[Fraction, Fraction], at: Rational, value: Rational
) -> PiecewiseAffine:
    """The function with slope `left` at minus infinity, these changes of slope, and the given value at `at`."""
    kinks = sorted(t for t, jump in jumps.items() if jump)
    if len(kinks) >= MAX_PIECES:
        raise SubjectError(
            "The function has too many pieces.",
            got=f"{len(kinks) + 1:,} affine pieces",
            remedy=f"the exact form is kept up to {MAX_PIECES:,}; take a smaller network",
        )
    slopes = [Fraction(left)]
    for t in kinks:
        slopes.append(slopes[-1] + jumps[t])
    values = [Fraction(0)]
    for slope, a, b in zip(slopes[1:], kinks, kinks[1:]):
        values.append(values[-1] + slope * (b - a))
    raw = PiecewiseAffine(tuple(kinks), tuple(slopes), tuple(values))
    shift = value - raw(at)
    return PiecewiseAffine(raw.kinks, raw.slopes, tuple(v + shift for v in values))


def from_breaks(breaks: Iterable[Rational], g: Callable[[Fraction], Rational]) -> PiecewiseAffine:
    """The function `g`, which must be affine between the breaks and beyond them."""
    inner = sorted({Fraction(t) for t in breaks}) or [Fraction(0)]
    points = [inner[0] - 1, *inner, inner[-1] + 1]
    values = [Fraction(g(x)) for x in points]
    slopes = [(fb - fa) / (b - a) for a, b, fa, fb in zip(points, points[1:], values, values[1:])]
    jumps = {t: after - before for t, before, after in zip(inner, slopes, slopes[1:])}
    return from_jumps(slopes[0], jumps, inner[0], values[1])


def enclose_rational(value: Rational | float) -> Enclosure:
    """The enclosure of a number known exactly, which may be infinite."""
    known = isinstance(value, Rational) or isfinite(value)  # a rational may be beyond the floats
    return Enclosure.exact(value) if known else Enclosure.between(float(value), float(value))


def affine(slope: Rational, value: Rational = 0) -> PiecewiseAffine:
    """`slope·x + value`."""
    return PiecewiseAffine((), (Fraction(slope),), (Fraction(value),))


def combination(
    terms: Sequence[tuple[Rational, PiecewiseAffine]], constant: Rational = 0
) -> PiecewiseAffine:
    r"""$\text{constant}+\sum_ic_if_i$, in time proportional to the number of kinks."""
    jumps: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
    for c, f in terms:
        for t, jump in f.jumps.items():
            jumps[t] += c * jump
    left = sum((c * f.slopes[0] for c, f in terms), Fraction(0))
    return from_jumps(left, jumps, 0, sum((c * f(0) for c, f in terms), Fraction(constant)))


def relu(f: PiecewiseAffine) -> PiecewiseAffine:
    r"""$\max\{0,f\}$."""
    return from_breaks([*f.kinks, *f.reaching(0)], lambda x: max(Fraction(0), f(x)))


def compose(f: PiecewiseAffine, g: PiecewiseAffine) -> PiecewiseAffine:
    r"""$f\circ g$: its kinks are kinks of $g$ or points that $g$ sends to a kink of $f$."""
    return from_breaks([*g.kinks, *(x for t in f.kinks for x in g.reaching(t))], lambda x: f(g(x)))


def absolute(f: PiecewiseAffine) -> PiecewiseAffine:
    r"""$|f|=\max\{0,f\}+\max\{0,-f\}$."""
    return relu(f) + relu(affine(0) - f)


def on_the_line(description: Description | None) -> Description:
    """The description, if it is one of a network with one input, one output and ReLU or identity activations."""
    description = require_layers(description)
    widths = description.widths
    words = {layer.activation for layer in description.layers} - {"relu", "identity"}
    if widths[0] != 1 or widths[-1] != 1 or words:
        got = ", ".join([f"{widths[0]} inputs", f"{widths[-1]} outputs", *sorted(words)])
        raise SubjectError(
            "Exact pieces on the line need a ReLU network with one input and one output.", got=got
        )
    return description


def realisation(description: Description) -> PiecewiseAffine:
    """The function of a network `on_the_line`, exactly."""
    state = [affine(1)]
    for layer in description.layers:
        rows = zip(layer.weight.tolist(), layer.bias.tolist())
        state = [
            combination([(Fraction(w), f) for w, f in zip(row, state) if w], Fraction(b))
            for row, b in rows
        ]
        if layer.activation == "relu":
            state = [relu(f) for f in state]
    return state[0]


def exact_value(description: Description, x: Rational) -> Fraction:
    """The network at one rational point, neuron by neuron: a second way to the value of `realisation`."""
    state = [Fraction(x)]
    for layer in description.layers:
        rows = zip(layer.weight.tolist(), layer.bias.tolist())
        state = [sum((Fraction(w) * v for w, v in zip(row, state)), Fraction(b)) for row, b in rows]
        if layer.activation == "relu":
            state = [max(Fraction(0), v) for v in state]
    return state[0]


def exact_form(description: Description | None) -> PiecewiseAffine | str:
    """The realisation, or why there is none."""
    try:
        return realisation(on_the_line(description))
    except SubjectError as error:
        return str(error.got)
