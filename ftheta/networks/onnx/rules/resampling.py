"""Resize and Upsample: nearest neighbours and linear interpolation, axis by axis."""

from typing import Any

import numpy as np

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.resampling import COORDINATES, LONGEST, NEAREST, resample_axis
from ftheta.networks.programs.call import RuleTable, axis_of
from ftheta.networks.reading import Malformed


def _resize(call: Call, x: Any, *_: Any) -> Any:
    first = 2 if call.opset >= 11 else 1
    scales = call.known(first)
    sizes = call.numbers(first + 1) if call.opset >= 11 else None
    if call.whole("antialias", 0) or call.word("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise call.refuse(
            "This way to resize is not read.", "antialias or keep_aspect_ratio_policy"
        )
    if call.opset < 11:
        where = "asymmetric"
        nearest = "floor"
    else:
        where = call.word("coordinate_transformation_mode", "half_pixel")
        nearest = call.word("nearest_mode", "round_prefer_floor")
    axes = [axis_of(a, x.ndim) for a in call.wholes("axes", list(range(x.ndim))) or []]
    factors = _factors([x.shape[a] for a in axes], scales, sizes)
    return _resample_axes(call, x, zip(axes, *factors), where, nearest)


def _upsample(call: Call, x: Any, *_: Any) -> Any:
    scales = call.known(1) if call.opset >= 9 else np.asarray(call.node.attributes.get("scales"))
    return _resample_axes(
        call, x, zip(range(x.ndim), *_factors(list(x.shape), scales, None)), "asymmetric", "floor"
    )


def _factors(
    lengths: list[int], scales: Any, sizes: list[int] | None
) -> tuple[list[float], list[int]]:
    """The scale and the new length of every axis."""
    if sizes:
        wanted = sizes
        factors = [m / n for m, n in zip(sizes, lengths)]
    elif scales is None or scales.size == 0 or not np.all(np.isfinite(scales)):
        raise Malformed("neither scales nor sizes")
    else:
        factors = [float(s) for s in scales.ravel()]
        wanted = [int(np.floor(n * s)) for n, s in zip(lengths, factors)]
    if len(wanted) != len(lengths) or any(not 0 < m <= LONGEST for m in wanted):
        raise Malformed(f"axes of {lengths} resampled to {wanted}")
    return factors, wanted


def _resample_axes(call: Call, x: Any, axes: Any, where: str, nearest: str) -> Any:
    mode = call.word("mode", "nearest")
    if mode not in ("nearest", "linear") or where not in COORDINATES or nearest not in NEAREST:
        raise call.refuse("This way to resize is not read.", f"{mode}, {where}, {nearest}")
    for axis, scale, length in axes:
        x = resample_axis(x, axis, scale, length, mode, where, nearest)
    return x


RULES: RuleTable = {"Resize": _resize, "Upsample": _upsample}
