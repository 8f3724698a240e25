"""What a budget does not count: time in which the machine was busy with something else, and kernels being compiled.

Linux tells of every thread how long it has run and how long it was ready to run and had to wait for a processor. Where
that is not told, all time counts.
"""

import mmap
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol, TypeAlias

from ftheta.processes.resources import cores

LEAST = 0.25  # of the time on the wall counts, however busy the machine is
LOOK = 0.1  # seconds between two looks
# seconds spent compiling so far, and since when one is under way (0: none is)
_RECORD = struct.Struct("dd")


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds in which the threads of a process have run, and have waited for a processor."""

    ran: float
    waited: float


def usage_of(pid: int) -> Usage | None:
    """None where the system does not tell, or the process is gone."""
    ran = waited = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            words = (thread / "schedstat").read_text().split()
            ran += int(words[0])
            waited += int(words[1])
    except (OSError, ValueError, IndexError):
        return None
    return Usage(ran / 1e9, waited / 1e9)


class CompilationRecord:
    """How long a process has been compiling kernels: written there, read here, through a file without a name.

    Kernels are compiled once for an installation. What they take says nothing about the network.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._file = None
        if descriptor is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the record)
            self._file.write(_RECORD.pack(0.0, 0.0))
            self._file.flush()
            descriptor = self._file.fileno()
        self.descriptor = descriptor
        self._shared = mmap.mmap(descriptor, _RECORD.size)

    def close(self) -> None:
        self._shared.close()
        if self._file is not None:
            self._file.close()

    @property
    def seconds(self) -> float:
        """So far, on the wall."""
        total, since = _RECORD.unpack(self._shared[:])
        return total + (monotonic() - since if since else 0.0)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A kernel is compiled here."""
        total = self.seconds
        began = monotonic()
        self._shared[:] = _RECORD.pack(total, began)
        try:
            yield
        finally:
            self._shared[:] = _RECORD.pack(total + monotonic() - began, 0.0)


class Busy(Protocol):
    """A process at work. `held` is what its task has not been charged for."""

    held: float

    @property
    def pid(self) -> int: ...

    @property
    def compile_seconds(self) -> float:
        """Seconds that it has spent compiling kernels."""
        ...


_Known: TypeAlias = dict[int, tuple[Usage | None, float]]
"""Of every process, by its number: what it used, and how long it compiled."""


class Fairness:
    """Looks at processes at work from time to time, and tells how much of the time since then does not count."""

    def __init__(self) -> None:
        self._looked = monotonic()
        self._known: _Known = {}

    def look(self, busy: Sequence[Busy]) -> float:
        """Seconds since the last look that are not counted; each process is told its own in `held`.

        Of the processor time that the processes asked for, as far as the machine has it, they got a share: the same
        share of the time counts. A process that sleeps asks for nothing, and its time counts.
        """
        now = monotonic()
        passed = now - self._looked
        if passed < LOOK:
            return 0.0
        self._looked = now
        before = {process.pid: self._known.get(process.pid, (None, 0.0)) for process in busy}
        known = {process.pid: (usage_of(process.pid), process.compile_seconds) for process in busy}
        self._known |= known
        share = self._share(before, known, passed)
        held = []
        for process in busy:
            compiled = known[process.pid][1] - before[process.pid][1]
            counted = max(0.0, passed - compiled) * share
            process.held += passed - counted
            held.append(passed - counted)
        return sum(held) / len(held) if held else 0.0

    @staticmethod
    def _share(before: _Known, now: _Known, passed: float) -> float:
        ran = asked = 0.0
        for pid, (usage, _) in now.items():
            old = before[pid][0]
            if usage is not None and old is not None:
                ran += max(0.0, usage.ran - old.ran)
                asked += max(0.0, usage.ran - old.ran) + max(0.0, usage.waited - old.waited)
        possible = min(asked, cores() * passed)
        return min(1.0, max(LEAST, ran / possible)) if possible > 0 else 1.0
