"""The processors and the memory that workers may take."""

import os
from pathlib import Path

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


def _container_limit() -> list[int]:
    try:
        return [int(Path("/sys/fs/cgroup/memory.max").read_text())]
    except (OSError, ValueError):  # no container, or "max"
        return []
