"""Words in the language that is spoken, out of catalogues: `fr/*.po` beside this file, read as they are.

The standard library's `gettext` reads compiled catalogues alone. They are compiled in memory when a language is first
spoken (some milliseconds): no binary file can grow stale, nothing is built, and translators edit what is read.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path

FOLDER = Path(__file__).parent
ENGLISH = "en"
# each under its own name; a folder of catalogues is what makes a language known
NAMES = {ENGLISH: "English", "fr": "français"}
KNOWN = tuple(NAMES)

SPOKEN: ContextVar[str] = ContextVar("language", default=ENGLISH)

_MAGIC = 0x950412DE
_HEADER = 28  # bytes
_ENTRY = re.compile(
    r'(?:^msgctxt (?P<context>(?:"[^\n]*"\n)+))?'
    r'^msgid (?P<one>(?:"[^\n]*"\n)+)'
    r'(?:^msgid_plural (?P<many>(?:"[^\n]*"\n)+))?'
    r'(?P<said>(?:^msgstr(?:\[\d\])? (?:"[^\n]*"\n?)+)+)',
    re.MULTILINE,
)
_SAID = re.compile(r'^msgstr(?:\[\d\])? ((?:"[^\n]*"\n?)+)', re.MULTILINE)
_STRING = re.compile(r'"([^\n]*)"')
_ESCAPED = re.compile(r"\\(.)")
_MEANT = {"n": "\n", "t": "\t"}


def language() -> str:
    """The language that is spoken here: `en`, `fr`."""
    return SPOKEN.get()


def t(words: str, context: str = "", /, **values: object) -> str:
    """The words in the language that is spoken, with values in place of `{name}`; the English ones where there is no
    translation. `context` tells equal English words of different meanings apart."""
    found = words
    if words and SPOKEN.get() != ENGLISH:
        catalogue = read_translations(SPOKEN.get())
        found = catalogue.pgettext(context, words) if context else catalogue.gettext(words)
    return found.format(**values) if values else found


def tn(one: str, many: str, n: int, /, **values: object) -> str:
    """The words for this number of things; `{n}` is the number, with commas between thousands unless it is given."""
    found = one if n == 1 else many
    if SPOKEN.get() != ENGLISH:
        found = read_translations(SPOKEN.get()).ngettext(one, many, n)
    return found.format(**{"n": f"{n:,}", **values})


def later(words: str, context: str = "") -> str:
    """Words of a table that are looked up when they are shown: this marks them for the catalogues."""
    return words


@cache
def read_translations(language: str) -> GNUTranslations:
    """All catalogues of a language as one."""
    said: dict[str, str] = {}
    for path in sorted((FOLDER / language).glob("*.po")):
        said.update(read_catalogue(path.read_text(encoding="utf-8")))
    return GNUTranslations(BytesIO(_compile(said)))


def words_of(language: str, domain: str) -> dict[str, str]:
    """What one catalogue says, by its keys as in `read_catalogue`; of English nothing."""
    path = FOLDER / language / f"{domain}.po"
    return read_catalogue(path.read_text(encoding="utf-8")) if path.is_file() else {}


def read_catalogue(text: str) -> dict[str, str]:
    """What a catalogue in the form of gettext says, as gettext's compiled files have it: the key is the English text,
    with its context and `\\4` before it; the singular and the plural are joined by `\\0`. What is not translated is
    left out."""
    return {key: said for key, said in _entries(text) if said.replace("\0", "")}


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for found in _ENTRY.finditer(text):
        key = _text(found["one"])
        if found["context"]:
            key = f"{_text(found['context'])}\4{key}"
        if found["many"]:
            key = f"{key}\0{_text(found['many'])}"
        yield key, "\0".join(map(_text, _SAID.findall(found["said"])))


def _text(lines: str) -> str:
    joined = "".join(_STRING.findall(lines))
    return _ESCAPED.sub(lambda c: _MEANT.get(c[1], c[1]), joined) if "\\" in joined else joined


def _compile(said: Mapping[str, str]) -> bytes:
    """The catalogue as a compiled file: two tables of lengths and places, then the texts."""
    pairs = sorted((key.encode(), text.encode()) for key, text in said.items())
    place = _HEADER + 16 * len(pairs)
    tables: list[bytes] = []
    texts: list[bytes] = []
    for column in (0, 1):
        for pair in pairs:
            tables.append(struct.pack("<II", len(pair[column]), place))
            texts.append(pair[column] + b"\0")
            place += len(pair[column]) + 1
    second = _HEADER + 8 * len(pairs)
    header = struct.pack("<7I", _MAGIC, 0, len(pairs), _HEADER, second, 0, 0)
    return header + b"".join(tables) + b"".join(texts)
