"""The folder for what is costly to make again: thumbnails and compiled programs."""

import os
from contextlib import suppress
from pathlib import Path


def cache_folder(*parts: str) -> Path | None:
    """A folder of the user's cache (XDG_CACHE_HOME, else ~/.cache), made if need be; None if it cannot be written."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    folder = base.joinpath("ftheta", *parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def compiled_kept() -> dict[str, str]:
    """The environment of a process whose compiled programs are kept for the next one; empty if they cannot be.

    Where JAX_COMPILATION_CACHE_DIR is set, they are kept there; what JAX's other variables say stays too.
    """
    named = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    folder = named or cache_folder("compiled")
    if folder is None:
        return {}
    usual = {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.05",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }
    return {"JAX_COMPILATION_CACHE_DIR": str(folder)} | {
        key: os.environ.get(key, usual[key]) for key in usual
    }


def trim(folder: Path, most: int) -> None:
    """Delete what was used longest ago, until no more than so many bytes are left."""
    known = []
    for path in folder.rglob("*"):
        with suppress(OSError):  # another lab may be at work in the same folder
            state = path.stat()
            if path.is_file():
                known.append((max(state.st_mtime, state.st_atime), state.st_size, path))
    spare = sum(size for _, size, _ in known) - most
    for _, size, path in sorted(known, key=lambda item: item[0]):
        if spare <= 0:
            return
        with suppress(OSError):
            path.unlink()
            spare -= size
