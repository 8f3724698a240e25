r"""Where a function of one variable bends up and where it bends down, by interval bisection of its second derivative.

The graph of $F''$ is evaluated in ball arithmetic on whole intervals: a ball that does not contain 0 decides the sign
for every point of its interval. Undecided intervals are halved until they are shorter than the tolerance, so what is
left undecided surrounds the points of inflexion.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from flint import arb, ctx, fmpq  # type: ignore[import-untyped]

from ftheta.graph.graph import Graph
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError, UsageError

from .balls import ball_values, known

BITS = 128
BUDGET = 4_000  # intervals looked at


@dataclass(frozen=True, slots=True)
class Stretch:
    """An interval on which the curvature has one sign (1 or −1), or where it was not decided (0)."""

    lo: Fraction
    hi: Fraction
    sign: int


def scalar_graph(f: Callable[[Any], Any], order: int = 0) -> Graph:
    """The graph of a function of one real number, or of its derivative of that order; arrays of one number will do."""
    try:
        with jax.enable_x64(True):
            for _ in range(order):
                f = jax.grad(f)
            return trace(f, jax.ShapeDtypeStruct((), np.float64))
    except TypeError as error:
        raise SubjectError(
            "A function of one real number is needed.", got=str(error).splitlines()[0]
        ) from error


def ball_at(graph: Graph, lo: Fraction | float, hi: Fraction | float | None = None) -> Any | None:
    """A ball that contains the function on [lo, hi] (or at lo); None where a rule is missing."""
    ends = [arb(_rational(end)) for end in (lo, lo if hi is None else hi)]
    values = ball_values(graph, [ends[0].union(ends[1])])
    return None if values is None else values[graph.outputs[0]]


def _rational(x: Fraction | float) -> Any:
    q = Fraction(x)
    return fmpq(q.numerator, q.denominator)


def curvature_signs(
    f: Callable[[Any], Any], lo: float, hi: float, tol: float = 1e-12
) -> tuple[Stretch, ...]:
    r"""The interval [lo, hi] cut into stretches where $F''>0$, where $F''<0$, and short ones that are not decided.

    Every sign holds for the whole stretch: the arithmetic rounds outward. When the budget is spent, longer stretches
    stay undecided.
    """
    if not (np.isfinite([lo, hi]).all() and lo < hi and tol > 0):
        raise UsageError(
            "Curvature is looked at on an interval lo < hi.", got=f"[{lo}, {hi}], tolerance {tol}"
        )
    graph = scalar_graph(f, 2)
    found = []
    looked = 0
    # the longest first, so that a spent budget leaves no gap behind
    waiting = deque([(Fraction(lo), Fraction(hi))])
    with ctx.workprec(BITS):
        while waiting:
            a, b = waiting.popleft()
            looked += 1
            sign = _sign(ball_at(graph, a, b))
            if sign == 0 and b - a > tol and looked < BUDGET:
                middle = (a + b) / 2
                waiting += [(a, middle), (middle, b)]
            else:
                found.append(Stretch(a, b, sign))
    return _join(sorted(found, key=lambda stretch: stretch.lo))


def _sign(ball: Any | None) -> int:
    return 0 if ball is None or not ball.is_finite() else 1 if ball > 0 else -1 if ball < 0 else 0


def _join(stretches: list[Stretch]) -> tuple[Stretch, ...]:
    """Neighbours of one sign as one stretch."""
    joined: list[Stretch] = []
    for next_one in stretches:
        if joined and joined[-1].sign == next_one.sign:
            joined[-1] = Stretch(joined[-1].lo, next_one.hi, next_one.sign)
        else:
            joined.append(next_one)
    return tuple(joined)


def inflexions(stretches: tuple[Stretch, ...]) -> tuple[Enclosure, ...]:
    """Enclosures of the points where the sign of the curvature changes; one for each change from stretch to stretch."""
    decided = [s for s in stretches if s.sign]
    changes = [(a, b) for a, b in pairwise(decided) if a.sign != b.sign]
    return tuple(
        Enclosure.between(Enclosure.exact(a.hi).lo, Enclosure.exact(b.lo).hi) for a, b in changes
    )


def value_at(graph: Graph, x: float) -> Enclosure:
    """The value there, enclosed; unknown where a rule is missing."""
    with ctx.workprec(BITS):
        ball = ball_at(graph, x)
    return Enclosure() if ball is None else known(ball)
