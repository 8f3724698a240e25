"""The factors of one step of gradient descent, single steps in intervals, and lengths without overflow."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Witness


def sharp_factor(tau: Any, mu: Any, L: Any) -> Any:
    r"""$\max(|1-\tau\mu|,|1-\tau L|)^2$, the factor of $\|\theta-\theta^*\|^2$ in one step."""
    return jnp.maximum(jnp.abs(1 - tau * mu), jnp.abs(1 - tau * L)) ** 2


def guaranteed_factor(tau: Any, mu: Any, L: Any) -> Any:
    r"""$\gamma=1-\frac{2\tau\mu L}{\mu+L}$, the factor of $\|\theta-\theta^*\|^2$ that the theorem states."""
    return 1 - 2 * tau * mu * L / (mu + L)


def enclose_first_step(
    objective: Callable[[Any], Any],
    start: np.ndarray,
    optimum: np.ndarray,
    constants: tuple[float, float, float],
) -> Witness:
    """The first step, taken again in intervals, against the factor γ."""
    return _step_again(objective, start, optimum, constants, guaranteed_factor, 0)


def enclose_worst_step(
    objective: Callable[[Any], Any],
    path: np.ndarray,
    optimum: np.ndarray,
    constants: tuple[float, float, float],
) -> Witness:
    """The first step that exceeds the sharp factor by most, taken again in intervals."""
    distance = lengths(path - optimum)
    with np.errstate(all="ignore"):
        factors = distance[1:] / distance[:-1]
    k = int(np.argmax(np.where(np.isfinite(factors), factors, 0.0)))
    return _step_again(objective, path[k], optimum, constants, sharp_factor, k)


def _step_again(
    objective: Callable[[Any], Any],
    theta: np.ndarray,
    optimum: np.ndarray,
    constants: tuple[float, float, float],
    factor: Callable[[Any, Any, Any], Any],
    k: int,
) -> Witness:
    """The step from `theta`, the iterate number k, beside `factor` times the squared distance before it."""

    def square(x: Any) -> Any:
        return jnp.sum(x * x)

    def after(theta: Any, optimum: Any, tau: Any) -> Any:
        return square(theta - tau * jax.grad(objective)(theta) - optimum)

    def bound_next(theta: Any, optimum: Any, tau: Any, mu: Any, L: Any) -> Any:
        return factor(tau, mu, L) * square(theta - optimum)

    left = enclose_number(after, theta, optimum, constants[0])
    right = enclose_number(bound_next, theta, optimum, *constants)
    return Witness(
        {"k": float(k)},
        left,
        right,
        "‖θ_{k+1} − θ*‖² and its bound from θ_k, in intervals rounded outward",
    )


def lengths(rows: np.ndarray) -> np.ndarray:
    """The Euclidean length of each, also where its square would underflow or overflow."""
    flat = rows.reshape(len(rows), -1)
    size = np.abs(flat).max(axis=1, initial=0.0)
    unit = np.where((size > 0) & np.isfinite(size), size, 1.0)
    return unit * np.linalg.norm(flat / unit[:, None], axis=1)
