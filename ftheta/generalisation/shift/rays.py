r"""A network far out on a ray $t\mapsto x+tv$: affine for ReLUs, constant for bounded activations.

Beyond the last time $t_0$ at which a neuron switches, a ReLU network is $\alpha t+\beta$. Layer by layer the state is
affine beyond some time; a neuron $st+c$ switches later at $-c/s$, if it does, and then is $st+c$ (for $s>0$) or 0.
One pass over the weights gives $t_0,\alpha,\beta$, in rationals, however many pieces lie before $t_0$.

A neuron of a bounded activation tends to $\sigma(\pm\infty)$ if its input moves with $t$ and stays where it is if not.
So the first layer tends to a vector $h_\infty$, the network to its rest at $h_\infty$, and no slower than
$\prod_{\ell\ge2}\|W_\ell\|\mathrm{Lip}(\sigma_\ell)$ times $|h(t)-h_\infty|$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Enclosure, UsageError
from ftheta.networks.activations import activation
from ftheta.networks.description import Description
from ftheta.relu.exact import ExactNetwork
from ftheta.relu.matrices import fraction, vector
from ftheta.relu.network import ReluNetwork

ZERO = fmpq(0)
LARGEST = 20_000  # weights for which rationals are quick


@dataclass(frozen=True)
class Far:
    r"""$f(x+tv)=\alpha t+\beta$ for $t\ge t_0$; `last` is the last $t\ge0$ at which a neuron switches, or 0."""

    last: Fraction
    slope: tuple[Fraction, ...]
    offset: tuple[Fraction, ...]

    def __call__(self, t: Fraction) -> tuple[Fraction, ...]:
        return tuple(a * t + b for a, b in zip(self.slope, self.offset))


def far(net: ExactNetwork, point: Sequence[Any], direction: Sequence[Any]) -> Far:
    r"""The network on the ray from `point` in `direction`, beyond its last kink, in rationals."""
    if len(point) != net.widths[0] or len(direction) != net.widths[0]:
        raise UsageError("A ray has the dimension of the inputs.", got=f"{len(point)}, {len(direction)} numbers")
    slope, offset, last = vector(direction), vector(point), ZERO
    for step in net.steps:
        slope = step.matrix.apply(slope)
        offset = tuple(c + b for c, b in zip(step.matrix.apply(offset), step.offset))
        last = max([last, *(-c / s for s, c, r in zip(slope, offset, step.rectified) if r and s)])
        on = [not r or s > 0 or (s == 0 and c > 0) for s, c, r in zip(slope, offset, step.rectified)]
        slope = tuple(s if kept else ZERO for s, kept in zip(slope, on))
        offset = tuple(c if kept else ZERO for c, kept in zip(offset, on))
    return Far(fraction(last), tuple(map(fraction, slope)), tuple(map(fraction, offset)))


def far_in_floats(net: ReluNetwork, point: np.ndarray, direction: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    r"""$t_0,\alpha,\beta$ in float64, for networks too large for rationals."""
    slope, offset, last = np.asarray(direction, np.float64), np.asarray(point, np.float64), 0.0
    for step in net.steps:
        slope, offset = np.ravel(step.matrix @ slope), np.ravel(step.matrix @ offset) + step.offset
        moving = step.rectified & (slope != 0)
        last = max(last, float((-offset[moving] / slope[moving]).max(initial=0.0)))
        off = step.rectified & ((slope < 0) | ((slope == 0) & (offset <= 0)))
        slope, offset = np.where(off, 0.0, slope), np.where(off, 0.0, offset)
    return last, slope, offset


def second_difference(net: ExactNetwork, point: Sequence[Any], direction: Sequence[Any], after: Fraction) -> Fraction:
    r"""The largest $|f(t)-2f(t+1)+f(t+2)|$ over the outputs at $t=$ `after`, by evaluating the network in rationals."""
    x, v = [fraction(q) for q in vector(point)], [fraction(q) for q in vector(direction)]
    a, b, c = (net([p + (after + k) * w for p, w in zip(x, v)]) for k in range(3))
    return max(abs(p - 2 * q + r) for p, q, r in zip(a, b, c))


# ---- bounded activations ---------------------------------------------------------------------------------------------


def is_bounded(net: Description) -> bool:
    """Whether the first layer has an activation with finite limits."""
    return all(map(isfinite, activation(net.layers[0].activation).limits)) and len(net.layers) > 1


@dataclass(frozen=True, eq=False)
class Settled:
    r"""The limit of a network on a ray; `within(t)` bounds its distance from the value at time $t$."""

    limit: np.ndarray
    first: np.ndarray
    within: Callable[[float], Enclosure]


def settled(net: Description, point: np.ndarray, direction: np.ndarray) -> Settled:
    """The limit on the ray, for a first layer of a bounded activation."""
    layer, rest = net.layers[0], Description(net.layers[1:])
    moves, start = layer.weight @ direction, layer.weight @ point + layer.bias
    sigma = activation(layer.activation)
    low, high = sigma.limits
    value = lambda z: np.asarray(sigma.function(z), np.float64)
    first = np.where(moves > 0, high, np.where(moves < 0, low, value(start)))
    steepness = 1.0
    for later in rest.layers:
        steepness *= float(np.linalg.norm(later.weight, 2)) * activation(later.activation).lipschitz.hi

    def within(t: float) -> Enclosure:
        off = float(np.linalg.norm(value(start + t * moves) - first))
        return Enclosure.at_most(steepness * off)

    return Settled(np.asarray(rest.apply(rest.params, first), np.float64), first, within)
