"""The wire format of protocol buffers: as much of it as ONNX uses.

A message is a sequence of fields. Each begins with a number `key = 8 * field + kind`; the kind says how the value is
written: 0 a number in base 128, 1 eight bytes, 2 a length and so many bytes, 5 four bytes. A `Schema` names the fields
of a message; fields without a name are skipped, as the format asks. No file can nest too deeply: an inner message is
decoded only where a schema names it, and schemas do not name themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ftheta.networks.reading import Malformed

Kind = Literal["int", "float", "double", "bytes", "text", "ints", "floats", "doubles"]
"""What a field holds. The last three are arrays: numbers that stay packed, for weights."""

VARINT = 0
EIGHT = 1
BYTES = 2
FOUR = 5
FIXED = {EIGHT: 8, FOUR: 4}
REALS = {"float": ("<f4", FOUR), "double": ("<f8", EIGHT)}
EMPTY: Mapping[str, Any] = {"int": 0, "float": 0.0, "double": 0.0, "bytes": b"", "text": ""}
_BLOCK = 1 << 20  # digits that are put together at once


@dataclass(frozen=True)
class Field:
    """A field of a message: its `name`, what it holds, and whether it may occur many times."""

    name: str
    holds: "Kind | Schema"
    many: bool = False

    @property
    def empty(self) -> Any:
        if self.many:
            return []
        return EMPTY.get(self.holds) if isinstance(self.holds, str) else None


Schema = Mapping[int, Field]


class Budget:
    """How many fields may still be read or made; a file of a hundred million tiny fields is not a network."""

    def __init__(self, fields: int) -> None:
        self.left = fields

    def spend(self, fields: int = 1) -> None:
        self.left -= fields
        if self.left < 0:
            raise Malformed("too many fields")


def decode(schema: Schema, data: memoryview, budget: Budget) -> dict[str, Any]:
    """The named fields of a message; those that are absent have their empty value, an absent message is None."""
    budget.spend(len(schema))
    found = {field.name: field.empty for field in schema.values()}
    for number, kind, value in _fields(data, budget):
        field = schema.get(number)
        if field is None:
            continue
        values = _values(field.holds, kind, value, budget)
        if field.many:
            found[field.name].extend(values)
        elif len(values):
            found[field.name] = values[-1]
    return found


def _fields(data: memoryview, budget: Budget) -> Iterator[tuple[int, int, Any]]:
    at = 0
    end = len(data)
    while at < end:
        budget.spend()
        key, at = _varint(data, at)
        number = key >> 3
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
        elif kind in (EIGHT, FOUR, BYTES):
            size, at = (FIXED[kind], at) if kind in FIXED else _varint(data, at)
            if size > end - at:
                raise Malformed(f"a field of {size:,} bytes where {end - at:,} are left")
            value = data[at : at + size]
            at = at + size
        else:
            raise Malformed(f"a field of unknown kind {kind}")
        yield number, kind, value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    if at < len(data) and (byte := data[at]) < 0x80:  # as most of them are
        return byte, at + 1
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Malformed("the bytes end within a number")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
    raise Malformed("a number of more than ten bytes")


def _values(holds: "Kind | Schema", kind: int, value: Any, budget: Budget) -> Sequence[Any]:
    """What one field holds; numbers may be packed, many in one field."""
    if holds == "int" and kind == VARINT:
        budget.spend()
        return [value - (1 << 64) if value >> 63 else value]
    if isinstance(holds, str) and holds.removesuffix("s") in ("int", *REALS):
        array = _array(holds.removesuffix("s"), kind, value)
        if holds.endswith("s"):
            return [array]
        budget.spend(len(array))  # each becomes an object
        return array.tolist()
    if kind != BYTES:
        raise Malformed(f"a field of kind {kind} where bytes are expected")
    if holds == "bytes":
        return [value]
    if holds == "text":
        return [bytes(value).decode("utf-8", "replace")]
    assert isinstance(holds, Mapping)
    return [decode(holds, value, budget)]


def _array(holds: str, kind: int, value: Any) -> np.ndarray:
    """One number, or the packed numbers of one field."""
    if holds == "int" and kind == VARINT:
        return np.array([value], np.uint64).astype(np.int64)
    if holds == "int" and kind == BYTES:
        return unpack_varints(value)
    code, single = REALS.get(holds, ("", None))
    if single is None or kind not in (single, BYTES) or len(value) % FIXED[single]:
        raise Malformed(f"a field of kind {kind} where {holds} is expected")
    return np.frombuffer(value, code)


def unpack_varints(data: memoryview) -> np.ndarray:
    """Packed numbers in base 128, least significant digits first, as int64; a block of them at once."""
    digits = np.frombuffer(data, np.uint8)
    if digits.size == 0:
        return np.zeros(0, np.int64)
    if digits[-1] >= 0x80:
        raise Malformed("the bytes end within a number")
    found = np.empty(int(np.count_nonzero(digits < 0x80)), np.int64)
    at = 0
    filled = 0
    while at < len(digits):
        ends = np.flatnonzero(digits[at : at + _BLOCK] < 0x80)
        if not ends.size:
            raise Malformed("a number of more than ten bytes")
        size = int(ends[-1]) + 1
        found[filled : filled + ends.size] = _block(digits[at : at + size], ends)
        at += size
        filled += ends.size
    return found


def _block(digits: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The numbers whose last digits stand at `ends`."""
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(digits.size) - np.repeat(starts, ends - starts + 1)
    if place.max() > 9:
        raise Malformed("a number of more than ten bytes")
    shifted = (digits & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.add.reduceat(shifted, starts).astype(np.int64)


# ---- writing ---------------------------------------------------------------------------------------------------------


def encode(schema: Schema, message: Mapping[str, Any]) -> bytes:
    """The bytes of a message; fields that are absent are not written."""
    parts = []
    for number, field in schema.items():
        value = message.get(field.name)
        if value is None:
            continue
        for item in value if field.many else [value]:
            parts += _written(number, field.holds, item)
    return b"".join(parts)


def _written(number: int, holds: "Kind | Schema", value: Any) -> list[bytes]:
    if holds == "int":
        return [_number(8 * number + VARINT), _number(int(value) % (1 << 64))]
    if isinstance(holds, str) and holds in REALS:
        code, single = REALS[holds]
        return [_number(8 * number + single), np.array(value, code).tobytes()]
    if holds == "text":
        content = str(value).encode()
    elif isinstance(holds, Mapping):
        content = encode(holds, value)
    else:
        content = bytes(value)
    return [_number(8 * number + BYTES), _number(len(content)), content]


def _number(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
