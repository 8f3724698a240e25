"""Operators that move numbers without changing them."""

from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.networks.operators.moving import pad_axes
from ftheta.networks.programs.call import Call, Rule, RuleTable, axes_of, axis_of
from ftheta.networks.reading import Malformed


def _same(call: Call, x: Any) -> Any:
    return x


def _reshape(
    call: Call, x: Any, size: list[int] | None = None, shape: list[int] | None = None
) -> Any:
    wanted = size if size is not None else shape
    if wanted is None:
        raise Malformed("a shape is missing")
    return x.reshape(tuple(wanted))


def _view_as(call: Call, x: Any, other: Any) -> Any:
    return x.reshape(other.shape)


def _flatten(call: Call, x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    if x.ndim == 0:
        return x.reshape(1)
    first = axis_of(start_dim, x.ndim)
    last = axis_of(end_dim, x.ndim)
    return x.reshape(*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def _unflatten(call: Call, x: Any, dim: int, sizes: list[int]) -> Any:
    axis = axis_of(dim, x.ndim)
    if -1 in sizes:
        rest = prod(n for n in sizes if n != -1)
        sizes = [x.shape[axis] // max(rest, 1) if n == -1 else n for n in sizes]
    return x.reshape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])


def _squeeze(call: Call, x: Any, dim: Any = None) -> Any:
    """Axes of length one; others that are named stay."""
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in axes_of(dim, x.ndim)])


def _unsqueeze(call: Call, x: Any, dim: int) -> Any:
    return call.xp.expand_dims(x, axis_of(dim, x.ndim + 1))


def _transpose(call: Call, x: Any, dim0: int, dim1: int) -> Any:
    return call.xp.swapaxes(x, axis_of(dim0, x.ndim), axis_of(dim1, x.ndim)) if x.ndim else x


def _permute(call: Call, x: Any, dims: list[int]) -> Any:
    return call.xp.transpose(x, [axis_of(a, x.ndim) for a in dims])


def _matrix_transpose(call: Call, x: Any) -> Any:
    return call.xp.swapaxes(x, -1, -2) if x.ndim > 1 else x


def _movedim(call: Call, x: Any, source: Any, destination: Any) -> Any:
    return call.xp.moveaxis(x, source, destination)


def _cat(call: Call, tensors: list[Any], dim: int = 0) -> Any:
    """An empty vector adds nothing, whatever the shape of the others."""
    parts = [x for x in tensors if x.shape != (0,)] or tensors[:1]
    return call.xp.concatenate(parts, axis_of(dim, parts[0].ndim))


def _stack(call: Call, tensors: list[Any], dim: int = 0) -> Any:
    return call.xp.stack(tensors, axis_of(dim, tensors[0].ndim + 1))


def _cut(call: Call, x: Any, sizes: list[int], dim: int) -> tuple[Any, ...]:
    axis = axis_of(dim, x.ndim)
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0 or len(sizes) > MAX_PARTS:
        raise Malformed(f"a split of {x.shape[axis]} into {sizes[:20]}")
    return tuple(call.xp.split(x, np.cumsum(sizes)[:-1].tolist(), axis))


MAX_PARTS = 4096


def _pieces(length: int, size: int) -> list[int]:
    """Equal parts, of which the last may be shorter."""
    if size < 1 or length // size > MAX_PARTS:
        raise Malformed(f"a split of {length} into parts of {size}")
    return [min(size, length - start) for start in range(0, length, size)]


def _split(
    call: Call, x: Any, split_size: Any = None, dim: int = 0, split_sizes: list[int] | None = None
) -> Any:
    sizes = split_sizes if split_sizes is not None else split_size
    if isinstance(sizes, int):
        sizes = _pieces(x.shape[axis_of(dim, x.ndim)], sizes)
    return _cut(call, x, sizes or [], dim)


