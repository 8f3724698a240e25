"""Convolutions in one to three axes, and their transposes."""

from typing import Any

import jax.numpy as jnp
from jax import lax

from ftheta.networks.operators.convolution import convolve, convolve_transposed
from ftheta.networks.programs.call import Call, RuleTable

from .windows import spread, windows, with_batch_axis


def _conv(
    call: Call,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    rank = weight.ndim - 2
    w = windows(x, weight.shape[2:], stride, padding, dilation, rank)
    return with_batch_axis(x, rank, lambda images: convolve(images, weight, bias, w, groups))


def _convolve_transposed(
    call: Call,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    rank = weight.ndim - 2
    w = windows(x, weight.shape[2:], stride, padding, dilation, rank)
    extra = spread(output_padding, rank)
    return with_batch_axis(
        x, rank, lambda images: convolve_transposed(images, weight, bias, w, groups, extra)
    )


def _convolution(
    call: Call,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    if transposed:
        return _convolve_transposed(
            call, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _conv(call, x, weight, bias, stride, padding, dilation, groups)


def _patches(call: Call, x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """All windows of an image, each as a column."""
    w = windows(x, kernel_size, stride, padding, dilation, 2)

    def columns(images: Any) -> Any:
        found = lax.conv_general_dilated_patches(
            images, w.kernel, w.strides, w.pads, rhs_dilation=w.dilations
        )
        return found.reshape(*found.shape[:2], -1)

    return with_batch_axis(jnp.asarray(x), 2, columns)


RULES: RuleTable = {
    "im2col": _patches,
    **{f"conv{n}d": _conv for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _convolve_transposed for n in (1, 2, 3)},
    "convolution": _convolution,
}
