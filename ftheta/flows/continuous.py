r"""Continuous flows: $\dot x=v(t,x)$ carries a density by $\frac d{dt}\log p_t(x_t)=-\mathrm{tr}\,Dv$."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ftheta.shapes import Float

from .runge_kutta import runge_kutta_step

Field = Callable[[float, np.ndarray], np.ndarray]
"""Of a time and rows, one vector per row."""
Divergence = Callable[[float, np.ndarray], np.ndarray]
"""Of a time and rows, one number per row: the trace of the Jacobian of a field, or an estimate of it."""


def carry(
    field: Field, x: Float[np.ndarray, "n d"], times: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "n d"]:
    """The rows at the last of the `times`, by Runge–Kutta steps from the first; times may decrease."""
    for t, s in pairwise(times.tolist()):
        x = runge_kutta_step(field, (t, (t + s) / 2, s), x, s - t)
    return x


def carry_with_density(
    field: Field, divergence: Divergence, x: Float[np.ndarray, "n d"], times: Float[np.ndarray, "k"]
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n"]]:
    r"""The rows at the last time, and what their log-density has changed by: $-\int\mathrm{tr}\,Dv(t,x_t)\,dt$."""

    def both(t: float, state: np.ndarray) -> np.ndarray:
        rows = state[:, :-1]
        return np.concatenate([field(t, rows), -divergence(t, rows)[:, None]], 1)

    state = np.concatenate([x, np.zeros((len(x), 1))], 1)
    state = carry(both, state, times)
    return state[:, :-1], state[:, -1]


def normal_log_density(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
    r"""$\log\gamma(x)$ of the standard normal law at the rows of `x`."""
    return -(x**2).sum(1) / 2 - x.shape[1] / 2 * np.log(2 * np.pi)
