"""Plain arrays in NumPy's own format: `.npy` files and the members of `.npz` archives.

NumPy allocates what the header of a file promises before it reads a byte of it. Here the promise is first compared with
the bytes that are there, and counted against the allowance of the file. Nothing is unpickled.
"""

import zipfile
from math import prod
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from .reading import Allowance, ensure_size, reading_file

MAX_MEMBERS = 100_000
KINDS = "biufcUSmM"
"""Kinds of plain values. Records and raw bytes are none."""
LAST_CHARACTER = 0x10FFFF
_BLOCK = 1 << 20
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npy(path: Path) -> np.ndarray:
    """The array of an `.npy` file."""
    with reading_file(
        path,
        "an .npy file of one plain array",
        again="numpy.save(path, x); object arrays are refused",
    ):
        size = ensure_size(path)
        with path.open("rb") as file:
            return _array(file, size, Allowance(str(path), size))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an `.npz` file by name."""
    again = "numpy.savez(path, W0=…, b0=…, …); object arrays are refused"
    with reading_file(path, "an .npz archive of plain arrays", again):
        allowance = Allowance(str(path), ensure_size(path))
        with zipfile.ZipFile(path) as archive:
            return _members(archive, allowance)


def _members(archive: zipfile.ZipFile, allowance: Allowance) -> dict[str, np.ndarray]:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"{len(members):,} arrays; {MAX_MEMBERS:,} are allowed")
    found: dict[str, np.ndarray] = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        if name in found:
            raise ValueError(f"two arrays are called {name}")
        with archive.open(member) as file:
            found[name] = _array(file, member.file_size, allowance)
    return found


def _array(file: IO[bytes], size: int, allowance: Allowance) -> np.ndarray:
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the format")
    shape, fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which would have to be unpickled")
    if dtype.kind not in KINDS or dtype.subdtype is not None:
        raise ValueError(f"an array of type {dtype}, which is neither numbers nor words")
    left = size - file.tell()
    if any(n < 0 for n in shape) or prod(shape) * dtype.itemsize != left:
        raise ValueError(f"{left:,} bytes for an array of shape {shape} and type {dtype}")
    if dtype.itemsize == 0 and prod(shape):
        raise ValueError(f"an array of shape {shape} of words without a letter")
    allowance.spend_array(shape, _kept(dtype), "an array")
    flat = np.empty(prod(shape), dtype)
    _fill(flat.view(np.uint8) if flat.nbytes else np.zeros(0, np.uint8), file)
    if dtype.kind == "U":
        _ensure_characters(flat)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def _kept(dtype: np.dtype) -> int:
    """The bytes that one value takes in use: words of bytes become text, of four bytes a letter."""
    return 4 * dtype.itemsize if dtype.kind == "S" else dtype.itemsize


def _fill(data: np.ndarray, file: IO[bytes]) -> None:
    """Read bytes into an array, block by block: nothing is held twice."""
    at = 0
    while at < len(data):
        block = file.read(min(_BLOCK, len(data) - at))
        if not block:
            raise ValueError("the bytes end within an array")
        data[at : at + len(block)] = np.frombuffer(block, np.uint8)
        at += len(block)


def _ensure_characters(words: np.ndarray) -> None:
    """NumPy keeps letters as four bytes each, and does not look whether there is such a letter."""
    if not words.size:
        return
    codes = words.view(words.dtype.str[0] + "u4")
    bad = (codes > LAST_CHARACTER) | ((codes >= 0xD800) & (codes <= 0xDFFF))
    if bad.any():
        raise ValueError(
            f"a word with the character number {int(codes[bad][0]):#x}, which does not exist"
        )
