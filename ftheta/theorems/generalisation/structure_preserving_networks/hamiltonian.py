r"""A network as an energy: $\dot x=\Omega\nabla H(x)$ keeps $H$, as $\frac{dH}{dt}=\nabla H^\top\Omega\nabla H=0$."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.networks.description import Description

from .shears import omega

TIME = 8.0
START = np.array([1.0, 0.0])


def field(net: Description, x: Any) -> Any:
    r"""$\Omega\nabla H$."""
    return omega(len(x) // 2) @ jax.grad(lambda z: net.apply(net.params, z)[0])(x)


def largest_power(net: Description, x: np.ndarray) -> float:
    r"""The largest $|\langle\nabla H,\Omega\nabla H\rangle|$ at the rows."""
    with jax.enable_x64(True):
        slopes = jax.vmap(jax.grad(lambda z: net.apply(net.params, z)[0]))(x)
        moves = jax.vmap(lambda z: field(net, z))(x)
        return float(np.abs(np.asarray((slopes * moves).sum(1))).max())


def measure_drifts(net: Description, steps: np.ndarray) -> np.ndarray:
    """The largest change of H up to time 8 on the classical Runge–Kutta method, for every length of a step."""
    energy = lambda x: net.apply(net.params, x)[0]

    def once(k: Any, carried: Any, h: Any, first: Any) -> Any:
        x = runge_kutta_step(field, (net, net, net), carried[0], h)
        return x, jnp.maximum(carried[1], jnp.abs(energy(x) - first))

    @jax.jit
    def drift(h: Any, count: Any) -> Any:
        start = jnp.asarray(START)
        first = energy(start)
        return jax.lax.fori_loop(
            0, count, lambda k, c: once(k, c, h, first), (start, jnp.zeros(()))
        )[1]

    with jax.enable_x64(True):
        return np.array([float(drift(h, round(TIME / h))) for h in steps])
