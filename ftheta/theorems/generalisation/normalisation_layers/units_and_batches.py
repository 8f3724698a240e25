r"""One weight-normalised unit, small batches and one layer normalisation, in fractions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np


def rayleigh(a: Sequence[Fraction], w: Sequence[Fraction]) -> tuple[Any, list[Any]]:
    r"""$L(w)=\langle a,w\rangle^2/\|w\|^2$, the squared output of a weight-normalised unit, and $\nabla L$."""
    s = sum(x * y for x, y in zip(a, w))
    n = sum(x * x for x in w)
    return s * s / n, [2 * s * x / n - 2 * s * s * y / (n * n) for x, y in zip(a, w)]


@dataclass(frozen=True)
class Unit:
    r"""Of $L$ at $w=(2,1)$, $a=(1,0)$: $\langle\nabla L,w\rangle$ (`angle`),
    $|L(3w)-L(w)|+\max|3\nabla L(3w)-\nabla L(w)|$ (`off`), and the squared lengths of $w$,
    $\nabla L$ and $w-\nabla L$."""

    angle: Fraction
    off: Fraction
    length: Fraction
    slope: Fraction
    moved: Fraction


def square(v: Sequence[Fraction]) -> Fraction:
    r"""$\|v\|^2$."""
    return sum((x * x for x in v), Fraction(0))


def study_unit() -> Unit:
    """The unit with two weights."""
    a = [Fraction(1), Fraction(0)]
    w = [Fraction(2), Fraction(1)]
    c = Fraction(3)
    value, g = rayleigh(a, w)
    far, scaled = rayleigh(a, [c * x for x in w])
    angle = sum((x * y for x, y in zip(g, w)), Fraction(0))
    off = max(abs(c * s - x) for s, x in zip(scaled, g)) + abs(far - value)
    return Unit(angle, off, square(w), square(g), square([x - y for x, y in zip(w, g)]))


def centre(v: Sequence[Fraction]) -> list[Fraction]:
    """Every entry minus the mean."""
    mean = sum(v, Fraction(0)) / len(v)
    return [x - mean for x in v]


def average_batch_variance(values: tuple[Fraction, ...], m: int) -> tuple[Any, Any]:
    """The mean variance of all batches of m draws, and that of the population."""
    batches = list(product(values, repeat=m))
    total = sum((_variance(batch) for batch in batches), Fraction(0))
    return total / len(batches), _variance(values)


def _variance(values: tuple[Fraction, ...]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum((x * x for x in values), Fraction(0)) / len(values) - mean**2


def measure_batch_effect(sizes: np.ndarray, rng: np.random.Generator, draws: int) -> np.ndarray:
    """How far batch normalisation in training is from that at evaluation (running mean 0, variance 1),
    root mean square, for batches of these sizes of normal rows."""
    apart = []
    for m in sizes:
        z = rng.normal(size=(draws, m))
        trained = (z - z.mean(1, keepdims=True)) / z.std(1, keepdims=True)
        apart.append(float(np.sqrt(np.mean((trained - z) ** 2))))
    return np.array(apart)
