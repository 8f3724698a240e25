"""Layers that contain layers: residual blocks, and the skips of a U."""

from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp

from ftheta.logic.errors import UsageError

from .layer import Layer, Shape


def shapes_through(layers: tuple[Layer, ...], shape: Shape, circular: bool = False) -> list[Shape]:
    """The shape before every layer and after the last."""
    found = [shape]
    for layer in layers:
        found.append(layer.out(found[-1], circular))
    return found


def seen_through(
    layers: tuple[Layer, ...], shapes: list[Shape], lo: int, hi: int
) -> tuple[int, int]:
    """The places of the input that the outputs from `lo` to `hi` along an axis depend on."""
    for layer, shape in zip(reversed(layers), reversed(shapes[:-1])):
        lo, hi = layer.seen(shape, lo, hi)
    return lo, hi


def apply_layers(layers: tuple[Layer, ...], params: Any, x: Any, circular: bool = False) -> Any:
    """The layers one after the other on `x`, with one entry of `params` each."""
    for layer, own in zip(layers, params):
        x = layer(own, x, circular)
    return x


def weighted_layers(layers: tuple[Layer, ...]) -> int:
    """How many convolutions and dense layers are in a row: the main branch of a residual block is counted."""
    inner = [layer.main if isinstance(layer, Residual | Skip) else () for layer in layers]
    return sum(layer.weighted for layer in layers) + sum(map(weighted_layers, inner))


@dataclass(frozen=True)
class Residual(Layer):
    """$x+v(x)$, or a projection of $x$ by `shortcut` in place of $x$."""

    main: tuple[Layer, ...]
    shortcut: tuple[Layer, ...] = ()

    @property
    def name(self) -> str:
        return "residual block" + (", projected" if self.shortcut else "")

    @property
    def step(self) -> float:
        return prod(layer.step for layer in self.main)

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        one, other = (
            shapes_through(way, shape, circular)[-1] for way in (self.main, self.shortcut)
        )
        if one != other:
            got = f"{one} + {other}"
            raise UsageError(
                "The two ways of a residual block give different shapes.",
                got=got,
                remedy="give a shortcut",
            )
        return one

    def count(self, shape: Shape) -> int:
        return sum(_count_entries(way, shape) for way in (self.main, self.shortcut))

    def arrays(self, shape: Shape) -> Any:
        return {"main": arrays_of(self.main, shape), "shortcut": arrays_of(self.shortcut, shape)}

    def products(self, shape: Shape, circular: bool = False) -> int:
        return sum(_count_products(way, shape, circular) for way in (self.main, self.shortcut))

    def seen(self, shape: Shape, lo: int, hi: int) -> tuple[int, int]:
        ways = [
            seen_through(way, shapes_through(way, shape), lo, hi)
            for way in (self.main, self.shortcut)
        ]
        return min(a for a, _ in ways), max(b for _, b in ways)

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        main = apply_layers(self.main, params["main"], x, circular)
        return main + apply_layers(self.shortcut, params["shortcut"], x, circular)


@dataclass(frozen=True)
class Skip(Layer):
    """The input, cropped to the size of what `main` makes of it, and that, one above the other."""

    main: tuple[Layer, ...]

    @property
    def name(self) -> str:
        return "skip"

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        inner = shapes_through(self.main, shape, circular)[-1]
        if any(n < m for n, m in zip(shape[1:], inner[1:])):
            raise UsageError("A skip crops, it does not pad.", got=f"{shape} beside {inner}")
        return (shape[0] + inner[0], *inner[1:])

    def count(self, shape: Shape) -> int:
        return _count_entries(self.main, shape)

    def arrays(self, shape: Shape) -> Any:
        return {"main": arrays_of(self.main, shape)}

    def products(self, shape: Shape, circular: bool = False) -> int:
        return _count_products(self.main, shape, circular)

    def seen(self, shape: Shape, lo: int, hi: int) -> tuple[int, int]:
        through = shapes_through(self.main, shape)
        cut = (shape[-1] - through[-1][-1]) // 2
        a, b = seen_through(self.main, through, lo, hi)
        return min(a, lo + cut), max(b, hi + cut)

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        inner = apply_layers(self.main, params["main"], x, circular)
        cuts = [(n - m) // 2 for n, m in zip(x.shape[1:], inner.shape[1:])]
        cropped = x[(slice(None), *(slice(c, c + m) for c, m in zip(cuts, inner.shape[1:])))]
        return jnp.concatenate([cropped, inner])


def arrays_of(layers: tuple[Layer, ...], shape: Shape) -> list[Any]:
    """The arrays of every layer, as shapes, for an input of this shape."""
    return [layer.arrays(s) for layer, s in zip(layers, shapes_through(layers, shape))]


def _count_entries(layers: tuple[Layer, ...], shape: Shape) -> int:
    return sum(layer.count(s) for layer, s in zip(layers, shapes_through(layers, shape)))


def _count_products(layers: tuple[Layer, ...], shape: Shape, circular: bool) -> int:
    return sum(
        layer.products(s, circular)
        for layer, s in zip(layers, shapes_through(layers, shape, circular))
    )
