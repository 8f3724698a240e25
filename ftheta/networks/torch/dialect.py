"""What the nodes of an exported program mean: operators of ATen, torch's own library, and Python's on lengths."""

import difflib
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from ftheta.networks.programs.call import Call
from ftheta.networks.programs.node import Node

from .archive import SAVE
from .arguments import SUBGRAPH, Dtype, fill_argument
from .inplace import base
from .rules import RULES
from .tensors import dtype_of

LIKE_ANOTHER = frozenset(("to.other", "type_as.default", "type_as"))
"""Operators that give a tensor the type of another one."""


@dataclass(frozen=True)
class Aten:
    """Rules are found by `name.overload` (`max.dim`), then by the name alone."""

    export: str = f"rewrite it with operators of ATen and export it again: {SAVE}"
    check: str = f"export the network again: {SAVE}"
    marks_parameters: bool = True

    def rule(self, node: Node) -> Any:
        op = node.op.removeprefix("aten.")
        return RULES.get(op) or RULES.get(base(node.op))

    def near(self, node: Node) -> list[str] | None:
        if not self.nests(node) and self.rule(node) is not None:
            return None
        near = difflib.get_close_matches(
            base(node.op)[:60], [name.split(".")[0] for name in RULES], n=2, cutoff=0.8
        )
        return [] if self.nests(node) else sorted(set(near) - {base(node.op)})

    def nests(self, node: Node) -> bool:
        return node.op.startswith("higher_order.") or any(
            value is SUBGRAPH for value in node.attributes.values()
        )

    def compute(self, node: Node, inputs: list[Any], read: set[str]) -> Any:
        arguments = {name: fill_argument(value, inputs) for name, value in node.attributes.items()}
        return self.rule(node)(Call(node, inputs), **arguments)

    def is_whole(self, type: int, where: str) -> bool:
        return dtype_of(type, where).kind in "iub"

    def casts(self, node: Node, types: Set[int]) -> bool:
        if node.op.removeprefix("aten.") in LIKE_ANOTHER:
            return True
        asked = {value.code for value in node.attributes.values() if isinstance(value, Dtype)}
        return any(not self.is_whole(code, node.label) and types != {code} for code in asked)
