r"""Sizes of the networks of Maiorov and Pinkus: what Kolmogorov's superpositions cost in neurons and connections.

Kolmogorov: $f(x)=\sum_{i=0}^{2d}g\big(\sum_j\lambda_j\varphi_i(x_j)\big)$. With an activation of which three units
follow any function of one variable, the $d$ inner functions take $3d$ units and the $2d+1$ outer ones $3(2d+1)=6d+3$.
If the first layer is shared the architecture is $(d,3d,6d+3,1)$. If its units depend on the outer index, there are
$3d(6d+3)$ of them, and the $w^{ij}\in\mathbb R^d$ are $3d^2(6d+3)$ numbers.
"""

from dataclasses import dataclass

import numpy as np

from ftheta.logic import Axis, Curves, Diagram, Layer, Series
from ftheta.networks import Description, random_mlp


@dataclass(frozen=True, slots=True)
class Sizes:
    """Neurons and connections (weights, without biases) of the two readings of the formula for d variables."""

    d: int

    @property
    def inner(self) -> int:
        return 3 * self.d

    @property
    def outer(self) -> int:
        return 3 * (2 * self.d + 1)

    @property
    def shared(self) -> tuple[int, int, int, int]:
        """The widths when the first layer is shared."""
        return (self.d, self.inner, self.outer, 1)

    @property
    def neurons(self) -> int:
        return 9 * self.d + 3

    @property
    def connections(self) -> int:
        return 21 * self.d**2 + 15 * self.d + 3

    @property
    def own_neurons(self) -> int:
        """When every outer unit has inner units of its own: those and the outer ones."""
        return (self.inner + 1) * self.outer

    @property
    def own_connections(self) -> int:
        return self.outer * (3 * self.d**2 + 3 * self.d + 1)

    @property
    def input_weights(self) -> int:
        return 3 * self.d**2 * self.outer


def architecture(rng: np.random.Generator, d: int, missing: int = 0) -> Description:
    """A network (d, 3d, 6d + 3, 1) of sigmoids, with so many outer units missing."""
    a, b, c, out = Sizes(d).shared
    return random_mlp(rng, (a, b, c - missing, out), "sigmoid")


def own_units(rng: np.random.Generator, d: int) -> Description:
    """The other reading as a list of layers: the second matrix has one block of 3d weights a row."""
    sizes = Sizes(d)
    plain = random_mlp(rng, (d, sizes.inner * sizes.outer, sizes.outer, 1), "sigmoid")
    blocks = np.kron(np.eye(sizes.outer), np.ones((1, sizes.inner)))
    first, second, last = plain.layers
    return Description((first, type(second)(second.weight * blocks, second.bias, second.activation), last))


def diagram(sizes: Sizes) -> Diagram:
    a, b, c, _ = sizes.shared
    layers = (Layer("input", a), Layer("inner", b, "ϱ"), Layer("outer", c, "ϱ"), Layer("output", 1))
    return Diagram(f"Maiorov and Pinkus, d = {sizes.d}", layers)


def growth(most: int = 20) -> Curves:
    d = list(range(1, most + 1))
    sizes = [Sizes(k) for k in d]
    series = (
        Series("connections, first layer shared", d, [s.connections for s in sizes]),
        Series("connections, units of their own", d, [s.own_connections for s in sizes], "other"),
        Series("neurons, first layer shared", d, [s.neurons for s in sizes]),
        Series("printed as neurons: 3d²(6d + 3)", d, [s.input_weights for s in sizes], "reference"),
    )
    return Curves("sizes for any accuracy", Axis("dimension d"), Axis("count", "log"), series)
