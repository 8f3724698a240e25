r"""Projected gradient ascent to an input near a row where a loss is large: $\max_{\|x'-x\|\le\varepsilon}\ell(x')$."""

from collections.abc import Callable
from math import inf
from typing import Any

import jax
import jax.numpy as jnp

OVERSHOOT = 2.5  # the steps together, in units of ε: enough to cross the ball from anywhere


def climb(
    loss: Callable[[Any], Any],
    x: Any,
    radius: Any,
    key: Any,
    *,
    norm: float,
    steps: int,
    clip: tuple[float, float] | None,
) -> Any:
    """An input within `radius` of `x` in the `norm` 2 or ∞ (and between the numbers of `clip`) after so many `steps`
    from a random start. No derivative goes through the search."""
    size = OVERSHOOT / steps * radius
    slope = jax.grad(loss)

    def move(_: Any, at: Any) -> Any:
        return _project(at + size * _direction(slope(at), norm), x, radius, norm, clip)

    start = _project(x + radius * _draw(key, x, norm), x, radius, norm, clip)
    return jax.lax.stop_gradient(jax.lax.fori_loop(0, steps, move, start))


def _draw(key: Any, x: Any, norm: float) -> Any:
    """Uniform in the unit ball."""
    if norm == inf:
        return jax.random.uniform(key, x.shape, x.dtype, -1, 1)
    first, second = jax.random.split(key)
    length = jax.random.uniform(second, (), x.dtype) ** (1 / max(x.size, 1))
    return length * _direction(jax.random.normal(first, x.shape, x.dtype), norm)


def _direction(gradient: Any, norm: float) -> Any:
    """The point of the unit ball at which the gradient is largest."""
    if norm == inf:
        return jnp.sign(gradient)
    return gradient / jnp.maximum(jnp.linalg.norm(gradient.ravel()), jnp.finfo(gradient.dtype).tiny)


def _project(point: Any, x: Any, radius: Any, norm: float, clip: tuple[float, float] | None) -> Any:
    """Back into the ball, then into the range of inputs: a row that is in that range stays in the ball."""
    moved = point - x
    if norm == inf:
        moved = jnp.clip(moved, -radius, radius)
    else:
        length = jnp.linalg.norm(moved.ravel())
        moved = moved * jnp.minimum(1, radius / jnp.maximum(length, jnp.finfo(moved.dtype).tiny))
    return x + moved if clip is None else jnp.clip(x + moved, *clip)
