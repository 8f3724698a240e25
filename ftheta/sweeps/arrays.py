"""Arrays as bytes, and what a cell may return."""

import io
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from .grid import BITS, is_text

LONGEST = 10_000  # characters of a word
LARGEST = 1 << 28  # bytes of an array
MOST = 500  # results of a cell


def pack_array(array: np.ndarray) -> bytes:
    """The `.npy` file of it."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def unpack_array(data: bytes) -> np.ndarray:
    """The array that was packed; ValueError where these bytes are not one. No more memory is taken than they have."""
    file = io.BytesIO(data)
    try:
        np.lib.format.read_magic(file)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    except (
        Exception
    ) as error:  # it reads Python's syntax, and raises whatever can be wrong with that
        raise ValueError(f"this is not the head of an array: {error}") from error
    if dtype.hasobject or prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError(f"{len(data):,} bytes are no array {dtype}{shape}")
    flat = np.frombuffer(data, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy()


def result_of(returned: Any) -> dict[str, Any]:
    """What `train` returned as names with numbers, words and arrays; one number is called `value`."""
    if not isinstance(returned, Mapping):
        returned = {"value": returned}
    if len(returned) > MOST:
        raise TypeError(f"`train` returned {len(returned):,} results; at most {MOST} can be kept")
    return {_name(name): _value(name, value) for name, value in returned.items()}


def _name(name: Any) -> str:
    good = isinstance(name, str) and bool(name.strip()) and is_text(name)
    if not good or name.startswith("_") or name.lower() == "seed" or "\0" in name:
        raise TypeError(f"{name!r} cannot be the name of a result")
    return name


def _value(name: str, value: Any) -> Any:
    if hasattr(value, "__array__") and not isinstance(
        value, np.ndarray
    ):  # NumPy's scalars, JAX's and torch's arrays
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc" or value.nbytes > LARGEST:
            raise TypeError(
                f"the array {name!r} cannot be kept: {value.dtype}, {value.nbytes:,} bytes"
            )
        value = value.item() if value.ndim == 0 else value
    if isinstance(value, int) and value.bit_length() > BITS:
        raise TypeError(
            f"the result {name!r} cannot be kept: a whole number of more than {BITS} bits"
        )
    if value is None or isinstance(value, (bool, int, float, np.ndarray)):
        return value
    if isinstance(value, str) and len(value) <= LONGEST and is_text(value):
        return value
    remedy = "`train` returns a dict of numbers, short words and arrays"
    raise TypeError(f"the result {name!r} cannot be kept: {type(value).__name__}; {remedy}")
