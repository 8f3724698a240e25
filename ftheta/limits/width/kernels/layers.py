r"""Layers of an infinitely wide network, and what each does to its two kernels.

In the tangent-kernel parametrisation a layer of $m$ inputs is $h\mapsto\sqrt{w/m}\,Wh+\sqrt b\,\beta$ with standard
Gaussian parameters $W,\beta$. As all widths tend to infinity the outputs are a Gaussian process with covariance $K$
(NNGP) and the Gram matrix of the derivatives is $\Theta$ (NTK). An architecture is a tuple of layers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from ftheta.logic import UsageError

from .duals import dual


@dataclass(frozen=True, eq=False)
class Kernels:
    r"""`nngp` $K$ and `ntk` $\Theta$ between the inputs `(n1, n2)`; `own1`, `own2` are $K$ of each input with itself.

    Images carry the covariances of pixels behind these axes: `(…, P)` of each pixel with itself, or `(…, P, P)` of all
    pairs; `grid` is then the shape of the image, whose pixels are in C order.
    """

    nngp: np.ndarray
    ntk: np.ndarray
    own1: np.ndarray
    own2: np.ndarray
    grid: tuple[int, ...] = ()

    @property
    def pairs(self) -> bool:
        """Whether the covariances of all pairs of pixels are here."""
        return self.nngp.ndim == 4

    def each(
        self, covariance: Callable[[np.ndarray], np.ndarray], tangent: Callable[[np.ndarray], np.ndarray]
    ) -> "Kernels":
        """`covariance` applied to the three covariances and `tangent` to the NTK."""
        nngp, own1, own2 = covariance(self.nngp), covariance(self.own1), covariance(self.own2)
        return replace(self, nngp=nngp, ntk=tangent(self.ntk), own1=own1, own2=own2)


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
        new = k.each(lambda K: self.weight * K + self.bias, lambda T: self.weight * T)
        own = new.nngp if self.fan_in is None else self.fan_in * k.nngp + 1.0
        return replace(new, ntk=own + new.ntk)


@dataclass(frozen=True)
class Activation:
    r"""$K$ becomes $\mathbb E[\sigma(u)\sigma(v)]$ and Θ becomes $\Theta\,\mathbb E[\sigma'(u)\sigma'(v)]$."""

    of: str | Callable[[Any], Any]

    def __call__(self, k: Kernels) -> Kernels:
        sigma = dual(self.of)
        one, two = _variances(k.own1, k.pairs), _variances(k.own2, k.pairs)
        rows, columns = one[:, None], two[None, :]
        if k.pairs:
            rows, columns = rows[..., :, None], columns[..., None, :]
        values, slopes = sigma.moments(rows, columns, k.nngp)
        if not k.pairs:
            return replace(k, nngp=values, ntk=k.ntk * slopes, own1=sigma.own(one)[0], own2=sigma.own(two)[0])
        own1, own2 = (sigma.moments(v[:, :, None], v[:, None, :], o)[0] for v, o in ((one, k.own1), (two, k.own2)))
        return replace(k, nngp=values, ntk=k.ntk * slopes, own1=own1, own2=own2)


@dataclass(frozen=True)
class Residual:
    r"""$h\mapsto h+g(h)$ for a `block` $g$ that ends in fresh weights: then both kernels add."""

    block: "Architecture"

    def __call__(self, k: Kernels) -> Kernels:
        if not self.block or not isinstance(self.block[-1], Dense | Conv):
            got = type(self.block[-1]).__name__ if self.block else "an empty block"
            raise UsageError(
                "A residual block ends in a Dense or Conv layer.", got=got, remedy="add Dense() at its end"
            )
        new = through(self.block, k)
        return replace(k, nngp=k.nngp + new.nngp, ntk=k.ntk + new.ntk, own1=k.own1 + new.own1, own2=k.own2 + new.own2)


@dataclass(frozen=True)
class Conv:
    r"""Windows of odd `size`, stride 1: $K\mapsto w\,\mathrm{mean}_oK[p+o,q+o]+b$ over the window; Θ as in `Dense`."""

    size: int = 3
    weight: float = 1.0
    bias: float = 0.0
    padding: Literal["same", "circular"] = "same"

    def __call__(self, k: Kernels) -> Kernels:
        if not k.grid:
            raise UsageError(
                "A convolution needs images.", got="vectors", remedy="give x of shape (n, height, width, channels)"
            )
        if self.size < 1 or self.size % 2 == 0:
            raise UsageError("A window has an odd size.", got=self.size, remedy="take 1, 3, 5, …")
        average = lambda K: self.weight * _window_mean(K, k.grid, k.pairs, self.size, self.padding)
        new = k.each(lambda K: average(K) + self.bias, average)
        return replace(new, ntk=new.nngp + new.ntk)


@dataclass(frozen=True)
class Flatten:
    """All pixels become one vector: the mean over the pixels with themselves."""

    def __call__(self, k: Kernels) -> Kernels:
        mean = lambda K: _variances(K, k.pairs).mean(-1)
        return replace(k.each(mean, mean), grid=())


@dataclass(frozen=True)
class AveragePool:
    """The mean over all pixels of each channel: the mean over all pairs of pixels."""

    def __call__(self, k: Kernels) -> Kernels:
        mean = lambda K: K.mean((-2, -1))
        return replace(k.each(mean, mean), grid=())


Layer: TypeAlias = Dense | Activation | Residual | Conv | Flatten | AveragePool
Architecture: TypeAlias = tuple[Layer, ...]


def through(layers: Architecture, kernels: Kernels) -> Kernels:
    """The kernels behind these layers."""
    for layer in layers:
        kernels = layer(kernels)
    return kernels


def _variances(own: np.ndarray, pairs: bool) -> np.ndarray:
    return np.diagonal(own, axis1=-2, axis2=-1) if pairs else own


def _window_mean(K: np.ndarray, grid: tuple[int, ...], pairs: bool, size: int, padding: str) -> np.ndarray:
    """The mean over the window of covariances whose pixels, both of them, are moved by the same offset."""
    front = K.ndim - (2 if pairs else 1)
    unfolded = K.reshape(*K.shape[:front], *(grid * (2 if pairs else 1)))
    axes = tuple(range(front, unfolded.ndim))
    half, total = size // 2, np.zeros_like(unfolded)
    edges = [(0, 0)] * front + [(half, half)] * len(axes)
    padded = np.pad(unfolded, edges, mode="wrap" if padding == "circular" else "constant")
    for offset in np.ndindex(*(size,) * len(grid)):
        window = [slice(o, o + n) for o, n in zip(offset * (len(axes) // len(grid)), unfolded.shape[front:])]
        total += padded[(..., *window)]
    return (total / size ** len(grid)).reshape(K.shape)
