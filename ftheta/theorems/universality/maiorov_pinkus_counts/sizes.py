r"""Sizes of the networks of Maiorov and Pinkus: what Kolmogorov's superpositions cost in neurons and connections.

Kolmogorov: $f(x)=\sum_{i=0}^{2d}g\big(\sum_j\lambda_j\varphi_i(x_j)\big)$. With an activation of which three units
follow any function of one variable, the $d$ inner functions take $3d$ units and the $2d+1$ outer ones $3(2d+1)=6d+3$.
If the first layer is shared the architecture is $(d,3d,6d+3,1)$. If its units depend on the outer index, there are
$3d(6d+3)$ of them, and the $w^{ij}\in\mathbb R^d$ are $3d^2(6d+3)$ numbers.
"""

from dataclasses import dataclass

import numpy as np

from ftheta.networks import Description, random_mlp


@dataclass(frozen=True, slots=True)
class Sizes:
    """Neurons and connections (weights, without biases) of the two readings of the formula for d variables."""

    d: int

    @property
    def inner(self) -> int:
        """Units of the first hidden layer."""
        return 3 * self.d

    @property
    def outer(self) -> int:
        """Units of the second hidden layer."""
        return 3 * (2 * self.d + 1)

    @property
    def shared_widths(self) -> tuple[int, int, int, int]:
        """The widths when the first layer is shared."""
        return (self.d, self.inner, self.outer, 1)

    @property
    def neurons(self) -> int:
        """Hidden ones, when the first layer is shared."""
        return 9 * self.d + 3

    @property
    def connections(self) -> int:
        """When the first layer is shared."""
        return 21 * self.d**2 + 15 * self.d + 3

    @property
    def own_neurons(self) -> int:
        """When every outer unit has inner units of its own: those and the outer ones."""
        return (self.inner + 1) * self.outer

    @property
    def own_connections(self) -> int:
        """When every outer unit has inner units of its own."""
        return self.outer * (3 * self.d**2 + 3 * self.d + 1)

    @property
    def input_weights(self) -> int:
        """All entries of the $w^{ij}$: what the slides print as neurons."""
        return 3 * self.d**2 * self.outer


def architecture(rng: np.random.Generator, d: int, missing: int = 0) -> Description:
    """A network (d, 3d, 6d + 3, 1) of sigmoids, with so many outer units missing."""
    a, b, c, out = Sizes(d).shared_widths
    return random_mlp(rng, (a, b, c - missing, out), "sigmoid")


def own_units(rng: np.random.Generator, d: int) -> Description:
    """The other reading as a list of layers: the second matrix has one block of 3d weights per row."""
    sizes = Sizes(d)
    plain = random_mlp(rng, (d, sizes.inner * sizes.outer, sizes.outer, 1), "sigmoid")
    blocks = np.kron(np.eye(sizes.outer), np.ones((1, sizes.inner)))
    first, second, last = plain.layers
    return Description(
        (first, type(second)(second.weight * blocks, second.bias, second.activation), last)
    )
