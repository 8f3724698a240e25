r"""The rates of first-order methods on convex $L$-smooth functions.

$R=\|\theta_0-\theta^*\|$ is the distance from the start to a minimiser, and $k$ counts steps from 0.
"""

import numpy as np

from ftheta.estimates import worst_ratio
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float, Real

ROUNDING = 1e-13  # of the size of the values, granted to a run


def descent_bound(
    smoothness: float, radius: float, k: Real[np.ndarray, "*k"], step: float = 1.0
) -> Float[np.ndarray, "*k"]:
    r"""$\frac{LR^2}{4kh+2}$ for gradient descent with $\tau=\frac hL$, $0<h\le1$ (Drori and Teboulle)."""
    return smoothness * radius**2 / (4 * k * step + 2)


def accelerated_bound(
    smoothness: float, radius: float, k: Real[np.ndarray, "*k"]
) -> Float[np.ndarray, "*k"]:
    r"""$\frac{2LR^2}{(k+1)^2}$ for Nesterov's method and FISTA with $\tau=\frac1L$."""
    return 2 * smoothness * radius**2 / (k + 1) ** 2


def largest_ratio(
    excess: Float[np.ndarray, "k"],
    bound: Float[np.ndarray, "k"],
    size: float,
    errors: np.ndarray | float = 0.0,
) -> Enclosure:
    r"""$\max_k$ excess/bound over all $k$, in float64.

    Each bound is raised by `errors` of the values and by 10⁻¹³ of `size`, the rounding granted to the run.
    """
    return Enclosure.equal(worst_ratio(excess, bound, ROUNDING * size + errors))
