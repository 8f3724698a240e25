"""Compiled functions that are loaded from disk without Numba's compiler.

Before Numba loads a function that it has kept, it imports all that compiling could need, SciPy's linear algebra among
it: a third of a second. What is kept needs the run-time system alone. Where nothing is kept yet, Numba compiles as
always.
"""

from typing import Any

from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys


class _Shelf(FunctionCache):
    """The functions that Numba has kept, without the refresh of its registries."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def load_directly(function: Any) -> Any:
    """Let a function compiled with `cache=True` be loaded so."""
    if hasattr(FunctionCache, "_load_overload") and isinstance(getattr(function, "_cache", None), FunctionCache):
        function._cache = _Shelf(function.py_func)
    return function
