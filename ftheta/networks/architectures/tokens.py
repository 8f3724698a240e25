r"""Layers of a transformer, as rows of a table: arrays are (tokens, width), inputs the numbers of words."""

from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from ftheta.logic.errors import UsageError

from .layers import Layer, Shape, Whole, _arrays


@dataclass(frozen=True)
class Embedding(Layer):
    """A vector a word and a vector a place, added."""

    vocabulary: int
    width: int
    context: int

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        if shape[0] > self.context:
            got = f"{shape[0]} tokens, context {self.context}"
            raise UsageError("The sequence is longer than the context.", got=got, remedy="give fewer tokens")
        return (shape[0], self.width)

    def count(self, shape: Shape) -> int:
        return (self.vocabulary + self.context) * self.width

    def arrays(self, shape: Shape) -> Any:
        return _arrays(words=(self.vocabulary, self.width), places=(self.context, self.width))

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        words = jnp.asarray(params["words"])[jnp.asarray(x).astype(int)]
        return words + params["places"][: len(x)]


@dataclass(frozen=True)
class LayerNorm(Layer):
    """Every token made mean 0 and variance 1, then scaled and shifted."""

    @property
    def name(self) -> str:
        return "layer norm"

    def count(self, shape: Shape) -> int:
        return 2 * shape[-1]

    def arrays(self, shape: Shape) -> Any:
        return _arrays(scale=shape[-1:], shift=shape[-1:])

    def products(self, shape: Shape, circular: bool = False) -> int:
        return 2 * prod(shape)

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return params["scale"] * centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) + params["shift"]


@dataclass(frozen=True)
class GELU(Layer):
    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return jax.nn.gelu(x)


@dataclass(frozen=True)
class Attention(Whole):
    """Causal self-attention with so many heads: queries, keys and values in one matrix, and one for the output."""

    heads: int
    weighted = True

    @property
    def name(self) -> str:
        return f"attention, {self.heads} heads"

    def count(self, shape: Shape) -> int:
        return 4 * shape[-1] * (shape[-1] + 1)

    def arrays(self, shape: Shape) -> Any:
        d = shape[-1]
        if d % self.heads:
            raise UsageError("The heads do not divide the width.", got=f"width {d}, {self.heads} heads")
        return _arrays(inside=(3 * d, d), inside_bias=(3 * d,), out=(d, d), out_bias=(d,))

    def products(self, shape: Shape, circular: bool = False) -> int:
        return 4 * shape[0] * shape[1] ** 2 + 2 * shape[0] ** 2 * shape[1]

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        n, d = x.shape
        parts = (x @ params["inside"].T + params["inside_bias"]).reshape(n, 3, self.heads, -1)
        q, k, v = (parts[:, j].swapaxes(0, 1) for j in range(3))
        scores = q @ k.swapaxes(1, 2) / (d // self.heads) ** 0.5
        seen = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -jnp.inf)
        mixed = (jax.nn.softmax(seen, -1) @ v).swapaxes(0, 1).reshape(n, d)
        return mixed @ params["out"].T + params["out_bias"]
