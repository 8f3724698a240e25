"""The rows of the data, the loss that fits their targets, and how many steps a run on them can afford."""

from typing import Any

import numpy as np

from ftheta.shapes import Float, Real

ROWS = 512  # of the data, at most
WORK = 2e10  # multiplications of one run, at most


def affordable(parameters: int, rows: int, steps: int) -> int:
    """Of so many steps, those that a run on this many rows can afford."""
    return min(steps, max(4, int(WORK / max(6 * parameters * rows, 1))))


def first_rows(
    data: Any, flat: bool, parameters: int = 1
) -> tuple[Float[np.ndarray, "n *shape"], Float[np.ndarray, "n k"]]:
    """The first rows of the data and their targets, as numbers; none where there are no data or no targets."""
    if data is None or data.y is None:
        return np.zeros((0, 1)), np.zeros((0, 1))
    few = int(min(ROWS, max(16, 5e7 / max(parameters, 1))))  # of a large network
    x = data.x[:few].astype(float)
    y = data.y[:few].astype(float)
    return x.reshape(len(x), -1) if flat else x, y.reshape(len(x), -1)


def natural_loss(y: Real[np.ndarray, "n *k"], outputs: int) -> str | None:
    """Squared where there is a number per output, cross-entropy where there is a class per row."""
    if y[0].size == outputs:
        return "squared"
    whole = y[0].size == 1 and (y == np.floor(y)).all() and y.min() >= 0 and y.max() < outputs
    return "cross-entropy" if whole else None
