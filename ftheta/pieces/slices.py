"""Planar slices of a network's input space: where to cut, and how much of it can be kept."""

import numpy as np
from scipy import sparse

from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Real

from .domains import Polygon, Segment

MOST_NUMBERS = 4_000_000  # in the affine maps of all cells that are kept
MOST_PRODUCTS = 4_000_000_000  # cells times weights, where the network is evaluated on every cell


def slice_of(
    inputs: int,
    data: Real[np.ndarray, "n *shape"] | None,
    rng: np.random.Generator,
    radius: float,
    centre: float = 0.0,
) -> Polygon | Segment:
    r"""A square in the plane through three rows of the data, with `radius` to spare around them; without data the
    square of half-width `radius` around `centre` in the first two coordinates; a segment where there is one input."""
    low = centre - radius
    high = centre + radius
    if inputs == 1:
        return Segment([low], [high])
    rows = None if data is None else np.unique(np.reshape(data, (len(data), -1)), axis=0)
    for _ in range(8 if rows is not None and len(rows) >= 3 else 0):
        p, q, r = rows[rng.choice(len(rows), 3, replace=False)]  # type: ignore[index]
        if np.linalg.matrix_rank(np.stack([q - p, r - p])) == 2:
            low = -radius
            high = 1 + radius
            return Polygon.through(p, q, r, [(low, low), (high, low), (high, high), (low, high)])
    corners = [(low, low), (high, low), (high, high), (low, high)]
    return Polygon(corners, np.zeros(inputs), np.eye(inputs)[:, :2])


def storable(net: ReluNetwork, max_cells: int) -> int:
    """No more cells than whose affine maps on a plane can be kept, and compared with the network in some seconds."""
    weights = sum(
        step.matrix.nnz if sparse.issparse(step.matrix) else step.matrix.size for step in net.steps
    )
    return min(
        max_cells,
        max(1, MOST_NUMBERS // (3 * net.widths[-1])),
        max(1, MOST_PRODUCTS // max(weights, 1)),
    )
