"""Public functions of a network take modules of torch as they are.

`ft.ntk(module, x)` is `ft.ntk(ft.load(module, x[:1]), x)`: the shape of an input is read off what else is given.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.modules import is_torch, shape_of_first_layer


def accept_modules(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes modules of torch where it takes networks; tensors become arrays beside them."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        if not any(map(is_torch, (*given, *named.values()))):
            return function(*given, **named)
        others = [part for part in (*given, *named.values()) if not is_torch(part)]
        read = lambda part: _network_of(part, others) if is_torch(part) else _array_of(part)
        return function(*map(read, given), **{name: read(part) for name, part in named.items()})

    return call


def _network_of(module: Any, others: Iterable[Any]) -> Any:
    from .resolve import load

    if hasattr(module, "run_decompositions"):  # exported: it knows its inputs
        return load(module)
    shape = next((shape for shape in map(_shape_of_row, others) if shape is not None), None)
    if shape is None:
        shape = shape_of_first_layer(module)
    if shape is None:
        raise SubjectError(
            "A module of torch needs an example of its input.",
            got=type(module).__name__,
            remedy="ft.load(module, torch.zeros(1, 3, 224, 224)), or its shape, and hand in what it returns",
        )
    return load(module, (1, *shape))


def _shape_of_row(part: Any) -> tuple[int, ...] | None:
    """The shape of one input, of rows, a pair (x, y), data, a domain, or a property or region around an input."""
    if type(part) is tuple:
        return _shape_of_row(part[0]) if part and np.ndim(part[0]) > 1 else None
    if hasattr(part, "x") and hasattr(part, "y"):
        return tuple(part.x.shape[1:])
    for name in ("x", "centre"):
        if np.ndim(getattr(part, name, 0)) > 0:
            return np.shape(getattr(part, name))
    if hasattr(part, "chart"):  # a domain of inputs
        return np.shape(part.chart.origin)
    shape = getattr(part, "shape", ())
    return tuple(shape[1:]) if len(shape) > 1 else None


def _array_of(part: Any) -> Any:
    """A tensor as an array, alone or in a pair."""
    if type(part) is tuple:
        return tuple(_array_of(inner) for inner in part)
    return part.detach().cpu().numpy() if hasattr(part, "detach") else part
