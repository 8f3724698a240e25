"""Residual blocks as they begin: the identity."""

import jax
import numpy as np

from ftheta.logic import Claim, Dag, Enclosure, Identity, Vertex

from .famous import basic_block
from .stack import Stack


def identity_at_start(rng: np.random.Generator, channels: int = 4, side: int = 6) -> tuple[Claim, ...]:
    """A block of ResNet-34 whose last scale is 0, as it is initialised, on a random image: values and Jacobian."""
    stack = Stack("block", (basic_block(channels),), (channels, side, side))
    params = stack.initial(rng)
    last = params[0]["main"][-1]
    last["scale"] = np.zeros_like(last["scale"])
    x = rng.normal(size=stack.input_shape)
    f = lambda x: stack.apply(params, x)
    gap = float(np.abs(np.asarray(f(x)) - x).max())
    u = rng.normal(size=stack.input_shape)
    slope = float(np.abs(np.asarray(jax.jvp(f, (x,), (u,))[1]) - u).max())
    exact = Enclosure.exact  # x + 0·v(x) is x itself in floating point
    return (
        Identity("a block with last scale 0, minus x", exact(gap), exact(0)),
        Identity("its Jacobian times u, minus u", exact(slope), exact(0)),
    )


def block_diagram(title: str = "residual block: x + v(x)") -> Dag:
    names = ("x", "3×3 conv U", "BN", "ReLU", "3×3 conv V", "BN ", "+", "ReLU ")
    vertices = tuple(Vertex(f"n{k}", name.strip()) for k, name in enumerate(names))
    chain = [(f"n{k}", f"n{k + 1}") for k in range(len(names) - 1)]
    return Dag(title, vertices, (*chain, ("n0", "n6")))
