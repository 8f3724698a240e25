"""Courses from TOML files: those of the package by name, and one's own by path. Errors name the line."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from ftheta.logic import SubjectError, UsageError, suggest

from .model import Course, Mistake

FOLDER = Path(__file__).parent
# in the order in which they are listed
NAMES = ("peyre", "gribonval", "murari", "scaman", "peyre-notes")
MOST_BYTES = 1 << 20
_HEADER = re.compile(r"^\s*\[\[?\s*([\w.]+)\s*\]\]?")


@cache
def built_in_courses() -> Mapping[str, Course]:
    """The courses of the package by name."""
    return MappingProxyType({name: read_course(FOLDER / f"{name}.toml") for name in NAMES})


def course(name: str) -> Course:
    """A course by the name of a built-in one, or by the path of a TOML file."""
    if name in NAMES:
        return built_in_courses()[name]
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return read_course(path)
    remedy = suggest(
        name, NAMES, f"choose one of {', '.join(NAMES)}, or give the path of a TOML file"
    )
    raise UsageError("There is no course of this name.", got=name, remedy=remedy)


def read_course(path: Path) -> Course:
    """Read and check a course file."""
    if not path.is_file():
        raise SubjectError(
            "There is no such file.", got=str(path), remedy="give the path of a course in TOML"
        )
    if path.stat().st_size > MOST_BYTES:
        raise SubjectError(
            "A course file is a page of text.",
            where=str(path),
            got=f"more than {MOST_BYTES:,} bytes",
        )
    try:
        text = path.read_bytes().decode()
        return Course.model_validate(tomllib.loads(text))
    except UnicodeDecodeError as error:
        remedy = "save it in UTF-8"
        raise SubjectError(
            "A course file is text in UTF-8.", where=str(path), got=str(error), remedy=remedy
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SubjectError(
            "This is no TOML.", where=str(path), got=str(error), remedy="mend that line"
        ) from None
    except ValidationError as error:
        raise _explain(error, path, text) from None


def _explain(error: ValidationError, path: Path, text: str) -> SubjectError:
    """The first thing that is wrong, with the line where it stands."""
    first = error.errors()[0]
    place = first["loc"]
    where = f"{path}, line {line_of(text, place)} ({_words(place)})"
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Mistake):
        told = cause.error
        return SubjectError(told.what, where=where, got=told.got, remedy=told.remedy)
    got = first["input"] if isinstance(first["input"], (str, int, float, bool)) else None
    return SubjectError(
        first["msg"].rstrip(".") + ".", where=where, got=got, remedy="docs/courses.md has the form"
    )


def _words(place: Sequence[str | int]) -> str:
    """`section 2, page 1, theorem`."""
    parts: list[str] = []
    for part in place:
        if isinstance(part, int) and parts:
            parts[-1] += f" {part + 1}"
        else:
            parts.append(str(part))
    return ", ".join(parts) or "the whole file"


def line_of(text: str, place: Sequence[str | int]) -> int:
    """The line at which a place of the document stands: that of its key, or of the table that it belongs to."""
    lines = text.splitlines()
    start = 0
    end = len(lines)
    path: list[str] = []
    for k, part in enumerate(place):
        if isinstance(part, int):
            continue
        path.append(part)
        wanted = place[k + 1] if k + 1 < len(place) and isinstance(place[k + 1], int) else 0
        headers = [n for n in range(start, end) if _header(lines[n]) == ".".join(path)]
        if len(headers) > int(wanted):
            start = headers[int(wanted)]
            end = headers[int(wanted) + 1] if len(headers) > int(wanted) + 1 else end
            continue
        key = re.compile(rf"^\s*\"?{re.escape(part)}\"?\s*=")
        start = next((n for n in range(start, end) if key.match(lines[n])), start)
    return start + 1


def _header(line: str) -> str | None:
    found = _HEADER.match(line)
    return found[1] if found else None
