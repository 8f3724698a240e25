"""A transformer for one text: a tokeniser learned from it, an architecture, first parameters, and training data."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .gpt import Gpt, frequencies_loss
from .tokeniser import Tokeniser, tokenise


@dataclass(frozen=True, eq=False)
class TextModel:
    """The architecture `gpt` with first parameters, and a text as stretches `x` (m, context) and what follows, `y`."""

    gpt: Gpt
    params: Any
    text: str
    tokens: int
    x: np.ndarray
    y: np.ndarray

    @classmethod
    def build(cls, text: str, merges: int, rng: np.random.Generator, **sizes: Any) -> "TextModel":
        """A model with random parameters; `merges` of byte-pair encoding, and the sizes of `Gpt`."""
        tokeniser, numbers = tokenise(text, merges)
        gpt = Gpt(len(tokeniser), tokeniser=tokeniser, **sizes)
        return cls(gpt, gpt.start(rng), text, len(numbers), *gpt.windows(numbers))

    @property
    def tokeniser(self) -> Tokeniser:
        assert self.gpt.tokeniser is not None
        return self.gpt.tokeniser

    @cached_property
    def entropy(self) -> float:
        """The cross-entropy of a model that knows the frequencies of tokens alone."""
        return frequencies_loss(self.y[:, -1])
