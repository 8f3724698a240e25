"""What makes two sweeps the same: a digest of what is trained, by its code and its data."""

import json
import pickle
import types
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    tuple,
    list,
    dict,
    set,
    frozenset,
    np.ndarray,
    np.generic,
    type(None),
)


def digest(told: Any) -> str:
    """Of anything JSON can say."""
    return blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()


def array_digest(*arrays: Any) -> str:
    """A digest of types, shapes and numbers of the arrays."""
    hasher = blake2b(digest_size=16)
    for array in map(np.asarray, arrays):
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        hasher.update(np.ascontiguousarray(array).data)
    return hasher.hexdigest()


def name_of(function: Any) -> str:
    """`module:function`, as far as it has a name."""
    inner = function.func if isinstance(function, partial) else function
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{getattr(inner, '__module__', None) or type(inner).__module__}:{name}"


def code_digest(function: Any) -> str:
    """Of what a function does: its compiled code without comments, its defaults, what it closes over, the plain values
    that it reads from its module, and the functions of that module that it calls. Other modules are not looked into."""
    return digest(_told(function, frozenset()))


def _told(value: Any, inside: frozenset[int]) -> Any:
    """In JSON's words; `inside` are the things that this one is a part of."""
    if id(value) in inside:
        return "itself"
    told = partial(_told, inside=inside | {id(value)})
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, types.CodeType):
        names = (
            value.co_varnames[: value.co_argcount + value.co_kwonlyargcount],
            value.co_names,
            value.co_freevars,
        )
        return [
            value.co_code.hex(),
            *map(list, names),
            [told(constant) for constant in value.co_consts],
        ]
    if isinstance(value, types.FunctionType):
        return [name_of(value), *map(told, _parts(value))]
    if isinstance(value, partial):
        return ["partial", told(value.func), told(value.args), told(value.keywords)]
    if isinstance(value, types.MethodType):
        return ["method", told(value.__func__), told(value.__self__)]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
        return ["array", array_digest(value)]
    if isinstance(value, Mapping):
        return [[told(k), told(v)] for k, v in value.items()]
    if isinstance(value, (tuple, list)):
        return [told(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(json.dumps(told(part)) for part in value)
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        return [type(value).__name__, getattr(value, "__name__", "")]
    return [name_of(type(value)), *_anything(value, told)]


def _anything(value: Any, told: Any) -> list[Any]:
    """By its pickle, or else by what it holds."""
    try:
        return [blake2b(pickle.dumps(value, protocol=5), digest_size=16).hexdigest()]
    except Exception:
        return [told(getattr(value, "__dict__", repr(value)))]


def _parts(function: types.FunctionType) -> Iterator[Any]:
    code = function.__code__
    wide = function.__globals__
    if function.__doc__ is not None and code.co_consts[:1] == (function.__doc__,):
        code = code.replace(co_consts=(None, *code.co_consts[1:]))
    yield from (code, function.__defaults__, function.__kwdefaults__)
    yield [cell.cell_contents for cell in function.__closure__ or () if not _empty(cell)]
    yield {
        name: wide[name]
        for name in sorted(_names(code))
        if name in wide and _near(wide[name], function)
    }


def _near(value: Any, function: types.FunctionType) -> bool:
    """A plain value, or a function of the same module."""
    return isinstance(value, PLAIN) or (
        isinstance(value, types.FunctionType) and value.__module__ == function.__module__
    )


def _names(code: types.CodeType) -> set[str]:
    inner = (
        _names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)
    )
    return set(code.co_names).union(*inner)


def _empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True
