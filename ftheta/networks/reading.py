"""What all readers of files share: how much memory a file may ask for, and how a reader's errors become ours.

A file declares the sizes of its arrays before their numbers come. Each declaration is counted against the `Allowance`
of the file before anything is allocated for it, so that a small file cannot ask for all memory. Whatever a reader
raises that is not an error of ours leaves `reading_file` as one: a new reader cannot forget it.
"""

import gzip
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.errors import FthetaError, SubjectError

MAX_BYTES = 2 << 30
"""Bytes of the file of a network."""
MAX_FILE = 4 << 30
"""Bytes of a file."""
MAX_MEMORY = 4 << 30
"""Bytes that all arrays of a file may take, every number counted as float64."""
MAX_RATIO = 200
"""How many times its own size a file may take in memory."""
ALWAYS_ALLOWED = 256 << 20
"""Bytes that any file may take, however small it is."""
MAX_AXES = 32
_BLOCK = 1 << 20
_GZIP_BEGINS = b"\x1f\x8b"


class Malformed(ValueError):
    """Bytes that are not what their format says, or numbers that no file can mean."""


class Allowance:
    """How many bytes the content of a file may take, and how many are `spent`; `packed` is the size of the file."""

    def __init__(self, where: str, packed: int) -> None:
        self.where = where
        self.packed = packed
        self.spent = 0

    @property
    def limit(self) -> int:
        return min(MAX_MEMORY, max(ALWAYS_ALLOWED, MAX_RATIO * self.packed))

    def extend(self, size: int) -> None:
        """So many bytes of another file belong to this one."""
        self.packed += size

    def spend(self, size: int, what: str = "") -> None:
        """Count bytes that are about to be allocated for `what`."""
        self.spent += size
        if self.spent > self.limit:
            raise SubjectError(
                "The file would take more memory than is allowed.",
                where=f"{self.where}, {what}" if what else self.where,
                got=f"{self.spent:,} bytes in memory from {self.packed:,} in the file, numbers counted as float64",
                remedy=f"write it unpacked, or in parts: a file of this size may take {self.limit:,} bytes",
            )

    def spend_array(self, shape: Sequence[int], itemsize: int, what: str = "") -> None:
        """Count an array that is about to be made; its numbers become float64, whatever they are in the file.

        Lengths of 0 count as 1: an array of shape (0, 2^62) holds nothing, and cannot be made all the same.
        """
        if len(shape) > MAX_AXES or any(n < 0 for n in shape):
            raise Malformed(f"an array of shape {tuple(shape)}"[:200])
        self.spend(prod(max(n, 1) for n in shape) * max(itemsize, 8), what)


@contextmanager
def reading_file(path: Path, kind: str, again: str = "the program that made it") -> Iterator[None]:
    """Whatever goes wrong while the file is read as `kind` becomes a SubjectError that names both.

    `again` is what to write the file with, once more and soundly.
    """
    try:
        yield
    except FthetaError:
        raise
    except MemoryError as error:
        raise SubjectError(
            "The file needs more memory than there is.",
            where=str(path),
            got=f"{_size(path)}, read as {kind}; {_told(error)}",
            remedy="free memory or raise its limit (ulimit -v), or give a smaller file",
        ) from error
    except RecursionError as error:
        raise SubjectError(
            "The file is nested too deeply.",
            where=str(path),
            got=f"{_size(path)}, read as {kind}",
            remedy="write it with fewer levels",
        ) from error
    except OSError as error:
        raise SubjectError(
            "The file cannot be opened or read.",
            where=str(path),
            got=_told(error),
            remedy="check the path and the permissions",
        ) from error
    except Exception as error:  # libraries raise dozens of kinds for broken bytes
        raise SubjectError(
            f"The file cannot be read as {kind}.",
            where=str(path),
            got=_told(error),
            remedy=f"write it again with {again}; --debug shows where the reader stopped",
        ) from error


def _told(error: BaseException) -> str:
    """The kind of an error and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _size(path: Path) -> str:
    try:
        return f"a file of {path.stat().st_size:,} bytes"
    except OSError:
        return "a file"


def ensure_file(path: Path) -> None:
    """Raise unless there is a file with something in it."""
    if not path.is_file():
        raise SubjectError("There is no such file.", got=str(path), remedy="check the path")
    if path.stat().st_size == 0:
        raise SubjectError("The file is empty.", got=str(path))


def ensure_size(path: Path, most: int | None = None) -> int:
    """The size of a file in bytes, which may be at most `most`."""
    ensure_file(path)
    most = MAX_FILE if most is None else min(most, MAX_FILE)
    size = path.stat().st_size
    if size > most:
        raise SubjectError(
            "The file is larger than is allowed.",
            where=str(path),
            got=f"{size:,} bytes",
            remedy=f"give a file of at most {most:,} bytes",
        )
    return size


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file; no more memory is asked for than they take."""
    size = ensure_size(path, most)
    with path.open("rb") as file:
        return file.read(size)


def unpack_gzip(path: Path, most: int | None = None) -> bytes:
    """What a file of gzip unpacks to, block by block, as long as that is allowed."""
    packed = ensure_size(path, most)
    allowance = Allowance(str(path), packed)
    blocks = list[bytes]()
    with gzip.open(path) as file:
        while block := file.read(_BLOCK):
            allowance.spend(len(block))
            blocks.append(block)
    return b"".join(blocks)


def read_text(path: Path) -> str:
    """The text of a file, which may be packed by gzip. Bytes that are not UTF-8 become marks in it."""
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP_BEGINS
    data = unpack_gzip(path) if is_packed else read_bytes(path)
    return data.decode("utf-8-sig", "replace")


def printable(path: Path) -> str:
    """The name of a file as text; a name that is not UTF-8 has marks in it for what cannot be shown."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def to_analysis_type(array: np.ndarray) -> np.ndarray:
    """The same numbers in the types of the analysis: float64, int64, bool."""
    if array.dtype.kind == "b":
        return array
    whole = array.dtype.kind in "iu"
    return array.astype(np.int64 if whole else np.float64)


def type_numbered(
    code: int, known: Mapping[int, Any], refused: Mapping[int, str], where: str
) -> np.dtype:
    """The type of numbers with this number in a format."""
    if code not in known:
        raise SubjectError(
            "Numbers of this type are not read.",
            where=where,
            got=refused.get(code, f"type number {code}"),
            remedy="export the network with float32 or float64 weights",
        )
    return known[code]
