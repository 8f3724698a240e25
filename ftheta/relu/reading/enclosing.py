r"""The real value of a program at a point, enclosed: what a float64 value can be worth there.

A program that cancels, $(10^{16}x+x)-10^{16}x$, is another function in float64 than over the reals. Whoever sees the
two apart at a point asks here how far the real value can be from the computed one, before anything is held against it.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.shapes import Real


def gap_to(
    f: Callable[[Any], Any], x: Real[np.ndarray, "*shape"], output: int, meant: float
) -> Enclosure | None:
    r"""$|f_j(x)-c|$ over the reals for the number $c$ `meant`, in interval arithmetic; None where that has no rule."""
    try:
        with jax.enable_x64(True):
            values: Any = intervals(trace(f, x, fold_rounded=False), Interval(x, x)).outputs
    except GraphError:
        return None
    low = float(np.ravel(values.lo)[output])
    high = float(np.ravel(values.hi)[output])
    nearest = max(0.0, low - meant, meant - high)
    return Enclosure.between(nearest, max(abs(low - meant), abs(high - meant)), Basis.FLOAT)
