"""Operators that write into their argument (`relu_`, `add_`), as operators that make a new tensor.

torch names such operators with a trailing underscore. Every later reader of the tensor they wrote into sees the new
numbers: from there on its name stands for the result. Where other tensors share its memory (views) and are read later,
that is not enough, and the program is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ftheta.logic.errors import SubjectError
from ftheta.networks.programs.node import Node

_VIEWS = (
    "alias as_strided chunk detach diagonal expand expand_as flatten lift_fresh movedim narrow permute ravel reshape",
    "reshape_as select slice split split_with_sizes squeeze swapaxes swapdims t transpose unbind unflatten unfold",
    "unsqueeze view view_as numpy_T mT mH adjoint tensor_split hsplit vsplit dsplit",
    "contiguous dropout feature_dropout alpha_dropout to type_as positive conj resolve_conj",
)
VIEWS = frozenset(word for line in _VIEWS for word in line.split())
"""Operators whose results may share the memory of their first argument, or be that argument itself."""


def base(op: str) -> str:
    """`add` of `aten.add.Tensor`."""
    parts = op.split(".")
    return parts[1] if parts[0] == "aten" and len(parts) > 1 else op


def writes(op: str) -> bool:
    """Whether an ATen operator writes into its first argument: its name ends with one underscore."""
    return op.startswith("aten.") and base(op).endswith("_") and not base(op).endswith("__")


def functional(
    nodes: Sequence[Node], outputs: Sequence[str], where: str
) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """The same program without writing: its nodes and the names of its outputs."""
    if not any(writes(node.op) for node in nodes):
        return tuple(nodes), tuple(outputs)
    memory = _Memory({name: i for i, node in enumerate(nodes) for name in node.inputs})
    memory.last |= dict.fromkeys(outputs, len(nodes))
    return tuple(memory.step(i, node, where) for i, node in enumerate(nodes)), tuple(
        map(memory.now, outputs)
    )


@dataclass
class _Memory:
    """Which tensor a name stands for by now, when each is read for the last time, and which ones share memory."""

    last: dict[str, int]
    became: dict[str, str] = field(default_factory=dict)
    shared: dict[str, set[str]] = field(default_factory=dict)

    def now(self, name: str) -> str:
        chain = []
        while name in self.became:
            chain.append(name)
            name = self.became[name]
        self.became |= dict.fromkeys(chain, name)
        return name

    def step(self, i: int, node: Node, where: str) -> Node:
        inputs = tuple(map(self.now, node.inputs))
        target = inputs[0] if inputs else ""
        if writes(node.op) and target:
            self._write(i, node, target, where)
        elif base(node.op) in VIEWS and target:
            group = self.shared.setdefault(target, {target})
            group |= set(node.outputs)
            self.shared |= dict.fromkeys(node.outputs, group)
        return replace(node, op=_plain(node.op), inputs=inputs)

    def _write(self, i: int, node: Node, target: str, where: str) -> None:
        others = self.shared.pop(target, {target}) - {target}
        clash = next((name for name in sorted(others) if self.last.get(name, -1) > i), None)
        if clash is not None:
            raise SubjectError(
                "A node writes into memory that another tensor shares.",
                where=f"{where}, {node.label}",
                got=f"{clash!r} is read after it",
                remedy="make it functional before it is saved: torch.export.save(program.run_decompositions(), path)",
            )
        for name in node.outputs[:1]:
            self.last[name] = max(self.last.get(name, -1), self.last.get(target, -1))
            self.became[target] = name


def _plain(op: str) -> str:
    if not writes(op):
        return op
    space, name, *overload = op.split(".")
    return ".".join((space, name.removesuffix("_"), *overload))
