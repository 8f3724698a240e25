r"""An architecture: a table of layers on an input, with its shapes, counts, receptive fields and its function."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import jax
import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.logic.table import Table
from ftheta.networks.layers.branches import (
    Residual,
    Skip,
    apply_layers,
    seen_through,
    shapes_through,
    weighted_layers,
)
from ftheta.networks.layers.grids import Conv, UpConv, Window
from ftheta.networks.layers.layer import Dense, Layer, Shape, Whole
from ftheta.networks.layers.tokens import Embedding


@dataclass(frozen=True)
class Row:
    """One layer of the calculator: what comes out, its size, and what one of its outputs sees along an axis."""

    name: str
    shape: Shape
    parameters: int
    products: int
    field: int
    jump: float


@dataclass(frozen=True)
class Stack:
    """Layers in order on inputs of `input_shape`, (channels, *grid) or (tokens,); `circular` makes the grid a ring.

    `stack.apply(params, x)` is the function, for `ft.Network(name, stack.apply, params, stack.input_shape)`.
    """

    name: str
    layers: tuple[Layer, ...]
    input_shape: Shape
    circular: bool = False

    def __post_init__(self) -> None:
        if not self.layers or min(self.input_shape, default=0) < 1:
            raise UsageError(
                "An architecture has layers and an input.",
                where=self.name,
                got=f"{self.input_shape}",
            )

    @cached_property
    def shapes(self) -> list[Shape]:
        """Before every layer, and after the last."""
        return shapes_through(self.layers, self.input_shape, self.circular)

    @cached_property
    def parameters(self) -> int:
        """By formula, layer by layer."""
        return sum(layer.count(shape) for layer, shape in zip(self.layers, self.shapes))

    @property
    def depth(self) -> int:
        """Convolutions and dense layers in a row; projections beside them are not counted."""
        return weighted_layers(self.layers)

    @cached_property
    def arrays(self) -> list[Any]:
        """The arrays of every layer, as shapes."""
        return [layer.arrays(shape) for layer, shape in zip(self.layers, self.shapes)]

    def apply(self, params: Any, x: Any) -> Any:
        return apply_layers(self.layers, params, x, self.circular)

    def trace_shapes(self) -> tuple[int, list[Shape]]:
        """By running the program on shapes alone: the entries of its arrays, and the shape after every layer."""
        shape = self.input_shape
        found = []
        with jax.enable_x64(True):
            for layer, arrays in zip(self.layers, self.arrays):
                x = jax.ShapeDtypeStruct(shape, np.float64)
                shape = jax.eval_shape(
                    lambda p, x, layer=layer: layer(p, x, self.circular), arrays, x
                ).shape
                found.append(shape)
        return sum(prod(leaf.shape) for leaf in jax.tree.leaves(self.arrays)), found

    def seen(self, layer: int, lo: int, hi: int | None = None) -> tuple[int, int]:
        """The places of the input that the outputs `lo` to `hi` of a layer (counted from 1) can depend on."""
        return seen_through(
            self.layers[:layer], self.shapes[: layer + 1], lo, lo if hi is None else hi
        )

    def field(self, layer: int | None = None) -> int:
        """The receptive field of the middle output of a layer (the last grid, if none is named)."""
        lo, hi = self.seen(*self._middle(layer))
        return hi - lo + 1

    def jump(self, layer: int | None = None) -> float:
        """How far apart in the input neighbours of the output are."""
        return prod(layer.step for layer in self.layers[: self._middle(layer)[0]])

    @property
    def last_grid(self) -> int:
        """The number of layers before the first that sees everything."""
        return next(
            (k for k, layer in enumerate(self.layers) if isinstance(layer, Whole)), len(self.layers)
        )

    def _middle(self, layer: int | None) -> tuple[int, int]:
        layer = self.last_grid if layer is None else layer
        return layer, self.shapes[layer][-1] // 2

    def rows(self) -> tuple[Row, ...]:
        """The calculator's table, one row per layer."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[Row]:
        for k, (layer, shape) in enumerate(zip(self.layers, self.shapes), 1):
            grid = (
                k <= self.last_grid
                and len(self.shapes[k]) > 1
                and not isinstance(self.layers[0], Embedding)
            )
            field, jump = (self.field(k), self.jump(k)) if grid else (0, 0.0)
            after = self.shapes[k]
            yield Row(
                layer.name,
                after,
                layer.count(shape),
                layer.products(shape, self.circular),
                field,
                jump,
            )

    def table(self) -> Table:
        columns = ("layer", "output", "parameters", "multiplications", "receptive field", "jump")
        rows = [
            (r.name, "×".join(map(str, r.shape)), r.parameters, r.products, r.field, r.jump)
            for r in self.rows()
        ]
        return Table(f"{self.name}, layer by layer", columns, tuple(rows))

    def initial(self, rng: np.random.Generator) -> list[Any]:
        r"""He's random weights, $\mathcal N(0,2/\text{fan-in})$; biases and shifts 0, scales 1."""

        def draw(path: Any, leaf: jax.ShapeDtypeStruct) -> np.ndarray:
            name = path[-1].key
            if name in ("scale", "shift", "gain", "bias"):
                return np.full(leaf.shape, float(name in ("scale", "gain")))
            return rng.normal(size=leaf.shape) * np.sqrt(2 / max(prod(leaf.shape[1:]), 1))

        return jax.tree_util.tree_map_with_path(draw, self.arrays)

    def averaging(self) -> list[Any]:
        """Weights that are all positive and sum to one per output: they keep what is monotone monotone."""

        def even(path: Any, leaf: jax.ShapeDtypeStruct) -> np.ndarray:
            name = path[-1].key
            if name in ("scale", "shift", "gain", "bias"):
                return np.full(leaf.shape, float(name in ("scale", "gain")))
            return np.full(leaf.shape, 1 / max(prod(leaf.shape[1:]), 1))

        return jax.tree_util.tree_map_with_path(even, self.arrays)

    def feature_maps(self, params: Any, x: Any) -> list[tuple[str, Any]]:
        """What every layer makes of one input."""
        found = []
        for layer, own in zip(self.layers, params):
            x = layer(own, x, self.circular)
            found.append((layer.name, x))
        return found

    def thin(self, length: int, *, circular: bool = True) -> "Stack":
        """The same windows on one channel of a signal: the receptive fields are the same, and it is cheap to run."""
        layers = tuple(_thin_layer(layer) for layer in self.layers[: self.last_grid])
        return Stack(f"{self.name}, one channel", layers, (1, length), circular)


