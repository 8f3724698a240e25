"""The zip archive of a `.pt2` file: which entries are read, and how much of them.

NAME/archive_format                              the word pt2
NAME/byteorder                                   little or big
NAME/models/MODEL.json                           the graph
NAME/data/weights/MODEL_weights_config.json      the parameters and buffers by name, each with its entry
NAME/data/weights/weight_0 …                     their numbers as raw bytes
NAME/data/constants/…                            the same for all other tensors
NAME/data/sample_inputs/MODEL.pt                 a pickle: never read
"""

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import MAX_BYTES, Allowance, Malformed, ensure_size

MAX_ENTRIES = 50_000
MAX_DIRECTORY = 16 << 20  # bytes of the list of entries
MAX_JSON = 32 << 20  # bytes of one JSON entry
OBJECT = 16  # bytes of memory that one byte of JSON may become, such as an empty list
SAVE = "torch.export.save(torch.export.export(module.eval(), (example,)), path)"
AGAIN = f"write it with torch 2.13: {SAVE}"
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")


class Archive:
    """The entries of a file, below the one folder that all are in.

    Bytes that are unpacked count against one allowance, the tensors that are made of them against another.
    """

    def __init__(self, file: IO[bytes], where: str) -> None:
        self.where = where
        size = _ensure_short_directory(file)
        self.unpacked = Allowance(where, size)
        self.tensors = Allowance(where, size)
        try:
            self.zip = zipfile.ZipFile(file)
        except NotImplementedError as error:
            raise Malformed(f"{error}") from error
        self.entries = {info.filename: info for info in self.zip.infolist()}
        self.root = _root(self.entries, where)

    def names(self, folder: str, suffix: str) -> list[str]:
        """The entries `folder/NAME suffix`, as their names alone."""
        start = f"{self.root}/{folder}/"
        found = [
            n[len(start) : -len(suffix)]
            for n in self.entries
            if n.startswith(start) and n.endswith(suffix)
        ]
        return [name for name in found if "/" not in name]

    def has(self, path: str) -> bool:
        return f"{self.root}/{path}" in self.entries

    def read(self, path: str, limit: int = MAX_BYTES) -> bytes:
        """The bytes of an entry of the archive. A path is a name in the archive and nothing else."""
        info = self.entries.get(f"{self.root}/{path}")
        if info is None:
            raise Malformed(f"there is no entry {path[:100]!r}")
        if info.flag_bits & 1 or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise Malformed(f"the entry {path[:100]!r} is encrypted or packed in an unusual way")
        if info.file_size > limit:
            raise SubjectError(
                "An entry of the file is larger than is allowed.",
                where=f"{self.where}, {path[:100]}",
                got=f"{info.file_size:,} bytes",
            )
        self.unpacked.spend(info.file_size, path[:100])
        with self.zip.open(info) as entry:
            data = entry.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise Malformed(f"the entry {path[:100]!r} has not the length it says")
        return data

    def json(self, path: str) -> Any:
        data = self.read(path, MAX_JSON)
        self.unpacked.spend(OBJECT * len(data), path[:100])
        return json.loads(data)


BROKEN = (
    Malformed,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    UnicodeError,
    ValueError,
)
"""What reading bytes that are no sound archive may raise."""


def _ensure_short_directory(file: IO[bytes]) -> int:
    """The size of the file. Its list of entries is held in memory as a whole; the record that ends it says how long."""
    size = file.seek(0, 2)
    file.seek(max(size - (1 << 16) - _END.size, 0))
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END.size:
        raise Malformed("it is not a zip archive, or the end of it is missing")
    entries, length = _END.unpack_from(tail, at)[4:6]
    at64 = tail.rfind(b"PK\6\6")
    if at64 >= 0 and len(tail) - at64 >= _END64.size:
        record = _END64.unpack_from(tail, at64)
        entries = max(entries, record[7]) if entries != 0xFFFF else record[7]
        length = record[8]
    if entries > MAX_ENTRIES or length > MAX_DIRECTORY:
        raise Malformed(f"a list of {entries:,} entries in {length:,} bytes")
    return size


def _root(entries: dict[str, Any], where: str) -> str:
    """The folder that the archive keeps everything in."""
    roots = [
        name.removesuffix("/archive_format") for name in entries if name.endswith("/archive_format")
    ]
    if len(roots) == 1 and "/" not in roots[0]:
        return roots[0]
    if "serialized_exported_program.json" in entries:
        raise refuse_pickle(where, "the layout that torch wrote up to version 2.7")
    if any(name.endswith("data.pkl") for name in entries):
        raise refuse_pickle(where, "an archive of torch.save or torch.jit.save")
    raise Malformed("it has no entry archive_format, which every .pt2 file has")


def refuse_pickle(where: str, got: str) -> SubjectError:
    """The error for a file whose weights are pickled."""
    return SubjectError(
        "The weights in this file are pickled, and pickles are programs: they are never read.",
        where=where,
        got=got,
        remedy=f"load it in torch, where you trust it, and {AGAIN}",
    )


def open_archive(path: Path) -> IO[bytes]:
    """The file, opened for reading, if it is not too large."""
    ensure_size(path, MAX_BYTES)
    return path.open("rb")
