"""A text as data: one character per row, by its number in Unicode. Theorems about texts start from a poem."""

from pathlib import Path
from typing import Annotated

import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.hypotheses import Finding, hypothesis
from ftheta.logic.knob import Knob
from ftheta.networks.reading import read_bytes
from ftheta.networks.transformers.tokeniser import TEXTS, text, tokenise

from .dataset import Dataset

MOST = 200_000  # characters that are looked at
LARGEST = 16 << 20  # bytes of a file


def text_data(name: str, words: str) -> Dataset:
    """A text as data: one row per character, its code point."""
    if not words.strip():
        raise SubjectError("There is no text.", where=name, remedy="give a text of some words")
    codes = np.frombuffer(words.encode("utf-32-le", "surrogatepass"), "<u4")
    return Dataset(name, codes.astype(np.int64)[:, None], columns=("character",))


def read_text(path: Path, name: str) -> Dataset:
    """A file in UTF-8."""
    try:
        words = read_bytes(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SubjectError(
            "The file is not text in UTF-8.",
            where=str(path),
            got=f"byte {error.start}",
            remedy="save it as UTF-8",
        ) from None
    return text_data(name, words.replace("\r\n", "\n").replace("\r", "\n"))


def text_of(data: Dataset) -> str:
    """The text again, the beginning of a long one."""
    rows = data.x[:MOST]
    whole = (
        rows.shape[1:] == (1,)
        and (rows == np.floor(rows)).all()
        and rows.min() >= 0
        and rows.max() <= 0x10FFFF
    )
    found = "".join(map(chr, rows[:, 0].astype(int))) if whole else "\ud800"
    if any("\ud800" <= c <= "\udfff" for c in found):  # halves of characters
        raise SubjectError(
            "These data are no text.",
            where=data.name,
            got=f"rows of shape {data.x.shape[1:]}, from {data.x.min():g} to {data.x.max():g}",
            remedy="give ftheta.subjects.texts.text_data(name, words): one character per row, by its number in Unicode",
        )
    return found


def poem(
    rng: np.random.Generator,
    *,
    poet: Annotated[
        str, Knob(says="whose poem is read", symbol="text", choices=(*TEXTS, "all"))
    ] = "hugo",
) -> Dataset:
    """The poem of a poet that the package brings along."""
    return text_data(poet, text(poet))


@hypothesis(
    "the text has more tokens than are seen at once",
    remedy="give a longer text, fewer merges, less context",
)
def longer_than_the_context(data: Dataset, *, merges: int, context: int) -> Finding:
    """The number of tokens after so many merges, against the context length."""
    tokens = len(tokenise(text_of(data), merges)[1])
    note = f"{tokens:,} tokens, a context of {context}"
    return Finding.decide(
        tokens > context, note, "counted", Enclosure.exact(tokens), basis=Basis.EXACT
    )