def table_of(net: Any) -> Stack | None:
    """The table of a network that was made from one, else None."""
    apply = getattr(net, "apply", None)
    made = getattr(apply, "__self__", None)
    return made if type(made) is Stack and getattr(apply, "__func__", None) is Stack.apply else None


def formula_field(windows: list[tuple[int, int]]) -> tuple[int, int]:
    r"""Receptive field $1+\sum_\ell(k_\ell-1)\prod_{i<\ell}s_i$ and jump $\prod s_i$ of layers $(k_\ell,s_\ell)$."""
    field = 1
    jump = 1
    for kernel, stride in windows:
        field += (kernel - 1) * jump
        jump *= stride
    return field, jump


def longest_chain(layers: tuple[Layer, ...]) -> list[tuple[int, int]]:
    """The windows in a row, along the main branches of residual blocks."""
    found = []
    for layer in layers:
        if isinstance(layer, Residual | Skip):
            found += longest_chain(layer.main)
        elif isinstance(layer, Window):
            found.append((layer.kernel, layer.stride))
    return found


def _thin_layer(layer: Layer) -> Layer:
    if isinstance(layer, Conv):
        return replace(layer, channels=1, groups=1)
    if isinstance(layer, Residual):
        return Residual(
            tuple(map(_thin_layer, layer.main)), tuple(map(_thin_layer, layer.shortcut))
        )
    if isinstance(layer, Dense | UpConv | Skip):
        raise UsageError(
            "This architecture is no chain of windows and residual blocks.", got=layer.name
        )
    return layer
