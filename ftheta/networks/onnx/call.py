"""What a rule sees of the node it computes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.logic import SubjectError

from .model import Node
from .wire import Malformed

FOLDED = 4096
"""Numbers up to which constants are computed with at import: enough for every computation with shapes."""

Rule = Callable[..., Any]
"""`rule(call, *inputs)` is the value of the node, or a tuple of its values; an absent input is None."""


@dataclass
class Call:
    """One node, with the values of its inputs: NumPy arrays are known at import, JAX arrays are not.

    `xp` is the library to compute with: `numpy` if every input is known and small, so that shapes become numbers,
    else `jax.numpy`. `read` collects the names of the inputs that had to be known.
    """

    node: Node
    opset: int
    inputs: list[Any]
    read: set[str] = field(default_factory=set)

    @property
    def xp(self) -> Any:
        given = [value for value in self.inputs if value is not None]
        known = all(isinstance(value, np.ndarray) for value in given)
        return np if known and sum(value.size for value in given) <= FOLDED else jnp

    def library(self, size: int) -> Any:
        """`xp` for a result of that size."""
        return self.xp if size <= FOLDED else jnp

    def known(self, i: int) -> np.ndarray | None:
        """The value of input `i`, which shapes depend on, or None if it is left out."""
        if i >= len(self.inputs) or self.inputs[i] is None:
            return None
        self.read.add(self.node.inputs[i])
        if not isinstance(self.inputs[i], np.ndarray):
            raise SubjectError(
                "A shape, an axis or an index of this node depends on the input of the network.",
                where=self.node.label,
                got=f"input {self.node.inputs[i]!r} is not a constant",
                remedy="export the network with fixed shapes, or import it up to a node before: "
                f"load(path, until={self.node.inputs[0]!r})",
            )
        return self.inputs[i]

    def constant(self, i: int) -> Any:
        """Input `i`; if it is a number of the file, it is not a parameter of the network."""
        self.read.add(self.node.inputs[i])
        return self.inputs[i]

    def numbers(self, i: int) -> list[int] | None:
        """Input `i` as a list of whole numbers."""
        value = self.known(i)
        return None if value is None else [int(n) for n in value.ravel()[:FOLDED]]

    def whole(self, name: str, default: int) -> int:
        return self._attribute(name, int, default)

    def real(self, name: str, default: float) -> float:
        """Attributes are float32; so are their defaults."""
        return float(self._attribute(name, float, float(np.float32(default))))

    def word(self, name: str, default: str) -> str:
        return self._attribute(name, str, default)

    def wholes(self, name: str, default: list[int] | None = None) -> list[int] | None:
        found = self._attribute(name, list, default)
        if found is not None and not all(isinstance(n, int) for n in found):
            raise Malformed(f"attribute {name} is not a list of whole numbers")
        return found

    def required(self, name: str) -> list[int]:
        found = self.wholes(name)
        if found is None:
            raise Malformed(f"attribute {name} is missing")
        return found

    def list_of(self, name: str, position: int, since: int) -> list[int] | None:
        """A list that is an attribute in old opsets, and input number `position` from opset `since` on."""
        return self.numbers(position) if self.opset >= since else self.wholes(name)

    def _attribute(self, name: str, kind: type, default: Any) -> Any:
        value = self.node.attributes.get(name, default)
        if value is not None and not isinstance(value, kind):
            raise Malformed(f"attribute {name} is not of type {kind.__name__}")
        return value

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


RuleTable = Mapping[str, Rule]
