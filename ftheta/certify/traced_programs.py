"""The programs of networks and of functions, traced once and prepared for bounds."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np

from ftheta.graph.domains.linear.program import Program
from ftheta.graph.jaxprs import trace
from ftheta.logic.errors import SubjectError, UsageError

MEANING = "the real function with the stored weights"

_PROGRAMS: WeakKeyDictionary[Any, Program] = WeakKeyDictionary()
"""Of networks, which do not change; a function may read what changes."""


def describe_meaning(f: Any) -> str:
    """Of which function bounds of `f` speak: one that rounds to another type on its way is bounded without that."""
    casts = getattr(f, "casts", ())
    if not casts:
        return MEANING
    more = f" and {len(casts) - 1} more" if len(casts) > 1 else ""
    return f"{MEANING}, without its rounding to another type at {casts[0]}{more}"


def read_input_shape(f: Any) -> tuple[int, ...] | None:
    """The shape of one input, where the network knows it."""
    if isinstance(f, str):
        raise UsageError(
            "Bounds are those of a network.", got=f, remedy="read the file first: ft.load(file)"
        )
    if hasattr(f, "apply") and hasattr(f, "params"):
        return f.input_shape if hasattr(f, "input_shape") else (f.widths[0],)
    if not callable(f):
        raise UsageError(
            "Bounds are those of a network or of a function.",
            got=type(f).__name__,
            remedy="ft.load(file or module)",
        )
    return None


def read_program(f: Any, shape: tuple[int, ...]) -> Program:
    """The program of a network or of a function of one array, prepared for bounds."""
    if not (hasattr(f, "apply") and hasattr(f, "params")):
        return _prepare(f, shape)
    if f not in _PROGRAMS:
        _PROGRAMS[f] = _prepare(lambda x: f.apply(f.params, x), shape)
    return _PROGRAMS[f]


def _prepare(function: Callable[[Any], Any], shape: tuple[int, ...]) -> Program:
    with jax.enable_x64(True):
        graph = trace(function, jax.ShapeDtypeStruct(shape, np.float64), fold_rounded=False)
    if len(graph.outputs) != 1 or not graph.outputs[0].is_real:
        raise SubjectError(
            "Bounds are those of one array of real numbers.", got=", ".join(map(str, graph.outputs))
        )
    return Program.of(graph)
