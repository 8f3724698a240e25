"""Where the entries of an array go: primitives that only move them, and contractions as products of matrices."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ftheta.graph.graph import Node

Array = np.ndarray


# ---- entries that move -----------------------------------------------------------------------------------------


def taken(node: Node, x: Array) -> Array:
    """The strided slice of `x` that the node asks for."""
    p = node.params
    strides = p["strides"] or (1,) * x.ndim
    return x[
        tuple(slice(a, b, s) for a, b, s in zip(p["start_indices"], p["limit_indices"], strides))
    ]


def broadcast(node: Node, x: Array) -> Array:
    """`x` repeated to the node's shape along the axes that it lacks."""
    shape = [1] * len(node.shape)
    for axis, size in zip(node.params["broadcast_dimensions"], x.shape):
        shape[axis] = size
    return np.broadcast_to(x.reshape(shape), node.shape)


MOVES: dict[str, Callable[[Node, Array], Array]] = {
    "transpose": lambda node, x: x.transpose(node.params["permutation"]),
    "broadcast_in_dim": broadcast,
    "squeeze": lambda node, x: x.reshape(node.shape),
    "slice": taken,
    "rev": lambda node, x: np.flip(x, node.params["dimensions"]),
    "tile": lambda node, x: np.tile(x, node.params["reps"]),
}
"""Primitives that move the entries of one operand and compute nothing."""


# ---- contractions ----------------------------------------------------------------------------------------------


def matrices(x: Array, batch: Sequence[int], contract: Sequence[int], last: bool) -> Array:
    """A stack of matrices: (batch, free, contracted) if `last`, else (batch, contracted, free), each flattened."""
    order = _order(x.ndim, batch, contract, last)
    b, c = (math.prod(x.shape[a] for a in axes) for axes in (batch, contract))
    free = math.prod(x.shape[a] for a in range(x.ndim) if a not in (*batch, *contract))
    return x.transpose(order).reshape((b, free, c) if last else (b, c, free))


def from_matrices(
    stack: Array, shape: tuple[int, ...], batch: Sequence[int], contract: Sequence[int], last: bool
) -> Array:
    """The inverse of `matrices`, for an array of that shape."""
    order = _order(len(shape), batch, contract, last)
    return stack.reshape([shape[a] for a in order]).transpose(np.argsort(order))


def _order(ndim: int, batch: Sequence[int], contract: Sequence[int], last: bool) -> list[int]:
    free = [a for a in range(ndim) if a not in (*batch, *contract)]
    return [*batch, *free, *contract] if last else [*batch, *contract, *free]
