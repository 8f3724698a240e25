"""What a rule `rule(call, *inputs)` sees of the ONNX node it computes; an absent input is None."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.programs.call import FOLDED
from ftheta.networks.programs.call import Call as AnyCall
from ftheta.networks.reading import Malformed


@dataclass
class Call(AnyCall):
    """One node of an `opset`; `read` collects the names of the inputs that had to be known."""

    opset: int
    read: set[str] = field(default_factory=set)

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

    def require(self, name: str) -> list[int]:
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
