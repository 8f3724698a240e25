"""Polynomials, broken lines and a network through the same points, inside the interval and beyond it."""

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

from ftheta.logic import Axis, Curves, Series

from .interval_function import IntervalFunction, extend_broken_line
from .nodes import KINDS, Interpolant, lebesgue_constant, lebesgue_point, nodes

MOST_DEGREE = 60
SHOWN = 401
Values = Callable[[np.ndarray], np.ndarray]


def draw_panel(f: IntervalFunction, n: int, network: Values, reach: float, title: str) -> Curves:
    """The function and what goes through its points, up to `reach` half-widths from the middle."""
    t = np.linspace(-reach, reach, SHOWN)
    x = nodes("equispaced", n)
    values = f.sampled.values
    truth = values(t)
    inside = f.sampled.grid[1]
    frame = (float(inside.min()), float(inside.max()))
    curves: list[tuple[str, np.ndarray, Any]] = [
        ("equispaced polynomial", f.sampled.interpolant("equispaced", n)(t), "other"),
        ("Chebyshev polynomial", f.sampled.interpolant("Chebyshev", n)(t), "measured"),
        ("broken line (ReLU)", extend_broken_line(x, values(x), t), "other"),
        ("trained tanh network", network(t), "other"),
        (f.name, truth, "reference"),
    ]
    series = [_within(name, f.carry(t), y, frame, role) for name, y, role in curves]
    dots = Series("equispaced nodes", f.carry(x), values(x), "reference", "points")
    what = f"{title}: degree {n}, " + (
        "on the interval" if reach == 1 else "on and beyond the interval of the nodes"
    )
    return Curves(what, Axis("x"), Axis("value"), (*series, dots))


def _within(
    name: str, x: np.ndarray, y: np.ndarray, frame: tuple[float, float], role: Any
) -> Series:
    """The part of a curve around the middle that stays near the function, so that the function is still seen."""
    margin = 2.0 * max(frame[1] - frame[0], 1e-9)
    out = np.flatnonzero((y < frame[0] - margin) | (y > frame[1] + margin) | ~np.isfinite(y))
    middle = len(x) // 2
    start = max((k + 1 for k in out if k < middle), default=0)
    end = min((k for k in out if k >= middle), default=len(x))
    return Series(name, x[start:end], y[start:end], role)


def draw_errors(f: IntervalFunction, n: int, ellipse: float) -> Curves:
    """Largest errors against the degree."""
    degrees = np.arange(1, min(max(2 * n, 24), MOST_DEGREE) + 1)
    x = f.sampled.grid[0]
    if f.exact is not None:
        found = {k: [np.abs(f.exact.errors_at(k, int(m), x)).max() for m in degrees] for k in KINDS}
        best = [float(f.exact.best_error(int(m))) for m in degrees]
        line = Series("best polynomial", degrees, best, "reference")
    else:
        found = {k: [f.sampled.error(k, int(m)).lo for m in degrees] for k in KINDS}
        size = f.sampled.on_ellipse(ellipse)
        bound = 4 * size * ellipse ** -degrees.astype(float) / (ellipse - 1)
        line = Series("4Mρ⁻ⁿ/(ρ − 1)", degrees, bound, "reference") if np.isfinite(size) else None
    series = [Series("equispaced nodes", degrees, np.maximum(found["equispaced"], 1e-17), "other")]
    series.append(
        Series("Chebyshev nodes", degrees, np.maximum(found["Chebyshev"], 1e-17), "measured")
    )
    bent = [f.sampled_line_error(int(m)).lo for m in degrees]
    series.append(Series("broken line (ReLU)", degrees, np.maximum(bent, 1e-17), "other"))
    series += [] if line is None else [line]
    return Curves(
        "largest error against degree", Axis("degree n"), Axis("max |f − p|", "log"), tuple(series)
    )


def draw_lebesgue_constants(n: int) -> Curves:
    """Lebesgue constants of both kinds of nodes, and what they grow like."""
    degrees = np.arange(2, min(max(2 * n, 24), MOST_DEGREE) + 1)
    even = [lebesgue_point(nodes("equispaced", int(m)), -1, 1)[1] for m in degrees]
    slow = [lebesgue_constant("Chebyshev", int(m)).middle for m in degrees]
    series = (
        Series("equispaced", degrees, even, "other"),
        Series(
            "2ⁿ⁺¹/(e n ln n)",
            degrees,
            2.0 ** (degrees + 1) / (np.e * degrees * np.log(degrees)),
            "reference",
        ),
        Series("Chebyshev", degrees, slow, "measured"),
        Series(
            "(2/π) ln(n + 1) + 1", degrees, [2 / pi * log(m + 1) + 1 for m in degrees], "reference"
        ),
    )
    return Curves("Lebesgue constants", Axis("degree n"), Axis("Λ", "log"), series)


def draw_points(name: str, x: np.ndarray, y: np.ndarray) -> Curves:
    """Points in increasing order, with the polynomial and the broken line through them."""
    middle = (x[0] + x[-1]) / 2
    half = (x[-1] - x[0]) / 2
    t = (x - middle) / half
    grid = np.linspace(-1, 1, SHOWN)
    values = Interpolant(t, y)(grid)
    low = float(y.min())
    high = float(y.max())
    room = max(high - low, 1e-9)  # the curve is cut off where it leaves the data by their range
    shown = np.clip(values, low - room, high + room)
    at = middle + half * grid
    series = (
        Series("polynomial through the points", at, shown, "other"),
        Series("broken line (ReLU)", at, extend_broken_line(t, y, grid), "measured"),
        Series(name, x, y, "reference", "points"),
    )
    cut = "; the polynomial is cut off at the frame" if np.ptp(values) > 3 * room else ""
    return Curves(f"through {len(x)} points{cut}", Axis("x"), Axis("y"), series)
