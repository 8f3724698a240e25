"""Functions whose curvature is known in closed form."""

from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Real


def half_tanh_squared(theta: Any) -> Any:
    r"""$\frac12\sum\tanh^2\theta_i$: 1-smooth, not convex."""
    return jnp.sum(jnp.tanh(theta) ** 2) / 2


def tanh_curvature() -> tuple[Enclosure, Enclosure]:
    r"""The range of $F''=(1-s)(1-3s)$, $s=\tanh^2a\in[0,1)$: from $-\frac13$ at $s=\frac23$ to 1 at $s=0$."""
    at = lambda s: (1 - s) * (1 - 3 * s)
    return Enclosure.exact(at(Fraction(2, 3))), Enclosure.exact(at(Fraction(0)))


def logistic_constants(x: Real[np.ndarray, "n d"], ridge: float) -> tuple[float, float]:
    r"""$(\mu,L)=\big(2\gamma,\ \frac{\lambda_{\max}(X^\top X)}{4n}+2\gamma\big)$ of ridge logistic regression."""
    return 2 * ridge, float(np.linalg.norm(x, 2) ** 2 / (4 * len(x)) + 2 * ridge)
