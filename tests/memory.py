"""What a test process holds: little more than what it imports. The largest is named at the end."""

import ctypes
import gc
import sys
from pathlib import Path
from typing import Any

import pytest

# What one test leaves free is scattered between what others keep, and then no page of it can be given back: large
# blocks have pages of their own, and threads share two heaps.
LARGE_BLOCK = 1_000_000  # bytes
M_MMAP_THRESHOLD = -3  # of malloc.h
M_ARENA_MAX = -8
LIBC: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
if hasattr(LIBC, "mallopt"):  # not every libc of Linux is glibc
    LIBC.mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
    LIBC.mallopt(M_ARENA_MAX, 2)


class _Memory:
    """What a test process may hold before compiled programs are let go: JAX keeps every one. They are on disk too, so
    that to let them go costs next to nothing."""

    limit = 1_000_000_000  # bytes
    room = 200_000_000  # above what cannot be let go, or it would be tried after every test
    largest = (
        0,
        "",
    )  # bytes at any time, of any test process, and the test that they were reached in


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Remember where the process was largest, and keep it small."""
    most = largest_resident_bytes()
    if most > _Memory.largest[0]:
        _Memory.largest = (most, item.nodeid)
    let_programs_go()


def let_programs_go() -> None:
    """Where compiled programs have become too many."""
    if resident_bytes() <= _Memory.limit or "jax" not in sys.modules:
        return
    sys.modules["jax"].clear_caches()
    gc.collect()
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)  # glibc keeps what it is given back
    _Memory.limit = max(_Memory.limit, resident_bytes() + _Memory.room)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A test process tells the one that started it how large it was."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["largest"] = _Memory.largest  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_testnodedown(node: Any) -> None:
    """A test process has ended; one that crashed tells nothing."""
    told = getattr(node, "workeroutput", {}).get("largest", (0, ""))
    _Memory.largest = max(_Memory.largest, tuple(told))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the largest."""
    most, where = _Memory.largest
    terminalreporter.write_line(f"largest test process: {most / 1e9:.2f} GB, in {where}")


def resident_bytes() -> int:
    """The memory that this process holds now; 0 where the system does not say."""
    return 1024 * _kilobytes("VmRSS")


def largest_resident_bytes() -> int:
    """The most that it has held; 0 where the system does not say."""
    return 1024 * _kilobytes("VmHWM")


def _kilobytes(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    found = (line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(next(found, "0"))
