"""Kernels of verification: while one is compiled no budget is spent, and it is said."""

import sys
from pathlib import Path
from typing import Any

from numba.core import event

from ftheta.loops import entry
from ftheta.processes.compilation import restart_clock, stop_clock


class _StopsClock(event.Listener):
    """While Numba compiles anything, in whatever thread, no budget is spent."""

    def on_start(self, event: Any) -> None:
        stop_clock()

    def on_end(self, event: Any) -> None:
        restart_clock()


event.register("numba:compile", _StopsClock())


def kernel(function: Any, fastmath: Any = False) -> Any:
    """An entry of compiled code, during whose compilation no budget is spent."""
    return entry(function, fastmath)


def is_at_hand(function: Any) -> bool:
    """Whether a compiled function was used before, or is kept on disk, so that nobody waits for the compiler."""
    if function.signatures or not hasattr(function, "_cache"):
        return True
    index = getattr(getattr(function._cache, "_cache_file", None), "_index_path", None)
    return index is None or Path(index).exists()


def say_that_it_compiles(what: str) -> None:
    """On a terminal: why nothing else happens for a while."""
    if sys.stderr.isatty():
        print(
            f"compiling {what}, once after an installation: this may take twenty seconds …",
            file=sys.stderr,
        )
