"""Pools: the largest or the mean of every window, and of all there is."""

from typing import Any

import jax.numpy as jnp

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.pooling import average_pool, max_pool
from ftheta.networks.operators.windows import Windows, spatial
from ftheta.networks.programs.call import RuleTable

from .windows import windows


def _windows(call: Call, x: Any) -> Windows:
    return windows(call, spatial(x), tuple(call.require("kernel_shape")))


def _max_pool(call: Call, x: Any) -> Any:
    if len([name for name in call.node.outputs if name]) > 1:
        raise call.refuse(
            "The places of the largest numbers are not computed.", "MaxPool with a second output"
        )
    return max_pool(x, _windows(call, x), bool(call.whole("ceil_mode", 0)))


def _average_pool(call: Call, x: Any) -> Any:
    ceil = bool(call.whole("ceil_mode", 0))
    count = bool(call.whole("count_include_pad", 0))
    return average_pool(x, _windows(call, x), ceil, count)


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
