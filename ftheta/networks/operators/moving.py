"""Numbers picked by their places, and padded around."""

from collections.abc import Sequence
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.networks.programs.call import Call, axis_of
from ftheta.networks.reading import Malformed


def places(indices: Any, length: int) -> Any:
    """Indices counted from the front; those that are known must lie within the axis."""
    if isinstance(indices, (int, np.ndarray)):
        indices = np.asarray(indices)
        if indices.size and not (-length <= indices.min() and indices.max() < length):
            raise Malformed(f"an index outside an axis of {length}")
        return np.where(indices < 0, indices + length, indices).astype(np.int64)
    return jnp.where(indices < 0, indices + length, indices)


def along(x: Any, axis: int, indices: Any) -> tuple[Any, ...]:
    """The full index of every entry of `indices`, which counts along one axis of `x`."""
    axis = axis_of(axis, x.ndim)
    grid = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[axis] = places(indices, x.shape[axis])
    return tuple(grid)


def pad_axes(
    call: Call, x: Any, widths: Sequence[tuple[int, int]], mode: str, value: Any = None
) -> Any:
    """So many numbers before and after every axis; negative widths cut off. The modes are those of NumPy."""
    cut = tuple(slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi) in zip(x.shape, widths))
    x = x[cut]
    around = [(max(lo, 0), max(hi, 0)) for lo, hi in widths]
    xp = call.library(prod(n + lo + hi for n, (lo, hi) in zip(x.shape, around)))
    if mode == "constant":
        fill = 0 if value is None else np.reshape(value, ()).astype(x.dtype)
        return xp.pad(x, around, constant_values=fill)
    if mode not in ("reflect", "edge", "wrap"):
        raise call.refuse("This padding is not read.", mode)
    return xp.pad(x, around, mode=mode)
