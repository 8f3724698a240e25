"""Axes of another length: nearest neighbours and linear interpolation."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

LONGEST = 1 << 16  # of a resampled axis

Coordinates = Callable[[np.ndarray, float, int, int], np.ndarray]
COORDINATES: dict[str, Coordinates] = {
    "asymmetric": lambda t, scale, n, m: t / scale,
    "half_pixel": lambda t, scale, n, m: (t + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda t, scale, n, m: (
        (t + 0.5) / scale - 0.5 if m > 1 else np.zeros_like(t)
    ),
    "align_corners": lambda t, scale, n, m: t * ((n - 1) / (m - 1)) if m > 1 else np.zeros_like(t),
    "half_pixel_symmetric": lambda t, scale, n, m: (
        n / 2 * (1 - m / (scale * n)) + (t + 0.5) / scale - 0.5
    ),
}
"""Where output `t` of `m` lies on an axis of `n` entries, by `coordinate_transformation_mode`."""

NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resample_axis(
    x: Any, axis: int, scale: float, length: int, mode: str, where: str, nearest: str
) -> Any:
    """One axis brought to another length. `mode` is nearest or linear; `where` a key of COORDINATES."""
    n = x.shape[axis]
    if length == n and scale == 1.0:
        return x
    at = COORDINATES[where](np.arange(length, dtype=np.float64), scale, n, length)
    if mode == "nearest":
        return jnp.take(
            x, np.clip(NEAREST[nearest](at), 0, n - 1).astype(np.int64), axis=axis, mode="clip"
        )
    return _interpolate(x, np.clip(at, 0, n - 1), axis)


def _interpolate(x: Any, at: np.ndarray, axis: int) -> Any:
    """Between the two neighbours of each place."""
    left = np.minimum(np.floor(at), x.shape[axis] - 1).astype(np.int64)
    right = np.minimum(left + 1, x.shape[axis] - 1)
    share = (at - left).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    one, other = (jnp.take(x, places, axis=axis, mode="clip") for places in (left, right))
    return one * (1 - share) + other * share
