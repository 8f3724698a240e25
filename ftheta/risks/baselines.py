r"""Models that take no training to speak of: what a network has to beat.

Each is fitted to reference rows and predicts the class, or the target, of others. Nearest rows are also found among the
rows themselves, each without itself.
"""

from typing import NamedTuple

import numpy as np

from ftheta.shapes import Float, Int

PENALTY = 1.0  # of ridge regression, on standardised columns
BLOCK = 1 << 22  # distances held at once


class Labelled(NamedTuple):
    """Rows `x` and their classes `y`."""

    x: Float[np.ndarray, "n d"]
    y: Int[np.ndarray, "n"]


class Fitted(NamedTuple):
    """Rows `x` and their targets `y`, numbers."""

    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, "n k"]


def predict_linearly(rows: Labelled, classes: int, reference: Labelled) -> Int[np.ndarray, "n"]:
    """The class with the largest output of a ridge regression on one-hot labels."""
    units = np.eye(classes)
    return regress_linearly(
        Fitted(rows.x, units[rows.y]), Fitted(reference.x, units[reference.y])
    ).argmax(1)


def regress_linearly(rows: Fitted, reference: Fitted) -> Float[np.ndarray, "n k"]:
    """The outputs of a ridge regression on the reference rows, columns standardised."""
    centre = reference.x.mean(0)
    spread = reference.x.std(0)
    scale = np.where(spread > 0, spread, 1.0)
    X = _with_one((reference.x - centre) / scale)
    penalties = np.full(X.shape[1], PENALTY)
    penalties[-1] = 0.0  # the intercept is free
    return _with_one((rows.x - centre) / scale) @ _ridge(X, reference.y, penalties)


def _with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])


def _ridge(X: np.ndarray, Y: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """The solution of the normal equations; by least norm where they are singular."""
    return np.linalg.lstsq(X.T @ X + np.diag(penalties), X.T @ Y, rcond=None)[0]


def nearest_labels(
    rows: Labelled, k: int, reference: Labelled | None = None
) -> Int[np.ndarray, "n k"]:
    """The classes of the `k` nearest other rows (or reference rows) in the 2-norm, the nearest first."""
    others = rows if reference is None else reference
    return others.y[_find_nearest(rows.x, k, None if reference is None else reference.x)]


def nearest_targets(rows: Fitted, reference: Fitted) -> Float[np.ndarray, "n k"]:
    """The targets of the nearest reference row in the 2-norm."""
    return reference.y[_find_nearest(rows.x, 1, reference.x)[:, 0]]


def _find_nearest(x: np.ndarray, k: int, reference: np.ndarray | None) -> np.ndarray:
    """The numbers of the `k` nearest other rows, or reference rows."""
    others = x if reference is None else reference
    squares = (others**2).sum(1)
    found = []
    size = max(1, BLOCK // len(others))
    for begin in range(0, len(x), size):
        block = x[begin : begin + size]
        gaps = (block**2).sum(1)[:, None] + squares - 2 * block @ others.T
        if reference is None:
            gaps[np.arange(len(block)), begin + np.arange(len(block))] = np.inf
        near = np.argpartition(gaps, min(k, gaps.shape[1]) - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(gaps, near, 1), axis=1, kind="stable")
        found.append(np.take_along_axis(near, order, 1))
    return np.concatenate(found)


def nearest_distances(
    x: Float[np.ndarray, "n d"], reference: Float[np.ndarray, "m d"] | None = None
) -> Float[np.ndarray, "n"]:
    """The distance of every row to the nearest other row, or to the nearest reference row."""
    others = x if reference is None else reference
    near = others[_find_nearest(x, 1, reference)[:, 0]]
    return np.linalg.norm(x - near, axis=1)
