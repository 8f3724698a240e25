"""Arguments of the nodes of an exported program."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import Malformed

from .fields import field, real, require_type, union


@dataclass(frozen=True)
class Ref:
    """An argument that is the value of input number `place` of the node."""

    place: int


@dataclass(frozen=True)
class Dtype:
    """An argument that is a type of numbers."""

    code: int


SUBGRAPH = object()
"""An argument that is a graph of its own."""


def fill_argument(argument: Any, inputs: list[Any]) -> Any:
    """The argument with the values that its references stand for."""
    if isinstance(argument, list):
        return [fill_argument(one, inputs) for one in argument]
    return inputs[argument.place] if isinstance(argument, Ref) else argument


def argument_of(argument: Any, inputs: list[str], where: str) -> Any:
    """The value of an argument; a `Ref` stands for a value of the graph, whose name is added to `inputs`."""
    kind, held = union(argument)

    def ref(name: Any) -> Ref:
        inputs.append(require_type(name, str, "a name"))
        return Ref(len(inputs) - 1)

    def symbol(value: Any) -> Any:
        key, inner = union(value)
        if key == "as_name":
            return ref(inner)
        return real(inner) if key == "as_float" else require_type(inner, int | bool, key)  # type: ignore[arg-type]

    def optional(value: Any) -> Any:
        key, inner = union(value)
        return None if key == "as_none" else ref(field(inner, "name", str))

    if kind in _NOTHING:
        return None
    if kind in _PLAIN:
        return _PLAIN[kind](held)
    if kind == "as_tensor":
        return ref(field(held, "name", str))
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
        return symbol(held)
    if kind == "as_optional_tensor":
        return optional(held)
    many = {"as_tensors": lambda v: ref(field(v, "name", str)), "as_optional_tensors": optional}
    many |= dict.fromkeys(("as_sym_ints", "as_sym_floats", "as_sym_bools"), symbol)
    if kind in many:
        return [many[kind](value) for value in require_type(held, list, kind)]
    if kind == "as_graph":
        return SUBGRAPH
    raise SubjectError(
        "An argument of this kind is not read.",
        where=where,
        got=kind[:40],
        remedy="export the network with plain tensors and numbers",
    )


_NOTHING = frozenset(("as_none", "as_memory_format", "as_layout", "as_device", "as_operator"))


def _list_of(read: Any) -> Any:
    return lambda values: [read(value) for value in require_type(values, list, "a list")]


def _whole(value: Any) -> int:
    number = require_type(value, int, "a whole number")
    if not -(1 << 63) <= number < 1 << 63:
        raise Malformed("a whole number of more than 64 bits")
    return number


def _truth(value: Any) -> bool:
    return require_type(value, bool, "a truth value")


def _text(value: Any) -> str:
    return require_type(value, str, "a word")


_PLAIN: Mapping[str, Any] = {
    "as_int": _whole,
    "as_float": real,
    "as_bool": _truth,
    "as_string": _text,
    "as_scalar_type": lambda value: Dtype(_whole(value)),
    "as_ints": _list_of(_whole),
    "as_floats": _list_of(real),
    "as_bools": _list_of(_truth),
    "as_strings": _list_of(_text),
}
