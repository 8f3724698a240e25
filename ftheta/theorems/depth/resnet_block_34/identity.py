"""A block of ResNet-34 as it begins: the identity."""

import jax
import numpy as np

from ftheta.networks.architectures.famous import basic_block
from ftheta.networks.architectures.stack import Stack


def identity_gaps(
    rng: np.random.Generator, channels: int = 4, side: int = 6
) -> tuple[float, float]:
    """A block whose last scale is 0, as it is initialised, on a random image: how far its values are from the image,
    and its Jacobian from the identity along a random direction; the largest entries."""
    stack = Stack("block", (basic_block(channels),), (channels, side, side))
    params = stack.initial(rng)
    last = params[0]["main"][-1]
    last["scale"] = np.zeros_like(last["scale"])
    x = rng.normal(size=stack.input_shape)
    u = rng.normal(size=stack.input_shape)
    value, slope = jax.jvp(lambda x: stack.apply(params, x), (x,), (u,))
    return float(np.abs(np.asarray(value) - x).max()), float(np.abs(np.asarray(slope) - u).max())
