"""Pools: the largest or the mean of every window, and of a given number of parts."""

from typing import Any

import jax.numpy as jnp

from ftheta.networks.operators.pooling import adaptive_pool, average_pool, max_pool, window_sums
from ftheta.networks.programs.call import NOT_COMPUTED, Call, Rule, RuleTable

from .windows import spread, windows, with_batch_axis


def _max(rank: int) -> Rule:
    def rule(
        call: Call,
        x: Any,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        w = windows(x, kernel_size, stride or kernel_size, padding, dilation, rank)
        return with_batch_axis(x, rank, lambda images: max_pool(images, w, ceil_mode))

    return rule


def _average(rank: int) -> Rule:
    def rule(
        call: Call,
        x: Any,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        w = windows(x, kernel_size, stride or kernel_size, padding, 1, rank)
        if divisor_override is not None:
            return with_batch_axis(
                x, rank, lambda images: window_sums(images, w, ceil_mode)
            ) / float(divisor_override)
        return with_batch_axis(
            x, rank, lambda images: average_pool(images, w, ceil_mode, count_include_pad)
        )

    return rule


def _adaptive(combine: Any, rank: int) -> Rule:
    def rule(call: Call, x: Any, output_size: Any) -> Any:
        parts = spread(output_size, rank)
        return with_batch_axis(x, rank, lambda images: adaptive_pool(images, parts, combine))

    return rule


def _with_places(rule: Rule) -> Rule:
    """Operators that also say where the largest numbers are."""
    return lambda call, x, **how: (rule(call, x, **how), NOT_COMPUTED)


_RANKS = (1, 2, 3)
RULES: RuleTable = {
    **{f"max_pool{n}d": _max(n) for n in _RANKS},
    **{f"max_pool{n}d_with_indices": _with_places(_max(n)) for n in _RANKS},
    **{f"avg_pool{n}d": _average(n) for n in _RANKS},
    **{f"adaptive_avg_pool{n}d": _adaptive(jnp.mean, n) for n in _RANKS},
    **{f"_adaptive_avg_pool{n}d": _adaptive(jnp.mean, n) for n in (2, 3)},
    **{f"adaptive_max_pool{n}d": _with_places(_adaptive(jnp.max, n)) for n in _RANKS},
}
