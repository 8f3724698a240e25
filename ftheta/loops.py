"""How loops are compiled by Numba: on first use, and kept on disk.

A kernel is one function that Python calls, made of many parts that only compiled functions call. Numba compiles each
function to the end: it wraps it for callers in Python, optimises it, makes machine code of it, and does the same again
with the copies in all that call it. Here parts are written down for LLVM and no more; an entry is joined with each of
its parts once, and the whole is optimised and made machine code once. Long parts are called where they are: copies of a
function that takes a hundred arrays would be most of the work.
"""

from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.entrypoints import init_all
from numba.core.lowering import Lower
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering


def entry(function: Any, fastmath: Any = False) -> Any:
    """A function that Python calls. It makes no array, so that references need not be counted."""
    return _entry(function, _nrt=False, fastmath=fastmath)


def entry_with_arrays(function: Any) -> Any:
    """A function that Python calls and that makes arrays of its own; its parts make none."""
    return _entry(function)


def inner(fastmath: Any = False) -> Any:
    """A function that becomes a part of the compiled functions that call it."""
    return njit(forceinline=True, nogil=True, **part_options(fastmath))


def woven(fastmath: Any = False) -> Any:
    """A function that is read as if it stood where it is called: for those that mostly call others, once or twice."""
    return njit(inline="always", nogil=True, **part_options(fastmath))


def outlined(fastmath: Any = False) -> Any:
    """A long function that compiled functions call, and that is copied nowhere."""
    options = part_options(fastmath) | {"pipeline_class": _OutlinedPartCompiler}
    return njit(forceinline=False, nogil=True, **options)


def part_options(fastmath: Any = False) -> Any:
    """What Numba is told of a function that entries alone need."""
    return {
        "pipeline_class": _PartCompiler,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
        "error_model": "numpy",
        "fastmath": fastmath,
    }


def _entry(function: Any, **options: Any) -> Any:
    usual = {"cache": True, "nogil": True, "error_model": "numpy"}
    return load_directly(njit(pipeline_class=_EntryCompiler, **usual, **options)(function))


# -- one program of an entry and its parts ------------------------------------------------------------------


class _Part(JITCodeLibrary):
    """One function in the language of LLVM, to be linked into entries."""

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # nobody can call it from outside

    @property
    def codegen(self) -> Any:
        return _NoProcess


class _NoProcess:
    """Where a part would run, if it did."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """What a function needs to raise errors with values of Python: parts raise none."""


class _Whole(JITCodeLibrary):
    """An entry, to be linked with its parts."""

    def finalize(self) -> None:
        self._linking_libraries = _all_needed(self)
        super().finalize()


def _all_needed(library: JITCodeLibrary) -> list[JITCodeLibrary]:
    """The libraries that an entry needs, those that these need, and so on."""
    found: dict[JITCodeLibrary, None] = {}
    left = list(library._linking_libraries)
    while left:
        needed = left.pop()
        if needed not in found:
            found[needed] = None
            left += needed._linking_libraries if isinstance(needed, _Part) else []
    return list(found)


@register_pass(mutates_CFG=True, analysis_only=False)
class _EntryLowering(NativeLowering):
    _name = "entry_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)


class _OutlinedFunction(Lower):
    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        self.function.attributes.add("noinline")


@register_pass(mutates_CFG=True, analysis_only=False)
class _OutlinedPartLowering(_PartLowering):
    _name = "outlined_part_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return _OutlinedFunction


# -- Numba's compiler, with the one step exchanged that writes a function down for LLVM ---------------------


class _Compiler(CompilerBase):
    lowering: type[NativeLowering]

    def __init__(self, *context: Any) -> None:
        super().__init__(*context)
        self.state.flags = _Options(self.state.flags)

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if step is NativeLowering else step, why) for step, why in passes.passes
        ]
        passes.finalize()
        return [passes]


class _EntryCompiler(_Compiler):
    lowering = _EntryLowering


class _PartCompiler(_Compiler):
    lowering = _PartLowering


class _OutlinedPartCompiler(_Compiler):
    lowering = _OutlinedPartLowering


class _Options(Flags):
    """The options of a function. Numba looks its operators up in tables that also name a copy of the options."""

    def copy(self) -> Flags:
        copy = _FixedOptions(self)
        return _known_options.setdefault(copy, copy)


class _FixedOptions(Flags):
    """Options that change no more. Equal ones are one object, so that a look into a table compares no forty values."""

    def __init__(self, options: Flags) -> None:
        super().__init__(options)
        self._hash = super().__hash__()

    def __hash__(self) -> int:
        return self._hash


_known_options: dict[Flags, Flags] = {}


# -- what is kept is loaded without the compiler ------------------------------------------------------------


class _Shelf(FunctionCache):
    """The functions that Numba has kept, without the refresh of its registries.

    Before Numba loads a function, it imports all that compiling could need, SciPy's linear algebra among it, a third of
    a second, and looks for its extensions in the metadata of every package that is installed. What is kept needs the
    run-time system alone. Where nothing is kept yet, Numba compiles as always.

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
