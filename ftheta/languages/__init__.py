"""The languages in which views speak. Results, documents in JSON and ids are the same in each: a view looks words up
when it writes them. See `docs/languages.md`.

A view says `t("Hypotheses")`; the English words are the key. What is said in a language is a matter of the context
(`speaking`), never of the process: the lab answers two pages in two languages at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from .catalogues import ENGLISH, KNOWN, SPOKEN, language, later, t, tn
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


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Inside, views speak this language."""
    before = SPOKEN.set(parse_language(language))
    try:
        yield
    finally:
        SPOKEN.reset(before)
