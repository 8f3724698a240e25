"""Tensors of a file as NumPy arrays: dtypes, sizes and external data are checked before anything is read."""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import Allowance, Malformed, type_numbered

DTYPES: Mapping[int, Any] = {
    1: np.dtype("<f4"),
    2: np.dtype("u1"),
    3: np.dtype("i1"),
    4: np.dtype("<u2"),
    5: np.dtype("<i2"),
    6: np.dtype("<i4"),
    7: np.dtype("<i8"),
    9: np.dtype("?"),
    10: np.dtype("<f2"),
    11: np.dtype("<f8"),
    12: np.dtype("<u4"),
    13: np.dtype("<u8"),
    16: np.dtype(ml_dtypes.bfloat16),
}
"""Element types by their number in `TensorProto.DataType`."""

REFUSED = {8: "string", 14: "complex64", 15: "complex128"} | {
    17 + i: name
    for i, name in enumerate(
        (
            "float8e4m3fn",
            "float8e4m3fnuz",
            "float8e5m2",
            "float8e5m2fnuz",
            "uint4",
            "int4",
            "float4e2m1",
        )
    )
}
REAL = frozenset((1, 10, 11, 16))
EXTERNAL = 1  # the data_location that says so


def dtype_of(code: int, where: str) -> np.dtype:
    """The NumPy dtype of a code of ONNX's TensorProto.DataType; refuses those that are not read."""
    return type_numbered(code, DTYPES, REFUSED, where)


class ExternalData:
    """The folder of a model, the only place from which its external data may come, and what its tensors may take."""

    def __init__(self, folder: Path | None, allowance: Allowance) -> None:
        self.folder = folder
        self.allowance = allowance

    def read(self, entries: Mapping[str, str], size: int, where: str) -> bytes:
        """`size` bytes of the file that the entries name; paths out of the folder, also by links, are refused."""
        location = entries.get("location", "")
        if self.folder is None or not location:
            raise SubjectError(
                "The tensor has no data.", where=where, got="external data without a file"
            )
        folder = self.folder.resolve()
        path = (folder / location).resolve()
        if Path(location).is_absolute() or not path.is_relative_to(folder) or "\0" in location:
            raise SubjectError(
                "External data outside the folder of the model are not read.",
                where=where,
                got=location,
                remedy="put the data beside the model and name it by a relative path",
            )
        if not path.is_file():
            raise SubjectError("There is no such file of external data.", where=where, got=location)
        start = _whole(entries, "offset", 0)
        length = _whole(entries, "length", size)
        if length != size or start + size > path.stat().st_size:
            raise Malformed(
                f"{where}: external data of {length:,} bytes at {start:,} for a tensor of {size:,} bytes"
            )
        with path.open("rb") as file:
            file.seek(start)
            return file.read(size)


def _whole(entries: Mapping[str, str], key: str, default: int) -> int:
    word = entries.get(key, str(default))
    if not (word.isascii() and word.isdigit() and len(word) < 19):
        raise Malformed(f"{key} of external data is {word[:40]!r}")
    return int(word)


def array_of(tensor: Mapping[str, Any], external: ExternalData, where: str) -> np.ndarray:
    """The array of a decoded TensorProto, in the type of the file."""
    where = f"{where}, tensor {tensor['name']}" if tensor["name"] else where
    dtype = dtype_of(tensor["data_type"], where)
    dims = tuple(tensor["dims"])
    size = prod(dims) * dtype.itemsize
    if tensor["data_location"] == EXTERNAL:
        external.allowance.extend(max(size, 0))
    external.allowance.spend_array(dims, dtype.itemsize, f"tensor {tensor['name']}")
    if tensor["data_location"] == EXTERNAL:
        entries = {entry["key"]: entry["value"] for entry in tensor["external_data"]}
        flat = np.frombuffer(external.read(entries, size, where), dtype)
    elif len(tensor["raw_data"]) or size == 0:
        if len(tensor["raw_data"]) != size:
            raise Malformed(
                f"{where}: {len(tensor['raw_data']):,} bytes for a tensor of {size:,} bytes"
            )
        flat = np.frombuffer(tensor["raw_data"], dtype)
    else:
        flat = _read_typed_list(tensor, dtype)
    if flat.size != prod(dims):
        raise Malformed(f"{where}: {flat.size:,} numbers for a shape {dims}")
    return flat.reshape(dims)


def _read_typed_list(tensor: Mapping[str, Any], dtype: np.dtype) -> np.ndarray:
    """The numbers of the typed lists; 16-bit floats are kept as their bits in the list of integers."""
    if dtype == np.float32 or dtype == np.float64:
        return _join_parts(tensor["float_data" if dtype == np.float32 else "double_data"], dtype)
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        return _join_parts(tensor["int32_data"], np.int64).astype(np.uint16).view(dtype)
    key = {"<i8": "int64_data", "<u8": "uint64_data", "<u4": "uint64_data"}.get(
        dtype.str, "int32_data"
    )
    return _join_parts(tensor[key], np.int64).astype(dtype)


def _join_parts(parts: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype, copy=False)
