"""One function for all networks with the same activations: what was compiled for one of them serves the others."""

from functools import lru_cache
from typing import Any

import numpy as np

from .description import Dense, Description


def program_of(net: Any) -> Any:
    """`apply(params, x)` of the network; that of a list of layers depends on nothing but its activations."""
    told = net if isinstance(net, Description) else getattr(net, "description", None)
    if type(told) is not Description or net.apply != told.apply:
        return net.apply
    return _layers(tuple(layer.activation for layer in told.layers))


@lru_cache(256)
def _layers(activations: tuple[str, ...]) -> Any:
    return Description(
        tuple(Dense(np.zeros((1, 1)), np.zeros(1), name) for name in activations)
    ).apply
