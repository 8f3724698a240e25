r"""What a run of gradient descent shows of its contraction on a strongly convex function.

Every iterate is compared with the bound, also where the bound is 0 or underflows. Distances may exceed it by what
float64 has added to them: the errors of the steps, carried on by the contraction, and the doubt about the optimum.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import worst_ratio
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Enclosure, Witness

from .rounding import carried_on, step_errors


def sharp_factor(tau: Any, mu: Any, L: Any) -> Any:
    r"""$\max(|1-\tau\mu|,|1-\tau L|)^2$, the factor of $\|\theta-\theta^*\|^2$ in one step."""
    return jnp.maximum(jnp.abs(1 - tau * mu), jnp.abs(1 - tau * L)) ** 2


def guaranteed_factor(tau: Any, mu: Any, L: Any) -> Any:
    r"""$\gamma=1-\frac{2\tau\mu L}{\mu+L}$, the factor of $\|\theta-\theta^*\|^2$ that the theorem states."""
    return 1 - 2 * tau * mu * L / (mu + L)


def contraction_claims(
    objective: Callable[[Any], Any],
    path: np.ndarray,
    optimum: np.ndarray,
    doubt: float,
    gamma: float,
    constants: tuple[float, float, float],
) -> tuple[AtMost, AtMost]:
    r"""$\|\theta_k-\theta^*\|^2\le\gamma^k\|\theta_0-\theta^*\|^2$ for every $k$, and the factor of every single step.

    `path` holds the iterates, `optimum` is at most `doubt` from $\theta^*$, `constants` are $\tau$, $\mu$ and $L$.
    """
    tau = constants[0]
    sharp = float(sharp_factor(*constants))
    k = np.arange(len(path))
    distance = _lengths(path - optimum)
    rounding = step_errors(objective, path, tau)
    # a step brings points together by √γ where the theorem applies: so the later steps carry its error on
    carried = carried_on(rounding, max(gamma, 0.0) ** 0.5)
    root = max(gamma, 0.0) ** (k / 2)
    allowed = carried + (1 + root) * doubt
    ratio = _squared(worst_ratio(distance, root * distance[0], allowed))
    excess = distance[1:] - rounding - 2 * doubt
    steepest = _squared(worst_ratio(excess, distance[:-1]))
    first = _first_step(objective, path[0], optimum, constants) if ratio > 1 and doubt == 0 else None
    witness = _one_step(objective, path, optimum, constants) if steepest > sharp and doubt == 0 else None
    what = f"max over k of ‖θ_k − θ*‖² / (γᵏ ‖θ₀ − θ*‖²), distances up to {allowed.max():.1e} of rounding"
    return (
        AtMost(what, Enclosure.equal(ratio), Enclosure.exact(1), witness=first),
        AtMost(
            "largest one-step factor", Enclosure.equal(steepest), Enclosure.equal(sharp), witness=witness, atol=1e-9
        ),
    )


def _first_step(
    objective: Callable[[Any], Any], start: np.ndarray, optimum: np.ndarray, constants: tuple[float, float, float]
) -> Witness:
    """The first step, taken again in intervals, against the factor γ."""
    return _step_again(objective, start, optimum, constants, guaranteed_factor, 0)


def _one_step(
    objective: Callable[[Any], Any], path: np.ndarray, optimum: np.ndarray, constants: tuple[float, float, float]
) -> Witness:
    """The first step that exceeds the sharp factor by most, taken again in intervals."""
    distance = _lengths(path - optimum)
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

    def allowed(theta: Any, optimum: Any, tau: Any, mu: Any, L: Any) -> Any:
        return factor(tau, mu, L) * square(theta - optimum)

    left = enclose_number(after, theta, optimum, constants[0])
    right = enclose_number(allowed, theta, optimum, *constants)
    return Witness({"k": float(k)}, left, right, "‖θ_{k+1} − θ*‖² and its bound from θ_k, in intervals rounded outward")


def _squared(x: float) -> float:
    """Infinite where it leaves the range of float64."""
    return x * x


def _lengths(rows: np.ndarray) -> np.ndarray:
    """The Euclidean length of each, also where its square would underflow or overflow."""
    flat = rows.reshape(len(rows), -1)
    size = np.abs(flat).max(axis=1, initial=0.0)
    unit = np.where((size > 0) & np.isfinite(size), size, 1.0)
    return unit * np.linalg.norm(flat / unit[:, None], axis=1)
