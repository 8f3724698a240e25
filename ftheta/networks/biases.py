"""Layers without a bias: the list of layers says $b=0$ there, but that zero is no parameter."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .description import Description
from .scaling import ScaledLayers

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True, eq=False)
class PartlyBiased:
    """The function of `layers`, some of which have no bias: there the weights are the only parameters."""

    layers: Description | ScaledLayers

    @property
    def _chain(self) -> Description:
        return self.layers.layers if isinstance(self.layers, ScaledLayers) else self.layers

    @property
    def widths(self) -> tuple[int, ...]:
        return self.layers.widths

    @property
    def params(self) -> list[tuple[np.ndarray, ...]]:
        """For each layer $(W, b)$, or $(W,)$ where there is no bias."""
        return [
            (layer.weight, layer.bias) if layer.has_bias else (layer.weight,)
            for layer in self._chain.layers
        ]

    def with_zeros(self, params: Sequence[tuple[Any, ...]]) -> list[tuple[Any, Any]]:
        """The parameters of the list of layers: $(W, 0)$ where there is no bias."""
        return [
            (given[0], given[1] if layer.has_bias else np.zeros(len(layer.bias)))
            for given, layer in zip(params, self._chain.layers)
        ]

    def with_params(self, params: Sequence[tuple[Any, ...]]) -> Description | ScaledLayers:
        """The same layers with other numbers."""
        pairs = zip(self.with_zeros(params), self._chain.layers)
        chain = Description(
            tuple(replace(layer, weight=weight, bias=bias) for (weight, bias), layer in pairs)
        )
        return (
            ScaledLayers(self.layers.scaling, chain)
            if isinstance(self.layers, ScaledLayers)
            else chain
        )

    def apply(self, params: Sequence[tuple[Any, ...]], x: Any) -> "jax.Array":
        """The value at `x` of shape `(..., d_0)`."""
        return self.layers.apply(self.with_zeros(params), x)


def has_all_biases(layers: Description | ScaledLayers) -> bool:
    """Whether every layer has a bias."""
    chain = layers.layers if isinstance(layers, ScaledLayers) else layers
    return all(layer.has_bias for layer in chain.layers)
