"""VNN-LIB, the language of the verification competitions: files of version 1.0 and 2.0 become questions.

`read_query` reads any file; `read_question` one that asks about a single network by linear rows.
"""

import re
from pathlib import Path

from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import ensure_file, read_text, reading_file

from ..questions import Question
from .queries import Query
from .syntax import Source
from .version_one import read_version_one
from .version_two import read_version_two

_SPACE = r"(?:\s|;[^\n]*)*+"
_HAS_VERSION = re.compile(rf"{_SPACE}\(\s*vnnlib-version\b")
_VERSION = re.compile(
    rf"{_SPACE}\(\s*vnnlib-version{_SPACE}<([0-9]{{1,9}})\.([0-9]{{1,9}})>{_SPACE}\)"
)


def read_query(path: str | Path) -> Query:
    """The query in a file, which may be packed by gzip."""
    path = Path(path)
    with reading_file(path, "VNN-LIB", "the program that made the property"):
        ensure_file(path)
        return parse_query(read_text(path), str(path))


def read_question(path: str | Path) -> Question:
    """The question in a file about one network, linear in its inputs and outputs.

    The types of version 2.0 are not part of it: `read_query` tells them, and reads files about several networks,
    hidden nodes or products.
    """
    query = read_query(path)
    if not query.is_plain:
        hidden = sum(len(network.hidden) for network in query.networks)
        raise SubjectError(
            "The file asks about more than the inputs and outputs of one network.",
            where=str(path),
            got=f"{len(query.networks)} networks, {hidden} hidden nodes, {len(query.products)} products",
            remedy="read it with read_query",
        )
    return query.question()


def parse_query(text: str, name: str = "text") -> Query:
    """The query in a text; `name` says where errors are."""
    source = Source(name, text)
    match = _VERSION.match(text)
    if match is None:
        malformed = _HAS_VERSION.match(text)
        if malformed is not None:
            raise source.error(
                malformed.end(),
                "The version is not understood.",
                remedy="write (vnnlib-version <2.0>)",
            )
        return read_version_one(source)
    version = int(match[1]), int(match[2])
    if version[0] == 1:
        return read_version_one(source, version)
    if version[0] == 2:
        return read_version_two(source, version)
    raise source.error(
        match.start(1),
        "The version is not known.",
        got=f"{version[0]}.{version[1]}",
        remedy="1.0 and 2.x can be read",
    )
