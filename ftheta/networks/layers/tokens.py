r"""Layers of a transformer: arrays are (tokens, width), inputs the numbers of words."""

from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.networks.operators.attention import attention_weights
from ftheta.networks.operators.normalisation import standardise

from .layer import Dense, Layer, Shape, Whole, array_shapes

EPSILON = 1e-5  # under the root of layer norm
PROJECTED = "queries, keys, values"
JOINED = "heads joined"


def layer_norm(x: Any, gain: Any = 1.0, bias: Any = 0.0, epsilon: float = EPSILON) -> Any:
    r"""$\frac{x-\bar x}{\sqrt{\operatorname{var}x+\varepsilon}}\cdot\text{gain}+\text{bias}$ along the last axis."""
    return standardise(x, (-1,), epsilon)[0] * gain + bias


@dataclass(frozen=True)
class Embedding(Layer):
    """A vector a word and a vector a place, added."""

    vocabulary: int
    width: int
    context: int

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        if shape[0] > self.context:
            got = f"{shape[0]} tokens, context {self.context}"
            raise UsageError(
                "The sequence is longer than the context.", got=got, remedy="give fewer tokens"
            )
        return (shape[0], self.width)

    def count(self, shape: Shape) -> int:
        return (self.vocabulary + self.context) * self.width

    def arrays(self, shape: Shape) -> Any:
        return array_shapes(
            tokens=(self.vocabulary, self.width), positions=(self.context, self.width)
        )

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        words = jnp.asarray(params["tokens"])[jnp.asarray(x).astype(jnp.int32)]
        return words + params["positions"][: len(x)]


@dataclass(frozen=True)
class LayerNorm(Layer):
    """Every token made mean 0 and variance 1, then scaled and shifted."""

    @property
    def name(self) -> str:
        return "layer norm"

    def count(self, shape: Shape) -> int:
        return 2 * shape[-1]

    def arrays(self, shape: Shape) -> Any:
        return array_shapes(gain=shape[-1:], bias=shape[-1:])

    def products(self, shape: Shape, circular: bool = False) -> int:
        return 2 * prod(shape)

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return layer_norm(x, **params)


@dataclass(frozen=True)
class GELU(Layer):
    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return jax.nn.gelu(x)


@dataclass(frozen=True)
class Attention(Whole):
    """Self-attention with so many heads: queries, keys and values in one matrix, and one for the heads joined.

    Where it is `causal` no token looks at a later one.
    """

    heads: int
    causal: bool = True
    weighted = True

    @property
    def name(self) -> str:
        return f"attention, {self.heads} heads"

    def count(self, shape: Shape) -> int:
        return sum(layer.count(shape) for layer in self._maps(shape).values())

    def arrays(self, shape: Shape) -> Any:
        return {name: layer.arrays(shape) for name, layer in self._maps(shape).items()}

    def products(self, shape: Shape, circular: bool = False) -> int:
        tokens, width = shape
        maps = sum(layer.products(shape) for layer in self._maps(shape).values())
        return maps + 2 * tokens**2 * width

    def look(self, params: Any, x: Any) -> tuple[Any, Any]:
        """The output, and the attention weights (heads, n, n) on the way to it."""
        n, d = x.shape
        maps = self._maps(x.shape)
        apply = lambda name, y: maps[name](params[name], y)
        q, k, v = (
            apply(PROJECTED, x).reshape(n, 3, self.heads, d // self.heads).transpose(1, 2, 0, 3)
        )
        weights = attention_weights(q, k, np.tri(n, dtype=bool) if self.causal else None)
        return apply(JOINED, (weights @ v).transpose(1, 0, 2).reshape(n, d)), weights

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return self.look(params, x)[0]

    def _maps(self, shape: Shape) -> dict[str, Dense]:
        """Of tokens of this width."""
        d = shape[-1]
        if d % self.heads:
            raise UsageError(
                "The heads do not divide the width.", got=f"width {d}, {self.heads} heads"
            )
        return {PROJECTED: Dense(3 * d), JOINED: Dense(d)}
