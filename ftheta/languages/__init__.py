"""The languages in which views speak. Results, documents in JSON and ids are the same in each: a view looks words up
when it writes them. See `docs/languages.md`.

A view says `t("Hypotheses")`; the English words are the key. What is said in a language is a matter of the context
(`speaking`), never of the process: the lab answers two pages in two languages at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .catalogues import ENGLISH, KNOWN, read_translations
from .choosing import from_environment, from_header, parse_language

__all__ = [
    "ENGLISH",
    "KNOWN",
    "from_environment",
    "from_header",
    "language",
    "later",
    "parse_language",
    "speaking",
    "t",
    "tn",
]

_language: ContextVar[str] = ContextVar("language", default=ENGLISH)


def language() -> str:
    """The language that is spoken here: `en`, `fr`."""
    return _language.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Inside, views speak this language."""
    before = _language.set(parse_language(language))
    try:
        yield
    finally:
        _language.reset(before)


def t(words: str, context: str = "", /, **values: object) -> str:
    """The words in the language that is spoken, with values in place of `{name}`; the English ones where there is no
    translation. `context` tells equal English words of different meanings apart."""
    found = words
    if words and _language.get() != ENGLISH:
        catalogue = read_translations(_language.get())
        found = catalogue.pgettext(context, words) if context else catalogue.gettext(words)
    return found.format(**values) if values else found


def tn(one: str, many: str, n: int, /, **values: object) -> str:
    """The words for this number of things; `{n}` is the number, with commas between thousands unless it is given."""
    found = one if n == 1 else many
    if _language.get() != ENGLISH:
        found = read_translations(_language.get()).ngettext(one, many, n)
    return found.format(**{"n": f"{n:,}", **values})


def later(words: str, context: str = "") -> str:
    """Words of a table that are looked up when they are shown: this marks them for the catalogues."""
    return words
