"""What the nodes of an ONNX file mean."""

import difflib
from collections.abc import Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from ftheta.networks.programs.call import RuleTable
from ftheta.networks.programs.node import Node

from .call import Call
from .tensors import REAL, dtype_of


@cache
def _rules() -> RuleTable:
    """The mathematics of the operators, imported when a node is to be computed: a file is read without JAX."""
    from .rules import RULES

    return RULES


CONTROL = frozenset(("If", "Loop", "Scan", "SequenceMap"))


@dataclass(frozen=True)
class Onnx:
    """Standard operators, in the version `opset`."""

    opset: int
    export: str = "export the network with standard operators (torch.onnx.export, opset 17)"
    check: str = "export the network again, and see what onnx.checker says of it"
    marks_parameters: bool = False

    def near(self, node: Node) -> list[str] | None:
        if node.domain:
            return []
        rules = _rules()
        return (
            None
            if node.op in rules
            else difflib.get_close_matches(node.op[:60], rules, n=2, cutoff=0.75)
        )

    def nests(self, node: Node) -> bool:
        return node.op in CONTROL

    def compute(self, node: Node, inputs: list[Any], read: set[str]) -> Any:
        return _rules()[node.op](Call(node, inputs, self.opset, read), *inputs)

    def is_whole(self, type: int, where: str) -> bool:
        return dtype_of(type, where).kind in "iub"

    def casts(self, node: Node, types: Set[int]) -> bool:
        to = node.attributes.get("to")
        return node.op == "CastLike" or (node.op == "Cast" and to in REAL and types != {to})
