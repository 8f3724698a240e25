r"""How far float64 has carried a run of gradient descent from the run in real numbers.

The computed iterates obey $\theta_{k+1}=\theta_k-\tau\nabla F(\theta_k)+r_k$ with residuals $r_k$ that intervals bound.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose, enclose_number
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float

ROUNDING = 1e-13  # of the size of the numbers, where a program has no evaluation in intervals


def value_errors(
    objective: Callable[[Any], Any],
    points: Float[np.ndarray, "k *shape"],
    values: Float[np.ndarray, "k"],
) -> Float[np.ndarray, "k"]:
    r"""For each row of `points` a bound of $|v_k-F(\theta_k)|$, where `values` holds the $v_k$.

    Where $F$ cannot be enclosed it is 10⁻¹³ of the largest value: granted, not shown.
    """
    found = enclose(jax.vmap(objective), points)
    if found is None:
        return np.full(len(values), ROUNDING * float(np.abs(values).max(initial=0.0)))
    return np.nextafter(np.maximum(found.hi - values, values - found.lo), np.inf)


def step_errors(
    objective: Callable[[Any], Any], points: Float[np.ndarray, "k *shape"], tau: float
) -> Float[np.ndarray, "steps"]:
    r"""For $k=0,\dots,K-1$ a bound of $\|r_k\|$, where `points` holds $\theta_0,\dots,\theta_K$.

    Where $\nabla F$ cannot be enclosed it is 10⁻¹³ of the largest iterate: granted, not shown.
    """
    rows = points.reshape(len(points), -1)
    step = jax.vmap(lambda theta, tau: theta - tau * jax.grad(objective)(theta), (0, None))
    found = enclose(step, points[:-1], tau)
    if found is None:
        return np.full(
            len(rows) - 1, ROUNDING * float(np.linalg.norm(rows, axis=1).max(initial=0.0))
        )
    lo, hi = (end.reshape(len(rows) - 1, -1) for end in (found.lo, found.hi))
    off = np.maximum(hi - rows[1:], rows[1:] - lo)
    length = np.sqrt((off**2).sum(1))
    return np.nextafter(length * (1 + 4 * rows.shape[1] * np.finfo(float).eps), np.inf)


def carried_on(errors: Float[np.ndarray, "steps"], factor: float) -> Float[np.ndarray, "k"]:
    r"""$e_k$ with $e_0=0$, $e_{k+1}=qe_k+\|r_k\|$: how far the iterates may be from those of real numbers, if one step
    brings two points together by the factor $q$."""
    carried = [0.0]
    for error in errors:
        carried.append(factor * carried[-1] + float(error))
    return np.array(carried) * (1 + 4 * len(carried) * np.finfo(float).eps)


def enclosed_excess(
    objective: Callable[[Any], Any],
    start: Float[np.ndarray, "*shape"],
    optimum: Float[np.ndarray, "*shape"],
    tau: float,
    steps: int,
) -> Enclosure:
    r"""$F(\theta_k)-F(\theta^*)$ after so many `steps` of gradient descent from `start`, all of it in intervals."""

    def excess(theta: Any, optimum: Any, tau: Any) -> Any:
        for _ in range(steps):
            theta = theta - tau * jax.grad(objective)(theta)
        return objective(theta) - objective(optimum)

    return enclose_number(excess, start, optimum, tau)


def enclosed_distance(
    objective: Callable[[Any], Any],
    start: Float[np.ndarray, "*shape"],
    centre: Float[np.ndarray, "*shape"],
    tau: float,
) -> Enclosure:
    r"""$\|\theta_1-c\|$ after one step of gradient descent from `start`, in intervals; $c$ is the `centre`."""

    def distance(theta: Any, centre: Any, tau: Any) -> Any:
        return jnp.sqrt(jnp.sum((theta - tau * jax.grad(objective)(theta) - centre) ** 2))

    return enclose_number(distance, start, centre, tau)


def first_beyond(values: Float[np.ndarray, "k"], bounds: Float[np.ndarray, "k"]) -> int | None:
    """The first k at which a value exceeds its bound by a tenth: early, before the rounding of the run has grown."""
    beyond = np.flatnonzero(~(values <= 1.1 * np.asarray(bounds)))
    return int(beyond[0]) if beyond.size else None
