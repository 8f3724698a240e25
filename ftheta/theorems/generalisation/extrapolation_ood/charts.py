"""Networks beyond their data, drawn: on the line, along rays; and the densities of a covariate shift."""

from collections.abc import Callable, Sequence

import numpy as np

from ftheta.logic import Axis, Curves, Series, Table
from ftheta.logic.chart import Role
from ftheta.subjects import Dataset

from .importance import GaussianShift
from .rays import Asymptote, Ray, Values
from .targets import REACH, TARGETS

SHOWN = 401
RAYS = 6
NEAR = 0.1  # how far an adversary moves an input


def draw_line(
    data: Dataset | None, target: str, values: Values, found: Sequence[Asymptote]
) -> Curves:
    """A network of one variable inside and outside the interval of its data, with its asymptotes."""
    x = None if data is None else data.x.reshape(-1)
    y = None if data is None else data.y
    lo, hi = (-1.0, 1.0) if x is None else (float(x.min()), float(x.max()))
    middle = (lo + hi) / 2
    half = max((hi - lo) / 2, 1e-9)
    t = middle + REACH * half * np.linspace(-1, 1, SHOWN)
    series = [Series("network", t, values(t[:, None])[:, 0], "measured")]
    if target:
        series.append(Series(target, t, TARGETS[target](t), "reference"))
    drawn = np.concatenate([np.array(curve.y) for curve in series])
    room = float(np.ptp(drawn))  # asymptotes are drawn where they do not dwarf the rest
    for asymptote, sign, side in ((found[0], 1.0, "right"), (found[1], -1.0, "left")):
        ends = np.array([hi if sign > 0 else -lo, middle * sign + REACH * half])
        line = asymptote.slope[0] * ends + asymptote.offset[0]
        if line.max() <= drawn.max() + room and line.min() >= drawn.min() - room:
            series.append(Series(f"asymptote, {side}", sign * ends, line, "other"))
    if x is not None and y is not None and y.size == x.size:
        series.append(Series("training data", x, y.reshape(-1), "reference", "points"))
    return Curves(
        "inside and outside the training interval", Axis("x"), Axis("value"), tuple(series)
    )


def draw_rays(rays: Sequence[Ray], values: Values, found: Sequence[Asymptote]) -> Curves:
    """The first output along some rays, with the last breakpoints marked."""
    finite = [line for line in found if np.isfinite(line.last)]
    end = max([4.0, *(1.3 * line.last for line in finite)])
    t = np.linspace(0, min(end, 1e6), SHOWN)
    series = [
        Series(ray.name, t, values(ray.at(t))[:, 0], "other" if k else "measured")
        for k, ray in enumerate(rays[:RAYS])
    ]
    if finite:
        last = [line.last for line in finite[:RAYS]]
        height = [float(line.at(line.last)[0]) for line in finite[:RAYS]]
        series.append(Series("last breakpoints", last, height, "reference", "points"))
    return Curves(
        "the first output along rays",
        Axis("t, in distances of the row"),
        Axis("f(x + tv)"),
        tuple(series),
    )


def draw_densities(shift: GaussianShift) -> Curves:
    """The densities of training and test inputs, and the weight of a training row."""
    x = np.linspace(-4, 4 + max(shift.move, 0), SHOWN)
    p = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    w = shift.weights(x)
    curves: tuple[tuple[str, np.ndarray, Role], ...] = (
        ("training density p", p, "reference"),
        ("test density q", p * w, "measured"),
        ("weight q/p", w, "other"),
    )
    series = [Series(name, x[y > 1e-6], y[y > 1e-6], role) for name, y, role in curves]
    return Curves(
        "covariate shift: densities and weights",
        Axis("x"),
        Axis("density, weight", "log"),
        tuple(series),
    )


def tabulate_errors(loss: Callable[[np.ndarray], np.ndarray]) -> Table:
    """The squared error of a network fitted on [-1, 1] under four kinds of test inputs."""

    def average(lo: float, hi: float) -> float:
        return float(loss(np.linspace(lo, hi, SHOWN)).mean())

    near = np.linspace(-1 - NEAR, 1 + NEAR, 10 * SHOWN)
    rows = (
        ("as in training: uniform on [−1, 1]", average(-1, 1)),
        ("covariate shift: uniform on [½, 1]", average(0.5, 1)),
        ("outside the support: uniform on [1, 3]", average(1, REACH)),
        (f"adversarial: the worst point within {NEAR:g} of a row", float(loss(near).max())),
    )
    return Table("squared error by kind of test inputs", ("test inputs", "squared error"), rows)
