"""Activations: scalar functions entry by entry, the softmax along an axis, and dropout, which does nothing here."""

from typing import Any

import jax
import jax.numpy as jnp

from ftheta.networks.programs.call import NOT_COMPUTED, Call, Rule, RuleTable, axis_of
from ftheta.networks.torch.arguments import Dtype

from .arithmetic import cast

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def _plain(function: Any) -> Rule:
    return lambda call, x: function(x)


def _leaky_relu(call: Call, x: Any, negative_slope: float = 0.01) -> Any:
    return jax.nn.leaky_relu(x, negative_slope)


def _prelu(call: Call, x: Any, weight: Any) -> Any:
    """One slope, or one a channel."""
    if weight.ndim == 1 and x.ndim > 1:
        weight = weight.reshape(-1, *[1] * (x.ndim - 2))
    return jnp.where(x >= 0, x, weight * x)


def _rrelu(
    call: Call, x: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False
) -> Any:
    _ensure_inference(call, training)
    return jax.nn.leaky_relu(x, (lower + upper) / 2)


def _rrelu_with_noise(call: Call, x: Any, noise: Any, **how: Any) -> Any:
    return _rrelu(call, x, **how), noise


def _elu(
    call: Call, x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Any:
    return scale * jnp.where(x > 0, x, alpha * jnp.expm1(input_scale * jnp.minimum(x, 0.0)))


def _celu(call: Call, x: Any, alpha: float = 1.0) -> Any:
    return _elu(call, x, alpha, 1.0, 1.0 / alpha)


def _selu(call: Call, x: Any) -> Any:
    return _elu(call, x, SELU_ALPHA, SELU_SCALE)


def _softplus(call: Call, x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    r"""$\log(1+e^{\beta x})/\beta$, and $x$ itself where $\beta x$ is above the threshold, as torch has it."""
    return jnp.where(beta * x > threshold, x, jax.nn.softplus(beta * x) / beta)


def _gelu(call: Call, x: Any, approximate: str = "none") -> Any:
    return jax.nn.gelu(x, approximate=approximate == "tanh")


def _hardtanh(call: Call, x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return call.xp.minimum(call.xp.maximum(x, min_val), max_val)


def _hardsigmoid(call: Call, x: Any) -> Any:
    return _hardtanh(call, x + 3.0, 0.0, 6.0) / 6.0


def _threshold(call: Call, x: Any, threshold: float, value: float) -> Any:
    return jnp.where(x > threshold, x, value)


def _hardshrink(call: Call, x: Any, lambd: float = 0.5) -> Any:
    return jnp.where(abs(x) > lambd, x, 0.0)


def _softshrink(call: Call, x: Any, lambd: float = 0.5) -> Any:
    return jnp.maximum(x - lambd, 0.0) + jnp.minimum(x + lambd, 0.0)


def _glu(call: Call, x: Any, dim: int = -1) -> Any:
    one, other = jnp.split(x, 2, axis_of(dim, x.ndim))
    return one * jax.nn.sigmoid(other)


def _along(function: Any) -> Rule:
    def rule(
        call: Call, x: Any, dim: int, dtype: Dtype | None = None, half_to_float: bool = False
    ) -> Any:
        return function(jnp.asarray(cast(call, x, dtype)), axis=axis_of(dim, x.ndim))

    return rule


def _safe_softmax(x: Any, axis: int) -> Any:
    """A row of -∞ is mapped to zeros."""
    return jnp.where(
        jnp.all(jnp.isneginf(x), axis=axis, keepdims=True), 0.0, jax.nn.softmax(x, axis=axis)
    )


def _dropout(call: Call, x: Any, p: float = 0.5, train: bool = False) -> Any:
    _ensure_inference(call, train)
    return x


def _native_dropout(call: Call, x: Any, p: float = 0.5, train: bool | None = False) -> Any:
    _ensure_inference(call, train)
    return x, jnp.ones(x.shape, bool)


def _ensure_inference(call: Call, training: Any) -> None:
    if training:
        raise call.refuse(
            "Dropout in training mode is random.", "train = True", "export module.eval()"
        )


RULES: RuleTable = {
    "relu": _plain(jax.nn.relu),
    "relu6": lambda call, x: _hardtanh(call, x, 0.0, 6.0),
    "sigmoid": _plain(jax.nn.sigmoid),
    "silu": _plain(jax.nn.silu),
    "mish": _plain(jax.nn.mish),
    "log_sigmoid": _plain(jax.nn.log_sigmoid),
    "log_sigmoid_forward": lambda call, x: (jax.nn.log_sigmoid(x), NOT_COMPUTED),
    "hardsigmoid": _hardsigmoid,
    "hardswish": lambda call, x: x * _hardsigmoid(call, x),
    "hardtanh": _hardtanh,
    "hardshrink": _hardshrink,
    "softshrink": _softshrink,
    "threshold": _threshold,
    "leaky_relu": _leaky_relu,
    "prelu": _prelu,
    "_prelu_kernel": _prelu,
    "rrelu": _rrelu,
    "rrelu_with_noise_functional": _rrelu_with_noise,
    "elu": _elu,
    "celu": _celu,
    "selu": _selu,
    "softplus": _softplus,
    "gelu": _gelu,
    "glu": _glu,
    **dict.fromkeys(("softmax", "_softmax"), _along(jax.nn.softmax)),
    **dict.fromkeys(("log_softmax", "_log_softmax"), _along(jax.nn.log_softmax)),
    "_safe_softmax": _along(_safe_softmax),
    **dict.fromkeys(
        ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"), _dropout
    ),
    "native_dropout": _native_dropout,
}
