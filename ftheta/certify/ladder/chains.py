r"""A network as a chain: matrices with functions of single entries between them.

$f(x)=W_{L+1}\sigma_L(W_L\cdots\sigma_1(W_1x+b_1)\cdots+b_L)+b_{L+1}$. An activation after the last matrix is followed
by the identity. Behind a scaling of the inputs $W_1$ is the folded matrix, rounded: its error is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ftheta.networks.activations import activation
from ftheta.networks.description import Dense, Description, is_realisation
from ftheta.networks.scaling import ScaledLayers, Scaling
from ftheta.shapes import Float

from ..norms import frobenius_norm
from .curves import slope_range

Ranges = tuple[tuple[Float[np.ndarray, "_n"], Float[np.ndarray, "_n"]], ...]


@dataclass(frozen=True, eq=False)
class Chain:
    """The matrices $W_1,\\dots,W_{L+1}$, the biases, and the names of the activations $\\sigma_1,\\dots,\\sigma_L$.

    `scaling` acts on the input before; `first` is then the matrix behind it, and `weights[0]` both together.
    """

    weights: tuple[Float[np.ndarray, "_m _n"], ...]
    biases: tuple[Float[np.ndarray, "_m"], ...]
    words: tuple[str, ...]
    scaling: Scaling | None = None
    first: Dense | None = None

    @property
    def inputs(self) -> int:
        return self.weights[0].shape[1]

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.inputs, *(len(W) for W in self.weights))

    @property
    def neurons(self) -> int:
        return sum(len(W) for W in self.weights[:-1])

    @property
    def is_piecewise_affine(self) -> bool:
        return all(activation(word).piecewise_affine for word in self.words)

    @property
    def has_finite_slopes(self) -> bool:
        return all(np.isfinite(activation(word).lipschitz.hi) for word in self.words)

    @cached_property
    def global_ranges(self) -> Ranges:
        """Slopes of every neuron over all of space."""
        return tuple(
            tuple(np.full(len(W), float(end)) for end in slope_range(word, -np.inf, np.inf))  # type: ignore[misc]
            for W, word in zip(self.weights, self.words)
        )

    @cached_property
    def first_error(self) -> float:
        r"""A bound of the Frobenius norm of what folding the scaling has changed $W_1$ by; 0 without one."""
        if self.scaling is None or self.first is None:
            return 0.0
        return frobenius_norm(self.scaling.bound_folding_error(self.first)).hi

    def pre_activations(self, x: Any) -> tuple[Any, ...]:
        """$z_1,\\dots,z_L$ and the output at one input, as a function of JAX with the exact constants."""
        from ftheta.lazy import jnp

        found = []
        h = x if self.scaling is None else self.scaling(x)
        for k, (W, b) in enumerate(zip(self.weights, self.biases)):
            if k == 0 and self.first is not None:
                W, b = self.first.weight, self.first.bias
            z = jnp.asarray(W) @ h + b
            found.append(z)
            if k < len(self.words):
                h = activation(self.words[k]).function(z)
        return tuple(found)

    def transpose(self) -> "Chain":
        r"""The chain with the transposed Jacobians, for bounds of slopes alone: $\|J\|_1=\|J^\top\|_\infty$."""
        weights = tuple(np.ascontiguousarray(W.T) for W in reversed(self.weights))
        return Chain(weights, tuple(np.zeros(len(W)) for W in weights), tuple(reversed(self.words)))


def read_chain(net: Any) -> Chain | None:
    """The chain that a network is, proved: the function is made of this list, or the list is read off its graph."""
    layers = _layers_of(net)
    if layers is None:
        return None
    scaling = layers.scaling if isinstance(layers, ScaledLayers) else None
    dense = (layers.folded_layers if isinstance(layers, ScaledLayers) else layers).layers
    first = layers.layers.layers[0] if isinstance(layers, ScaledLayers) else None
    return _chain_of(dense, scaling, first)


def _layers_of(net: Any) -> Description | ScaledLayers | None:
    if isinstance(net, (Description, ScaledLayers)):
        return net
    if not (hasattr(net, "apply") and hasattr(net, "params") and hasattr(net, "input_shape")):
        return None
    if is_realisation(net.apply, net.params, getattr(net, "description", None)):
        return net.description
    from ftheta.networks.dense_chains import read_dense_chain

    return read_dense_chain(net.apply, net.params, net.input_shape, may_share=True)


def _chain_of(dense: Sequence[Dense], scaling: Scaling | None, first: Dense | None) -> Chain:
    weights = [layer.weight for layer in dense]
    biases = [layer.bias for layer in dense]
    words = [activation(layer.activation).name for layer in dense]
    if words[-1] == "identity":
        words.pop()
    else:
        m = len(weights[-1])
        weights.append(np.eye(m))
        biases.append(np.zeros(m))
    return Chain(tuple(weights), tuple(biases), tuple(words), scaling, first)