def _chunk(call: Call, x: Any, chunks: int, dim: int = 0) -> Any:
    length = x.shape[axis_of(dim, x.ndim)]
    return _cut(call, x, _pieces(length, -(-length // chunks)), dim)


def _unbind(call: Call, x: Any, dim: int = 0) -> Any:
    axis = axis_of(dim, x.ndim)
    return tuple(
        part.reshape(x.shape[:axis] + x.shape[axis + 1 :])
        for part in _cut(call, x, [1] * x.shape[axis], dim)
    )


def _expand(call: Call, x: Any, size: list[int], implicit: bool = False) -> Any:
    """-1 keeps a length."""
    lead = len(size) - x.ndim
    shape = [x.shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(size)]
    return call.library(prod(shape)).broadcast_to(x, tuple(shape))


def _expand_as(call: Call, x: Any, other: Any) -> Any:
    return call.library(other.size).broadcast_to(x, other.shape)


def _repeat(
    call: Call, x: Any, repeats: list[int] | None = None, dims: list[int] | None = None
) -> Any:
    times = repeats if repeats is not None else dims or []
    return call.library(x.size * prod(times)).tile(x, tuple(times))


def _repeat_interleave(
    call: Call, x: Any, repeats: int, dim: int | None = None, output_size: Any = None
) -> Any:
    if not isinstance(repeats, int):
        raise call.refuse(
            "Repeats that differ from entry to entry are not read.", "repeats is a tensor"
        )
    return jnp.repeat(jnp.asarray(x), repeats, None if dim is None else axis_of(dim, x.ndim))


def _flip(call: Call, x: Any, dims: list[int]) -> Any:
    return call.xp.flip(x, axes_of(dims, x.ndim)) if dims else x


def _roll(call: Call, x: Any, shifts: list[int], dims: list[int] | None = None) -> Any:
    return call.xp.roll(x, shifts, dims or None) if dims else call.xp.roll(x, shifts[0])


def _pad_from_last(call: Call, x: Any, pad: list[int], mode: str, value: Any = 0) -> Any:
    """Two lengths an axis, from the last axis on; negative ones cut off."""
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise Malformed(f"pads {pad} for {x.ndim} axes")
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [
        (pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)
    ]
    return pad_axes(call, x, widths, _PADDING.get(mode, mode), value)


_PADDING = {"replicate": "edge", "circular": "wrap"}


def _constant_pad(call: Call, x: Any, pad: list[int], value: Any = 0) -> Any:
    return _pad_from_last(call, x, pad, "constant", value)


def _pad(call: Call, x: Any, pad: list[int], mode: str = "constant", value: Any = None) -> Any:
    return _pad_from_last(call, x, pad, mode, value)


def _pad_by(mode: str) -> Rule:
    return lambda call, x, padding: _pad_from_last(call, x, padding, mode)


def _pixel_shuffle(call: Call, x: Any, upscale_factor: int) -> Any:
    *lead, c, h, w = x.shape
    r = upscale_factor
    blocks = x.reshape(*lead, c // r**2, r, r, h, w)
    return jnp.moveaxis(blocks, (-4, -3), (-3, -1)).reshape(*lead, c // r**2, h * r, w * r)


def _pixel_unshuffle(call: Call, x: Any, downscale_factor: int) -> Any:
    *lead, c, h, w = x.shape
    r = downscale_factor
    blocks = x.reshape(*lead, c, h // r, r, w // r, r)
    return jnp.moveaxis(blocks, (-3, -1), (-4, -3)).reshape(*lead, c * r**2, h // r, w // r)


def _channel_shuffle(call: Call, x: Any, groups: int) -> Any:
    n, c, *rest = x.shape
    return x.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(x.shape)


RULES: RuleTable = {
    **dict.fromkeys(
        ("clone", "contiguous", "detach", "alias", "lift_fresh", "lift_fresh_copy", "positive"),
        _same,
    ),
    **dict.fromkeys(("view", "reshape", "_unsafe_view"), _reshape),
    **dict.fromkeys(("view_as", "reshape_as"), _view_as),
    "flatten": _flatten,
    "ravel": _flatten,
    "unflatten": _unflatten,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "transpose": _transpose,
    **dict.fromkeys(
        ("swapaxes", "swapdims"), lambda call, x, **how: _transpose(call, x, *how.values())
    ),
    "permute": _permute,
    "t": _matrix_transpose,
    "mT": _matrix_transpose,
    "numpy_T": lambda call, x: x.T,
    "movedim": _movedim,
    **dict.fromkeys(("cat", "concat", "concatenate"), _cat),
    "stack": _stack,
    **dict.fromkeys(("split", "split_with_sizes"), _split),
    "chunk": _chunk,
    "unbind": _unbind,
    "expand": _expand,
    "expand_as": _expand_as,
    **dict.fromkeys(("repeat", "tile"), _repeat),
    "repeat_interleave": _repeat_interleave,
    "flip": _flip,
    "roll": _roll,
    "pad": _pad,
    "constant_pad_nd": _constant_pad,
    **{f"reflection_pad{n}d": _pad_by("reflect") for n in (1, 2, 3)},
    **{f"replication_pad{n}d": _pad_by("replicate") for n in (1, 2, 3)},
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "channel_shuffle": _channel_shuffle,
}
