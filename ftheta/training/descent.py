"""First-order descent, compiled as one scan."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def gradient_descent(objective: Callable[[Any], Any], start: np.ndarray, step: float, steps: int) -> np.ndarray:
    r"""The iterates $\theta_0,\dots,\theta_K$ of $\theta_{k+1}=\theta_k-\tau\nabla F(\theta_k)$.

    `objective` is $F$, `start` $\theta_0$, `step` $\tau$, `steps` $K$; the result has shape `(K + 1, *start.shape)`.
    """
    gradient = jax.grad(objective)

    def advance(theta, _):
        new = theta - step * gradient(theta)
        return new, new

    @jax.jit
    def roll(theta):
        return jax.lax.scan(advance, theta, length=steps)[1]

    return np.concatenate([np.asarray(start)[None], np.asarray(roll(np.asarray(start, np.float64)))])
