r"""Filters on a cosine, where every derivative is known: the series of moments, and the operator as $h\to0$."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, prod

import numpy as np

from ftheta.estimates import largest, worst_ratio

from .stencils import Stencil, exponents

STEPS = (0.4, 0.2, 0.1)
TERMS = 6
WAVE = (1.0, 0.7, 0.4)
PHASE = 0.4


def _wave(*x: float) -> float:
    return float(np.cos(np.dot(WAVE[: len(x)], x) + PHASE))


def series_error(stencils: Sequence[Stencil]) -> float:
    r"""The largest error of the series below order `TERMS`, over its remainder
    $\sum_k|q_k|(|k|_1h|\omega|_\infty)^6/6!$."""
    worst = 0.0
    for stencil in stencils:
        omega = WAVE[: stencil.dimension]
        for h in STEPS:
            value = stencil.apply(_wave, (0.0,) * stencil.dimension, h)
            bound = stencil.remainder(h, TERMS, max(omega))
            gap = abs(value - stencil.series(omega, PHASE, h, TERMS))
            worst = largest(worst, worst_ratio(gap, bound))
    return worst


@dataclass(frozen=True, eq=False)
class Approach:
    r"""How $h^{-d}\sum_kq[k]f(x+kh)$ tends to the leading operator of order $d$ at the steps $h$, at order $p$.

    `ratio` is the largest error over its bound $h^p\sum_k|q_k|(|k|_1|\omega|_\infty)^{d+p}/(d+p)!$.
    """

    order: int
    steps: np.ndarray
    errors: np.ndarray
    ratio: float


def approach_operator(stencil: Stencil) -> Approach | None:
    """The filter at smaller and smaller steps; None where no operator of order at most 4 leads."""
    d = stencil.derivative()
    order = stencil.accuracy()
    if d is None or order is None or d > 4:
        return None
    omega = WAVE[: stencil.dimension]
    turned = np.cos(PHASE + d * np.pi / 2)
    limit = sum(
        float(stencil.moment(a))
        * prod(w**k for w, k in zip(omega, a))
        / prod(map(factorial, a))
        * turned
        for a in exponents(stencil.dimension, d)
    )
    steps = 0.5 ** np.arange(1.0, 6.0)
    origin = (0.0,) * stencil.dimension
    values = [stencil.apply(_wave, origin, h) / h**d for h in steps]
    errors = np.abs(np.array(values) - limit)
    bounds = np.array([stencil.remainder(h, d + order, max(omega)) / h**d for h in steps])
    # what rounding of the terms may leave
    slack = 1e-12 * float(np.abs(stencil.weights).sum()) / steps**d
    return Approach(order, steps, errors, float(((errors - slack) / bounds).max()))
