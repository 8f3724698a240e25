"""Messages between the server and its workers: a header in JSON and a body of bytes, both of stated length."""

import asyncio
import json
import struct
from typing import Any, BinaryIO, TypeAlias

Frame: TypeAlias = tuple[dict[str, Any], bytes]

_LENGTHS = struct.Struct("!II")
_MOST_HEADER, _MOST_BODY = 1 << 20, 256 << 20


class TooLong(ValueError):
    """A message longer than any that is meant to be sent."""


def packed(header: dict[str, Any], body: bytes = b"") -> bytes:
    """The message as it goes through the pipe."""
    head = json.dumps(header).encode()
    _check(len(head), len(body))
    return _LENGTHS.pack(len(head), len(body)) + head + body


def read(stream: BinaryIO) -> Frame | None:
    """The next message, waited for; None when the other side has closed the pipe."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _LENGTHS.unpack(lengths)
    _check(head, body)
    text, data = stream.read(head), stream.read(body)
    return (json.loads(text), data) if len(text) == head and len(data) == body else None


async def receive(stream: asyncio.StreamReader) -> Frame | None:
    """`read`, without blocking the other conversations."""
    try:
        head, body = _LENGTHS.unpack(await stream.readexactly(_LENGTHS.size))
        _check(head, body)
        return json.loads(await stream.readexactly(head)), await stream.readexactly(body)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _check(head: int, body: int) -> None:
    if head > _MOST_HEADER or body > _MOST_BODY:
        raise TooLong(f"a message of {head:,} + {body:,} bytes")
