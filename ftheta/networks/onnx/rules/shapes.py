"""Operators that move numbers without changing them, and those that say how many there are."""

from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.moving import pad_axes
from ftheta.networks.programs.call import RuleTable, axis_of
from ftheta.networks.reading import Malformed


def _identity(call: Call, x: Any) -> Any:
    return x


def _dropout(call: Call, x: Any, *_: Any) -> Any:
    """Nothing is dropped at inference; the mask, where it is asked for, says so."""
    training = call.known(2)
    if training is not None and training.any():
        raise call.refuse(
            "Dropout in training mode is random.", "training_mode = 1", "export it for inference"
        )
    return x, jnp.ones(x.shape, bool)


def _shape(call: Call, x: Any) -> np.ndarray:
    start = call.whole("start", 0)
    end = call.whole("end", x.ndim)
    return np.array(x.shape[slice(start, end)], np.int64)


def _size(call: Call, x: Any) -> np.ndarray:
    return np.array(prod(x.shape), np.int64)


def _reshape(call: Call, x: Any, *_: Any) -> Any:
    """0 keeps a length (unless `allowzero`), one -1 takes what is left."""
    wanted = call.numbers(1) or []
    if not call.whole("allowzero", 0):
        if any(n == 0 and i >= x.ndim for i, n in enumerate(wanted)):
            raise Malformed(f"the shape {wanted} keeps a length that {x.shape} does not have")
        wanted = [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return x.reshape(tuple(wanted))


def _flatten(call: Call, x: Any) -> Any:
    axis = call.whole("axis", 1)
    axis = axis if axis == x.ndim else axis_of(axis, x.ndim)
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def _transpose(call: Call, x: Any) -> Any:
    return call.xp.transpose(x, call.wholes("perm"))


def _squeeze(call: Call, x: Any, *_: Any) -> Any:
    axes = call.list_of("axes", 1, 13)
    return call.xp.squeeze(x, None if axes is None else tuple(axes))


def _unsqueeze(call: Call, x: Any, *_: Any) -> Any:
    axes = call.list_of("axes", 1, 13)
    if axes is None or x.ndim + len(axes) > 32:
        raise Malformed("Unsqueeze needs a list of axes")
    return call.xp.expand_dims(x, tuple(axes))


def _concat(call: Call, *values: Any) -> Any:
    return call.xp.concatenate(values, axis_of(call.whole("axis", 0), values[0].ndim))


def _split(call: Call, x: Any, *_: Any) -> tuple[Any, ...]:
    """Into given lengths, or into equal parts of which the last may be shorter."""
    axis = axis_of(call.whole("axis", 0), x.ndim)
    sizes = call.list_of("split", 1, 13)
    parts = len(call.node.outputs)
    if sizes is None:
        longest = -(-x.shape[axis] // max(parts, 1))
        sizes = [min(longest, max(x.shape[axis] - i * longest, 0)) for i in range(parts)]
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0 or len(sizes) != parts:
        raise Malformed(f"a split of {x.shape[axis]} into {sizes} for {parts} outputs")
    return tuple(call.xp.split(x, np.cumsum(sizes)[:-1].tolist(), axis))


def _expand(call: Call, x: Any, *_: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, tuple(call.numbers(1) or ()))
    return call.library(prod(shape)).broadcast_to(x, shape)


def _tile(call: Call, x: Any, *_: Any) -> Any:
    times = call.numbers(1) or []
    return call.library(x.size * prod(times)).tile(x, tuple(times))


def _constant_of_shape(call: Call, *_: Any) -> Any:
    shape = tuple(call.numbers(0) or ())
    value = call.node.attributes.get("value")
    number = np.zeros((), np.float64) if value is None else np.asarray(value).reshape(())
    if any(n < 0 for n in shape):
        raise Malformed(f"a shape {shape}")
    return call.library(prod(shape)).full(shape, number)


def _range(call: Call, *_: Any) -> Any:
    start, limit, delta = (np.asarray(call.known(i)).item() for i in range(3))
    if not delta:
        raise Malformed("a range of step zero")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    return start + call.library(count).arange(count) * delta


def _pad(call: Call, x: Any, *_: Any) -> Any:
    """Negative lengths cut off."""
    pads = call.list_of("pads", 1, 11)
    axes = call.numbers(3)
    value = call.known(2) if call.opset >= 11 else np.array(call.real("value", 0.0))
    at = list(range(x.ndim)) if axes is None else [axis_of(a, x.ndim) for a in axes]
    if pads is None or len(pads) != 2 * len(at):
        raise Malformed(f"pads {pads} for {len(at)} axes")
    widths = [(0, 0)] * x.ndim
    for i, a in enumerate(at):
        widths[a] = (pads[i], pads[i + len(at)])
    return pad_axes(call, x, widths, call.word("mode", "constant"), value)


def _depth_to_space(call: Call, x: Any) -> Any:
    n, c, h, w = x.shape
    b = call.whole("blocksize", 1)
    if call.word("mode", "DCR") == "DCR":
        blocks = x.reshape(n, b, b, c // b**2, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = x.reshape(n, c // b**2, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, c // b**2, h * b, w * b)


def _space_to_depth(call: Call, x: Any) -> Any:
    n, c, h, w = x.shape
    b = call.whole("blocksize", 1)
    return (
        x.reshape(n, c, h // b, b, w // b, b)
        .transpose(0, 3, 5, 1, 2, 4)
        .reshape(n, c * b**2, h // b, w // b)
    )


RULES: RuleTable = {
    "Identity": _identity,
    "Dropout": _dropout,
    "Shape": _shape,
    "Size": _size,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Split": _split,
    "Expand": _expand,
    "Tile": _tile,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Pad": _pad,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
}
