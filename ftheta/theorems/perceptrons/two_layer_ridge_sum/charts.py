"""Sums of ridge functions beside the function that they fit, and their errors."""

import numpy as np

from ftheta.logic import Axis, Chart, Curves, Heatmap, Series
from ftheta.subjects.values import POINTS

from .fits import PANELS, Fits


def draw_fits(x: np.ndarray, y: np.ndarray, found: Fits) -> list[Chart]:
    """The seed's panels in one or two dimensions, and the error against the number of terms."""
    fits = found.fits
    shown = [q for q in PANELS if q in fits] or [max(fits)]
    floor = 1e-16 * max(float(np.abs(y).max()), 1e-300)
    curve = Series("root mean square error", list(fits), np.maximum(found.errors, floor))
    charts: list[Chart] = [
        Curves("more terms are never worse", Axis("terms p", "log"), Axis("error", "log"), (curve,))
    ]
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0])
        t = x[order, 0]
        target = Series("target", x[order, 0], y[order], "reference")
        series = [Series(f"p = {q}", t, fits[q].values[order], "other") for q in shown[:-1]]
        series.append(Series(f"p = {shown[-1]}", t, fits[shown[-1]].values[order]))
        charts.insert(
            0, Curves("sums of ridge functions", Axis("x"), Axis("value"), (target, *series))
        )
    if x.shape[1] == 2 and len(x) == POINTS[2] ** 2:
        side = POINTS[2]
        extent = (*np.sort(x[:, 0])[[0, -1]].tolist(), *np.sort(x[:, 1])[[0, -1]].tolist())
        for name, values in [("target", y), *((f"p = {q}", fits[q].values) for q in shown)]:
            charts.append(
                Heatmap(name, Axis("x₁"), Axis("x₂"), values.reshape(side, side).T, extent, "value")
            )
    return charts
