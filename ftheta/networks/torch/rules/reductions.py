"""Reductions over axes, and running sums."""

from typing import Any

import jax
import jax.numpy as jnp

from ftheta.networks.programs.call import Call, Rule, RuleTable, axes_of, axis_of
from ftheta.networks.torch.arguments import Dtype

from .arithmetic import cast

Axes = int | list[int] | None


def _over(name: str) -> Rule:
    def rule(
        call: Call, x: Any, dim: Axes = None, keepdim: bool = False, dtype: Dtype | None = None
    ) -> Any:
        return getattr(call.xp, name)(
            cast(call, x, dtype), axis=axes_of(dim, x.ndim), keepdims=keepdim
        )

    return rule


def _extreme(name: str) -> Rule:
    """The largest or smallest number along one axis, and the first place of it."""

    def rule(call: Call, x: Any, dim: int, keepdim: bool = False) -> Any:
        axis = axis_of(dim, x.ndim)
        return (
            getattr(call.xp, name)(x, axis=axis, keepdims=keepdim),
            getattr(call.xp, f"arg{name}")(x, axis=axis, keepdims=keepdim),
        )

    return rule


def _variance(
    call: Call,
    x: Any,
    dim: Axes = None,
    unbiased: Any = True,
    keepdim: bool = False,
    correction: Any = None,
):
    r"""$\sum(x-\bar x)^2/(n-c)$ with the correction $c=1$ unless given."""
    correction = float(unbiased) if correction is None else correction
    axes = axes_of(dim, x.ndim)
    mean = jnp.mean(x, axis=axes, keepdims=True)
    count = x.size / mean.size
    total = jnp.sum((x - mean) ** 2, axis=axes, keepdims=keepdim)
    return total / max(count - correction, 0), jnp.mean(x, axis=axes, keepdims=keepdim)


def _norm(
    call: Call,
    x: Any,
    p: Any = 2,
    dim: Axes = None,
    keepdim: bool = False,
    dtype: Any = None,
    ord: Any = None,
) -> Any:
    p = ord if ord is not None else 2 if p is None else p
    axes = axes_of(dim, x.ndim)
    if p == 2:
        return jnp.sqrt(jnp.sum(x * x, axis=axes, keepdims=keepdim))
    if abs(p) == float("inf"):
        return (jnp.max if p > 0 else jnp.min)(abs(x), axis=axes, keepdims=keepdim)
    if p == 0:
        return jnp.sum(x != 0, axis=axes, keepdims=keepdim).astype(float)
    if p == 1:
        return jnp.sum(abs(x), axis=axes, keepdims=keepdim)
    return jnp.sum(abs(x) ** p, axis=axes, keepdims=keepdim) ** (1.0 / p)


def _cosine(call: Call, x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    one, two = (
        x / jnp.maximum(_norm(call, x, dim=dim, keepdim=True), eps)
        for x in jnp.broadcast_arrays(x1, x2)
    )
    return jnp.sum(one * two, axis=dim)


def _logsumexp(call: Call, x: Any, dim: Axes, keepdim: bool = False) -> Any:
    return jax.nn.logsumexp(x, axes_of(dim, x.ndim), keepdims=keepdim)


def _running(name: str) -> Rule:
    def rule(call: Call, x: Any, dim: int, dtype: Dtype | None = None) -> Any:
        return getattr(call.xp, name)(cast(call, x, dtype), axis_of(dim, x.ndim))

    return rule


def _place(name: str) -> Rule:
    """Of the first largest or smallest number along an axis, or in all."""

    def rule(call: Call, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        return getattr(call.xp, name)(
            x, axis=None if dim is None else axis_of(dim, x.ndim), keepdims=keepdim
        )

    return rule


RULES: RuleTable = {
    **{op: _over(op) for op in ("sum", "mean", "prod", "max", "min", "any", "all")},
    "amax": _over("max"),
    "amin": _over("min"),
    "max.dim": _extreme("max"),
    "min.dim": _extreme("min"),
    "var": lambda call, x, **how: _variance(call, x, **how)[0],
    "var_mean": _variance,
    "std": lambda call, x, **how: jnp.sqrt(_variance(call, x, **how)[0]),
    "std_mean": lambda call, x, **how: (
        jnp.sqrt(_variance(call, x, **how)[0]),
        _variance(call, x, **how)[1],
    ),
    "norm": _norm,
    "linalg_vector_norm": _norm,
    "cosine_similarity": _cosine,
    "logsumexp": _logsumexp,
    "cumsum": _running("cumsum"),
    "cumprod": _running("cumprod"),
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
}
