"""What is known of a described network's steepness, from below and above, and how the product of norms loses it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.logic import AtMost, Axis, Bars, Claim, Enclosure, Identity, Table
from ftheta.networks import Dense, Description, activation

from .lipschitz import Secant, layer_norms, product_bound, steepest_secant, stretches
from .norms import circulant_norm, frobenius_norm

HINGES = Description((Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu"), Dense(np.ones((1, 2)), np.zeros(1))))
r"""$|t|=(t)_++(-t)_+$: Lipschitz constant 1, product of norms 2."""


def second_difference(n: int) -> Description:
    r"""The linear map $[1,-2,1]$ on a ring of $n$ points: constant 4 for even $n$, along the alternating vector."""
    ring = np.eye(n)
    return Description((Dense(np.roll(ring, 1, 0) + np.roll(ring, -1, 0) - 2 * ring, np.zeros(n)),))


KNOWN: dict[str, Callable[[int], Description]] = {
    "absolute value": lambda n: HINGES,
    "second difference": second_difference,
}
"""Networks whose constant is known, by the number of inputs."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """Bounds of one Lipschitz constant: a secant below, products of norms above.

    `norms` and `factors` are, per layer, the spectral norm of the weights and the measured stretch along the secant.
    `by_frequencies` holds the norm of every layer that is a periodic convolution, found a second time by its symbol.
    """

    description: Description
    secant: Secant
    norms: tuple[Enclosure, ...]
    factors: list[float]
    by_frequencies: dict[int, Enclosure]

    @property
    def product(self) -> Enclosure:
        return product_bound(self.description, self.norms)

    @property
    def crude(self) -> Enclosure:
        """The product with Frobenius norms in place of spectral ones."""
        return product_bound(self.description, tuple(frobenius_norm(layer.weight) for layer in self.description.layers))

    def claims(self) -> tuple[Claim, ...]:
        """That the secant is no steeper than the product; that both ways to the norm of a convolution agree."""
        rings = self.by_frequencies.items()
        return (
            AtMost("Lip(f)", self.secant.known, self.product, witness=self.secant.against(self.product)),
            *(Identity(f"norm of layer {k + 1}, matrix and symbol", self.norms[k], ring) for k, ring in rings),
        )

    @property
    def numbers(self) -> dict[str, Enclosure]:
        rings = {f"norm of layer {k + 1} by frequencies": norm for k, norm in self.by_frequencies.items()}
        known = {"steepest secant": self.secant.known, "product of norms": self.product}
        return known | {"product of Frobenius norms": self.crude} | rings

    @property
    def charts(self) -> tuple[Bars, Bars]:
        """Per layer, by how much the steepest way is stretched and by how much any way can be; and all rungs."""
        layers = self.description.layers
        most = [activation(layer.activation).lipschitz.hi * norm.hi for layer, norm in zip(layers, self.norms)]
        names = tuple(f"layer {k + 1}" for k in range(len(layers)))
        rungs = {name: number.middle for name, number in self.numbers.items() if "layer" not in name}
        rungs = {name: value for name, value in rungs.items() if np.isfinite(value)}
        scale = "log" if max(rungs.values()) > 100 * min(rungs.values()) > 0 else "linear"
        values = (tuple(self.factors), tuple(m if np.isfinite(m) else 0.0 for m in most))
        return (
            Bars("stretch of each layer", Axis("factor"), names, ("measured stretch", "spectral norm"), values),
            Bars("bounds of Lip(f)", Axis("Lip(f)", scale), tuple(rungs), ("bound",), (tuple(rungs.values()),)),
        )

    @property
    def table(self) -> Table:
        rows = [
            (k + 1, " × ".join(map(str, layer.weight.shape)), layer.activation, norm.middle, factor)
            for k, (layer, norm, factor) in enumerate(zip(self.description.layers, self.norms, self.factors))
        ]
        return Table("layers", ("layer", "weight", "activation", "spectral norm", "measured stretch"), tuple(rows))


def ladder(
    f: Callable[[Any], Any], description: Description, points: np.ndarray, rng: np.random.Generator, *, climbs: int = 32
) -> Ladder:
    """The ladder of `f`, described by `description`; the search for the steepest secant starts from `points`."""
    secant = steepest_secant(f, points, rng, climbs=climbs)
    rings = {k: circulant_norm(layer.weight) for k, layer in enumerate(description.layers)}
    return Ladder(
        description,
        secant,
        layer_norms(description),
        stretches(description, secant.x.ravel(), secant.y.ravel()),
        {k: norm for k, norm in rings.items() if norm is not None},
    )
