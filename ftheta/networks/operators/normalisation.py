"""Normalisations: by running statistics, and by the statistics of the input itself."""

from typing import Any

import jax.numpy as jnp
from jax import lax


def channels(vector: Any, x: Any) -> Any:
    """One number a channel, to be broadcast over (batch, channel, …)."""
    return vector.reshape(-1, *[1] * (x.ndim - 2))


def by_statistics(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    r"""$(x-\text{mean})\,\text{scale}/\sqrt{\text{variance}+\epsilon}+\text{shift}$ in every channel: an affine map."""
    factor = scale / jnp.sqrt(variance + epsilon)
    return (x - channels(mean, x)) * channels(factor, x) + channels(shift, x)


def standardise(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    """The input less its mean over its standard deviation; the mean; one over the standard deviation."""
    mean = jnp.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    deviation = jnp.sqrt(jnp.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    return centred / deviation, mean, 1 / deviation


def by_root_mean_square(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any]:
    """The input over the root of its mean square; one over that root."""
    inverse = lax.rsqrt(jnp.mean(x * x, axis=axes, keepdims=True) + epsilon)
    return x * inverse, inverse


def in_groups(x: Any, groups: int, epsilon: float) -> tuple[Any, Any, Any]:
    """`standardised` over groups of channels, as (batch, group, rest)."""
    return standardise(x.reshape(x.shape[0], groups, -1), (2,), epsilon)
