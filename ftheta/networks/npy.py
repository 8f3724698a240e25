"""Plain arrays in NumPy's own format: `.npy` files and the members of `.npz` archives.

NumPy allocates what the header of a file promises before it reads a byte of it. Here the promise is first compared with
the bytes that are there. Nothing is unpickled.
"""

import zipfile
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy

from ftheta.logic import SubjectError

MAX_BYTES = 4 << 30
"""Of all arrays of a file together, unpacked."""
MAX_MEMBERS = 100_000
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def ensure_file(path: Path) -> None:
    """Raise unless there is a file with something in it."""
    if not path.is_file():
        raise SubjectError("There is no such file.", got=str(path), remedy="check the path")
    if path.stat().st_size == 0:
        raise SubjectError("The file is empty.", got=str(path))


def read_npy(path: Path) -> np.ndarray:
    """The array of an `.npy` file."""
    ensure_file(path)
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SubjectError("The file is larger than is allowed.", where=str(path), got=f"{size:,} bytes")
    try:
        with path.open("rb") as file:
            return _array(file, size)
    except Exception as error:  # numpy raises a dozen kinds for broken bytes
        raise _unreadable(path, "an .npy file of one plain array", "numpy.save(path, x)", error) from error


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an `.npz` file by name."""
    ensure_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > MAX_BYTES or len(members) > MAX_MEMBERS:
                raise SubjectError(
                    "The file unpacks to more than is allowed.",
                    where=str(path),
                    got=f"{unpacked:,} bytes in {len(members):,} arrays",
                )
            found: dict[str, np.ndarray] = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in found:
                    raise ValueError(f"two arrays are called {name}")
                with archive.open(member) as file:
                    found[name] = _array(file, member.file_size)  # type: ignore[arg-type]
            return found
    except SubjectError:
        raise
    except Exception as error:  # numpy and zipfile raise a dozen kinds for broken bytes
        raise _unreadable(path, "an .npz archive of plain arrays", "numpy.savez(path, W0=…, b0=…, …)", error) from error


def _array(file: BinaryIO, size: int) -> np.ndarray:
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the format")
    shape, fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which would have to be unpickled")
    left = size - file.tell()
    if any(n < 0 for n in shape) or prod(shape) * dtype.itemsize != left:
        raise ValueError(f"{left:,} bytes for an array of shape {shape} and type {dtype}")
    data = bytearray(file.read(left))  # an array over it can be written to
    if len(data) != left:
        raise ValueError("the bytes end within an array")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    flat = np.frombuffer(data, dtype)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def _unreadable(path: Path, kind: str, written: str, error: Exception) -> SubjectError:
    return SubjectError(
        f"The file cannot be read as {kind}.",
        where=str(path),
        got=f"{type(error).__name__}: {error}",
        remedy=f"write it with {written}; object arrays are refused",
    )
