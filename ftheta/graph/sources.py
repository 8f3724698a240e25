"""Names of inputs and places in the user's source."""

import inspect
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
from jax.tree_util import keystr

LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
"""Folders whose lines are not the user's."""

JAX = str(Path(jax.__file__).parent)


def input_name(f: Callable[..., Any], path: tuple[Any, ...]) -> str:
    """`x` for a whole argument, `params['w']` for a leaf of one."""
    position = path[0].idx
    rest = keystr(path[1:])
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    variadic = [p.name for p in parameters if p.kind == p.VAR_POSITIONAL]
    if position < len(positional):
        return positional[position] + rest
    return (
        f"{variadic[0]}[{position - len(positional)}]" if variadic else f"x{position + 1}"
    ) + rest


def definition(f: Callable[..., Any]) -> str:
    """Where a function is defined, or what it is if that has no line."""
    target = inspect.unwrap(f)
    code = getattr(getattr(target, "__func__", target), "__code__", None)
    return (
        f"{code.co_filename}:{code.co_firstlineno} ({code.co_name})"
        if code
        else f"({type(f).__name__})"
    )


def user_line(frames: Sequence[Any], enclosing: str) -> str:
    """`file:line (function)` of the innermost frame outside installed libraries.

    JAX cuts tracebacks where a nested function begins, and caches nested functions. So a frame that is there
    belongs to the equation, and library code inside a call is given `enclosing`, the line of the call. A library
    function traced by itself has no such line: then its own line has to do.
    """
    own = [frame for frame in frames if not frame.file_name.startswith(LIBRARIES)]
    others = (
        [frame for frame in frames if not frame.file_name.startswith(JAX)]
        if enclosing.startswith("(")
        else []
    )
    for frame in own or others:
        return f"{frame.file_name}:{frame.line_num} ({frame.function_name.split('.')[-1]})"
    return enclosing
