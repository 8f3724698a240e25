"""Messages between a client and its workers: a header in JSON and a body of bytes, both of stated length.

Objects travel as pickles in the body (`dump`, `load`), between processes of one run and nowhere else; the lab's server
unpickles nothing.
"""

import json
import pickle
import struct
from typing import Any, BinaryIO, TypeAlias

Frame: TypeAlias = tuple[dict[str, Any], bytes]

_LENGTHS = struct.Struct("!IQ")
MOST_HEADER = 1 << 20
MOST_BODY = 1 << 40


class FrameTooLong(ValueError):
    """A message longer than any that is meant to be sent."""


def pack(header: dict[str, Any], body: bytes = b"", most: int = MOST_BODY) -> bytes:
    """The message as it goes through the pipe; its body has at most so many bytes."""
    head = json.dumps(header).encode()
    _ensure_short(len(head), len(body), most)
    return _LENGTHS.pack(len(head), len(body)) + head + body


def read(stream: BinaryIO, most: int = MOST_BODY) -> Frame | None:
    """The next message, waited for; None when the other side has closed the pipe."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, body = _LENGTHS.unpack(lengths)
    _ensure_short(head, body, most)
    text = stream.read(head)
    data = stream.read(body)
    return (json.loads(text), data) if len(text) == head and len(data) == body else None


def dump(value: Any) -> bytes:
    """An object as the body of a message."""
    return pickle.dumps(value, protocol=5)


def load(body: bytes) -> Any:
    """The object in the body of a message from another process of this run."""
    return pickle.loads(body)


def _ensure_short(head: int, body: int, most: int) -> None:
    if head > MOST_HEADER or body > most:
        raise FrameTooLong(f"a message of {head:,} + {body:,} bytes")
