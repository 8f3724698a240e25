"""Subjects of one kind read as subjects of another."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .hypotheses import Hypothesis


@dataclass(frozen=True, eq=False, slots=True)
class Adapter:
    """How a subject of the kind `takes` is read as one of the kind that a theorem is about.

    `adapt` makes the other subject. `needs` is what it asks of the one that is handed in, where it asks for anything:
    it is checked before the hypotheses of the theorem, which are about the adapted subject.
    """

    takes: type
    adapt: Callable[[Any], Any]
    needs: Hypothesis | None = None
