r"""U-Nets that keep the size of an image, the sizes of those that do not, and weights with which one is the identity.

Down: two convolutions with ReLU, a skip, pooling by 2; up: a transposed convolution, beside the skip, two convolutions.
With padded convolutions $2^n$ has to divide the side, $n$ the number of poolings. Without padding every pair of
convolutions costs 4 pixels, and a side $s$ becomes $s-(12\cdot2^n-8)$.
"""

from typing import Any

import numpy as np

from ftheta.logic import UsageError
from ftheta.networks.architectures.stack import Stack
from ftheta.networks.layers.branches import Skip
from ftheta.networks.layers.grids import Conv, Pool, ReLU, UpConv
from ftheta.networks.layers.layer import Layer


def padded_unet(side: int, depth: int, channels: int, skips: bool = True) -> Stack:
    """Of images (1, side, side): `channels` at the top, twice as many at every level below."""
    ensure_even(side, depth)
    inner = _double(channels << depth)
    for level in reversed(range(depth)):
        way = (Pool(kernel=2, stride=2), *inner, UpConv(channels << level))
        inner = (
            *_double(channels << level),
            *((Skip(way),) if skips else way),
            *_double(channels << level),
        )
    return Stack(f"U-Net of depth {depth}", (*inner, Conv(kernel=1, channels=1)), (1, side, side))


def _double(channels: int) -> tuple[Layer, ...]:
    return (Conv(kernel=3, padding=1, channels=channels), ReLU()) * 2


def ensure_even(side: int, depth: int) -> None:
    """Refuse sides that cannot be halved so often."""
    if side < 1 or side % 2**depth:
        near = max(1, round(side / 2**depth)) * 2**depth
        raise UsageError(
            "The image cannot be halved that often: an odd side meets a pooling by 2.",
            got=f"side {side}, {depth} poolings",
            remedy=f"pad or crop to {near} (a multiple of {2**depth}), or take fewer poolings",
        )


def unpadded_side(side: int, depth: int) -> int:
    """What comes out of unpadded convolutions, level by level; an odd side before a pooling is refused."""
    for level in range(depth):
        side -= 4
        if side < 2 or side % 2:
            raise UsageError(
                "An odd side meets a pooling by 2.",
                where=f"level {level + 1}",
                got=f"side {side}",
                remedy=f"take a side that is {valid_rest(depth)} more than a multiple of {2**depth}",
            )
        side //= 2
    for _ in range(depth + 1):
        side = (side - 4) * 2
    side //= 2
    if side < 1:
        raise UsageError("Nothing is left of the image.", got=f"side {side} after the last level")
    return side


def valid_rest(depth: int) -> int:
    r"""Sides that can be pooled everywhere are $4(2^n-1)$ modulo $2^n$, that is $-4$."""
    return -4 % 2**depth


def formula_side(side: int, depth: int) -> int:
    r"""$s-(12\cdot2^n-8)$."""
    return side - (12 * 2**depth - 8)


def identity_weights(stack: Stack) -> list[Any]:
    """Weights that carry r(x) and r(−x) through the convolutions of the top level and over its skip, and join them."""
    params = [
        {name: np.zeros(leaf.shape) for name, leaf in own.items() if name != "main"}
        for own in stack.arrays
    ]
    skip = next(k for k, layer in enumerate(stack.layers) if isinstance(layer, Skip))
    params[skip] = _zeros(stack.arrays[skip])
    convolutions = [k for k, layer in enumerate(stack.layers) if isinstance(layer, Conv)]
    first, *middle, last = convolutions
    params[first]["weight"][:2, 0, 1, 1] = 1.0, -1.0
    for k in middle:
        params[k]["weight"][0, 0, 1, 1] = params[k]["weight"][1, 1, 1, 1] = 1.0
    params[last]["weight"][0, :2, 0, 0] = 1.0, -1.0
    return params


def _zeros(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _zeros(part) for name, part in tree.items()}
    return [_zeros(part) for part in tree] if isinstance(tree, list) else np.zeros(tree.shape)
