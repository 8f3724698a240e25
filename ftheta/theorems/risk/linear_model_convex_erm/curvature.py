"""How far a model is from linear in its parameters, and the least eigenvalue of the Hessian of its risk."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure, Witness
from ftheta.spectra.curvature import eigenvalue_range


def nonlinearity(
    apply: Callable[[Any, Any], Any], params: Any, x: np.ndarray, rng: np.random.Generator
) -> float:
    r"""The largest $|f_{\theta+\theta'}-f_\theta-f_{\theta'}+f_0|$ at random parameters, relative: 0 for a model linear
    (or affine) in its parameters."""
    flat, rebuild = ravel_pytree(params)
    at = lambda theta: np.asarray(jax.vmap(lambda row: apply(rebuild(jnp.asarray(theta)), row))(x))
    worst = size = 0.0
    for _ in range(4):
        a, b = rng.normal(size=(2, flat.size))
        parts = at(a + b), at(a), at(b), at(np.zeros(flat.size))
        worst = largest(worst, np.abs(parts[0] - parts[1] - parts[2] + parts[3]))
        size = max(size, *(float(np.abs(p).max()) for p in parts))
    return worst / max(size, 1e-300)


def least_curvature(
    apply: Callable[[Any, Any], Any], params: Any, x: np.ndarray, y: np.ndarray
) -> tuple[Enclosure, Witness | None]:
    """The least eigenvalue of the Hessian of the mean squared loss at the parameters as they are; where it is negative,
    the second derivative along its vector, in intervals."""
    flat, rebuild = ravel_pytree(params)
    predict = lambda theta: jax.vmap(lambda row: jnp.ravel(apply(rebuild(theta), row)))(x)
    objective = lambda theta: jnp.mean(
        jnp.sum((predict(theta) - y.reshape(len(x), -1)) ** 2, axis=1)
    )
    hessian = np.asarray(jax.hessian(objective)(jnp.asarray(flat)))
    least = eigenvalue_range(hessian)[0]
    if least.hi >= 0:
        return least, None

    def bend(theta: Any, v: Any) -> Any:
        return v @ jax.jvp(jax.grad(objective), (theta,), (v,))[1]

    along = enclose_number(bend, np.asarray(flat, np.float64), np.linalg.eigh(hessian)[1][:, 0])
    return least, Witness(
        {"t": 0.0},
        Enclosure.exact(0),
        along,
        "the second derivative along one direction, in intervals",
    )
