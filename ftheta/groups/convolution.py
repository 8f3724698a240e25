r"""Convolutions on grids: $(\psi*x)_p=\sum_r\psi_r\,x_{p-r}$, with kernels of shape `(*extent, S, T)`.

A kernel is either full (its extent is the grid, tap $r$ stands at index $r$) or centred (tap 0 stands in the middle).
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import lcm
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.shapes import Complex, Float, Int, Real, Shaped


def taps(extent: Sequence[int]) -> list[tuple[int, ...]]:
    """The shifts of a centred kernel, in row-major order."""
    return list(product(*(range(-(k // 2), k - k // 2) for k in extent)))


def periodic(kernel: Any, x: jax.Array) -> jax.Array:
    """Circular convolution of `x` (shape `(*grid, S)`) with a centred kernel."""
    return _gather(kernel, x.reshape(-1, x.shape[-1]), x.shape[:-1], wrap=True)


def zero_padded(kernel: Any, x: jax.Array) -> jax.Array:
    """The same with zeros beyond the border."""
    return _gather(
        kernel, jnp.pad(x.reshape(-1, x.shape[-1]), ((0, 1), (0, 0))), x.shape[:-1], wrap=False
    )


def _gather(kernel: Any, pixels: jax.Array, grid: tuple[int, ...], wrap: bool) -> jax.Array:
    """One matrix product over the pixels each output sees; without `wrap` the last row of `pixels` is the outside."""
    cells = np.stack(np.meshgrid(*(np.arange(M) for M in grid), indexing="ij"), -1).reshape(
        -1, 1, len(grid)
    )
    seen = cells - np.array(taps(kernel.shape[:-2]))
    numbers = np.ravel_multi_index(tuple(np.moveaxis(seen % np.array(grid), -1, 0)), grid)
    inside = ((seen >= 0) & (seen < np.array(grid))).all(-1)
    patches = pixels[numbers if wrap else np.where(inside, numbers, len(cells))]
    T = kernel.shape[-1]
    return (patches.reshape(len(cells), -1) @ kernel.reshape(-1, T)).reshape(*grid, T)


def dense(weight: Any, x: jax.Array) -> jax.Array:
    """A linear map without any sharing; `weight` has shape `(*grid, T, *grid, S)`."""
    return jnp.tensordot(weight, x, x.ndim)


def convolve(
    kernel: Shaped[np.ndarray, "*grid s t"], x: Shaped[np.ndarray, "*grid s"]
) -> Shaped[np.ndarray, "*grid t"]:
    """Circular convolution with a full kernel, tap by tap in NumPy: exact for integers."""
    grid = x.shape[:-1]
    axes = tuple(range(len(grid)))
    result = np.zeros((*grid, kernel.shape[-1]), np.result_type(kernel, x))
    for r in np.ndindex(*grid):
        if kernel[r].any():
            result += np.roll(x, r, axes) @ kernel[r]
    return result


def symbol(kernel: Real[np.ndarray, "*grid s t"]) -> Complex[np.ndarray, "*grid s t"]:
    r"""$\hat\psi(\omega)$ for every frequency of the grid: the blocks that the discrete Fourier transform leaves."""
    return np.fft.fftn(kernel, axes=tuple(range(kernel.ndim - 2)))


def waves_error(
    aligned: np.ndarray, kernel: np.ndarray, frequencies: Int[np.ndarray, "w axes"]
) -> float:
    r"""How far the waves $q\mapsto z^{\langle\omega,q\rangle}$ are from being mapped to multiples of themselves.

    Here $z$ is an abstract root of unity: everything is computed in $\mathbb Z[z]/(z^L-1)$, $L$ the least common
    multiple of the sides, so that integer maps are treated exactly; $z=e^{2\pi i/L}$ gives the discrete Fourier
    transform. `aligned[q, s, r, t]` is the entry of the map from pixel $q$, channel $s$ to pixel $q+r$, channel $t$.
    The result is the largest coefficient of $We-\hat\psi(\omega)e$ for the waves $e=z^{\langle\omega,\cdot\rangle}$.
    """
    grid = kernel.shape[:-2]
    order = lcm(*grid)
    cells = np.stack(np.meshgrid(*(np.arange(M) for M in grid), indexing="ij"), -1).reshape(
        -1, len(grid)
    )
    # p − q for pixels p (rows) and q (columns)
    place = (cells[:, None] - cells[None]) % np.array(grid)
    place = np.ravel_multi_index(tuple(np.moveaxis(place, -1, 0)), grid)
    N = len(cells)
    S = kernel.shape[-2]
    T = kernel.shape[-1]
    rows = aligned.reshape(N, S, N, T)
    W = rows[np.arange(N)[None], :, place].transpose(0, 2, 3, 1).astype(np.float64)  # p, s, t, q
    worst = 0.0
    for omega in frequencies:
        powers = (cells * (order // np.array(grid))) @ omega % order
        wave = np.eye(order)[powers]  # row q: the coefficients of z^<ω, q>
        found = W @ wave
        conjugate = np.eye(order)[-powers % order]
        value = np.tensordot(kernel.reshape(N, S, T).astype(np.float64), conjugate, (0, 0))
        turned = (np.arange(order)[None] - powers[:, None]) % order
        worst = largest(worst, np.abs(found - np.moveaxis(value[..., turned], 2, 0)))
    return worst


MAPS: dict[str, Callable[[Any, jax.Array], jax.Array]] = {
    "convolution": periodic,
    "zero padding": zero_padded,
    "dense": dense,
}
KERNELS = ("random integers", "Laplacian", "pointwise")


def integer_kernel(
    kind: str, rng: np.random.Generator, width: int, dims: int, S: int, T: int
) -> Float[np.ndarray, "*window s t"]:
    """A centred kernel with integer entries: random, minus the second differences channel by channel, or one tap."""
    if kind != "Laplacian":
        side = 1 if kind == "pointwise" else width
        return rng.integers(-3, 4, (*[side] * dims, S, T)).astype(np.float64)
    kernel = np.zeros((*[3] * dims, S, T))
    for shift in taps([3] * dims):
        weight = 2 * dims if not any(shift) else -1 if sum(map(abs, shift)) == 1 else 0
        kernel[tuple(np.add(shift, 1))] = weight * np.eye(S, T)
    return kernel
