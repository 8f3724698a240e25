"""Activations: scalar functions entry by entry, and the softmax along an axis."""

from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import erf

from ftheta.networks.onnx.call import Call
from ftheta.networks.programs.call import Rule, RuleTable, axis_of


def _leaky_relu(call: Call, x: Any) -> Any:
    return jax.nn.leaky_relu(x, call.real("alpha", 0.01))


def _prelu(call: Call, x: Any, slope: Any) -> Any:
    return jnp.where(x >= 0, x, slope * x)


def _elu(call: Call, x: Any) -> Any:
    return jax.nn.elu(x, call.real("alpha", 1.0))


def _celu(call: Call, x: Any) -> Any:
    return jax.nn.celu(x, call.real("alpha", 1.0))


def _selu(call: Call, x: Any) -> Any:
    return call.real("gamma", 1.0507010221481323) * jax.nn.elu(
        x, call.real("alpha", 1.6732631921768188)
    )


def _hard_sigmoid(call: Call, x: Any) -> Any:
    line = call.real("alpha", 0.2) * x + call.real("beta", 0.5)
    return jnp.maximum(jnp.minimum(line, 1.0), 0.0)


def _hard_swish(call: Call, x: Any) -> Any:
    return x * jnp.maximum(jnp.minimum(x / 6.0 + 0.5, 1.0), 0.0)


def _thresholded_relu(call: Call, x: Any) -> Any:
    return jnp.where(x > call.real("alpha", 1.0), x, 0.0)


def _gelu(call: Call, x: Any) -> Any:
    return jax.nn.gelu(x, approximate=call.word("approximate", "none") == "tanh")


def _swish(call: Call, x: Any) -> Any:
    return x * jax.nn.sigmoid(call.real("alpha", 1.0) * x)


def _along(function: Any) -> Rule:
    """Before opset 13 all axes from `axis` on are taken as one; from then on it is one axis."""

    def rule(call: Call, x: Any) -> Any:
        if call.opset >= 13:
            return function(x, axis=axis_of(call.whole("axis", -1), x.ndim))
        axis = axis_of(call.whole("axis", 1), x.ndim)
        return function(x.reshape(*x.shape[:axis], prod(x.shape[axis:])), axis=axis).reshape(
            x.shape
        )

    return rule


def _plain(function: Any) -> Rule:
    return lambda call, x: function(x)


RULES: RuleTable = {
    "Relu": _plain(jax.nn.relu),
    "Sigmoid": _plain(jax.nn.sigmoid),
    "Tanh": _plain(jnp.tanh),
    "Softplus": _plain(jax.nn.softplus),
    "Softsign": _plain(jax.nn.soft_sign),
    "Mish": _plain(jax.nn.mish),
    "Erf": _plain(erf),
    "LeakyRelu": _leaky_relu,
    "PRelu": _prelu,
    "Elu": _elu,
    "Celu": _celu,
    "Selu": _selu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "ThresholdedRelu": _thresholded_relu,
    "Gelu": _gelu,
    "Swish": _swish,
    "Softmax": _along(jax.nn.softmax),
    "LogSoftmax": _along(jax.nn.log_softmax),
}
