"""Derivatives of traced networks as networks of their own: questions about slopes are questions about outputs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.programs.network import TracedNetwork
from ftheta.certify.questions import Box
from ftheta.graph.certain import is_continuous, is_pole_free, is_smooth


@dataclass(frozen=True, eq=False)
class Composite:
    """A JAX function of one flat input, as a network without parameters."""

    name: str
    function: Callable[[Any], Any]
    input_shape: tuple[int, ...]
    params: tuple[()] = field(default=())

    def apply(self, params: Any, x: Any) -> Any:
        return self.function(x)


def differentiate(net: TracedNetwork, inputs: tuple[int, ...]) -> TracedNetwork:
    r"""$x\mapsto(\partial_if_j(x))$ for the `inputs` $i$, the outputs $j$ of the first one first."""
    size = net.widths[0]

    def slopes(x: Any) -> Any:
        directions = [jnp.zeros(size).at[i].set(1.0) for i in inputs]
        return jnp.concatenate([jax.jvp(net.flat_function, (x,), (e,))[1] for e in directions])

    return TracedNetwork(Composite(f"slopes of {net.name}", slopes, (size,)))


def differentiate_twice(net: TracedNetwork) -> TracedNetwork:
    r"""$(x,v)\mapsto v^T\nabla^2f_j(x)v$ for all outputs $j$."""
    size = net.widths[0]

    def bend(xv: Any) -> Any:
        x, v = xv[:size], xv[size:]

        def slope(x: Any) -> Any:
            return jax.jvp(net.flat_function, (x,), (v,))[1]

        return jax.jvp(slope, (x,), (v,))[1]

    return TracedNetwork(Composite(f"curvature of {net.name}", bend, (2 * size,)))


def is_lipschitz_on(net: TracedNetwork, box: Box) -> bool:
    """Whether the program is continuous on the box for certain, with derivatives that are JAX's own."""
    return is_continuous(net.program.source) and is_pole_free(net.program.source, *_ends(net, box))


def is_smooth_on(net: TracedNetwork, box: Box) -> bool:
    """Whether the program is smooth on the box for certain, wherever its derivatives are finite."""
    return is_smooth(net.program.source) and is_pole_free(net.program.source, *_ends(net, box))


def _ends(net: TracedNetwork, box: Box) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.array(side, np.float64).reshape(net.shape) for side in box.outer())
    return low, high
