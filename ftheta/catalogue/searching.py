"""Search among the theorems: each word that is typed has to occur in the words of a theorem, or in their synonyms."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

SYNONYMS = Path(__file__).with_name("synonyms.toml")
_AMERICAN = (
    (re.compile(r"is(?=(?:e|es|ed|er|ers|ing|ation|ations|able)\b)"), "iz"),
    (re.compile(r"our(?=s|ed|al|ing|hood|\b)"), "or"),
    (re.compile(r"\b(cent|met)re"), r"\1er"),
    (re.compile(r"ll(?=ing\b|ed\b)"), "l"),
)
_START = r"(?<![\w\\])"  # of a word; `\hat` in a formula is none


@cache
def synonyms() -> Mapping[str, tuple[str, ...]]:
    """What people type, and the words of theorems that it stands for."""
    table = tomllib.loads(SYNONYMS.read_text(encoding="utf-8"))
    return {typed.lower(): tuple(found) for typed, found in table.items()}


def search_text(entry: Mapping[str, Any]) -> str:
    """All by which an entry of the index is found, in small letters: its words, their synonyms, and both spellings."""
    fields = ("title", "id", "chapter_title", "gist", "statement")
    own = " ".join([*(entry[field] for field in fields), *entry["takes"]]).lower()
    typed = [words for words, found in synonyms().items() if any(part in own for part in found)]
    text = _without_hyphens(" ".join([own, *typed]))
    return f"{text} {_americanise(text)}"


def find(entries: Iterable[Mapping[str, Any]], words: Iterable[str]) -> list[Mapping[str, Any]]:
    """The entries that match all words: those with whole words, then beginnings of words, then what is inside words.

    Among equals those come first whose id or title is nearer."""
    parts = _parts(words)

    def distance(entry: Mapping[str, Any]) -> tuple[int, int]:
        name = _without_hyphens(f"{entry['id']} {entry['title']}".lower())
        return _distance(search_text(entry), parts), _distance(name, parts)

    return sorted((entry for entry in entries if matches(entry, parts)), key=distance)


def matches(entry: Mapping[str, Any], words: Iterable[str]) -> bool:
    """Whether every one of the words, or of their parts between hyphens and spaces, is found."""
    text = search_text(entry)
    return all(part in text for part in _parts(words))


def _parts(words: Iterable[str]) -> list[str]:
    return [part for word in words for part in _without_hyphens(word.lower()).split()]


def _distance(text: str, parts: Iterable[str]) -> int:
    """For each part 0 if it is a word of the text, 1 if a word begins with it, 2 if not; summed."""
    return sum(2 - _begins_word(text, part) - _is_word(text, part) for part in parts)


def _begins_word(text: str, part: str) -> bool:
    return re.search(_START + re.escape(part), text) is not None


def _is_word(text: str, part: str) -> bool:
    return re.search(_START + re.escape(part) + r"(?!\w)", text) is not None


def _without_hyphens(text: str) -> str:
    return text.replace("-", " ")


def _americanise(text: str) -> str:
    """The words that differ, as they are spelt in America."""
    spelt = text
    for british, american in _AMERICAN:
        spelt = british.sub(american, spelt)
    return " ".join(sorted(set(spelt.split()) - set(text.split())))
