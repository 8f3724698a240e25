"""Filters beside the operators that they approximate, and the heat equation layer by layer."""

from collections.abc import Sequence
from math import factorial

import numpy as np

from ftheta.logic import Axis, Curves, Heatmap, Series, Table
from ftheta.networks.architectures.mosaics import tile_arrays

from .heat import Diffusion
from .stencils import Stencil


def draw_heat(diffusion: Diffusion) -> Curves | Heatmap:
    """The start, states on the way and the last one; on the line beside the solution of the heat equation."""
    shown = sorted({0, diffusion.steps // 16, diffusion.steps // 4, diffusion.steps})
    if diffusion.start.ndim > 1:
        sheet = tile_arrays(np.round(diffusion.states[shown], 6), 2)
        extent = (0.0, float(sheet.shape[1]), 0.0, float(sheet.shape[0]))
        title = f"heat equation after {', '.join(map(str, shown))} layers, row by row"
        return Heatmap(title, Axis("x"), Axis("y"), sheet[::-1], extent, "u")
    x = np.arange(len(diffusion.start)) / len(diffusion.start)
    layers = [Series(f"layer {k}", x, np.round(diffusion.states[k], 8)) for k in shown]
    exact = Series("heat equation", x, np.round(diffusion.exact(diffusion.steps), 8), "reference")
    return Curves(
        "heat equation by a residual convolution network", Axis("x"), Axis("u"), (*layers, exact)
    )


def draw_response(stencil: Stencil) -> Curves:
    """What the filter multiplies a wave along the first axis by, beside its leading operator."""
    omega = np.linspace(0, np.pi, 121)
    values = sum(float(q) * np.exp(1j * at[0] * omega) for at, q in stencil.taps.items())
    d = stencil.derivative() or 0
    lead = float(stencil.moment((d, *[0] * (stencil.dimension - 1)))) / factorial(d)
    series = (
        Series("filter", omega, np.abs(values)),
        Series(f"leading operator, order {d}", omega, np.abs(lead) * omega**d, "reference"),
    )
    return Curves("response to waves", Axis("frequency ω (h = 1)"), Axis("|q̂(ω)|"), series)


def tabulate_filters(stencils: Sequence[Stencil]) -> Table:
    """The operator that each filter approximates, with the orders of its derivative and of its error."""
    rows = []
    for k, stencil in enumerate(stencils, 1):
        order = stencil.derivative()
        accuracy = stencil.accuracy()
        taps = "×".join(map(str, stencil.weights.shape))
        rows.append(
            (
                k,
                taps,
                stencil.operator(),
                "–" if order is None else order,
                "–" if accuracy is None else accuracy,
            )
        )
    columns = ("filter", "taps", "operator, h = 1", "order of the derivative", "order of the error")
    return Table("filters as differential operators", columns, tuple(rows))
