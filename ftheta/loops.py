"""How loops are compiled by Numba: on first use, and kept on disk.

A kernel is one function that Python calls, made of many that only compiled functions call. Numba wraps every function
for callers in Python, and its optimiser copies a function into all that call it: where arguments are a hundred arrays,
that is most of the work of compiling. So entries alone are wrapped, and long functions are called where they are.
"""

from typing import Any

from numba import njit
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering


def entry(function: Any) -> Any:
    """A function that Python calls. It makes no array, so that references need not be counted."""
    return njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)  # type: ignore[call-overload]


def inner(fastmath: Any = False) -> Any:
    """A function that becomes a part of the compiled functions that call it."""
    return njit(forceinline=True, **_unwrapped_options(fastmath))


def woven(fastmath: Any = False) -> Any:
    """A function that is read as if it stood where it is called: for those that mostly call others, once or twice."""
    return njit(inline="always", **_unwrapped_options(fastmath))


def outlined(fastmath: Any = False) -> Any:
    """A long function that compiled functions call, and that is copied nowhere."""
    return njit(forceinline=False, pipeline_class=_Outlining, **_unwrapped_options(fastmath))


def _unwrapped_options(fastmath: Any) -> dict[str, Any]:
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    return {"nogil": True, "error_model": "numpy", "fastmath": fastmath, **options}


class _OutlinedFunction(Lower):
    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.function.attributes.add("noinline")


@register_pass(mutates_CFG=True, analysis_only=False)
class _OutlinedLowering(NativeLowering):
    _name = "outlined_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _OutlinedFunction


class _Outlining(CompilerBase):
    """Numba's compiler, with the one step exchanged that writes a function down for LLVM."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_OutlinedLowering if step is NativeLowering else step, why)
            for step, why in passes.passes
        ]
        passes.finalize()
        return [passes]
