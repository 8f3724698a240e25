"""Normalisations: by running statistics, and by the statistics of the input itself."""

from typing import Any

import jax.numpy as jnp

from ftheta.networks.operators.normalisation import (
    by_root_mean_square,
    by_statistics,
    channels,
    in_groups,
    standardise,
)
from ftheta.networks.programs.call import NOT_COMPUTED, Call, RuleTable


def _scale_and_shift(y: Any, weight: Any, bias: Any) -> Any:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _by_channel(y: Any, weight: Any, bias: Any) -> Any:
    return _scale_and_shift(y, *(None if v is None else channels(v, y) for v in (weight, bias)))


def _batch(
    call: Call,
    x: Any,
    weight: Any = None,
    bias: Any = None,
    running_mean: Any = None,
    running_var: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    if training or running_mean is None or running_var is None:
        raise call.refuse(
            "Batch normalisation in training mode.", "training = True", "export module.eval()"
        )
    scale = jnp.ones(1) if weight is None else weight
    shift = jnp.zeros(1) if bias is None else bias
    return by_statistics(x, scale, shift, running_mean, running_var, eps)


def _batch_of_three(call: Call, x: Any, **how: Any) -> Any:
    """The last two values belong to training."""
    return _batch(call, x, **how), NOT_COMPUTED, NOT_COMPUTED


def _by_own_statistics(
    call: Call, x: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    """Of every channel, over all else: what instance normalisation becomes in core ATen."""
    standard, mean, inverse = standardise(x, (0, *range(2, x.ndim)), eps)
    return _by_channel(standard, weight, bias), mean.ravel(), inverse.ravel()


def _instance(
    call: Call,
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    if not use_input_stats:
        return _batch(call, x, weight, bias, running_mean, running_var, eps=eps)
    return _by_channel(standardise(x, tuple(range(2, x.ndim)), eps)[0], weight, bias)


def _layer(
    call: Call,
    x: Any,
    normalized_shape: list[int],
    weight: Any = None,
    bias: Any = None,
    **how: Any,
) -> Any:
    return _native_layer(call, x, normalized_shape, weight, bias, how.get("eps", 1e-5))[0]


def _native_layer(
    call: Call, x: Any, normalized_shape: list[int], weight: Any, bias: Any, eps: float
) -> Any:
    standard, mean, inverse = standardise(x, _last(x, normalized_shape), eps)
    return _scale_and_shift(standard, weight, bias), mean, inverse


def _last(x: Any, shape: list[int]) -> tuple[int, ...]:
    return tuple(range(x.ndim - len(shape), x.ndim))


def _rms(
    call: Call, x: Any, normalized_shape: list[int], weight: Any = None, eps: float | None = None
) -> Any:
    return _fused_rms(call, x, normalized_shape, weight, eps)[0]


def _fused_rms(
    call: Call, x: Any, normalized_shape: list[int], weight: Any = None, eps: float | None = None
) -> Any:
    """Without an `eps`, torch takes the machine epsilon of the weights; it is that of float32 here."""
    standard, inverse = by_root_mean_square(
        x, _last(x, normalized_shape), FLOAT32_EPS if eps is None else eps
    )
    return _scale_and_shift(standard, weight, None), inverse


FLOAT32_EPS = 2.0**-23


def _group(
    call: Call,
    x: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    return _by_channel(in_groups(x, num_groups, eps)[0].reshape(x.shape), weight, bias)


def _native_group(
    call: Call, x: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    standard, mean, inverse = in_groups(x, group, eps)
    return _by_channel(standard.reshape(x.shape), weight, bias), mean[..., 0], inverse[..., 0]


RULES: RuleTable = {
    "batch_norm": _batch,
    "_native_batch_norm_legit_no_training": _batch_of_three,
    "_native_batch_norm_legit": _batch_of_three,
    "_native_batch_norm_legit.no_stats": _by_own_statistics,
    "native_batch_norm": _batch_of_three,
    "instance_norm": _instance,
    "layer_norm": _layer,
    "native_layer_norm": _native_layer,
    "rms_norm": _rms,
    "_fused_rms_norm": _fused_rms,
    "group_norm": _group,
    "native_group_norm": _native_group,
}
