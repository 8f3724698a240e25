"""Records whose sequences are tuples of plain numbers: immutable, comparable, and written to JSON as they are."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

_PLAIN = frozenset({float, int, bool, str, bytes, type(None)})


class Frozen:
    """Turns the sequences and arrays that a dataclass is given into tuples."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, _freeze(getattr(self, field.name)))


def _freeze(value: Any) -> Any:
    """Nested sequences and arrays as nested tuples of plain Python numbers."""
    if type(value) in _PLAIN:
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        # charts hold many numbers
        return tuple([v if type(v) in _PLAIN else _freeze(v) for v in value])
    return value
