"""A network in a file as data: nodes in order, tensors, inputs and outputs. A file is parsed, never executed."""

import difflib
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ftheta.logic.errors import SubjectError

from .node import Node, Port, ancestors


@dataclass
class Survey:
    """What was seen while the nodes were computed: values known at import, and names that had to be known."""

    known: dict[str, np.ndarray] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)


class Dialect(Protocol):
    """What the nodes of a program mean: the part that is another one for each format."""

    @property
    def export(self) -> str:
        """How to write the file so that it can be read."""
        ...

    @property
    def check(self) -> str:
        """What to do about a node that does not fit its inputs."""
        ...

    @property
    def marks_parameters(self) -> bool:
        """Whether the format tells parameters from constants; else every array of floats may be either."""
        ...

    def near(self, node: Node) -> list[str] | None:
        """None if there is a rule for the node, else the names of operators that are spelt alike and have one."""
        ...

    def nests(self, node: Node) -> bool:
        """Whether the node has a graph inside."""
        ...

    def compute(self, node: Node, inputs: list[Any], read: set[str]) -> Any:
        """The value of a node, or a tuple of its values; `read` collects the names of inputs that had to be known."""
        ...

    def is_whole(self, type: int, where: str) -> bool:
        """Whether numbers of this type are integers or truth values."""
        ...

    def casts(self, node: Node, types: Set[int]) -> bool:
        """Whether the node may make real numbers of a type that is not the one of these."""
        ...


@dataclass(frozen=True, eq=False)
class Program:
    """A graph with its tensors: floats among the `weights` are parameters, `constants` are not."""

    where: str
    dialect: Dialect
    nodes: tuple[Node, ...]
    weights: Mapping[str, np.ndarray]
    constants: Mapping[str, np.ndarray]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @cached_property
    def maker(self) -> dict[str, Node]:
        """The node that makes each tensor."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    def tensor(self, name: str) -> np.ndarray | None:
        return self.weights[name] if name in self.weights else self.constants.get(name)

    def until(self, name: str | None) -> "Program":
        """The program up to a node or tensor, without the nodes that it does not need."""
        if name is not None:
            self = replace(self, outputs=(Port(self._tensor_named(name), 0, None),))
        if len(self.outputs) != 1:
            raise SubjectError(
                "A network returns one array.",
                where=self.where,
                got=f"outputs {', '.join(port.name for port in self.outputs) or 'none'}",
                remedy='choose one: load(path, until="name of an output")',
            )
        needed = ancestors(self.maker, [port.name for port in self.outputs])
        nodes = tuple(node for node in self.nodes if needed.intersection(node.outputs))
        kept = [
            {k: v for k, v in held.items() if k in needed}
            for held in (self.weights, self.constants)
        ]
        return replace(self, nodes=nodes, weights=kept[0], constants=kept[1])

    def _tensor_named(self, name: str) -> str:
        if name in self.maker:
            return name
        for node in self.nodes:
            if node.name == name and node.outputs:
                return node.outputs[0]
        names = [*self.maker, *(node.name for node in self.nodes if node.name)]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        raise SubjectError(
            "The graph has no node or tensor of this name.",
            where=self.where,
            got=name,
            remedy=f"did you mean {', '.join(near)}?"
            if near
            else f"the last tensors are {', '.join(names[-3:])}",
        )
