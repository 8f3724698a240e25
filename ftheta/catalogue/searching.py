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


def matches(entry: Mapping[str, Any], words: Iterable[str]) -> bool:
    """Whether every one of the words, or of their parts between hyphens and spaces, is found."""
    text = search_text(entry)
    return all(part in text for word in words for part in _without_hyphens(word.lower()).split())


def _without_hyphens(text: str) -> str:
    return text.replace("-", " ")


def _americanise(text: str) -> str:
    """The words that differ, as they are spelt in America."""
    spelt = text
    for british, american in _AMERICAN:
        spelt = british.sub(american, spelt)
    return " ".join(sorted(set(spelt.split()) - set(text.split())))
