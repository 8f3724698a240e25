"""The rows, classes and radii that a question about robustness is asked of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ftheta.certify.input_regions import read_numbers
from ftheta.logic.errors import UsageError

Array = np.ndarray
LEVELS = 8  # radii, where none are given


def read_rows(data: Any) -> tuple[Array, Array]:
    """Rows and their classes."""
    given = (data.x, data.y) if hasattr(data, "x") and hasattr(data, "y") else data
    if not isinstance(given, (tuple, list)) or len(given) != 2 or given[1] is None:
        raise UsageError(
            "Accuracy needs labels.",
            where="data",
            got="rows without labels" if hasattr(data, "x") else type(data).__name__,
            remedy="give a Dataset with classes, or a pair (x, y)",
        )
    x = read_numbers(given[0], "the rows")
    y = read_numbers(given[1], "the labels").reshape(-1)
    if len(x) != len(y) or not len(x):
        raise UsageError(
            "There is one label for each row.",
            where="data",
            got=f"{len(x)} rows and {len(y)} labels",
        )
    if np.any(y != np.round(y)):
        first = np.flatnonzero(y != np.round(y))[0]
        raise UsageError(
            "Labels are classes 0, 1, …", where=f"row {first} of the data", got=f"{y[first]:g}"
        )
    return x, y.astype(int)


def read_radii(eps: ArrayLike) -> Array:
    """Finite radii from the smallest, each once."""
    radii = np.unique(read_numbers(eps, "eps").ravel())
    if not len(radii) or not np.isfinite(radii).all() or radii[0] < 0:
        raise UsageError("The radii are finite numbers ≥ 0.", where="eps", got=eps)
    return radii


def choose_radii(distance: Array) -> Array:
    """Round numbers around the distances met, from few rows flipped to most."""
    met = distance[np.isfinite(distance) & (distance > 0)]
    if not len(met):
        return np.geomspace(1e-3, 1.0, LEVELS)
    low, high = np.quantile(met, [0.1, 0.9])
    return np.array([float(f"{value:.2g}") for value in np.geomspace(low / 2, high, LEVELS)])
