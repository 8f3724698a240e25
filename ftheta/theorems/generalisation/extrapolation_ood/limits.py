r"""A network whose first layer is bounded, far out on a ray $t\mapsto x+tv$: it tends to a constant.

A neuron of a bounded activation tends to $\sigma(\pm\infty)$ if its input moves with $t$ and stays where it is if not.
So the first layer tends to a vector $h_\infty$, the network to its rest at $h_\infty$, and no slower than
$\prod_{\ell\ge2}\|W_\ell\|\mathrm{Lip}(\sigma_\ell)$ times $|h(t)-h_\infty|$.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from ftheta.logic import nearest_float
from ftheta.networks.activations import activation
from ftheta.networks.description import Description
from ftheta.shapes import Float

TINIEST = float(np.finfo(np.float64).smallest_subnormal)


def is_bounded(net: Description) -> bool:
    """Whether the first layer has an activation with finite limits."""
    return all(map(isfinite, activation(net.layers[0].activation).limits)) and len(net.layers) > 1


@dataclass(frozen=True, eq=False)
class RayLimit:
    r"""The `limit` of a network on a ray. The first layer is $\sigma(a+tm)$ with `start` $a$ and `moves` $m$, and tends
    to `first`; the other layers are `lipschitz`-continuous."""

    limit: np.ndarray
    first: np.ndarray
    start: np.ndarray
    moves: np.ndarray
    sigma: Callable[[Any], Any]
    lipschitz: float

    def distance_at_most(self, t: float) -> float:
        r"""$\prod_{\ell\ge2}\|W_\ell\|\mathrm{Lip}(\sigma_\ell)\,|h(t)-h_\infty|$: a bound on $|f(x+tv)-\lim f|$."""
        value = np.asarray(self.sigma(self.start + t * self.moves), np.float64)
        return self.lipschitz * float(np.linalg.norm(value - self.first))


def multiply_with_signs(
    W: Float[np.ndarray, "n d"], v: Float[np.ndarray, "d"]
) -> Float[np.ndarray, "n"]:
    """The product in float64, each entry with the sign that it has in rationals: a neuron that stands still on a ray
    has another limit than one that hardly moves."""
    found = W @ v
    doubt = 2 * (len(v) + 1) * np.finfo(np.float64).eps * (np.abs(W) @ np.abs(v))
    doubt += (len(v) + 2) * TINIEST  # of products that underflow
    for k in np.flatnonzero(~(np.abs(found) > doubt)):
        pairs = zip(W[k].tolist(), v.tolist())
        exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
        rounded = nearest_float(exact)
        found[k] = rounded if rounded or not exact else (TINIEST if exact > 0 else -TINIEST)
    return found


def find_limit(net: Description, point: np.ndarray, direction: np.ndarray) -> RayLimit:
    """The limit on the ray from `point` in `direction`, for a first layer with a bounded activation."""
    layer = net.layers[0]
    rest = Description(net.layers[1:])
    moves = multiply_with_signs(layer.weight, direction)
    start = layer.weight @ point + layer.bias
    chosen = activation(layer.activation)
    sigma: Callable[[Any], Any] = chosen.function
    low, high = chosen.limits
    standing = np.asarray(sigma(start), np.float64)
    first = np.where(moves > 0, high, np.where(moves < 0, low, standing))
    lipschitz = 1.0
    for later in rest.layers:
        lipschitz *= (
            float(np.linalg.norm(later.weight, 2)) * activation(later.activation).lipschitz.hi
        )
    limit = np.asarray(rest.apply(rest.params, first), np.float64)
    return RayLimit(limit, first, start, moves, sigma, lipschitz)
