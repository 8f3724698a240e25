r"""Polynomials and the ReLU networks that follow them: reading one off a function, exact pieces, exact errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from ftheta.graph.certain import polynomial_degree
from ftheta.logic import Enclosure
from ftheta.relu.line.cpa1d import PiecewiseAffine, affine, combination, relu
from ftheta.relu.line.sawtooth import polynomial as horner
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork

MOST_DEGREE = 12
MOST_WORK = 600  # degree² · 2^levels: some seconds of rational arithmetic
CHECKS = 17


@dataclass(frozen=True, eq=False)
class Polynomial:
    r"""$\sum_kc_kx^k$ in rationals: what a function of $+$, $-$, $\times$ and whole powers makes of $x$ itself."""

    coefficients: tuple[Fraction, ...]

    def __call__(self, x: Fraction) -> Fraction:
        value = Fraction(0)
        for c in reversed(self.coefficients):
            value = value * x + c
        return value

    def __add__(self, other: Any) -> "Polynomial":
        a = self.coefficients
        b = _lift(other).coefficients
        n = max(len(a), len(b))
        padded = [(*c, *[Fraction(0)] * (n - len(c))) for c in (a, b)]
        return _trim([p + q for p, q in zip(*padded)])

    def __mul__(self, other: Any) -> "Polynomial":
        a = self.coefficients
        b = _lift(other).coefficients
        product = [Fraction(0)] * (len(a) + len(b) - 1)
        for i, p in enumerate(a):
            for j, q in enumerate(b):
                product[i + j] += p * q
        return _trim(product)

    def __pow__(self, power: int) -> "Polynomial":
        if int(power) != power or not 0 <= power <= MOST_DEGREE:
            raise TypeError(f"a power is a whole number up to {MOST_DEGREE}")
        result = _lift(1)
        for _ in range(int(power)):
            result = result * self
        return result

    def __neg__(self) -> "Polynomial":
        return self * -1

    def __sub__(self, other: Any) -> "Polynomial":
        return self + _lift(other) * -1

    def __rsub__(self, other: Any) -> "Polynomial":
        return _lift(other) + self * -1

    def __truediv__(self, other: Any) -> "Polynomial":
        (divisor,) = _lift(other).coefficients
        return self * (1 / divisor)

    def __bool__(self) -> bool:
        raise TypeError("a polynomial decides nothing: branches are not polynomial")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a polynomial decides nothing: compare coefficients")

    __hash__ = None  # type: ignore[assignment]
    __radd__ = __add__
    __rmul__ = __mul__
    __array_ufunc__ = None  # NumPy numbers on the left leave the sum to us

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    def curvature(self, radius: Fraction) -> Fraction:
        r"""A bound of $|p''|$ on $[-B,B]$."""
        terms = (
            k * (k - 1) * abs(c) * radius ** (k - 2)
            for k, c in enumerate(self.coefficients)
            if k >= 2
        )
        return sum(terms, Fraction(0))


SQUARE = Polynomial((Fraction(0), Fraction(0), Fraction(1)))


def _lift(value: Any) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial((Fraction(float(value)),))


def _trim(coefficients: Sequence[Fraction]) -> Polynomial:
    found = list(coefficients)
    while len(found) > 1 and not found[-1]:
        found.pop()
    if len(found) > MOST_DEGREE + 1:
        raise TypeError(f"the degree is above {MOST_DEGREE}")
    return Polynomial(tuple(found))


def read_polynomial(f: Callable[[Any], Any], low: float, high: float) -> Polynomial | str:
    """The polynomial that `f` is, found by applying it to the polynomial $x$ and compared at points of an interval; or
    why it is none."""
    try:
        found = _lift(f(Polynomial((Fraction(0), Fraction(1)))))
    except Exception as error:  # whatever a function makes of an argument that it does not expect
        return f"{type(error).__name__} when it was applied to the polynomial x"
    for x in np.linspace(low, high, CHECKS).tolist():
        size = sum(abs(float(c)) * abs(x) ** k for k, c in enumerate(found.coefficients))
        if not abs(float(f(x)) - float(found(Fraction(x)))) <= 1e-9 * size:
            return f"it is another function at x = {x:g} than on the polynomial x"
    # a polynomial of a degree below CHECKS is determined by its values there
    bound = polynomial_degree(f, 0.0)
    return (
        found
        if bound is not None and bound < CHECKS
        else "its graph is not that of such a polynomial"
    )


def realise(net: ExactNetwork) -> PiecewiseAffine:
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


def largest_error(
    f: PiecewiseAffine, p: Polynomial, low: Fraction, high: Fraction
) -> tuple[Enclosure, Fraction]:
    r"""$\sup|p-f|$ on an interval and a point where the lower end is attained. Exact for degree two at most; above it
    $\max(|e(a)|,|e(m)|,|e(b)|)+\frac{h^2}{32}\max|p''|$ bounds the error on a piece of width $h$ with middle $m$."""
    best = Fraction(-1)
    at = low
    above = Fraction(0)
    curvature = p.curvature(max(abs(low), abs(high)))
    points = nodes(f, low, high)
    for a, b in pairwise(points):
        candidates = [a, (a + b) / 2, b]
        if p.degree == 2:  # the chord's error is largest where p' is the slope
            top = ((f(b) - f(a)) / (b - a) - p.coefficients[1]) / (2 * p.coefficients[2])
            candidates += [top] if a < top < b else []
        size, x = max((abs(p(x) - f(x)), x) for x in candidates)
        best, at = (size, x) if size > best else (best, at)
        above = max(above, size + (0 if p.degree <= 2 else curvature * (b - a) ** 2 / 32))
    return Enclosure(
        Enclosure.exact(best).lo, Enclosure.exact(above).hi, Enclosure.exact(0).basis
    ), at


@dataclass(frozen=True, eq=False)
class Followed:
    """A function on an interval, the network of its polynomial, and the proved bound of the network's error."""

    f: Callable[[Any], Any]
    low: Fraction
    high: Fraction
    polynomial: Polynomial
    is_polynomial: bool
    levels: int
    network: PiecewiseAffine
    bound: Fraction
    neurons: int


def follow(f: Callable[[Any], Any], low: float, high: float, levels: int) -> Followed:
    """The network of a polynomial, with fewer levels where its pieces would be too many; a function that is none is
    taken for the parabola through its values at the ends and the middle."""
    a = Fraction(low)
    b = Fraction(high)
    p = read_polynomial(f, low, high)
    known = isinstance(p, Polynomial)
    if not isinstance(p, Polynomial):
        at = [low, (low + high) / 2, high]
        p = _trim(
            [Fraction(c) for c in np.polyfit(at, [float(f(x)) for x in at], 2)[::-1].tolist()]
        )
    while levels > 1 and p.degree**2 * 2**levels > MOST_WORK:
        levels -= 1
    made = horner(p.coefficients, levels, max(abs(a), abs(b)))
    neurons = sum(int(step.rectified.sum()) for step in made.network.steps)
    return Followed(f, a, b, p, known, levels, realise(made.network), made.error, neurons)
