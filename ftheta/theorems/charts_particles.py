"""Charts of neurons as particles: energies, paths, fluctuations and success against width."""

import numpy as np

from ftheta.logic import Axis, Curves, Series
from ftheta.particles.descent import Runs
from ftheta.particles.neurons import Fluctuations, Success

LOOKS = 24  # points of a path
SHOWN = 60  # paths


def draw_energy(runs: Runs) -> Curves:
    """The energies of all runs against time: their median, and all between the extremes."""
    kept = np.unique(np.geomspace(1, runs.energies.shape[1], 120).astype(int) - 1)
    lo, middle, hi = np.quantile(
        np.maximum(runs.energies[:, kept], 1e-300), (0.0, 0.5, 1.0), axis=0
    )
    time = np.median(runs.times[:, kept], 0)
    band = Series("energy F", time[1:], middle[1:], "measured", "line", lo[1:], hi[1:])
    return Curves("decay of the energy", Axis("time t", "log"), Axis("F", "log"), (band,))


def draw_paths(paths: np.ndarray, teacher: np.ndarray | None = None) -> Curves:
    r"""Where the neurons go, $|\mu|w$ in a plane of the first two coordinates, one line each, by the sign of $\mu$."""
    paths = paths[:: -(-len(paths) // LOOKS), :SHOWN]
    places = np.abs(paths[..., :1]) * paths[..., 1:3]
    places = np.concatenate([places, np.full_like(places[:1], np.inf)])  # a gap after each neuron
    series = []
    if teacher is not None:
        at = np.abs(teacher[:, :1]) * teacher[:, 1:3] / len(teacher)
        at = (
            at
            / np.linalg.norm(at, axis=1, keepdims=True)
            * np.linalg.norm(places[:-1], axis=-1).max()
        )
        rays = np.stack([np.zeros_like(at), at, np.full_like(at, np.inf)], 1).reshape(-1, 2)
        series.append(Series("teacher's directions", rays[:, 0], rays[:, 1], "reference"))
    for name, chosen in (("μ > 0", paths[-1, :, 0] > 0), ("μ < 0", paths[-1, :, 0] <= 0)):
        if chosen.any():
            lines = places[:, chosen].swapaxes(0, 1).reshape(-1, 2)
            series.append(
                Series(name, lines[:, 0], lines[:, 1], "measured" if "> 0" in name else "other")
            )
    return Curves("paths of the neurons", Axis("|μ| w₁"), Axis("|μ| w₂"), tuple(series))


def draw_fluctuations(found: Fluctuations) -> Curves:
    """The distance of trained networks of q neurons from the limit, beside the order 1/2."""
    middle = np.array([np.sqrt(s.mean()) for s in found.squares])
    guide = middle[0] * np.sqrt(found.widths[0] / found.widths)
    lo, hi = (
        np.array([np.sqrt(np.quantile(s, level)) for s in found.squares]) for level in (0.1, 0.9)
    )
    lines = (
        Series("slope −1/2", found.widths, guide, "reference"),
        Series("networks trained", found.widths, middle, "measured", "line", lo, hi),
    )
    return Curves(
        "fluctuation after training", Axis("neurons q", "log"), Axis("|f_q − f_ρ|", "log"), lines
    )


def draw_success(found: Success, unit: int = 1) -> Curves:
    """Success against the width in units of so many neurons."""
    x = np.array(found.widths) / unit
    rates = found.rates()
    low = [rate.lo for rate in rates]
    high = [rate.hi for rate in rates]
    seen = Series("runs that succeed", x, found.shares, "measured", "line", low, high)
    label = "neurons q" if unit == 1 else "neurons of the student / of the teacher"
    return Curves("success against width", Axis(label, "log"), Axis("share of runs"), (seen,))
