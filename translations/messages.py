"""One thing to translate, and what a translation of it has to keep."""

import re
from collections import Counter
from dataclasses import dataclass

_PLACEHOLDER = re.compile(r"\{[^{}\s]*\}")
_FORMULA = re.compile(r"\$[^$]+\$")
_CODE = re.compile(r"`[^`]+`")


@dataclass(frozen=True, slots=True)
class Message:
    """English words with the file that says them; `many` where they are counted, `context` where words of another
    meaning are the same."""

    one: str
    where: str
    many: str = ""
    context: str = ""

    @property
    def key(self) -> str:
        """The key of the catalogues."""
        words = f"{self.one}\0{self.many}" if self.many else self.one
        return f"{self.context}\4{words}" if self.context else words


def differences(english: str, said: str) -> list[str]:
    """What the translation of some words lacks or adds: places of values, formulas, code."""
    values, formulas = Counter(_PLACEHOLDER.findall(english)), Counter(_FORMULA.findall(english))
    if formulas:  # braces of formulas are no places of values
        values = Counter(_PLACEHOLDER.findall(_FORMULA.sub("", english)))
        said_values = Counter(_PLACEHOLDER.findall(_FORMULA.sub("", said)))
    else:
        said_values = Counter(_PLACEHOLDER.findall(said))
    pairs = (
        ("places of values", values, said_values),
        ("formulas", formulas, Counter(_FORMULA.findall(said))),
        ("code", Counter(_CODE.findall(english)), Counter(_CODE.findall(said))),
    )
    return [f"{what}: {list(a)} against {list(b)}" for what, a, b in pairs if a != b]
