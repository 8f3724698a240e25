"""Standard output and standard error as the process of a command needs them: open, in any encoding, with trouble told.

A stream that is closed at the start (`2>&-`) goes nowhere; without that, the next file to be opened would take its
number and get its text. What the encoding of the terminal does not have is written as `\\u03b8`, which is right inside
JSON too. Standard output that cannot be written is an error of the user's; standard error that cannot is no reason to
lose the work.
"""

import codecs
import io
import os
import sys
from typing import Any

ESCAPED = "ftheta-escaped"  # the name of the way to write what an encoding does not have


class OutputError(OSError):
    """The answer is there and cannot be written."""


class _Answers(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # the reader has seen enough, which is no trouble
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from error


class _Remarks(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare() -> None:
    """Make the streams of this process safe to write to."""
    for number in (0, 1, 2):
        _ensure_open(number)
    codecs.register_error(ESCAPED, _escape)
    sys.stdout = _text(_Answers(1, "w", closefd=False), sys.stdout, ESCAPED)
    sys.stderr = _text(_Remarks(2, "w", closefd=False), sys.stderr, "backslashreplace")


def discard_output() -> None:
    """What is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _ensure_open(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _text(file: io.FileIO, usual: Any, errors: str) -> io.TextIOWrapper:
    encoding = "utf-8" if usual is None else usual.encoding
    return io.TextIOWrapper(
        io.BufferedWriter(file), encoding, errors, line_buffering=errors != ESCAPED or file.isatty()
    )


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)
    ), error.end
