"""The text of a VNN-LIB file: its pieces, its numbers, and where in the file something is."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ftheta.logic.errors import SubjectError

MOST_DIGITS = 20_000
"""Digits of a number."""
FEW_DIGITS = 4000
"""Digits that Python reads as an integer; more are read as a decimal."""
MOST_EXPONENT = 5000
"""Of ten, in a number; exact arithmetic with much larger ones would take all time."""

COMPARISON, OPEN, CLOSE, WORD = 4, 5, 6, 7
"""What a match is, by its last group: `(<= a b)` of two words, `(` with the word behind it, `)`, or a word.

The groups of a comparison are the operator and the two words, 2 to 4; group 1 is there where it stands in an assertion
of its own, `(assert (<= a b))`, as most do.
"""

_SYMBOL = r'[^\s()\[\];,"]+'
_ELEMENT = _SYMBOL + r"(?:\s*\[[^\[\]()]*\])?"  # X[0,2]; also of a declaration: float32 [1,5]
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")
_NOT_FINITE = frozenset(("nan", "inf", "infinity"))
_POWERS_OF_TEN = tuple(10**k for k in range(64))


def _pieces(word: str) -> re.Pattern[str]:
    """Every character of a text but white space is part of a match: nothing is passed over in silence."""
    return re.compile(
        rf"\((assert\s*\()?\s*(<=?|>=?|==?|!=)\s+({word})\s+({word})\s*\)(?(1)\s*\))"
        r'|\(\s*([^\s()\[\];,"]*)'
        r"|(\))"
        rf'|({word}|"(?:[^"\\]|\\.)*"|[^\s;])'
        r"|;[^\n]*"
    )


PIECES_WITHOUT_INDICES = _pieces(_SYMBOL)
PIECES_WITH_INDICES = _pieces(_ELEMENT)


@dataclass(frozen=True)
class Source:
    """The `text` of a file and how the file is called."""

    name: str
    text: str

    def locate(self, position: int) -> str:
        """The file with line and column, both from 1."""
        line = self.text.count("\n", 0, position) + 1
        column = position - self.text.rfind("\n", 0, position)
        return f"{self.name}:{line}:{column}"

    def error(self, position: int, what: str, got: object = None, remedy: str = "") -> SubjectError:
        return SubjectError(what, where=self.locate(position), got=got, remedy=remedy)


def shorten(word: str) -> str:
    """A word of a file as it is shown in a message."""
    return repr(word if len(word) <= 60 else word[:57] + "...")


def is_number(word: str) -> bool:
    """Whether a word is meant as a number: it begins as one, or names what is not finite."""
    return word[0] in "0123456789.+-" or word.lower() in _NOT_FINITE


def parse_number(source: Source, word: str, position: int) -> Fraction:
    """A decimal as the rational that it is."""
    whole, _, decimals = word.partition(".")
    digits = whole + decimals
    if len(digits) <= FEW_DIGITS and digits.isascii() and digits.removeprefix("-").isdecimal():
        places = len(decimals)
        return Fraction(
            int(digits), _POWERS_OF_TEN[places] if places < len(_POWERS_OF_TEN) else 10**places
        )
    return _parse_unusual(source, word, position)


def _parse_unusual(source: Source, word: str, position: int) -> Fraction:
    """A number with an exponent or with another sign, or none at all."""
    if word.lstrip("+-").lower() in _NOT_FINITE:
        raise source.error(
            position,
            "Numbers must be finite.",
            got=word,
            remedy="leave the bound out, or give a number",
        )
    match = _NUMBER.fullmatch(word)
    if match is None:
        raise source.error(
            position, "This is no number.", got=shorten(word), remedy="write it as 0.25, -3 or 1e-6"
        )
    if len(word) > MOST_DIGITS:
        raise source.error(
            position,
            "The number has too many digits.",
            got=f"{len(word):,} characters",
            remedy=f"give at most {MOST_DIGITS:,} digits",
        )
    exponent = (match[1] or "0").lstrip("+-0")
    if len(exponent) > 4 or int(exponent or 0) > MOST_EXPONENT:
        raise source.error(
            position,
            "The exponent of a number is too large.",
            got=shorten(word),
            remedy=f"give exponents between -{MOST_EXPONENT} and {MOST_EXPONENT}",
        )
    return Fraction(Decimal(word))
