"""The subjects that a page can choose: built-in ones, the one the lab was started with, and uploaded files.

A page names them by id and nothing else; what an id stands for (words, a file) never comes from a page.
"""

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any

from ftheta.logic import SubjectError, UsageError
from ftheta.report.letters import visible

from .protocol import BREAKER, BUILT_IN
from .workers import Job

LARGEST = 64 << 20  # bytes of one file
# of all files that are kept
MOST_BYTES = 1 << 30
MOST_FILES = 64
# parsed by `load`, never executed
SUFFIXES = (".onnx.gz", ".onnx", ".npz", ".npy", ".csv", ".parquet", ".txt", ".safetensors", ".pt2")
NAMED = ("digits-mlp", "digits-certified", "digits-test", "moons", "circles", "spirals", "mnist1d")
BUNDLED = ("iris", "wine", "breast-cancer", "diabetes")  # in scikit-learn, where that is installed
GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Entry:
    """A subject as the page lists it, and the source that a worker reads it from."""

    id: str
    name: str
    source: dict[str, str] = field(repr=False)
    kind: str = ""
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def summary(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "kind": self.kind, "facts": self.facts}


class Room:
    """The files that are kept or on their way, and their bytes. What a file takes is counted before it is there, so
    that many that come at once find no more room than one after the other."""

    def __init__(self) -> None:
        self.files = 0
        self.bytes = 0


class Place:
    """Room for one file: it grows with the file, and is given back on the way out unless the file was `kept`."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.size = 0
        self.kept = False

    def __enter__(self) -> "Place":
        if self.room.files >= MOST_FILES:
            raise _full(f"{self.room.files} files")
        self.room.files += 1
        return self

    def grow(self, size: int) -> None:
        """Take room for so many bytes more."""
        if self.size + size > LARGEST:
            raise _too_large(self.size + size)
        if self.room.bytes + size > MOST_BYTES:
            raise _full(f"{self.room.bytes:,} bytes")
        self.size += size
        self.room.bytes += size

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.kept:
            self.room.files -= 1
            self.room.bytes -= self.size


class SubjectStore:
    """`ask(job)` has a job done by a worker; files are kept in `folder`."""

    def __init__(self, ask: Any, given: str | None, folder: Path) -> None:
        self.ask = ask
        self.folder = folder
        self.room = Room()
        known = NAMED + (BUNDLED if find_spec("sklearn") else ())
        words = {name: name for name in known} | ({GIVEN: given} if given else {})
        self.entries = {id: Entry(id, _shown(word), {"words": word}) for id, word in words.items()}
        self.described = asyncio.Lock()

    def source(self, id: str) -> dict[str, str] | None:
        """Where a worker reads the subject; None for the theorem's own and for its negative control."""
        if id in (BUILT_IN, BREAKER):
            return None
        if id not in self.entries:
            known = ", ".join([BUILT_IN, BREAKER, *self.entries])
            remedy = f"choose one of {known}; uploaded files are forgotten when the lab ends"
            raise SubjectError("There is no such subject here.", got=id, remedy=remedy)
        return self.entries[id].source

    def audit_source(self, id: str, kind: str) -> dict[str, str]:
        """The same for an audit, where the subject must be of a kind."""
        source = self.source(id)
        if source is None:
            raise SubjectError(
                "An audit needs a subject with a name.", got=id, remedy="choose one of the list"
            )
        known = self.entries[id].kind
        if known and known != kind:
            raise SubjectError(
                f"A {kind} is needed here.", got=f"{self.entries[id].name}, a {known}"
            )
        return {"name": self.entries[id].name, **source}

    async def list_subjects(self) -> list[dict[str, Any]]:
        """All subjects with their facts; those known by name are read when the list is first asked for."""
        async with self.described:
            for entry in [e for e in self.entries.values() if not e.kind]:
                self.entries[entry.id] = await self._describe(entry)
        return [entry.summary for entry in self.entries.values()]

    async def upload(
        self, name: str, chunks: AsyncIterator[bytes], length: int | None
    ) -> dict[str, Any]:
        """Keep a file under a name of our own, and have it read."""
        suffix = _suffix(name)
        if length is not None and length > LARGEST:
            raise _too_large(length)
        with Place(self.room) as place:
            path = Path(mkdtemp(dir=self.folder)) / f"upload{suffix}"
            try:
                id = await _store_chunks(path, chunks, place)
                if id not in self.entries:
                    entry = Entry(id, _shown(name), {"path": str(path), "name": _shown(name)})
                    described = await self._describe(entry)
                    if id not in self.entries:  # the same file may have come twice at once
                        self.entries[id] = described
                        place.kept = True
                return self.entries[id].summary
            finally:
                if not place.kept:  # also when the page goes away in the middle
                    shutil.rmtree(path.parent, ignore_errors=True)

    async def _describe(self, entry: Entry) -> Entry:
        header, _ = await self.ask(Job({"kind": "read", "source": entry.source}))
        facts = tuple((label, value) for label, value in header["facts"])
        return Entry(entry.id, entry.name, entry.source, header["type"], facts)


async def _store_chunks(path: Path, chunks: AsyncIterator[bytes], place: Place) -> str:
    """Write a file as it comes; its id, which is that of its content and its kind."""
    hasher = hashlib.sha256("".join(path.suffixes).encode())
    with path.open("xb") as file:
        async for chunk in chunks:
            place.grow(len(chunk))
            hasher.update(chunk)
            file.write(chunk)
    return f"file-{hasher.hexdigest()[:12]}"


def _full(kept: str) -> SubjectError:
    return SubjectError(
        "The lab keeps no more files.", got=kept, remedy="end the lab and start it again"
    )


class TooLarge(UsageError):
    """A file above the limit."""


def _too_large(size: int) -> TooLarge:
    return TooLarge(
        "The file is too large.", got=f"{size:,} bytes", remedy=f"at most {LARGEST:,} bytes"
    )


def _suffix(name: str) -> str:
    """The ending of the name, one of those that are read; nothing else of the name is used for the file."""
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix):
            return suffix
    raise SubjectError(
        "Files of this kind are not read.", got=_shown(name), remedy=f"give {', '.join(SUFFIXES)}"
    )


def _shown(name: str) -> str:
    """The name to show: its last part, without control characters."""
    last = visible(name).replace("\\", "/").rpartition("/")[2].strip()
    return last[-80:] or "file"
