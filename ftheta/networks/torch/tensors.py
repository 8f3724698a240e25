"""Tensors of a `.pt2` file as NumPy arrays: types, sizes and strides are checked before anything is made of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import Malformed, to_analysis_type, type_numbered

from .archive import Archive, refuse_pickle
from .fields import field, require_type, whole

DTYPES: Mapping[int, Any] = {
    1: np.dtype("u1"),
    2: np.dtype("i1"),
    3: np.dtype("<i2"),
    4: np.dtype("<i4"),
    5: np.dtype("<i8"),
    6: np.dtype("<f2"),
    7: np.dtype("<f4"),
    8: np.dtype("<f8"),
    12: np.dtype("?"),
    13: np.dtype(jnp.bfloat16),
    28: np.dtype("<u2"),
    34: np.dtype("<u4"),
    35: np.dtype("<u8"),
}
"""Element types by their number in torch's schema of exported programs."""

REFUSED = {
    9: "complex32",
    10: "complex64",
    11: "complex128",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
}
STRIDED = 7  # the layout of a dense tensor


def dtype_of(code: int, where: str) -> np.dtype:
    """The NumPy dtype of a code of torch's ScalarType; refuses those that are not read."""
    return type_numbered(code, DTYPES, REFUSED, where)


@dataclass(frozen=True)
class Payload:
    """One tensor: the entry with its storage, and how it lies there. Tied weights are equal as payloads."""

    path: str
    dtype: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class StoredTensors:
    """The tensors of one folder of the archive by name; each is read when it is asked for, and once."""

    def __init__(self, archive: Archive, folder: str, config: str) -> None:
        self.archive = archive
        self.folder = folder
        self.config = field(archive.json(config), "config", dict) if archive.has(config) else {}
        self.storages: dict[str, bytes] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.config

    def payload(self, name: str) -> Payload:
        where = f"{self.archive.where}, tensor {name}"
        entry = require_type(self.config.get(name), dict, f"tensor {name}")
        if entry.get("use_pickle") is not False:
            raise refuse_pickle(where, "a tensor of its own class, or an object")
        meta = field(entry, "tensor_meta", dict)
        if field(meta, "layout", int) != STRIDED:
            raise SubjectError(
                "Sparse weights are not read.",
                where=where,
                remedy="export the network with dense weights",
            )
        sizes, strides = (_lengths(field(meta, key, list), name) for key in ("sizes", "strides"))
        if len(sizes) != len(strides):
            raise Malformed(f"tensor {name}: sizes {sizes} and strides {strides}")
        (offset,) = _lengths([meta.get("storage_offset")], name)
        return Payload(
            field(entry, "path_name", str), field(meta, "dtype", int), sizes, strides, offset
        )

    def array(self, name: str) -> np.ndarray:
        """The tensor in float64, int64 or bool, at the exact values it has in the file."""
        p = self.payload(name)
        dtype = dtype_of(p.dtype, f"{self.archive.where}, tensor {name}")
        self.archive.tensors.spend_array(p.sizes, dtype.itemsize, f"tensor {name}")
        if p.path not in self.storages:
            self.storages[p.path] = self.archive.read(f"{self.folder}/{p.path}")
        data = self.storages[p.path]
        if prod(p.sizes) == 0:
            return to_analysis_type(np.zeros(p.sizes, dtype))
        last = p.offset + sum((n - 1) * s for n, s in zip(p.sizes, p.strides))
        if len(data) % dtype.itemsize or last >= len(data) // dtype.itemsize:
            raise Malformed(
                f"tensor {name}: {len(data):,} bytes for sizes {p.sizes} and strides {p.strides} at {p.offset}"
            )
        steps = [s * dtype.itemsize for s in p.strides]
        return to_analysis_type(np.ndarray(p.sizes, dtype, data, p.offset * dtype.itemsize, steps))


def _lengths(values: list[Any], name: str) -> tuple[int, ...]:
    found = [whole(value) for value in values]
    if None in found:
        raise Malformed(f"tensor {name} has an open length")
    return tuple(n for n in found if n is not None)
