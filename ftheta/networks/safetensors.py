"""Arrays in `.safetensors` files: a length, a header in JSON, and the bytes of all tensors one after the other.

The safetensors library knows no bfloat16 without PyTorch. The format is small: this reader checks every shape and place
against the bytes that are there, before it makes an array.
"""

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import SubjectError

from .reading import MAX_AXES, Allowance, read_bytes

MAX_HEADER = 100_000_000  # as in the library
MAX_TENSORS = 100_000

DTYPES: Mapping[str, np.dtype] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(jnp.bfloat16),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """All tensors of a file by name; floats of sixteen bits become float32, which holds each of them exactly."""
    return parse(read_bytes(path), str(path))


def parse(data: bytes, where: str) -> dict[str, np.ndarray]:
    """The tensors in the bytes of a safetensors file."""
    try:
        header, body = _split(data)
        places = {
            name: _place(name, entry, len(body))
            for name, entry in header.items()
            if name != "__metadata__"
        }
        _ensure_tiled(places, len(body))
        allowance = Allowance(where, len(data))
        for name, (dtype, shape, _, _) in places.items():
            allowance.spend_array(shape, dtype.itemsize, f"tensor {name}")
    except (ValueError, RecursionError) as error:  # of JSON too
        raise SubjectError(
            "The file is not a sound safetensors file.",
            where=where,
            got=str(error) or type(error).__name__,
            remedy="write it again with safetensors.numpy.save_file or safetensors.torch.save_file",
        ) from error
    return {name: _array(body, *place) for name, place in places.items()}


Place = tuple[np.dtype, tuple[int, ...], int, int]
"""Type, shape, first byte, and the byte after the last."""


def _split(data: bytes) -> tuple[dict[str, Any], memoryview]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, MAX_HEADER):
        raise ValueError(f"a header of {length:,} bytes in a file of {len(data):,}")
    header = json.loads(data[8 : 8 + length].decode("utf-8"), object_pairs_hook=_without_repetition)
    if not isinstance(header, dict) or len(header) > MAX_TENSORS:
        raise ValueError("a header that is not a list of tensors by name, or too long a one")
    return header, memoryview(data)[8 + length :]


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name that stands twice in the header")
    return found


def _place(name: str, entry: Any, available: int) -> Place:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"tensor {name!r} without dtype, shape and data_offsets")
    word = entry["dtype"]
    shape = entry["shape"]
    offsets = entry["data_offsets"]
    if not isinstance(word, str) or word not in DTYPES:
        raise ValueError(f"tensor {name!r} of type {word!r}; {', '.join(DTYPES)} are read")
    if not (_wholes(shape) and _wholes(offsets) and len(shape) <= MAX_AXES and len(offsets) == 2):
        raise ValueError(f"tensor {name!r} with shape {shape!r} and offsets {offsets!r}"[:200])
    dtype = DTYPES[word]
    (start, end) = offsets
    if not start <= end <= available or prod(shape) * dtype.itemsize != end - start:
        raise ValueError(
            f"tensor {name!r} of shape {shape} in the bytes {start:,} to {end:,} of {available:,}"
        )
    return dtype, tuple(shape), start, end


def _wholes(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 1 << 63 for n in value)


def _ensure_tiled(places: Mapping[str, Place], available: int) -> None:
    """Tensors follow one another without gap or overlap, from the first byte to the last."""
    spans = sorted((start, end) for _, _, start, end in places.values())
    ends = [0, *(end for _, end in spans)]
    if any(start != before for (start, _), before in zip(spans, ends)) or ends[-1] != available:
        raise ValueError("tensors that overlap, or bytes that belong to none")


def _array(
    body: memoryview, dtype: np.dtype, shape: tuple[int, ...], start: int, end: int
) -> np.ndarray:
    flat = np.frombuffer(body[start:end], dtype)
    return (
        flat.astype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else flat
    ).reshape(shape)
