"""A linear map of images, drawn: its matrix, its kernels, and how far it is from commuting with shifts."""

import numpy as np

from ftheta.groups.responses import Responses
from ftheta.logic import Axis, Chart, Curves, Heatmap, Series

SHOWN = 256  # rows and columns of the matrix that are drawn


def draw_map(seen: Responses) -> tuple[Chart, ...]:
    """The matrix, the kernels, and how far the map is from commuting with each shift along the first axis."""
    tiles = seen.kernel.reshape(seen.layout.grid[0], -1, seen.layout.S, seen.layout.T)
    tiled = np.concatenate(
        [np.concatenate(list(tiles[:, :, s].transpose(2, 0, 1)), 1) for s in range(seen.layout.S)]
    )
    kernels = _heatmap(
        "kernels ψ_st, row s, column t",
        tiled[:SHOWN, :SHOWN],
        "pixel, channel t",
        "pixel, channel s",
    )
    if not seen.complete:
        return (kernels,)
    shifts = tuple(map(float, range(seen.layout.grid[0])))
    defects = tuple(map(float, seen.commutators()))
    series = (Series("max|WT_τ − T_τW|", shifts, defects),)
    return (
        _heatmap(
            "matrix of the map", _matrix(seen)[:SHOWN, :SHOWN], "input s, pixel", "output t, pixel"
        ),
        kernels,
        Curves(
            "commutator against shift",
            Axis("shift τ along the first axis"),
            Axis("largest entry"),
            series,
        ),
    )


def _matrix(seen: Responses) -> np.ndarray:
    """Rows (t, p) and columns (s, q): a block of pixels for each pair of channels."""
    axes = tuple(range(1, len(seen.layout.grid) + 1))
    # each s, p, t
    columns = [np.roll(block, tuple(q), axes) for q, block in zip(seen.positions, seen.aligned)]
    W = np.array(columns).reshape(len(columns), seen.layout.S, -1, seen.layout.T)
    return W.transpose(3, 2, 1, 0).reshape(seen.layout.T * W.shape[2], -1)


def _heatmap(title: str, values: np.ndarray, x: str, y: str) -> Heatmap:
    rows = tuple(tuple(map(float, row)) for row in values[::-1])
    return Heatmap(
        title, Axis(x), Axis(y), rows, (0.0, float(values.shape[1]), 0.0, float(values.shape[0]))
    )
