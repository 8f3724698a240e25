"""First-order descent, compiled as one scan."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic import UsageError

from .methods import Method, steepest

ROOM = 2e8  # numbers that a history of iterates may hold


@dataclass(frozen=True, eq=False)
class Path:
    r"""A run of $K$ moves: `points[k]` is $\theta_k$, `values[k]` is $F(\theta_k)$, `slopes[k]` is
    $\|\nabla F(\theta_k)\|^2$, for $k=0,\dots,K$."""

    name: str
    points: np.ndarray
    values: np.ndarray
    slopes: np.ndarray

    def __len__(self) -> int:
        return len(self.values)


def descend(
    method: Method,
    objective: Callable[[Any], Any],
    start: np.ndarray,
    steps: int,
    *,
    total: Callable[[Any], Any] | None = None,
) -> Path:
    r"""$K$ = `steps` moves of `method` on `objective` from `start`, compiled as one loop.

    `total` is the $F$ whose values are recorded where the method sees only a smooth part of it.
    """
    start = np.asarray(start, np.float64)
    if start.size * (steps + 1) > ROOM:
        got = f"{steps:,} steps of {start.size:,} numbers"
        raise UsageError(
            "The history of iterates would not fit.", got=got, remedy="take fewer steps, or use ftheta.fit"
        )
    gradient, measured = jax.grad(objective), total or objective

    def seen(theta: Any) -> tuple[Any, Any, Any]:
        return theta, measured(theta), jnp.sum(gradient(theta) ** 2)

    def advance(carry: tuple[Any, Any], k: Any) -> tuple[tuple[Any, Any], Any]:
        theta, memory = carry
        return method.move(theta, memory, k, gradient), seen(theta)

    @jax.jit
    def roll(theta: Any) -> Any:
        (last, _), before = jax.lax.scan(advance, (theta, method.begin(theta)), jnp.arange(steps))
        return jax.tree.map(lambda many, one: jnp.concatenate([many, one[None]]), before, seen(last))

    return Path(method.name, *(np.asarray(part) for part in roll(start)))


def walk(
    method: Method,
    value: Callable[[np.ndarray], Any],
    gradient: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    steps: int,
) -> Path:
    """The same, one move at a time in NumPy: for short runs on formulas, which would take longer to compile."""
    theta = np.asarray(start, np.float64)
    points, memory = [theta], method.begin(theta)
    for k in range(steps):
        theta, memory = method.move(theta, memory, k, gradient)
        points.append(np.asarray(theta))
    values, slopes = [float(value(p)) for p in points], [float(np.sum(gradient(p) ** 2)) for p in points]
    return Path(method.name, np.array(points), np.array(values), np.array(slopes))


def gradient_descent(objective: Callable[[Any], Any], start: np.ndarray, step: float, steps: int) -> np.ndarray:
    r"""The iterates $\theta_0,\dots,\theta_K$ of $\theta_{k+1}=\theta_k-\tau\nabla F(\theta_k)$.

    `objective` is $F$, `start` $\theta_0$, `step` $\tau$, `steps` $K$; the result has shape `(K + 1, *start.shape)`.
    """
    return descend(steepest(step), objective, start, steps).points
