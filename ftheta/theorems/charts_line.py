"""Functions of one variable and the neurons that they are sums of, drawn and tabulated."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Axis, Curves, Series, Table
from ftheta.logic.chart import Role
from ftheta.relu.elementary import ridges
from ftheta.relu.line.cpa1d import PiecewiseAffine
from ftheta.relu.line.points import on_line
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork

ZERO = fmpq(0)


def draw_graph(
    name: str, f: Callable[[Fraction], Any], points: Sequence[Fraction], role: Role = "measured"
) -> Series:
    """The graph of a function over the points."""
    return Series(name, [float(x) for x in points], [float(f(x)) for x in points], role)


def draw_on_segment(
    title: str,
    functions: Mapping[str, Callable[[np.ndarray], Any]],
    start: np.ndarray,
    end: np.ndarray,
) -> Curves:
    """The first output of functions of rows, along the segment between two inputs."""
    t = np.linspace(0.0, 1.0, 257)
    rows = start + t[:, None] * (end - start)
    roles: tuple[Role, ...] = ("measured", "reference", "other")
    series = [
        Series(name, t, np.asarray(f(rows)).reshape(len(rows), -1)[:, 0], role)
        for (name, f), role in zip(functions.items(), roles)
    ]
    return Curves(title, Axis("t"), Axis("first output"), tuple(series))


def points_around(*functions: PiecewiseAffine, least: float = 1.0) -> list[Fraction]:
    """Points for a picture: around all kinks, a third of their spread (at least `least`) further on either side."""
    kinks = sorted({t for f in functions for t in f.kinks}) or [Fraction(0)]
    margin = max((kinks[-1] - kinks[0]) / 3, Fraction(least))
    lo = kinks[0] - margin
    hi = kinks[-1] + margin
    shown = kinks[:: max(1, len(kinks) // 512)]
    return sorted({*shown, *(lo + (hi - lo) * k / 128 for k in range(129))})


def draw_neurons(f: PiecewiseAffine, net: ExactNetwork, title: str, most: int = 7) -> Curves:
    """The function over the neurons that it is the sum of (the first few of them)."""
    points = points_around(f)
    (hidden, last) = net.steps
    neurons = [
        ridges([last.matrix.rows[0].get(i, ZERO)], [row.get(0, ZERO)], [b])
        for i, (row, b) in enumerate(zip(hidden.matrix.rows[:most], hidden.offset))
    ]
    graphs = [
        draw_graph(f"neuron {i + 1}", on_line(one)[0], points, "other")
        for i, one in enumerate(neurons)
    ]
    return Curves(title, Axis("x"), Axis("value"), (*graphs, draw_graph("f, the sum", f, points)))


def tabulate_neurons(net: ExactNetwork) -> Table:
    r"""The neurons of $c+\sum_ia_ir(w_ix+b_i)$, one per row."""
    hidden, last = net.steps
    rows = [
        (
            i + 1,
            float(fraction(row.get(0, ZERO))),
            float(fraction(b)),
            float(fraction(last.matrix.rows[0].get(i, ZERO))),
        )
        for i, (row, b) in enumerate(zip(hidden.matrix.rows[:64], hidden.offset))
    ]
    constant = float(fraction(last.offset[0]))
    return Table(
        f"neurons a·r(wx + b); constant {constant:g}", ("neuron", "w", "b", "a"), tuple(rows)
    )
