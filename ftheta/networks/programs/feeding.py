"""What a program is fed from the one input of a network: that array, or the parts of a vector."""

from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True, slots=True)
class Part:
    """An input of a program: its `shape` without the `batch` axis, where it has one."""

    name: str
    shape: tuple[int, ...]
    batch: bool


@dataclass(frozen=True)
class Feed:
    """The inputs of a program, `whole` numbers or real ones. One is taken as it is; several are a vector, their entries
    one after another."""

    parts: tuple[Part, ...]
    whole: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the one input of the network."""
        return (
            self.parts[0].shape
            if len(self.parts) == 1
            else (sum(prod(part.shape) for part in self.parts),)
        )

    @property
    def has_batch(self) -> bool:
        return any(part.batch for part in self.parts)

    @property
    def example(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, np.int64 if self.whole else np.float64)

    def values(self, x: Any) -> dict[str, Any]:
        """The inputs by name."""
        x = jnp.asarray(x).astype(int if self.whole else float)
        if len(self.parts) == 1:
            (part,) = self.parts
            return {part.name: x[None] if part.batch else x}
        found = {}
        start = 0
        for part in self.parts:
            end = start + prod(part.shape)
            entries = x[start:end].reshape(part.shape)
            found[part.name] = entries[None] if part.batch else entries
            start = end
        return found
