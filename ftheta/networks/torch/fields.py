"""JSON with the types it should have: every look-up says what it expects, and raises if it finds something else."""

from typing import Any, TypeVar

from ftheta.networks.reading import Malformed

T = TypeVar("T")


def field(value: Any, key: str, kind: type[T]) -> T:
    """`value[key]` of an object, of that type."""
    return require_type(require_type(value, dict, "an object").get(key), kind, key)


def require_type(value: Any, kind: type[T], what: str) -> T:
    """The value, if it is of this kind; `Malformed` says what it is otherwise. Truth values are no integers."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Malformed(f"{what[:60]} is {str(value)[:60]!r}, which is no {kind.__name__}")
    return value


def union(value: Any) -> tuple[str, Any]:
    """An object with one key, which says what the value is: `{"as_int": 3}`."""
    found = [(key, held) for key, held in require_type(value, dict, "a value").items()]
    if len(found) != 1:
        raise Malformed(f"a value with the keys {[key for key, _ in found][:5]} instead of one")
    return found[0]


def whole(value: Any) -> int | None:
    """A length of a shape: None where it is left open."""
    kind, held = union(value)
    if kind == "as_expr":
        return None
    number = require_type(held, int, kind)
    if kind != "as_int" or not 0 <= number < 1 << 62:
        raise Malformed(f"a length {number!r:.40}")
    return number


def real(value: Any) -> float:
    """Infinities and NaN are written as words."""
    if value in ("Infinity", "-Infinity", "NaN"):
        return float(value)
    return float(
        require_type(value, float, "a number")
        if isinstance(value, float)
        else require_type(value, int, "a number")
    )
