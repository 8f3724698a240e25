"""How large a described network is, in the conventions that the literature uses."""

from dataclasses import dataclass

import numpy as np

from .description import Description


@dataclass(frozen=True, slots=True)
class Counts:
    """`neurons` are hidden units; `connections` are non-zero weights; `parameters` are weights and biases."""

    affine_layers: int
    activations: int
    neurons: int
    connections: int
    parameters: int

    @property
    def depth(self) -> dict[str, int]:
        """Depth in every convention (catalogue item 2.2)."""
        return {
            "affine maps L (Gribonval, Scaman)": self.affine_layers,
            "activated layers plus linear head D (Peyré)": self.affine_layers,
            "hidden layers L (Murari)": self.affine_layers - 1,
        }


def count(description: Description) -> Counts:
    """Layers, activations, neurons, non-zero connections and parameters of a chain of dense layers."""
    layers = description.layers
    return Counts(
        affine_layers=len(layers),
        activations=sum(layer.activation != "identity" for layer in layers),
        neurons=sum(description.widths[1:-1]),
        connections=int(sum(np.count_nonzero(layer.weight) for layer in layers)),
        parameters=sum(layer.weight.size + layer.bias.size for layer in layers),
    )
