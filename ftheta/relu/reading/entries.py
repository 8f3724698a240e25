"""What stands for a value while a program is read: forms, truth values, open choices, or plain numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ftheta.graph.graph import Node
from ftheta.logic.errors import SubjectError

from .forms import Forms, constant

REMEDY = "replace it by a piecewise-affine function, or bound the program with `intervals` instead"
Signs: TypeAlias = Sequence[bool]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Where `difference` is positive, or (unless `strict`) zero."""

    difference: Forms
    strict: bool


@dataclass(frozen=True, eq=False)
class Truth:
    """A combination of comparisons, entry by entry: `holds` says it of their truth values, in order."""

    parts: tuple[Comparison, ...]
    holds: Callable[[Signs], bool]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0].difference.shape

    def map_forms(self, move: Callable[[Forms], Forms]) -> "Truth":
        return Truth(
            tuple(Comparison(move(p.difference), p.strict) for p in self.parts), self.holds
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several arrays, entry by entry, where it is not (yet) known to be continuous.

    `picks` says which case, given the truth values of the comparisons. Another choice may make it continuous; whatever
    else reads it is refused with `error`.
    """

    parts: tuple[Comparison, ...]
    cases: tuple[Forms, ...]
    picks: Callable[[Signs], int]
    error: SubjectError

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cases[0].shape

    def map_forms(self, move: Callable[[Forms], Forms]) -> "Choice":
        where = Truth(self.parts, bool).map_forms(move).parts
        return Choice(where, tuple(move(case) for case in self.cases), self.picks, self.error)


@dataclass(frozen=True, eq=False)
class Positions:
    """Where entries came from: which of several was the largest, or the order of a sort. Not continuous."""

    error: SubjectError


def refuse(node: Node, what: str, remedy: str = REMEDY) -> SubjectError:
    """The error that a `node` of the program has no piecewise-affine form, with its source line."""
    return SubjectError(what, where=node.source, got=str(node).split("  at ")[0], remedy=remedy)


def as_forms(value: Any) -> Forms:
    """A value as affine forms of the inputs; numbers are constant forms."""
    return value if isinstance(value, Forms) else constant(value)


def as_truth(value: Any) -> Truth:
    """Constants are comparisons of a constant with zero."""
    if isinstance(value, Truth):
        return value
    sign = np.where(np.asarray(value, bool), 1.0, -1.0)
    return Truth((Comparison(constant(sign), True),), lambda signs: signs[0])


def pair(node: Node, x: Any, y: Any) -> tuple[Forms, Forms]:
    """Both operands as forms of the shape of the result."""
    return spread(as_forms(x), node.shape), spread(as_forms(y), node.shape)


def spread(forms: Forms, shape: tuple[int, ...]) -> Forms:
    """The `forms` broadcast to a `shape`."""
    if forms.shape == shape:
        return forms
    return forms.taken(np.broadcast_to(np.arange(forms.size).reshape(forms.shape), shape))
