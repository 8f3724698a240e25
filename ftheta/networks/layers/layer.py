r"""What a layer is: shapes, weights, cost, what an output sees, and the function itself.

Each layer knows, for an input of a given shape: the shape of its output (`out`), its number of parameters by formula
(`count`), its arrays (`arrays`), the number of multiplications (`products`), and on which places of its input, along an
axis, the outputs from `lo` to `hi` depend (`seen`). It is applied to its parameters and one input.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import numpy as np

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """Keeps the shape, has no weights, and sees place for place; the others change what they need to."""

    weighted = False  # whether it counts as a layer where an architecture's name counts them

    @property
    def step(self) -> float:
        """How far apart neighbours of the output are in the input."""
        return 1

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        return shape

    def count(self, shape: Shape) -> int:
        return 0

    def arrays(self, shape: Shape) -> Any:
        return {}

    def products(self, shape: Shape, circular: bool = False) -> int:
        return 0

    def seen(self, shape: Shape, lo: int, hi: int) -> tuple[int, int]:
        return lo, hi

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return x


@dataclass(frozen=True)
class Whole(Layer):
    """Every output sees every place."""

    def seen(self, shape: Shape, lo: int, hi: int) -> tuple[int, int]:
        return 0, shape[-1] - 1


@dataclass(frozen=True)
class Dense(Whole):
    """Along the last axis: of a vector, or of every token."""

    units: int
    weighted = True

    @property
    def name(self) -> str:
        return f"dense {self.units}"

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        return (*shape[:-1], self.units)

    def count(self, shape: Shape) -> int:
        return self.units * (shape[-1] + 1)

    def arrays(self, shape: Shape) -> Any:
        return array_shapes(weight=(self.units, shape[-1]), bias=(self.units,))

    def products(self, shape: Shape, circular: bool = False) -> int:
        return prod(shape) * self.units

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return x @ params["weight"].T + params["bias"]


def array_shapes(**shapes: Shape) -> dict[str, jax.ShapeDtypeStruct]:
    """Arrays by their names, as shapes in float64."""
    return {name: jax.ShapeDtypeStruct(shape, np.float64) for name, shape in shapes.items()}
