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
from typing import Any

from ftheta.logic import FthetaError, SubjectError, UsageError
from ftheta.report.letters import visible

from .protocol import BREAKER, BUILT_IN
from .workers import Job

LARGEST = 64 << 20  # bytes of one file
MOST_BYTES, MOST_FILES = 1 << 30, 64  # of all files that are kept
# parsed by `load`, never executed
SUFFIXES = (".onnx.gz", ".onnx", ".npz", ".npy", ".csv", ".parquet", ".txt", ".safetensors", ".pt2")
NAMED = ("digits-mlp", "digits-test", "moons", "circles", "spirals", "mnist1d")
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
    size: int = 0

    @property
    def listed(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "kind": self.kind, "facts": self.facts}


class Shelf:
    """`ask(job)` has a job done by a worker."""

    def __init__(self, ask: Any, given: str | None) -> None:
        self.ask = ask
        self.folder = Path(mkdtemp(prefix="ftheta-lab-"))
        known = NAMED + (BUNDLED if find_spec("sklearn") else ())
        words = {name: name for name in known} | ({GIVEN: given} if given else {})
        self.entries = {id: Entry(id, _shown(word), {"words": word}) for id, word in words.items()}
        self.described = asyncio.Lock()

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def source(self, id: str) -> dict[str, str] | None:
        """Where a worker reads the subject; None for the theorem's own and for its negative control."""
        if id in (BUILT_IN, BREAKER):
            return None
        if id not in self.entries:
            known = ", ".join([BUILT_IN, BREAKER, *self.entries])
            remedy = f"choose one of {known}; uploaded files are forgotten when the lab ends"
            raise SubjectError("There is no such subject here.", got=id, remedy=remedy)
        return self.entries[id].source

    async def listed(self) -> list[dict[str, Any]]:
        """All subjects with their facts; those known by name are read when the list is first asked for."""
        async with self.described:
            for entry in [e for e in self.entries.values() if not e.kind]:
                self.entries[entry.id] = await self._described(entry)
        return [entry.listed for entry in self.entries.values()]

    async def upload(self, name: str, chunks: AsyncIterator[bytes], length: int | None) -> dict[str, Any]:
        """Keep a file under a name of our own, and have it read."""
        suffix = _suffix(name)
        if length is not None and length > LARGEST:
            raise _too_large(length)
        path, digest, size = await self._stored(suffix, chunks)
        id = f"file-{digest[:12]}"
        if id in self.entries:
            path.unlink()
            return self.entries[id].listed
        try:
            entry = Entry(id, _shown(name), {"path": str(path), "name": _shown(name)}, size=size)
            self.entries[id] = await self._described(entry)
        except FthetaError:
            path.unlink(missing_ok=True)
            raise
        return self.entries[id].listed

    async def _described(self, entry: Entry) -> Entry:
        header, _ = await self.ask(Job({"kind": "read", "source": entry.source}))
        facts = tuple((label, value) for label, value in header["facts"])
        return Entry(entry.id, entry.name, entry.source, header["type"], facts, entry.size)

    async def _stored(self, suffix: str, chunks: AsyncIterator[bytes]) -> tuple[Path, str, int]:
        kept = sum(entry.size for entry in self.entries.values())
        files = sum("path" in entry.source for entry in self.entries.values())
        hasher, size = hashlib.sha256(suffix.encode()), 0
        path = Path(mkdtemp(dir=self.folder)) / f"upload{suffix}"
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > LARGEST:
                        raise _too_large(size)
                    if kept + size > MOST_BYTES or files >= MOST_FILES:
                        raise SubjectError("The lab keeps no more files.", remedy="end the lab and start it again")
                    hasher.update(chunk)
                    file.write(chunk)
        except BaseException:  # also when the page goes away in the middle
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        return path, hasher.hexdigest(), size


class TooLarge(UsageError):
    """A file above the limit."""


def _too_large(size: int) -> TooLarge:
    return TooLarge("The file is too large.", got=f"{size:,} bytes", remedy=f"at most {LARGEST:,} bytes")


def _suffix(name: str) -> str:
    """The ending of the name, one of those that are read; nothing else of the name is used for the file."""
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix):
            return suffix
    raise SubjectError("Files of this kind are not read.", got=_shown(name), remedy=f"give {', '.join(SUFFIXES)}")


def _shown(name: str) -> str:
    """The name to show: its last part, without control characters."""
    last = visible(name).replace("\\", "/").rpartition("/")[2].strip()
    return last[-80:] or "file"
