"""Text as numbers: byte-pair encoding over characters, learned from a text; and texts that ship with the project."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from ftheta.logic.errors import SubjectError, UsageError

FOLDER = Path(__file__).parent / "texts"
TEXTS = tuple(sorted(path.stem for path in FOLDER.glob("*.txt")))
_WORDS = re.compile(r" ?[^\s]+|\s")  # a word carries the space before it, as in GPT


def text(name: str) -> str:
    """A poem in the public domain by its author's name, or `all` of them."""
    if name == "all":
        return "\n".join(text(one) for one in TEXTS)
    if name not in TEXTS:
        raise UsageError(
            "No such text ships with the project.",
            got=name,
            remedy=f"choose one of {', '.join(TEXTS)}, all",
        )
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Tokeniser:
    """`pieces[k]` is the text of token k; `merges` are the pairs of pieces that were joined, in order."""

    pieces: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]

    @classmethod
    def learn(cls, text: str, merges: int = 0) -> "Tokeniser":
        """The characters of the text, then the most frequent pair of neighbouring pieces, joined, again and again."""
        if not text:
            raise SubjectError(
                "There is no text to learn tokens from.", remedy="give a text of some characters"
            )
        pieces = sorted(set(text))
        joined = []
        words = Counter(_WORDS.findall(text))
        spelled = {word: list(word) for word in words}
        for _ in range(merges):
            pairs = Counter[tuple[str, str]]()
            for word, count in words.items():
                for pair in zip(spelled[word], spelled[word][1:]):
                    pairs[pair] += count
            if not pairs or max(pairs.values()) < 2:
                break  # nothing occurs twice
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            joined.append(best)
            pieces.append("".join(best))
            spelled = {word: _join(parts, best) for word, parts in spelled.items()}
        return cls(tuple(dict.fromkeys(pieces)), tuple(joined))

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {piece: k for k, piece in enumerate(self.pieces)}

    def __len__(self) -> int:
        return len(self.pieces)

    def split(self, text: str) -> list[str]:
        """The pieces of a text."""
        unknown = sorted(set(text) - set(self.pieces))
        if unknown:
            raise SubjectError(
                "The text has characters that the tokeniser has not seen.",
                got=" ".join(map(repr, unknown[:8])),
                remedy="learn the tokeniser from a text that has them",
            )
        known: dict[str, list[str]] = {}
        for word in set(_WORDS.findall(text)):
            parts = list(word)
            for pair in self.merges:
                parts = _join(parts, pair)
            known[word] = parts
        return [part for word in _WORDS.findall(text) for part in known[word]]

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, as numbers."""
        return [self.numbers[piece] for piece in self.split(text)]

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of these tokens."""
        return "".join(self.pieces[int(k)] for k in numbers)


@lru_cache(maxsize=4)  # hypotheses and evidence need the same
def tokenise(text: str, merges: int) -> tuple[Tokeniser, tuple[int, ...]]:
    """A tokeniser learned from the text, and the text in its tokens."""
    tokeniser = Tokeniser.learn(text, merges)
    return tokeniser, tuple(tokeniser.encode(text))


def _join(parts: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """The pieces with every occurrence of the pair joined, from the left."""
    out = []
    k = 0
    while k < len(parts):
        both = k + 1 < len(parts) and (parts[k], parts[k + 1]) == pair
        out.append(parts[k] + parts[k + 1] if both else parts[k])
        k += 2 if both else 1
    return out
