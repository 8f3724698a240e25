"""Convolutions in any number of axes, and their transposes: of (batch, channel, …) with a kernel (out, in, …)."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from ftheta.networks.reading import Malformed

from .windows import Windows


def with_bias(y: Any, bias: Any) -> Any:
    """y with one bias per channel (axis 1), or y itself."""
    return y if bias is None else y + bias.reshape(-1, *[1] * (y.ndim - 2))


def convolve(x: Any, kernel: Any, bias: Any, w: Windows, groups: int) -> Any:
    """The cross-correlation of x (batch, channels, …) with the kernel over the windows `w`, in `groups` of channels."""
    y = lax.conv_general_dilated(
        *_same_type(x, kernel),
        w.strides,
        w.pads,
        rhs_dilation=w.dilations,
        feature_group_count=groups,
    )
    return with_bias(y, bias)


def convolve_transposed(
    x: Any, kernel: Any, bias: Any, w: Windows, groups: int, extra: Sequence[int]
) -> Any:
    """The adjoint of a convolution: the input is spread out by the strides and met by the turned kernel.

    Pads are cut off the full result; `extra` places are added at its end.
    """
    around = [(r - 1 - lo, r - 1 - hi + e) for r, (lo, hi), e in zip(w.reach, w.pads, extra)]
    y = lax.conv_general_dilated(
        *_same_type(x, _turn_kernel(kernel, groups)),
        [1] * len(w.kernel),
        around,
        lhs_dilation=w.strides,
        rhs_dilation=w.dilations,
        feature_group_count=groups,
    )
    return with_bias(y, bias)


def _turn_kernel(kernel: Any, groups: int) -> Any:
    """(in, out / groups, …) to (out, in / groups, …), reversed along every axis of the window."""
    channels, outs, *lengths = kernel.shape
    if groups < 1 or channels % groups:
        raise Malformed(f"{channels} channels in {groups} groups")
    split = kernel.reshape(groups, channels // groups, outs, *lengths).swapaxes(1, 2)
    return jnp.flip(
        split.reshape(groups * outs, channels // groups, *lengths), range(2, kernel.ndim)
    )


def _same_type(x: Any, kernel: Any) -> tuple[Any, Any]:
    common = jnp.result_type(x, kernel)
    return jnp.asarray(x, common), jnp.asarray(kernel, common)
