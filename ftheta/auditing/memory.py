"""How much memory a worker may take: a theorem that needs too much loses its process, not the machine."""

from pathlib import Path

LEFT = 0.85  # of what is available, for all workers together
LEAST = 2 << 30  # below this JAX itself has no room


def available(workers: int) -> int | None:
    """Bytes for each of so many workers; None where nothing is known."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None
    return max(LEAST, int(LEFT * min([free, *_of_container()]) / workers))


def _of_container() -> list[int]:
    try:
        return [int(Path("/sys/fs/cgroup/memory.max").read_text())]
    except (OSError, ValueError):  # no container, or "max"
        return []
