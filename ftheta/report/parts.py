"""Which part of a statement, (a), (b), …, a claim or a chart checks, as the lesson of the theorem has it."""

from collections.abc import Callable, Mapping
from string import ascii_lowercase
from typing import Any

from ftheta.catalogue import index


def lesson_of(id: str) -> Mapping[str, Any] | None:
    """The lesson of a theorem; None where there is none, or where the index does not have the theorem."""
    return index().get(id, {}).get("lesson")


def part_of_claim(id: str, what: str) -> str:
    """`(a)` for a claim of the theorem `id` whose text begins as part (a) says; nothing where no part names it."""
    return _letters(id, lambda part: any(what.startswith(words) for words in part["claims"]))


def part_of_chart(id: str, title: str) -> str:
    """`(a)` for a chart that part (a) names by its title; nothing where no part does."""
    return _letters(id, lambda part: title in part["charts"])


def _letters(id: str, checks: Callable[[Mapping[str, Any]], bool]) -> str:
    lesson = lesson_of(id)
    parts = lesson["parts"] if lesson else ()
    found = ", ".join(letter for letter, part in zip(ascii_lowercase, parts) if checks(part))
    return f"({found})" if found else ""
