"""Convolutions and sums over windows as linear maps, offset by offset of the window.

With the operand spread by its dilation and padded, the entries that a window reads at one offset are a strided slice. A
convolution is one matrix product for each offset, pulled back into that slice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.maps import LinearMap, Move, Weights, adding, with_weights
from ftheta.graph.graph import Node

Places = tuple[Any, ...]
"""Slices of the last axes."""


@dataclass(frozen=True)
class Geometry:
    """Windows over the last axes of an array: their sizes, strides, padding and the two dilations."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        reach = [(w - 1) * d + 1 for w, d in zip(self.sizes, self.dilation)]
        return tuple(
            max(0, (n - r) // s + 1) for n, r, s in zip(self._padded_shape, reach, self.strides)
        )

    @property
    def offsets(self) -> Iterator[tuple[int, ...]]:
        return product(*map(range, self.sizes))

    @property
    def _spread(self) -> tuple[int, ...]:
        return tuple((n - 1) * d + 1 if n else 0 for n, d in zip(self.shape, self.base))

    @property
    def _padded_shape(self) -> tuple[int, ...]:
        return tuple(max(0, n + a + b) for n, (a, b) in zip(self._spread, self.padding))

    def _cut(self, offset: Sequence[int]) -> Places:
        """The entries of the padded array that the windows read at this offset."""
        starts = [k * d for k, d in zip(offset, self.dilation)]
        counts = zip(starts, self.positions, self.strides)
        return (..., *(slice(start, start + n * s, s) for start, n, s in counts))

    def _overlap(self) -> tuple[Places, Places]:
        """Where the padded array and the spread one coincide, in the places of either (negative padding crops)."""
        starts = [max(a, 0) for a, _ in self.padding]
        ends = [
            max(start, min(n + a, m))
            for start, n, (a, _), m in zip(starts, self._spread, self.padding, self._padded_shape)
        ]
        inner = [slice(*span) for span in zip(starts, ends)]
        outer = [slice(p.start - a, p.stop - a) for p, (a, _) in zip(inner, self.padding)]
        return (..., *inner), (..., *outer)

    def pad(self, x: Array) -> Array:
        """The operand spread by its dilation, with zeros around it."""
        lead = x.shape[: x.ndim - len(self.shape)]
        spread = np.zeros((*lead, *self._spread))
        spread[(..., *(slice(None, None, d) for d in self.base))] = x
        padded = np.zeros((*lead, *self._padded_shape))
        inner, outer = self._overlap()
        padded[inner] = spread[outer]
        return padded

    def unpad(self, padded: Array) -> Array:
        """The transpose of `pad`."""
        spread = np.zeros((*padded.shape[: padded.ndim - len(self.shape)], *self._spread))
        inner, outer = self._overlap()
        spread[outer] = padded[inner]
        return spread[(..., *(slice(None, None, d) for d in self.base))]

    def read(self, padded: Array, offset: Sequence[int]) -> Array:
        """What every window reads at this offset."""
        return padded[self._cut(offset)]

    def empty(self, lead: tuple[int, ...]) -> Array:
        return np.zeros((*lead, *self._padded_shape))

    def add(self, padded: Array, offset: Sequence[int], more: Array) -> None:
        """Add to the entries that every window reads at this offset."""
        padded[self._cut(offset)] += more


def window_sum(node: Node) -> LinearMap:
    """`reduce_window_sum`."""
    p = node.params
    windows = Geometry(
        node.inputs[0].shape,
        tuple(p["window_dimensions"]),
        tuple(p["window_strides"]),
        tuple((int(a), int(b)) for a, b in p["padding"]),
        tuple(p["base_dilation"]),
        tuple(p["window_dilation"]),
    )

    def push(x: Array) -> Array:
        padded = windows.pad(x)
        total = np.zeros((len(x), *node.shape))
        for offset in windows.offsets:
            total += windows.read(padded, offset)
        return total

    def pull(A: Array) -> Array:
        padded = windows.empty((len(A),))
        for offset in windows.offsets:
            windows.add(padded, offset, A)
        return windows.unpad(padded)

    terms = max(1, prod(windows.sizes))
    return adding(push, pull, terms, terms)


def convolution(node: Node, kernel: Weights) -> LinearMap:
    """`conv_general_dilated` with a constant kernel, group by group."""
    p = node.params
    numbers = p["dimension_numbers"]
    groups = p["feature_group_count"]
    source = node.inputs[0].shape
    first = tuple(source[a] for a in numbers.lhs_spec)  # (batch, channels, *space)
    # (out, channels / groups, *window)
    shape = tuple(kernel.middle.shape[a] for a in numbers.rhs_spec)
    windows = Geometry(
        first[2:],
        shape[2:],
        tuple(p["window_strides"]),
        tuple((int(a), int(b)) for a, b in p["padding"]),
        tuple(p["lhs_dilation"]),
        tuple(p["rhs_dilation"]),
    )
    places = windows.positions
    outs, ins = shape[0] // groups, shape[1]
    enter = (0, *(a + 1 for a in numbers.lhs_spec))
    leave = (0, *(a + 1 for a in numbers.out_spec))

    def build(w: Array) -> tuple[Move, Move]:
        taps = w.transpose(numbers.rhs_spec).reshape(groups, outs, ins, *windows.sizes)

        def push(x: Array) -> Array:
            n = len(x) * first[0]
            padded = windows.pad(x.transpose(enter).reshape(n, *first[1:]))
            total = np.zeros((n, groups, outs, prod(places)))
            for offset in windows.offsets:
                seen = windows.read(padded, offset).reshape(n, groups, ins, -1)
                total += taps[(..., *offset)] @ seen
            return total.reshape(len(x), first[0], groups * outs, *places).transpose(
                np.argsort(leave)
            )

        def pull(A: Array) -> Array:
            n = len(A) * first[0]
            above = A.transpose(leave).reshape(n, groups, outs, -1)
            padded = windows.empty((n, first[1]))
            for offset in windows.offsets:
                back = taps[(..., *offset)].swapaxes(-1, -2) @ above
                windows.add(padded, offset, back.reshape(n, first[1], *places))
            return windows.unpad(padded).reshape(len(A), *first).transpose(np.argsort(enter))

        return push, pull

    count = prod(windows.sizes)
    return with_weights(
        kernel, build, push_terms=max(1, ins * count), pull_terms=max(1, outs * count)
    )
