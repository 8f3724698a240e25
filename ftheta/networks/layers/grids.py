"""Layers of signals and images: arrays are (channels, *grid), with one axis of the grid or more."""

from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp

from ftheta.logic.errors import UsageError
from ftheta.networks.operators.convolution import convolve, convolve_transposed
from ftheta.networks.operators.pooling import average_pool, max_pool
from ftheta.networks.operators.windows import Windows

from .layer import Layer, Shape, Whole, array_shapes


@dataclass(frozen=True)
class ReLU(Layer):
    @property
    def name(self) -> str:
        return "ReLU"

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return jnp.maximum(x, 0)


@dataclass(frozen=True)
class Window(Layer):
    """Whatever slides: `kernel`, `stride` and `padding`, the same along every axis of the grid."""

    kernel: int = 1
    stride: int = 1
    padding: int = 0

    @property
    def step(self) -> float:
        return self.stride

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        return (self.channels_out(shape), *(self._length(n, circular) for n in shape[1:]))

    def channels_out(self, shape: Shape) -> int:
        return shape[0]

    def seen(self, shape: Shape, lo: int, hi: int) -> tuple[int, int]:
        return lo * self.stride - self.padding, hi * self.stride - self.padding + self.kernel - 1

    def _length(self, n: int, circular: bool) -> int:
        if circular and (n % self.stride or self.kernel > n):
            raise UsageError(
                "On a ring the stride has to divide the length, and the window to fit into it.",
                where=self.name,
                got=f"length {n}, stride {self.stride}, window {self.kernel}",
                remedy=f"pad to a multiple of {self.stride}",
            )
        if not circular and n + 2 * self.padding < self.kernel:
            raise UsageError(
                "The window is larger than what it slides over.",
                where=self.name,
                got=f"length {n}, padding {self.padding}, window {self.kernel}",
                remedy="take a larger input, more padding, or fewer strides before",
            )
        return (
            n // self.stride
            if circular
            else (n + 2 * self.padding - self.kernel) // self.stride + 1
        )

    def _slid(self, x: Any, circular: bool) -> tuple[Any, Windows]:
        """The input with a batch axis, wrapped around where it is a ring, and the windows on it."""
        d = x.ndim - 1
        pad = (self.padding, self.padding)
        if circular:  # so much on the right that length / stride windows fit
            right = max(0, self.kernel - self.stride - self.padding)
            x = jnp.pad(x, [(0, 0)] + [(self.padding, right)] * d, mode="wrap")
            pad = (0, 0)
        return x[None], Windows((self.kernel,) * d, (self.stride,) * d, (1,) * d, (pad,) * d)


@dataclass(frozen=True)
class Conv(Window):
    """A convolution to `channels`, in `groups` that do not see one another."""

    channels: int = 1
    groups: int = 1
    bias: bool = True
    weighted = True

    @property
    def name(self) -> str:
        return f"conv {self.kernel}×{self.kernel}" + (
            f", stride {self.stride}" if self.stride > 1 else ""
        )

    def channels_out(self, shape: Shape) -> int:
        if shape[0] % self.groups or self.channels % self.groups:
            got = f"{shape[0]} → {self.channels} channels in {self.groups} groups"
            raise UsageError("The groups do not divide the channels.", where=self.name, got=got)
        return self.channels

    def count(self, shape: Shape) -> int:
        return self.channels * (
            shape[0] // self.groups * self.kernel ** (len(shape) - 1) + self.bias
        )

    def arrays(self, shape: Shape) -> Any:
        weight = (self.channels, shape[0] // self.groups, *[self.kernel] * (len(shape) - 1))
        return (
            array_shapes(weight=weight, bias=(self.channels,))
            if self.bias
            else array_shapes(weight=weight)
        )

    def products(self, shape: Shape, circular: bool = False) -> int:
        per_output = shape[0] // self.groups * self.kernel ** (len(shape) - 1)
        return prod(self.out(shape, circular)) * per_output

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        x, windows = self._slid(x, circular)
        return convolve(x, params["weight"], params.get("bias"), windows, self.groups)[0]


@dataclass(frozen=True)
class Pool(Window):
    """The largest of every window, or its mean."""

    mean: bool = False

    @property
    def name(self) -> str:
        return f"{'mean' if self.mean else 'max'} pool {self.kernel}×{self.kernel}, stride {self.stride}"

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        x, windows = self._slid(x, circular)
        return (
            average_pool(x, windows, count_padding=True) if self.mean else max_pool(x, windows)
        )[0]


@dataclass(frozen=True)
class UpConv(Layer):
    """A transposed convolution: every place becomes a window of `kernel`, `stride` apart."""

    channels: int
    kernel: int = 2
    stride: int = 2
    weighted = True

    @property
    def name(self) -> str:
        return f"up-conv {self.kernel}×{self.kernel}"

    @property
    def step(self) -> float:
        return 1 / self.stride

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        return (self.channels, *((n - 1) * self.stride + self.kernel for n in shape[1:]))

    def count(self, shape: Shape) -> int:
        return self.channels * (shape[0] * self.kernel ** (len(shape) - 1) + 1)

    def arrays(self, shape: Shape) -> Any:
        return array_shapes(
            weight=(shape[0], self.channels, *[self.kernel] * (len(shape) - 1)),
            bias=(self.channels,),
        )

    def products(self, shape: Shape, circular: bool = False) -> int:
        return prod(shape) * self.channels * self.kernel ** (len(shape) - 1)

    def seen(self, shape: Shape, lo: int, hi: int) -> tuple[int, int]:
        return -((self.kernel - 1 - lo) // self.stride), hi // self.stride

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        d = x.ndim - 1
        windows = Windows((self.kernel,) * d, (self.stride,) * d, (1,) * d, ((0, 0),) * d)
        return convolve_transposed(x[None], params["weight"], params["bias"], windows, 1, (0,) * d)[
            0
        ]


@dataclass(frozen=True)
class Norm(Layer):
    """Batch normalisation as it is used after training, with running mean 0 and variance 1: scale and shift."""

    def count(self, shape: Shape) -> int:
        return 2 * shape[0]

    def arrays(self, shape: Shape) -> Any:
        return array_shapes(scale=(shape[0],), shift=(shape[0],))

    def products(self, shape: Shape, circular: bool = False) -> int:
        return prod(shape)

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        over = (-1, *[1] * (x.ndim - 1))
        return params["scale"].reshape(over) * x + params["shift"].reshape(over)


@dataclass(frozen=True)
class GlobalMean(Whole):
    @property
    def name(self) -> str:
        return "mean over the grid"

    def out(self, shape: Shape, circular: bool = False) -> Shape:
        return shape[:1]

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return x.mean(tuple(range(1, x.ndim)))


@dataclass(frozen=True)
class Flatten(Whole):
    def out(self, shape: Shape, circular: bool = False) -> Shape:
        return (prod(shape),)

    def __call__(self, params: Any, x: Any, circular: bool = False) -> Any:
        return x.ravel()
