"""Pools: the largest or the mean of every window of (batch, channel, …), or of a given number of parts."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.networks.reading import Malformed

from .windows import Windows, spatial


def max_pool(x: Any, w: Windows, ceil: bool = False) -> Any:
    """The maximum of every window; with `ceil` windows that begin inside may end outside."""
    return _reduce_windows(jnp.asarray(x), -np.inf, lax.max, w, _under(x, w, ceil))


def average_pool(x: Any, w: Windows, ceil: bool = False, count_padding: bool = False) -> Any:
    """The mean of every window, over the places of the array and, if they count, of the padding given."""
    under = _under(x, w, ceil)
    total = window_sums(x, w, ceil)
    pads = w.pads if count_padding else ((0, 0),) * len(w.pads)
    counts = [
        _counts(n, pad, i, w, under[i][0], total.shape[2 + i])
        for i, (n, pad) in enumerate(zip(spatial(x), pads))
    ]
    return total / np.maximum(reduce(np.multiply, np.ix_(*counts)), 1).astype(float)


def window_sums(x: Any, w: Windows, ceil: bool = False) -> Any:
    """The sum of every window; with `ceil` windows that begin inside may end outside."""
    return _reduce_windows(jnp.asarray(x), 0.0, lax.add, w, _under(x, w, ceil))


def _under(x: Any, w: Windows, ceil: bool) -> list[tuple[int, int]]:
    """The padding under the windows: `ceil` adds a last window that begins inside."""
    under = []
    for n, r, s, (lo, hi) in zip(spatial(x), w.reach, w.strides, w.pads):
        steps = n + lo + hi - r
        last = -(-steps // s) if ceil else steps // s
        last -= last * s >= n + lo and last > 0  # a window in the padding alone is none
        under.append((lo, max(hi, last * s + r - n - lo)))
    return under


def _reduce_windows(
    x: Any, start: float, combine: Any, w: Windows, under: list[tuple[int, int]]
) -> Any:
    return lax.reduce_window(
        x,
        np.array(start, x.dtype),
        combine,
        (1, 1, *w.kernel),
        (1, 1, *w.strides),
        [(0, 0), (0, 0), *under],
        window_dilation=(1, 1, *w.dilations),
    )


def _counts(
    length: int, pad: tuple[int, int], axis: int, w: Windows, before: int, windows: int
) -> np.ndarray:
    """How many places of each window are counted along an axis: those of the array and of the padding given."""
    start = np.arange(windows) * w.strides[axis] - before
    places = start[:, None] + np.arange(w.kernel[axis]) * w.dilations[axis]
    return np.count_nonzero((places >= -pad[0]) & (places < length + pad[1]), axis=1)


def adaptive_pool(x: Any, parts: Sequence[int], combine: Any) -> Any:
    """`combine(array, axis)`, the mean or the maximum, of so many parts of every axis of (batch, channel, …).

    Part $i$ of $m$ of an axis of length $n$ is from the floor of $in/m$ to the ceiling of $(i+1)n/m$.
    """
    lengths = spatial(x)
    if len(parts) != len(lengths) or any(not 0 < m <= MAX_PARTS for m in parts):
        raise Malformed(f"axes of {lengths} in {tuple(parts)} parts")
    x = jnp.asarray(x)
    for axis, (n, m) in enumerate(zip(lengths, parts), 2):
        if n % m == 0:
            x = combine(x.reshape(*x.shape[:axis], m, n // m, *x.shape[axis + 1 :]), axis + 1)
        else:
            cuts = [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
            x = jnp.stack(
                [combine(lax.slice_in_dim(x, lo, hi, axis=axis), axis) for lo, hi in cuts], axis
            )
    return x


MAX_PARTS = 512
