"""Pools: the largest, the mean or the norm of every window, and of all there is."""

from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.networks.onnx.call import Call, RuleTable

from .windows import Windows, spatial, windows


def _covered(call: Call, x: Any) -> tuple[Windows, list[tuple[int, int]]]:
    """The windows of a pool, and the padding under them: `ceil_mode` adds a last window that begins inside."""
    kernel = call.required("kernel_shape")
    w = windows(call, spatial(x), tuple(kernel))
    under = []
    for n, r, s, (lo, hi) in zip(spatial(x), w.reach, w.strides, w.pads):
        steps = n + lo + hi - r
        last = -(-steps // s) if call.whole("ceil_mode", 0) else steps // s
        last -= last * s >= n + lo and last > 0  # a window in the padding alone is none
        under.append((lo, max(hi, last * s + r - n - lo)))
    return w, under


def _reduced(x: Any, start: float, combine: Any, w: Windows, under: list[tuple[int, int]]) -> Any:
    return lax.reduce_window(
        x,
        np.array(start, x.dtype),
        combine,
        (1, 1, *w.kernel),
        (1, 1, *w.strides),
        [(0, 0), (0, 0), *under],
        window_dilation=(1, 1, *w.dilations),
    )


def _max_pool(call: Call, x: Any) -> Any:
    if len([name for name in call.node.outputs if name]) > 1:
        raise call.refuse("The places of the largest numbers are not computed.", "MaxPool with a second output")
    return _reduced(jnp.asarray(x), -np.inf, lax.max, *_covered(call, x))


def _average_pool(call: Call, x: Any) -> Any:
    w, under = _covered(call, x)
    total = _reduced(jnp.asarray(x), 0.0, lax.add, w, under)
    pads = w.pads if call.whole("count_include_pad", 0) else ((0, 0),) * len(w.pads)
    counts = [
        _counts(n, pad, i, w, under[i][0], total.shape[2 + i]) for i, (n, pad) in enumerate(zip(spatial(x), pads))
    ]
    return total / np.maximum(reduce(np.multiply, np.ix_(*counts)), 1).astype(float)


def _counts(length: int, pad: tuple[int, int], axis: int, w: Windows, before: int, windows: int) -> np.ndarray:
    """How many places of each window are counted along an axis: those of the array and of the padding given."""
    start = np.arange(windows) * w.strides[axis] - before
    places = start[:, None] + np.arange(w.kernel[axis]) * w.dilations[axis]
    return np.count_nonzero((places >= -pad[0]) & (places < length + pad[1]), axis=1)


def _global_average(call: Call, x: Any) -> Any:
    return jnp.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True)


def _global_max(call: Call, x: Any) -> Any:
    return jnp.max(x, axis=tuple(range(2, x.ndim)), keepdims=True)


RULES: RuleTable = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average,
    "GlobalMaxPool": _global_max,
}
