"""Convolutions in any number of axes, and their transposes."""

from typing import Any

import jax.numpy as jnp
from jax import lax

from ftheta.networks.onnx.call import Call, RuleTable
from ftheta.networks.onnx.wire import Malformed

from .windows import Windows, halves, spatial, windows


def _with_bias(y: Any, bias: Any) -> Any:
    return y if bias is None else y + bias.reshape(-1, *[1] * (y.ndim - 2))


def _conv(call: Call, x: Any, kernel: Any, bias: Any = None) -> Any:
    w = windows(call, spatial(x), kernel.shape[2:])
    y = lax.conv_general_dilated(
        *_same_type(x, kernel), w.strides, w.pads, rhs_dilation=w.dilations, feature_group_count=call.whole("group", 1)
    )
    return _with_bias(y, bias)


def _conv_transpose(call: Call, x: Any, kernel: Any, bias: Any = None) -> Any:
    """The adjoint of a convolution: the input is spread out by the strides and met by the turned kernel."""
    w = windows(call, spatial(x), kernel.shape[2:])
    extra = call.wholes("output_padding", [0] * len(w.kernel)) or []
    pads = _cut(call, w, spatial(x), extra)
    around = [(r - 1 - lo, r - 1 - hi + e) for r, (lo, hi), e in zip(w.reach, pads, extra)]
    groups = call.whole("group", 1)
    y = lax.conv_general_dilated(
        *_same_type(x, _turned(kernel, groups)),
        [1] * len(w.kernel),
        around,
        lhs_dilation=w.strides,
        rhs_dilation=w.dilations,
        feature_group_count=groups,
    )
    return _with_bias(y, bias)


def _cut(call: Call, w: Windows, lengths: tuple[int, ...], extra: list[int]) -> tuple[tuple[int, int], ...]:
    """What is cut off the full result: `pads`, or what leaves the `output_shape`, or the strides times the input."""
    mode, wanted = call.word("auto_pad", "NOTSET"), call.wholes("output_shape")
    if wanted is None and not mode.startswith("SAME"):
        return w.pads
    wanted = [n * s for n, s in zip(lengths, w.strides)] if wanted is None else wanted[-len(lengths) :]
    full = [s * (n - 1) + e + r for s, n, e, r in zip(w.strides, lengths, extra, w.reach)]
    return tuple(halves(max(f - n, 0), mode) for f, n in zip(full, wanted))


def _turned(kernel: Any, groups: int) -> Any:
    """(in, out / groups, …) to (out, in / groups, …), reversed along every axis of the window."""
    channels, outs, *lengths = kernel.shape
    if groups < 1 or channels % groups:
        raise Malformed(f"{channels} channels in {groups} groups")
    split = kernel.reshape(groups, channels // groups, outs, *lengths).swapaxes(1, 2)
    return jnp.flip(split.reshape(groups * outs, channels // groups, *lengths), range(2, kernel.ndim))


def _same_type(x: Any, kernel: Any) -> tuple[Any, Any]:
    common = jnp.result_type(x, kernel)
    return jnp.asarray(x, common), jnp.asarray(kernel, common)


RULES: RuleTable = {"Conv": _conv, "ConvTranspose": _conv_transpose}
