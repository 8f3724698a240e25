r"""Layers of an infinitely wide network, and what each does to its two kernels.

In the tangent-kernel parametrisation a layer of $m$ inputs is $h\mapsto\sqrt{w/m}\,Wh+\sqrt b\,\beta$ with standard
Gaussian parameters $W,\beta$. As all widths tend to infinity the outputs are a Gaussian process with covariance $K$
(NNGP) and the Gram matrix of the derivatives is $\Theta$ (NTK). An architecture is a tuple of layers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from ftheta.kernels.angles import GaussianPart, gap_by_difference, gap_of_sum
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .duals import dual


@dataclass(frozen=True, eq=False)
class Kernels:
    r"""`nngp` $K$ and `ntk` $\Theta$ between the inputs `(n1, n2)`; `own1`, `own2` are $K$ of each input with itself.

    Images carry the covariances of pixels behind these axes: `(…, P)` of each pixel with itself, or `(…, P, P)` of all
    pairs; `grid` is then the shape of the image, whose pixels are in C order. `gap` is
    $\sqrt{K(x,x)K(x',x')}-|K|$ where it is known without cancellation (see `angles`).
    """

    nngp: Float[np.ndarray, "n1 n2 *pixels"]
    ntk: Float[np.ndarray, "n1 n2 *pixels"]
    own1: Float[np.ndarray, "n1 *pixels"]
    own2: Float[np.ndarray, "n2 *pixels"]
    grid: tuple[int, ...] = ()
    gap: Float[np.ndarray, "n1 n2 *pixels"] | None = None

    @property
    def part(self) -> GaussianPart | None:
        """Variances, covariance and gap of each pair; None where the gap is not known."""
        return (
            None
            if self.gap is None
            else GaussianPart(self.own1[:, None], self.own2[None, :], self.nngp, self.gap)
        )

    @property
    def pairs(self) -> bool:
        """Whether the covariances of all pairs of pixels are here."""
        return self.nngp.ndim == 4

    def each(
        self,
        covariance: Callable[[np.ndarray], np.ndarray],
        tangent: Callable[[np.ndarray], np.ndarray],
    ) -> "Kernels":
        """`covariance` applied to the three covariances and `tangent` to the NTK."""
        nngp = covariance(self.nngp)
        own1 = covariance(self.own1)
        own2 = covariance(self.own2)
        return replace(self, nngp=nngp, ntk=tangent(self.ntk), own1=own1, own2=own2, gap=None)

    def scale(self, factor: float) -> "Kernels":
        """Every covariance and the NTK times a number."""
        new = self.each(lambda K: factor * K, lambda T: factor * T)
        return replace(new, gap=None if self.gap is None else factor * self.gap)

    def add_bias(self, bias: float) -> "Kernels":
        """A constant of this variance added."""
        if not bias:
            return self
        new = self.each(lambda K: K + bias, lambda T: T)
        if self.part is None:
            return new
        level = np.full_like(self.nngp, bias)
        parts = (self.part, GaussianPart(level, level, level, np.zeros_like(level)))
        return replace(new, gap=gap_of_sum(parts, new.own1[:, None], new.own2[None, :], new.nngp))


@dataclass(frozen=True)
class Dense:
    r"""$K\mapsto wK+b$ and $\Theta\mapsto K_{\text{new}}+w\Theta$, with `weight` $w$ and `bias` $b$.

    With `fan_in` $m$ the parameters are the entries themselves, $\mathcal N(0,w/m)$ and $\mathcal N(0,b)$, as most
    libraries store them ("standard" parametrisation): then $\Theta\mapsto mK+1+w\Theta$, biases counted even if $b=0$.
    """

    weight: float = 1.0
    bias: float = 0.0
    fan_in: int | None = None

    def __call__(self, k: Kernels) -> Kernels:
        new = k.scale(self.weight).add_bias(self.bias)
        own = new.nngp if self.fan_in is None else self.fan_in * k.nngp + 1.0
        return replace(new, ntk=own + new.ntk)


@dataclass(frozen=True)
class Activation:
    r"""$K$ becomes $\mathbb E[\sigma(u)\sigma(v)]$ and Θ becomes $\Theta\,\mathbb E[\sigma'(u)\sigma'(v)]$."""

    of: str | Callable[[Any], Any]

    def __call__(self, k: Kernels) -> Kernels:
        sigma = dual(self.of)
        one = _variances(k.own1, k.pairs)
        two = _variances(k.own2, k.pairs)
        rows = one[:, None]
        columns = two[None, :]
        if k.pairs:
            rows = rows[..., :, None]
            columns = columns[..., None, :]
        gap = gap_by_difference(rows, columns, k.nngp) if k.gap is None else k.gap
        values, slopes, after = sigma.through(rows, columns, k.nngp, gap)
        new = replace(k, nngp=values, ntk=k.ntk * slopes, gap=None if k.pairs else after)
        if not k.pairs:
            return replace(new, own1=sigma.own(one)[0], own2=sigma.own(two)[0])
        own1, own2 = (
            sigma.moments(v[:, :, None], v[:, None, :], o)[0]
            for v, o in ((one, k.own1), (two, k.own2))
        )
        return replace(new, own1=own1, own2=own2)


@dataclass(frozen=True)
class Residual:
    r"""$h\mapsto h+g(h)$ for a `block` $g$ that ends in fresh weights: then both kernels add."""

    block: "Architecture"

    def __call__(self, k: Kernels) -> Kernels:
        if not self.block or not isinstance(self.block[-1], Dense | Conv):
            got = type(self.block[-1]).__name__ if self.block else "an empty block"
            raise UsageError(
                "A residual block ends in a Dense or Conv layer.",
                got=got,
                remedy="add Dense() at its end",
            )
        new = through(self.block, k)
        if new.grid != k.grid:
            got = f"images {k.grid} become {new.grid}"
            raise UsageError(
                "A residual block keeps the size of its images.",
                got=got,
                remedy="take stride 1 in it",
            )
        own1 = k.own1 + new.own1
        own2 = k.own2 + new.own2
        nngp = k.nngp + new.nngp
        parts = [part for part in (k.part, new.part) if part is not None]
        gap = gap_of_sum(parts, own1[:, None], own2[None, :], nngp) if len(parts) == 2 else None
        return replace(k, nngp=nngp, ntk=k.ntk + new.ntk, own1=own1, own2=own2, gap=gap)


@dataclass(frozen=True)
class Conv:
    r"""Windows of odd `size`: $K\mapsto w\,\mathrm{mean}_oK[p+o,q+o]+b$ over the window; Θ as in `Dense`.

    With a `stride` the windows are those of padding "SAME" in JAX: as many before the image as after it, or one less.
    """

    size: int = 3
    weight: float = 1.0
    bias: float = 0.0
    padding: Literal["same", "circular"] = "same"
    stride: int = 1

    def __call__(self, k: Kernels) -> Kernels:
        if not k.grid:
            raise UsageError(
                "A convolution needs images.",
                got="vectors",
                remedy="give x of shape (n, height, width, channels)",
            )
        if self.size < 1 or self.size % 2 == 0 or self.stride < 1:
            got = f"size {self.size}, stride {self.stride}"
            raise UsageError(
                "A window has an odd size and a positive stride.", got=got, remedy="take 1, 3, 5, …"
            )
        centres = [_centres(n, self.size, self.stride) for n in k.grid]
        window = lambda K: _window_mean(K, k.grid, k.pairs, self.size, self.padding)
        average = lambda K: self.weight * _pick(window(K), k.grid, k.pairs, centres)
        new = k.each(lambda K: average(K) + self.bias, average)
        return replace(new, ntk=new.nngp + new.ntk, grid=tuple(map(len, centres)))


@dataclass(frozen=True)
class Flatten:
    """All pixels become one vector: the mean over the pixels with themselves."""

    def __call__(self, k: Kernels) -> Kernels:
        mean = lambda K: _variances(K, k.pairs).mean(-1)
        return replace(k.each(mean, mean), grid=())


@dataclass(frozen=True)
class AveragePool:
    """The mean over all pixels, or over windows of this `size` side by side: of covariances, over pairs of pixels."""

    size: int | None = None

    def __call__(self, k: Kernels) -> Kernels:
        if self.size is None:
            mean = lambda K: K.mean((-2, -1))
            return replace(k.each(mean, mean), grid=())
        if not k.grid or self.size < 1 or any(n % self.size for n in k.grid):
            got = f"windows of {self.size}, images {k.grid}"
            raise UsageError(
                "Pools tile an image.",
                got=got,
                remedy="take a size that divides its height and width",
            )
        small = tuple(n // self.size for n in k.grid)
        sides = [part for n in small * 2 for part in (n, self.size)]
        inside = tuple(range(1 - len(sides), 0, 2))
        mean = lambda K: (
            K.reshape(*K.shape[:-2], *sides)
            .mean(inside)
            .reshape(*K.shape[:-2], *(prod(small),) * 2)
        )
        return replace(k.each(mean, mean), grid=small)


@dataclass(frozen=True)
class LayerNorm:
    r"""Each input (each pixel) divided by its own size over the channels: $K/\sqrt{K(x,x)K(x',x')}$, and Θ alike."""

    def __call__(self, k: Kernels) -> Kernels:
        one, two = (np.sqrt(_variances(own, k.pairs)) for own in (k.own1, k.own2))
        if min(one.min(), two.min()) <= 0:
            raise UsageError(
                "Nothing to normalise.", got="an input of size 0", remedy="add a bias before it"
            )
        rows = one[:, None]
        columns = two[None, :]
        if not k.pairs:
            size = rows * columns
            gap = None if k.gap is None else k.gap / size
            ones1 = np.ones_like(one)
            ones2 = np.ones_like(two)
            return replace(k, nngp=k.nngp / size, ntk=k.ntk / size, own1=ones1, own2=ones2, gap=gap)
        size = rows[..., :, None] * columns[..., None, :]
        own1, own2 = (
            own / (s[:, :, None] * s[:, None, :]) for own, s in ((k.own1, one), (k.own2, two))
        )
        return replace(k, nngp=k.nngp / size, ntk=k.ntk / size, own1=own1, own2=own2)


Layer: TypeAlias = Dense | Activation | Residual | Conv | Flatten | AveragePool | LayerNorm
Architecture: TypeAlias = tuple[Layer, ...]


def through(layers: Architecture, kernels: Kernels) -> Kernels:
    """The kernels behind these layers."""
    for layer in layers:
        kernels = layer(kernels)
    return kernels


def _variances(own: np.ndarray, pairs: bool) -> np.ndarray:
    return np.diagonal(own, axis1=-2, axis2=-1) if pairs else own


def _window_mean(
    K: np.ndarray, grid: tuple[int, ...], pairs: bool, size: int, padding: str
) -> np.ndarray:
    """The mean over the window of covariances whose pixels, both of them, are moved by the same offset."""
    front = K.ndim - (2 if pairs else 1)
    unfolded = K.reshape(*K.shape[:front], *(grid * (2 if pairs else 1)))
    axes = tuple(range(front, unfolded.ndim))
    half = size // 2
    total = np.zeros_like(unfolded)
    edges = [(0, 0)] * front + [(half, half)] * len(axes)
    padded = np.pad(unfolded, edges, mode="wrap" if padding == "circular" else "constant")
    for offset in np.ndindex(*(size,) * len(grid)):
        window = [
            slice(o, o + n)
            for o, n in zip(offset * (len(axes) // len(grid)), unfolded.shape[front:])
        ]
        total += padded[(..., *window)]
    return (total / size ** len(grid)).reshape(K.shape)


def _centres(n: int, size: int, stride: int) -> np.ndarray:
    """Where the windows of one axis stand, with padding "SAME"."""
    many = -(-n // stride)
    before = max((many - 1) * stride + size - n, 0) // 2
    return size // 2 - before + stride * np.arange(many)


def _pick(K: np.ndarray, grid: tuple[int, ...], pairs: bool, kept: list[np.ndarray]) -> np.ndarray:
    """The covariances of these rows and columns of pixels alone."""
    front = K.ndim - (2 if pairs else 1)
    image = K.reshape(*K.shape[:front], *(grid * (2 if pairs else 1)))
    for axis, where in enumerate(kept * (2 if pairs else 1), front):
        image = image.take(where, axis)
    many = prod(map(len, kept))
    return image.reshape(*K.shape[:front], *(many,) * (2 if pairs else 1))
