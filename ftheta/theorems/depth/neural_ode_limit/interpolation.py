r"""The flow that a given residual network discretises: its weights, joined by straight lines, as $\theta(t)$."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.flows.chains import Chain
from ftheta.flows.fields import Flow

LARGEST_STATE = 64  # dimensions up to which slopes along the trajectory are computed


def interpolate_weights(chain: Chain, stage: int, weights: Sequence[Any], x: np.ndarray) -> Flow:
    r"""$\dot x=Tv_{\theta(t)}(x)$ of one stage of $T$ blocks, from the state that the input `x` has before it.

    $\theta(k/T)$ are the weights of block $k$, so that the Euler method with $T$ steps is the stage itself.
    """
    field = chain.stages[stage].field
    theta = [np.asarray(w) for w in weights[stage]]
    T = len(chain.stages[stage])
    shape = chain.stages[stage].shape
    start = np.ravel(np.asarray(chain.states(weights, x)[1][stage][0]))

    def at(t: np.ndarray) -> tuple[np.ndarray, ...]:
        place = np.clip(np.asarray(t) * T, 0, T - 1)
        k = np.minimum(place.astype(int), max(T - 2, 0))
        share = place - k
        return tuple(_between(w, k, share) for w in theta)

    def velocity(theta: Any, x: Any) -> jax.Array:
        return T * jnp.ravel(field(theta, x.reshape(shape)))

    return Flow(velocity, at, start)


def _between(w: np.ndarray, k: np.ndarray, share: np.ndarray) -> np.ndarray:
    share = share.reshape(-1, *[1] * (w.ndim - 1))
    after = w[np.minimum(k + 1, len(w) - 1)]
    return w[k] if w.dtype.kind != "f" else w[k] * (1 - share) + after * share
