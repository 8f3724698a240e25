"""What a rule sees of the node it computes, whatever the format."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.lazy import jnp
from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import Malformed

from .node import Node

FOLDED = 4096
"""Numbers up to which constants are computed with at import: enough for every computation with shapes."""


NOT_COMPUTED = object()
"""A value of a node that no rule computes, since networks do not read it: whoever does, fails."""

Rule = Callable[..., Any]
"""`rule(call, …)` of the arguments of a node is its value, or a tuple of its values."""
RuleTable = Mapping[str, Rule]


@dataclass
class Call:
    """One node, with the values of its inputs: NumPy arrays are known at import, JAX arrays are not.

    `xp` is the library to compute with: `numpy` if every input is known and small, so that shapes become numbers,
    else `jax.numpy`.
    """

    node: Node
    inputs: list[Any]

    @property
    def xp(self) -> Any:
        arrays = [value for value in self.inputs if hasattr(value, "shape")]
        known = all(isinstance(value, np.ndarray) for value in arrays)
        return np if known and sum(value.size for value in arrays) <= FOLDED else jnp

    def library(self, size: int) -> Any:
        """`xp` for a result of that size."""
        return self.xp if size <= FOLDED else jnp

    def refuse(self, what: str, got: object, remedy: str = "") -> SubjectError:
        return SubjectError(what, where=self.node.label, got=got, remedy=remedy or self.stop_before)

    @property
    def stop_before(self) -> str:
        source = next(filter(None, self.node.inputs), "")
        return f"import the network up to a node before: load(path, until={source!r})"


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise Malformed(f"axis {axis} of an array of {rank} axes")
    return axis % max(rank, 1)


def axes_of(given: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the front; all of them if none is given."""
    axes = [given] if isinstance(given, int) else given
    return tuple(axis_of(a, rank) for a in axes) if axes else tuple(range(rank))
