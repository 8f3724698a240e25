"""The processors and the memory that workers may take."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None

_SHARE = 0.85  # of what is available, for all workers together
LEAST_MEMORY = 2 << 30  # below this JAX itself has no room


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory(workers: int) -> int | None:
    """Bytes for each of so many workers; None where nothing is known."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None
    return max(LEAST_MEMORY, int(_SHARE * min([free, *_container_limit()]) / workers))


def limit_data(most: int) -> None:
    """Bytes of data that this process may have from now on, where the system can hold it to that."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


@contextmanager
def limit_memory(more: int) -> Iterator[None]:
    """Meanwhile this process may take so many bytes beyond what it has, where the system says how many these are."""
    taken = _address_space()
    if resource is None or taken is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _address_space() -> int | None:
    """Bytes of addresses that this process has taken."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError):  # not Linux
        return None


def _container_limit() -> list[int]:
    try:
        return [int(Path("/sys/fs/cgroup/memory.max").read_text())]
    except (OSError, ValueError):  # no container, or "max"
        return []
