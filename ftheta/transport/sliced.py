r"""Sliced transport: the mean over directions $\theta$ of the unit sphere of $W_p^p$ of the projections
$\langle\theta,x\rangle$. Never above $W_p^p$, since projections do not lengthen; exact on the line, an estimate from
drawn directions elsewhere."""

import numpy as np

from ftheta.estimates.means import mean
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float

from .line import line_cost


def sliced_cost(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "m d"],
    rng: np.random.Generator,
    *,
    p: float = 2.0,
    directions: int = 200,
) -> Enclosure:
    r"""$\mathbb E_\theta W_p^p(\langle\theta,x\rangle,\langle\theta,y\rangle)$ from drawn directions, with
    confidence."""
    if x.shape[1] == 1:
        return line_cost(x[:, 0], y[:, 0], p=p)
    theta = rng.normal(size=(directions, x.shape[1]))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    draws = np.array([line_cost(x @ way, y @ way, p=p).middle for way in theta])
    centre = x.mean(0)
    reach = np.linalg.norm(x - centre, axis=1).max() + np.linalg.norm(y - centre, axis=1).max()
    return mean(draws, within=(0.0, float(reach**p)))


def largest_coordinate_cost(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]) -> float:
    r"""The largest $W_1$ of one coordinate: a lower bound of $W_1$, rounded down."""
    return max(line_cost(x[:, k], y[:, k]).lo for k in range(x.shape[1]))
