"""Normalisations: by running statistics, by the statistics of the input itself, across channels."""

from typing import Any

import jax.numpy as jnp
from jax import lax

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.normalisation import (
    by_root_mean_square,
    by_statistics,
    channels,
    in_groups,
    standardise,
)
from ftheta.networks.programs.call import RuleTable, axis_of


def _batch(call: Call, x: Any, scale: Any, shift: Any, mean: Any, variance: Any) -> Any:
    """An affine map of each channel; the statistics are constants of the network, not parameters."""
    if call.whole("training_mode", 0):
        raise call.refuse(
            "Batch normalisation in training mode.", "training_mode = 1", "export it for inference"
        )
    mean = call.constant(3)
    variance = call.constant(4)
    return by_statistics(x, scale, shift, mean, variance, call.real("epsilon", 1e-5))


def _instance(call: Call, x: Any, scale: Any, shift: Any) -> Any:
    standard, _, _ = standardise(x, tuple(range(2, x.ndim)), call.real("epsilon", 1e-5))
    return standard * channels(scale, x) + channels(shift, x)


def _layer(call: Call, x: Any, scale: Any, shift: Any = None) -> Any:
    axes = tuple(range(axis_of(call.whole("axis", -1), x.ndim), x.ndim))
    standard, mean, inverse = standardise(x, axes, call.real("epsilon", 1e-5))
    y = standard * scale
    return (y if shift is None else y + shift), mean, inverse


def _rms(call: Call, x: Any, scale: Any) -> Any:
    axes = tuple(range(axis_of(call.whole("axis", -1), x.ndim), x.ndim))
    return by_root_mean_square(x, axes, call.real("epsilon", 1e-5))[0] * scale


def _group(call: Call, x: Any, scale: Any, shift: Any) -> Any:
    """Scale and shift are one number a group before opset 21, and one a channel from then on."""
    standard = in_groups(x, call.whole("num_groups", 1), call.real("epsilon", 1e-5))[0]
    if call.opset < 21:
        return (standard * scale[:, None] + shift[:, None]).reshape(x.shape)
    return standard.reshape(x.shape) * channels(scale, x) + channels(shift, x)


def _local_response(call: Call, x: Any) -> Any:
    size = call.whole("size", 1)
    around = [(0, 0)] * x.ndim
    around[1] = ((size - 1) // 2, size // 2)
    squares = lax.reduce_window(
        x * x,
        jnp.zeros((), x.dtype),
        lax.add,
        [size if i == 1 else 1 for i in range(x.ndim)],
        [1] * x.ndim,
        around,
    )
    factor = call.real("alpha", 1e-4) / size
    return x / (call.real("bias", 1.0) + factor * squares) ** call.real("beta", 0.75)


def _lp(call: Call, x: Any) -> Any:
    axis = axis_of(call.whole("axis", -1), x.ndim)
    if call.whole("p", 2) == 1:
        norm = jnp.sum(abs(x), axis=axis, keepdims=True)
    else:
        norm = jnp.sqrt(jnp.sum(x * x, axis=axis, keepdims=True))
    return x / norm


def _mean_variance(call: Call, x: Any) -> Any:
    axes = tuple(axis_of(a, x.ndim) for a in call.wholes("axes", [0, 2, 3]) or [])
    centred = x - jnp.mean(x, axis=axes, keepdims=True)
    return centred / (jnp.sqrt(jnp.mean(centred**2, axis=axes, keepdims=True)) + 1e-9)


RULES: RuleTable = {
    "BatchNormalization": _batch,
    "InstanceNormalization": _instance,
    "LayerNormalization": _layer,
    "RMSNormalization": _rms,
    "GroupNormalization": _group,
    "LRN": _local_response,
    "LpNormalization": _lp,
    "MeanVarianceNormalization": _mean_variance,
}
