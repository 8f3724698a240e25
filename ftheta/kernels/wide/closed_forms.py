"""From an architecture and inputs to its two kernels."""

from typing import Any

import numpy as np

from ftheta.kernels.angles import gap_of_inputs
from ftheta.logic.errors import UsageError

from .layers import Activation, Architecture, AveragePool, Dense, Kernels, Layer, Residual, through

MEMORY = 4_000_000_000  # bytes that the covariances may take


def closed_form(layers: Architecture, x1: Any, x2: Any = None, *, memory: int = MEMORY) -> Kernels:
    r"""NNGP and NTK between the rows of `x1` and of `x2` (by default `x1`), by the recursion over the layers.

    Rows are vectors `(n, d)`, from $K=\frac1dx_1x_2^\top$ and $\Theta=0$, or images `(n, height, width, channels)`.
    With an average pool all pairs of pixels are kept, else each pixel with itself; `memory` bounds the bytes held.

    **Precision.** For vectors and ReLU, $|u|$ or the identity the relative error is below $10^{-13}$ to depth 10, also
    where inputs are nearly parallel or nearly opposite, whatever their sizes: next to each covariance its distance from
    $\pm\sqrt{K(x,x)K(x',x')}$ is carried without cancellation (`angles`). Where Θ, or K of a leaky ReLU, changes its
    sign, the error is relative to the terms that cancel. After any other activation, a convolution or a pool that
    distance is a difference: K keeps its precision relative to $\sqrt{K(x,x)K(x',x')}$, and behind a later ReLU Θ may
    lose $10^{-8}$ of it where the angle is below $10^{-8}$.
    """
    one = _rows(x1, "x1")
    two = one if x2 is None else _rows(x2, "x2")
    if one.shape[1:] != two.shape[1:]:
        raise UsageError(
            "The inputs have different shapes.", got=f"{one.shape[1:]} and {two.shape[1:]}"
        )
    pairs = one.ndim > 2 and any(isinstance(layer, AveragePool) for layer in _flat(layers))
    pixels = int(np.prod(one.shape[1:-1]))
    # about eight arrays of eight bytes a number
    needed = 64 * len(one) * len(two) * pixels ** (2 if pairs else 1)
    if needed > memory:
        raise UsageError(
            "The covariances do not fit into the memory allowed.",
            got=f"{needed:,} bytes, allowed {memory:,}",
            remedy="give fewer rows at a time, smaller images, Flatten in place of AveragePool, or more memory=",
        )
    found = through(layers, _start(one, two, pairs))
    if found.grid:
        raise UsageError(
            "The network ends in an image.",
            got="no Flatten or AveragePool",
            remedy="add one, then Dense()",
        )
    return found


def fully_connected(
    activation: Any, depth: int, *, weight: float = 1.0, bias: float = 0.0
) -> Architecture:
    """`depth` hidden layers with this activation and a linear output, every layer with the same variances."""
    dense = Dense(weight, bias)
    return (dense, *((Activation(activation), dense) * depth))


def _rows(x: Any, name: str) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if x.ndim < 2 or x.size == 0 or not np.isfinite(x).all():
        got = f"shape {x.shape}" + ("" if np.isfinite(x).all() else ", not all finite")
        raise UsageError(
            f"{name} is an array of finite rows.",
            got=got,
            remedy="give (n, d) or (n, height, width, channels)",
        )
    return x


def _flat(layers: Architecture) -> list[Layer]:
    return [
        inner
        for layer in layers
        for inner in (_flat(layer.block) if isinstance(layer, Residual) else [layer])
    ]


def _start(one: np.ndarray, two: np.ndarray, pairs: bool) -> Kernels:
    """The covariance of the inputs, averaged over the channels; where `two` is `one`, its diagonal exactly."""
    grid = one.shape[1:-1]
    channels = one.shape[-1]
    a, b = (x.reshape(len(x), -1, channels) if grid else x for x in (one, two))
    if not grid:
        own1, own2 = (np.einsum("ic,ic->i", x, x) / channels for x in (a, b))
        nngp = a @ b.T / channels
        if two is one:
            np.fill_diagonal(nngp, own1)
        gap = gap_of_inputs(a, b, own1, own2, nngp)
        if two is one:
            np.fill_diagonal(gap, 0.0)
        return Kernels(nngp, np.zeros_like(nngp), own1, own2, gap=gap)
    cross, same = ("ipc,jqc->ijpq", "ipc,iqc->ipq") if pairs else ("ipc,jpc->ijp", "ipc,ipc->ip")
    own1, own2 = (np.einsum(same, x, x, optimize=True) / channels for x in (a, b))
    nngp = np.einsum(cross, a, b, optimize=True) / channels
    if two is one:
        nngp[np.arange(len(a)), np.arange(len(a))] = own1
    gap = None if pairs else _pixel_gaps(a, b, own1, own2, nngp)
    return Kernels(nngp, np.zeros_like(nngp), own1, own2, grid, gap)


def _pixel_gaps(
    a: np.ndarray, b: np.ndarray, own1: np.ndarray, own2: np.ndarray, nngp: np.ndarray
) -> np.ndarray:
    """The gaps of each pixel with the same one of another image; one channel has no angles."""
    if a.shape[-1] == 1:
        return np.zeros_like(nngp)
    pixels = range(a.shape[1])
    return np.stack(
        [gap_of_inputs(a[:, k], b[:, k], own1[:, k], own2[:, k], nngp[..., k]) for k in pixels], -1
    )
