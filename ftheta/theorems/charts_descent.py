"""Charts of first-order methods that several theorems show: the suboptimality gap against the iteration."""

from collections.abc import Mapping, Sequence

import numpy as np

from ftheta.logic import Axis, Curves, Series
from ftheta.training.descent import Path


def draw_excess(
    title: str, paths: Sequence[Path], bounds: Mapping[str, np.ndarray], least: float | None
) -> Curves:
    r"""$F(\theta_k)-F^*$ of several runs on logarithmic axes, with the `bounds` on it by name.

    `least` is $F^*$; where it is not known the smallest value that any run met takes its place.
    """
    seen = np.concatenate([path.values for path in paths])
    floor = float(np.nanmin(seen)) if least is None else least
    rounding = 1e-15 * max(
        1.0, abs(floor), float(np.nanmax(np.abs(seen[np.isfinite(seen)]), initial=0.0))
    )
    k = np.arange(1, len(paths[0]))
    series = []
    for path in paths:
        excess = path.values[1:] - floor
        shown = np.isfinite(excess) & (excess > rounding)
        series.append(Series(path.name, k[shown], excess[shown]))
    series += [Series(name, k, values[1:], "bound") for name, values in bounds.items()]
    label = (
        "F(θ_k) − F*" if least is not None else "suboptimality gap (above the smallest value met)"
    )
    return Curves(title, Axis("iteration k", "log"), Axis(label, "log"), tuple(series))
