"""The folder for the files of one lab: uploads, and its workers' temporary files. It is deleted when the lab ends.

A lab that was killed could not do that, so each lab deletes what others have left behind when it starts. A folder was
left behind if it is ours (its name, its owner, a true folder that nobody else may enter), if no process has the number
that stands in its name, and if nobody holds its lock; the lock is seen also from containers that number their
processes anew. Windows has neither such locks nor owners: there nothing is deleted that another lab has left.
"""

import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_PREFIX = "ftheta-lab-"
_NAME = re.compile(rf"{_PREFIX}(\d+)-\w+")
_LOCK = "lock"


class Scratch:
    """A new folder, locked until it is closed or the process ends."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self.lock = (
            None
            if fcntl is None
            else os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        )
        if fcntl is not None and self.lock is not None:
            fcntl.flock(self.lock, fcntl.LOCK_EX)

    def room(self, name: str) -> Path:
        """A folder inside."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def close(self) -> None:
        """Delete it and all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.lock is not None:
            with suppress(OSError):  # closed before
                os.close(self.lock)


def sweep() -> None:
    """Delete the folders of labs that were killed."""
    if fcntl is None:
        return
    for path in Path(gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another lab sweeps too
            if _is_left_behind(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_left_behind(path: Path) -> bool:
    found = _NAME.fullmatch(path.name)
    state = path.lstat()  # of a link itself, not of what it points to
    own = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077
    return found is not None and own and not _runs(int(found[1])) and not _is_locked(path)


def _runs(process: int) -> bool:
    """Whether there is such a process, whosever it is."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _is_locked(path: Path) -> bool:
    assert fcntl is not None
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
