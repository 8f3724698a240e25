"""Resize and Upsample: nearest neighbours and linear interpolation, axis by axis."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.networks.onnx.call import Call, RuleTable, axis_of
from ftheta.networks.onnx.wire import Malformed

LONGEST = 1 << 16  # of a resampled axis

Coordinates = Callable[[np.ndarray, float, int, int], np.ndarray]
COORDINATES: dict[str, Coordinates] = {
    "asymmetric": lambda t, scale, n, m: t / scale,
    "half_pixel": lambda t, scale, n, m: (t + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda t, scale, n, m: (t + 0.5) / scale - 0.5 if m > 1 else np.zeros_like(t),
    "align_corners": lambda t, scale, n, m: t * ((n - 1) / (m - 1)) if m > 1 else np.zeros_like(t),
    "half_pixel_symmetric": lambda t, scale, n, m: n / 2 * (1 - m / (scale * n)) + (t + 0.5) / scale - 0.5,
}
"""Where output `t` of `m` lies on an axis of `n` entries, by `coordinate_transformation_mode`."""

NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _resize(call: Call, x: Any, *_: Any) -> Any:
    first = 2 if call.opset >= 11 else 1
    scales, sizes = call.known(first), call.numbers(first + 1) if call.opset >= 11 else None
    if call.whole("antialias", 0) or call.word("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise call.refuse("This way to resize is not read.", "antialias or keep_aspect_ratio_policy")
    if call.opset < 11:
        where, nearest = "asymmetric", "floor"
    else:
        where = call.word("coordinate_transformation_mode", "half_pixel")
        nearest = call.word("nearest_mode", "round_prefer_floor")
    axes = [axis_of(a, x.ndim) for a in call.wholes("axes", list(range(x.ndim))) or []]
    factors = _factors([x.shape[a] for a in axes], scales, sizes)
    return _resampled(call, x, zip(axes, *factors), where, nearest)


def _upsample(call: Call, x: Any, *_: Any) -> Any:
    scales = call.known(1) if call.opset >= 9 else np.asarray(call.node.attributes.get("scales"))
    return _resampled(call, x, zip(range(x.ndim), *_factors(list(x.shape), scales, None)), "asymmetric", "floor")


def _factors(lengths: list[int], scales: Any, sizes: list[int] | None) -> tuple[list[float], list[int]]:
    """The scale and the new length of every axis."""
    if sizes:
        wanted, factors = sizes, [m / n for m, n in zip(sizes, lengths)]
    elif scales is None or scales.size == 0 or not np.all(np.isfinite(scales)):
        raise Malformed("neither scales nor sizes")
    else:
        factors = [float(s) for s in scales.ravel()]
        wanted = [int(np.floor(n * s)) for n, s in zip(lengths, factors)]
    if len(wanted) != len(lengths) or any(not 0 < m <= LONGEST for m in wanted):
        raise Malformed(f"axes of {lengths} resampled to {wanted}")
    return factors, wanted


def _resampled(call: Call, x: Any, axes: Any, where: str, nearest: str) -> Any:
    mode = call.word("mode", "nearest")
    if mode not in ("nearest", "linear") or where not in COORDINATES or nearest not in NEAREST:
        raise call.refuse("This way to resize is not read.", f"{mode}, {where}, {nearest}")
    for axis, scale, m in axes:
        n = x.shape[axis]
        if m == n and scale == 1.0:
            continue
        at = COORDINATES[where](np.arange(m, dtype=np.float64), scale, n, m)
        if mode == "nearest":
            x = jnp.take(x, np.clip(NEAREST[nearest](at), 0, n - 1).astype(np.int64), axis=axis, mode="clip")
        else:
            x = _interpolated(x, np.clip(at, 0, n - 1), axis)
    return x


def _interpolated(x: Any, at: np.ndarray, axis: int) -> Any:
    """Between the two neighbours of each place."""
    left = np.minimum(np.floor(at), x.shape[axis] - 1).astype(np.int64)
    right = np.minimum(left + 1, x.shape[axis] - 1)
    share = (at - left).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    one, other = (jnp.take(x, places, axis=axis, mode="clip") for places in (left, right))
    return one * (1 - share) + other * share


RULES: RuleTable = {"Resize": _resize, "Upsample": _upsample}
