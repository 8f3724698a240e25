r"""Convolutions over a group that turns and reflects images, and over any finite group.

A lifting convolution sees an image with its kernel in every pose, $y(h,p)=((L_h\psi)*x)(p)$ with
$(L_h\psi)(r)=\psi(h^{-1}r)$; a group convolution is $z(h,\cdot)=\sum_{h'}(L_h\psi_{h^{-1}h'})*y(h',\cdot)$. If $x$ is
moved by $g$, then $y(h,p)$ becomes $y(g^{-1}h,g^{-1}p)$, and so does $z$. Both are plain convolutions, with kernels
made from one whose weights are shared.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.groups.actions import on_images
from ftheta.groups.convolution import periodic, zero_padded
from ftheta.groups.finite import Group
from ftheta.groups.representations import Representation, regular, trivial
from ftheta.logic.errors import UsageError
from ftheta.shapes import Num

BOUNDARIES = {"periodic": periodic, "zero": zero_padded}


def poses(group: Group, kernel: Any) -> Any:
    r"""$L_h\psi$ for all $h$: shape $(|G|,k,k,\dots)$, for a kernel whose first two axes are an odd square."""
    k = kernel.shape[0]
    if kernel.ndim < 2 or kernel.shape[1] != k or k % 2 == 0:
        raise UsageError(
            "A kernel is turned about its middle tap.",
            got=f"shape {kernel.shape}",
            remedy="give a square kernel of odd width: 3 × 3, 5 × 5",
        )
    taps = on_images(group, k).action
    assert taps is not None
    flat = kernel.reshape(k * k, *kernel.shape[2:])
    return flat[taps[group.inverses]].reshape(group.order, *kernel.shape)


def lifting_kernel(group: Group, kernel: Any) -> Any:
    r"""From a kernel $(k,k,S,T)$ to the plain one, $(k,k,S,|G|T)$, whose output channels are (pose, channel)."""
    return poses(group, kernel).transpose(1, 2, 3, 0, 4).reshape(*kernel.shape[:3], -1)


def group_kernel(group: Group, kernel: Any) -> Any:
    r"""From $(k,k,|G|,S,T)$, a kernel for every $h^{-1}h'$, to the plain one, $(k,k,|G|S,|G|T)$."""
    if kernel.ndim != 5 or kernel.shape[2] != group.order:
        got = f"shape {kernel.shape} for {group.order} poses"
        raise UsageError(
            "A group convolution has a kernel for every pose.",
            got=got,
            remedy="give (k, k, poses, S, T)",
        )
    k, _, n, S, T = kernel.shape
    relative = group.table[group.inverses]  # row h, column h': h⁻¹h'
    chosen = poses(group, kernel)[np.arange(n)[:, None], :, :, relative]  # h, h', k, k, S, T
    return chosen.transpose(2, 3, 1, 4, 0, 5).reshape(k, k, n * S, n * T)


def group_convolution(group: Group, kernel: Any, x: Any, boundary: str = "periodic") -> Any:
    """Of an image (M, M, S) with a kernel (k, k, S, T), or of (M, M, poses·S) with one (k, k, poses, S, T)."""
    whole = lifting_kernel(group, kernel) if kernel.ndim == 4 else group_kernel(group, kernel)
    return BOUNDARIES[boundary](whole, x)


def on_poses(group: Group, side: int, channels: int = 1) -> Representation:
    """How the outputs of a group convolution move: pixels and poses together, channels not."""
    moved = on_images(group, side) * regular(group)
    return moved if channels == 1 else moved * trivial(group, channels)


def convolution_matrix(group: Group, kernel: Any) -> Num[np.ndarray, "g g"]:
    r"""$(\psi*f)(g)=\sum_h\psi(h^{-1}g)f(h)$ as a matrix: the maps of functions on the group that commute with it."""
    relative = group.table[group.inverses]  # row h, column g: h⁻¹g
    return np.asarray(kernel)[relative].T


def group_network(group: Group, boundary: str = "periodic") -> Any:
    """`apply(params, x)`: lifting and group convolutions with ReLU, then means over pixels and poses, then a matrix.

    `params` is a list of kernels, the first (k, k, S, T), the others (k, k, poses, S, T), and last a matrix (out, T).
    """

    def apply(params: Any, x: Any) -> Any:
        *kernels, head = params
        for kernel in kernels:
            x = jnp.maximum(group_convolution(group, kernel, x, boundary), 0.0)
        return jnp.asarray(head) @ x.mean((0, 1)).reshape(group.order, -1).mean(0)

    return apply
