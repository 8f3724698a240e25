r"""How smooth a function is that need not be convex: over a box, and along a run of gradient descent."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import trace
from ftheta.shapes import Float

from .descent import Path, descend
from .landscapes import curvature_along_gradient
from .methods import steepest

DOUBLINGS = 12
ROUNDING = 1e-13


def smoothness_on_box(
    objective: Callable[[Any], Any],
    lo: Float[np.ndarray, "*shape"],
    hi: Float[np.ndarray, "*shape"],
) -> float | None:
    r"""A bound on $\|\nabla^2F\|_2$ over a box in interval arithmetic (by row sums); none where it is out of reach."""
    try:
        box: Any = intervals(
            trace(jax.hessian(objective), lo, fold_rounded=False), Interval(lo, hi)
        ).outputs
    except GraphError:
        return None
    entries = np.maximum(np.abs(box.lo), np.abs(box.hi)).reshape(lo.size, lo.size)
    rows = float(entries.sum(axis=1).max())
    if lo.size > 1:
        rows = float(np.nextafter(rows * (1 + 4 * lo.size * np.finfo(float).eps), np.inf))
    return rows if np.isfinite(rows) else None


def met_smoothness(path: Path, tau: float) -> float:
    r"""The largest $2(F_{k+1}-F_k+\tau\|g_k\|^2)/(\tau^2\|g_k\|^2)$: the curvature that the steps have felt."""
    drop = np.diff(path.values)
    slopes = path.slopes[:-1]
    felt = slopes > ROUNDING * (slopes.max(initial=0.0) + np.abs(path.values).max() / tau)
    bent = 2 * (drop + tau * slopes)[felt] / (tau**2 * slopes[felt])
    return float(np.nan_to_num(bent, nan=np.inf, posinf=np.inf).max(initial=0.0))


def careful_descent(
    objective: Callable[[Any], Any], start: Float[np.ndarray, "*shape"], steps: int, step: float
) -> tuple[Path, float]:
    r"""Gradient descent with $\tau=h/L$, $L$ doubled until no step has felt more: the run, and that $L$."""
    L = max(curvature_along_gradient(objective, start), 1e-6)
    path = descend(steepest(step / L), objective, start, steps)
    for _ in range(DOUBLINGS):
        felt = met_smoothness(path, step / L)
        if felt <= L:
            break
        L *= 2 if not np.isfinite(felt) else max(2.0, min(felt / L, 64.0))
        path = descend(steepest(step / L), objective, start, steps)
    return path, L
