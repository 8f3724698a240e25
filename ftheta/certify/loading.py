"""Compiled functions that are loaded from disk without Numba's compiler.

Before Numba loads a function that it has kept, it imports all that compiling could need, SciPy's linear algebra among
it, a third of a second, and looks for its extensions in the metadata of every package that is installed. What is kept
needs the run-time system alone. Where nothing is kept yet, Numba compiles as always, and says so.
"""

import sys
from pathlib import Path
from typing import Any

from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.entrypoints import init_all
from numba.core.runtime.nrt import rtsys

from ftheta.processes.compilation import restart_clock, stop_clock


class _StopsClock(event.Listener):
    """While Numba compiles anything, in whatever thread, no budget is spent."""

    def on_start(self, event: Any) -> None:
        stop_clock()

    def on_end(self, event: Any) -> None:
        restart_clock()


event.register("numba:compile", _StopsClock())


class _Shelf(FunctionCache):
    """The functions that Numba has kept, without the refresh of its registries.

    What is kept holds for the sources of the whole folder: Numba itself looks at the file of the function alone, not at
    those of the functions that it calls.
    """

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        folder = Path(py_func.__code__.co_filename).parent
        sources = [(path.name, path.stat()) for path in sorted(folder.glob("[!_]*.py"))]
        stamps = tuple((name, stat.st_mtime, stat.st_size) for name, stat in sources)
        if hasattr(self._cache_file, "_source_stamp"):
            self._cache_file._source_stamp = (self._cache_file._source_stamp, stamps)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        found = None
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
        if found is None:  # it will be compiled
            init_all()
        return found


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


def _wait() -> None:
    """Extensions of Numba are looked for when something is compiled: see `_Shelf`."""


def load_directly(function: Any) -> Any:
    """Let a function compiled with `cache=True` be loaded so."""
    if hasattr(FunctionCache, "_load_overload") and isinstance(
        getattr(function, "_cache", None), FunctionCache
    ):
        function._cache = _Shelf(function.py_func)
        function._compilation_chain_init_hook = _wait
    return function
