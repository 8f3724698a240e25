"""The architecture of an actual network: its variances are read off its weights."""

import numpy as np

from ftheta.networks import Description

from .layers import Activation, Architecture, Dense, Layer


def architecture_of(description: Description, *, standard: bool = True) -> Architecture:
    r"""The wide limit of networks like this one: $w=m\cdot\overline{W^2}$ and $b=\overline{\beta^2}$ in each layer.

    With `standard` the entries themselves are the parameters, so that its NTK is beside the empirical one of the
    network; without, the parameters are the standard Gaussians behind them.
    """
    layers: list[Layer] = []
    for dense in description.layers:
        fan_in = dense.weight.shape[1]
        weight = fan_in * float(np.mean(dense.weight**2))
        bias = float(np.mean(dense.bias**2))
        layers.append(Dense(weight, bias, fan_in if standard else None))
        if dense.activation != "identity":
            layers.append(Activation(dense.activation))
    return tuple(layers)
