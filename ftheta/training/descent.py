"""First-order descent, compiled as one scan."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .methods import Method, steepest

ROOM = 2e8  # numbers that a history of iterates may hold
_SMALL = 64  # parameters of an objective whose moves cost nothing beside the compiling


@dataclass(frozen=True, eq=False)
class Path:
    r"""A run of $K$ moves: `points[k]` is $\theta_k$, `values[k]` is $F(\theta_k)$, `slopes[k]` is
    $\|\nabla F(\theta_k)\|^2$, for $k=0,\dots,K$."""

    name: str
    points: Float[np.ndarray, "k *shape"]
    values: Float[np.ndarray, "k"]
    slopes: Float[np.ndarray, "k"]

    def __len__(self) -> int:
        return len(self.values)


def descend(
    method: Method,
    objective: Callable[[Any], Any],
    start: Float[np.ndarray, "*shape"],
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
            "The history of iterates would not fit.",
            got=got,
            remedy="take fewer steps, or use ftheta.fit",
        )
    gradient = jax.jit(jax.grad(objective))  # traced once, for the move and for what is seen
    measured = total or objective

    def seen(theta: Any) -> tuple[Any, Any, Any]:
        return theta, measured(theta), jnp.sum(gradient(theta) ** 2)

    def advance(carry: tuple[Any, Any], k: Any) -> tuple[tuple[Any, Any], Any]:
        theta, memory = carry
        return method.move(theta, memory, k, gradient), seen(theta)

    def roll(theta: Any) -> Any:
        return jax.lax.scan(
            advance, (theta, method.begin(theta)), jnp.arange(_pad_moves(steps + 1, start.size))
        )[1]

    return Path(
        method.name, *(np.asarray(part)[: steps + 1] for part in call_compiled(roll, start))
    )


def _pad_moves(moves: int, size: int) -> int:
    """A few moves more than asked for, where a move costs little: programs are compiled for some lengths only."""
    if size > _SMALL:
        return moves
    power = 1 << (moves - 1).bit_length()
    return power * 3 // 4 if moves <= power * 3 // 4 else power


def walk(
    method: Method,
    value: Callable[[np.ndarray], Any],
    gradient: Callable[[np.ndarray], np.ndarray],
    start: Float[np.ndarray, "*shape"],
    steps: int,
) -> Path:
    """The same, one move at a time in NumPy: for short runs on formulas, which would take longer to compile."""
    theta = np.asarray(start, np.float64)
    points = [theta]
    memory = method.begin(theta)
    for k in range(steps):
        theta, memory = method.move(theta, memory, k, gradient)
        points.append(np.asarray(theta))
    values = [float(value(p)) for p in points]
    slopes = [float(np.sum(gradient(p) ** 2)) for p in points]
    return Path(method.name, np.array(points), np.array(values), np.array(slopes))


def gradient_descent(
    objective: Callable[[Any], Any], start: Float[np.ndarray, "*shape"], step: float, steps: int
) -> Float[np.ndarray, "k *shape"]:
    r"""The iterates $\theta_0,\dots,\theta_K$ of $\theta_{k+1}=\theta_k-\tau\nabla F(\theta_k)$.

    `objective` is $F$, `start` $\theta_0$, `step` $\tau$, `steps` $K$; the result has shape `(K + 1, *start.shape)`.
    """
    return descend(steepest(step), objective, start, steps).points
