"""The small pictures of the catalogue: made once by a worker, kept in memory and in the user's cache folder."""

import asyncio
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ftheta.catalogue import INDEX, entry_of
from ftheta.processes.caching import cache_folder

from .background import BackgroundJobs

_FORM = 1  # raised when the pictures are drawn differently


class Gallery:
    """`picture(id)` is the SVG and the verdict, or None while it is being made."""

    def __init__(self, background: BackgroundJobs) -> None:
        self.background = background
        self.folder = cache_folder("thumbnails", version("ftheta"))
        self.pictures: dict[str, tuple[str, str]] = {}
        self.making: dict[str, asyncio.Task[None]] = {}

    def picture(self, name: str) -> tuple[str, str] | None:
        entry = entry_of(name)
        id = entry["id"]
        if id not in self.pictures and id not in self.making and not self._recall(entry):
            self.making[id] = asyncio.create_task(self._make(entry))
            self.making[id].add_done_callback(lambda _: self.making.pop(id, None))
        return self.pictures.get(id)

    def close(self) -> None:
        for task in self.making.values():
            task.cancel()

    async def _make(self, entry: dict[str, Any]) -> None:
        header, body = await self.background.picture({"kind": "thumbnail", "theorem": entry["id"]})
        if header["kind"] == "cancelled" and not header.get("late"):
            return
        drawn = header["kind"] == "done"
        self.pictures[entry["id"]] = (body.decode(), header["verdict"]) if drawn else ("", "")
        if drawn and self.folder is not None:
            _write(self._file(entry), {"svg": body.decode(), "verdict": header["verdict"]})

    def _recall(self, entry: dict[str, Any]) -> bool:
        if self.folder is None:
            return False
        try:
            kept = json.loads(self._file(entry).read_text(encoding="utf-8"))
            self.pictures[entry["id"]] = (str(kept["svg"]), str(kept["verdict"]))
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return True

    def _file(self, entry: dict[str, Any]) -> Path:
        assert self.folder is not None
        return self.folder / f"{entry['id']}-{_digest(entry)}.json"


def _digest(entry: dict[str, Any]) -> str:
    """Changes with the theorem: its entry of the index and its source, a file or a folder."""
    # a plug-in's entry has its version
    place = INDEX.parents[2].joinpath(*entry["module"].split("."))
    sources = [place.with_suffix(".py"), *sorted(place.glob("*.py"))]
    text = b"".join(source.read_bytes() for source in sources if source.is_file())
    return hashlib.sha256(json.dumps([_FORM, entry], sort_keys=True).encode() + text).hexdigest()[
        :16
    ]


def _write(path: Path, content: dict[str, str]) -> None:
    """All of the file or none of it: two labs may write it at once."""
    part = path.with_suffix(f".{id(content)}.part")
    try:
        part.write_text(json.dumps(content), encoding="utf-8")
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
