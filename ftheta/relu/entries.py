"""What stands for a value while a program is read: forms, comparisons, or plain numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.graph import Node
from ftheta.logic import SubjectError

from .assembly import Forms, constant

REMEDY = "replace it by a piecewise-affine function, or bound the program with `intervals` instead"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Where `difference` is positive. At zero it may be either: only continuous choices are accepted."""

    difference: Forms


def refused(node: Node, what: str, remedy: str = REMEDY) -> SubjectError:
    return SubjectError(what, where=node.source, got=str(node).split("  at ")[0], remedy=remedy)


def as_forms(value: Any) -> Forms:
    return value if isinstance(value, Forms) else constant(value)


def pair(node: Node, x: Any, y: Any) -> tuple[Forms, Forms]:
    """Both operands as forms of the shape of the result."""
    return spread(as_forms(x), node.shape), spread(as_forms(y), node.shape)


def spread(forms: Forms, shape: tuple[int, ...]) -> Forms:
    if forms.shape == shape:
        return forms
    return forms.taken(np.broadcast_to(np.arange(forms.size).reshape(forms.shape), shape))
