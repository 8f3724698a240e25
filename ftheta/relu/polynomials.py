r"""Polynomials and the ReLU networks that follow them: reading one off a function, exact pieces, exact errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.logic import Axis, Curves, Enclosure, Series

from .cpa1d import PiecewiseAffine, affine, combination, relu
from .exact import ExactNetwork
from .matrices import fraction

MOST_DEGREE = 12


@dataclass(frozen=True)
class Polynomial:
    r"""$\sum_kc_kx^k$ in rationals: what a function of $+$, $-$, $\times$ and whole powers makes of $x$ itself."""

    coefficients: tuple[Fraction, ...]

    def __call__(self, x: Fraction) -> Fraction:
        value = Fraction(0)
        for c in reversed(self.coefficients):
            value = value * x + c
        return value

    def __add__(self, other: Any) -> "Polynomial":
        a, b = self.coefficients, _lifted(other).coefficients
        n = max(len(a), len(b))
        padded = [(*c, *[Fraction(0)] * (n - len(c))) for c in (a, b)]
        return _trimmed([p + q for p, q in zip(*padded)])

    def __mul__(self, other: Any) -> "Polynomial":
        a, b = self.coefficients, _lifted(other).coefficients
        product = [Fraction(0)] * (len(a) + len(b) - 1)
        for i, p in enumerate(a):
            for j, q in enumerate(b):
                product[i + j] += p * q
        return _trimmed(product)

    def __pow__(self, power: int) -> "Polynomial":
        if int(power) != power or not 0 <= power <= MOST_DEGREE:
            raise TypeError(f"a power is a whole number up to {MOST_DEGREE}")
        result = _lifted(1)
        for _ in range(int(power)):
            result = result * self
        return result

    def __neg__(self) -> "Polynomial":
        return self * -1

    def __sub__(self, other: Any) -> "Polynomial":
        return self + _lifted(other) * -1

    def __rsub__(self, other: Any) -> "Polynomial":
        return _lifted(other) + self * -1

    def __truediv__(self, other: Any) -> "Polynomial":
        (divisor,) = _lifted(other).coefficients
        return self * (1 / divisor)

    __radd__, __rmul__ = __add__, __mul__
    __array_ufunc__ = None  # NumPy numbers on the left leave the sum to us

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    def curvature(self, radius: Fraction) -> Fraction:
        r"""A bound of $|p''|$ on $[-B,B]$."""
        terms = (k * (k - 1) * abs(c) * radius ** (k - 2) for k, c in enumerate(self.coefficients) if k >= 2)
        return sum(terms, Fraction(0))


def _lifted(value: Any) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial((Fraction(float(value)),))


def _trimmed(coefficients: Sequence[Fraction]) -> Polynomial:
    found = list(coefficients)
    while len(found) > 1 and not found[-1]:
        found.pop()
    if len(found) > MOST_DEGREE + 1:
        raise TypeError(f"the degree is above {MOST_DEGREE}")
    return Polynomial(tuple(found))


def read_polynomial(f: Callable[[Any], Any]) -> Polynomial | str:
    """The polynomial that `f` is, found by applying it to the polynomial $x$; or why it is none."""
    try:
        found = f(Polynomial((Fraction(0), Fraction(1))))
        return _lifted(found)
    except Exception as error:  # whatever a function makes of an argument that it does not expect
        return f"{type(error).__name__} when it was applied to the polynomial x"


def realised(net: ExactNetwork) -> PiecewiseAffine:
    """The function of a network with one input and one output, in rational arithmetic."""
    state = [affine(1)]
    for step in net.steps:
        rows = [
            combination([(fraction(a), state[j]) for j, a in row.items()], fraction(b))
            for row, b in zip(step.matrix.rows, step.offset)
        ]
        state = [relu(f) if r else f for f, r in zip(rows, step.rectified)]
    return state[0]


def nodes(f: PiecewiseAffine, low: Fraction, high: Fraction) -> list[Fraction]:
    """The ends of the interval and the kinks between them."""
    return [low, *(t for t in f.kinks if low < t < high), high]


def largest_error(f: PiecewiseAffine, p: Polynomial, low: Fraction, high: Fraction) -> tuple[Enclosure, Fraction]:
    r"""$\sup|p-f|$ on an interval and a point where the lower end is attained: exact for degree two at most; above it
    $\max(|e(a)|,|e(m)|,|e(b)|)+\frac{h^2}{32}\max|p''|$ bounds the error $e$ on a piece of width $h$ with middle $m$."""
    best, at, above = Fraction(-1), low, Fraction(0)
    curvature = p.curvature(max(abs(low), abs(high)))
    points = nodes(f, low, high)
    for a, b in zip(points, points[1:]):
        candidates = [a, (a + b) / 2, b]
        if p.degree == 2:  # the chord's error is largest where p' is the slope
            top = ((f(b) - f(a)) / (b - a) - p.coefficients[1]) / (2 * p.coefficients[2])
            candidates += [top] if a < top < b else []
        size, x = max((abs(p(x) - f(x)), x) for x in candidates)
        best, at = (size, x) if size > best else (best, at)
        above = max(above, size + (0 if p.degree <= 2 else curvature * (b - a) ** 2 / 32))
    return Enclosure(Enclosure.exact(best).lo, Enclosure.exact(above).hi, Enclosure.exact(0).basis), at


def pictures(f: PiecewiseAffine, g: Callable[[float], float], low: Fraction, high: Fraction, name: str) -> list[Curves]:
    """The function and its network; and their difference."""
    x = np.linspace(float(low), float(high), 513)
    net = np.array([float(f(Fraction(t))) for t in x.tolist()])
    truth = np.array([float(g(t)) for t in x.tolist()])
    curves = (Series(name, x, truth, "reference"), Series("network", x, net))
    error = (Series("network − function", x, net - truth),)
    return [
        Curves(f"{name} and its network", Axis("x"), Axis("value"), curves),
        Curves("what is left", Axis("x"), Axis("error"), error),
    ]


def decay(levels: Sequence[int], errors: Sequence[Fraction], bounds: Sequence[Fraction]) -> Curves:
    """The error of $x^2$ on $[0,1]$ against the number of levels."""
    found = Series("largest error", levels, [float(e) for e in errors], mark="points")
    series = (found, Series("4^−(m+1)", levels, [float(b) for b in bounds], "bound"))
    return Curves("the error of x² falls fourfold with every level", Axis("levels m"), Axis("error", "log"), series)
