"""Kernels that are being compiled: whoever keeps a clock in this process can stop it meanwhile."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

while_compiling: Callable[[], AbstractContextManager[None]] = nullcontext
"""Entered while a kernel is compiled or loaded."""


class _Standstill:
    """The seconds that `clock` leaves out: those in which at least one thread waits for something that is done once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seconds = 0.0
        self.since = 0.0
        self.depth = 0

    def begin(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.since = time.monotonic()
            self.depth += 1

    def end(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.monotonic() - self.since

    def read(self) -> float:
        with self.lock:
            now = self.since if self.depth else time.monotonic()
            return now - self.seconds


_standstill = _Standstill()


def clock() -> float:
    """Seconds by the clock on the wall, without those in which this process compiled kernels or loaded libraries."""
    return _standstill.read()


def stop_clock() -> None:
    """From here on `clock` stands still, until as many calls of `restart_clock` have followed."""
    _standstill.begin()


def restart_clock() -> None:
    """Whoever stopped the clock has done what is done once."""
    _standstill.end()


@contextmanager
def clock_stopped() -> Iterator[None]:
    """What is done here, once in the life of the process, takes no time on `clock`."""
    stop_clock()
    try:
        yield
    finally:
        restart_clock()
