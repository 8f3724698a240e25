"""A network in a file as data: nodes in order, tensors, inputs and outputs. A file is parsed, never executed."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Description
from ftheta.networks.reading import Malformed as Malformed
from ftheta.networks.scaling import ScaledLayers

if TYPE_CHECKING:
    from .interpret import Survey

MAX_BYTES = 2 << 30  # of a file
MAX_NODES = 20_000


@dataclass(frozen=True)
class Node:
    """One operator: `outputs = op(inputs)`. An optional input or output that is left out has the name ""."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    name: str = ""
    domain: str = ""

    @property
    def label(self) -> str:
        """What the node is called in messages; the exporter may have given it no name."""
        op = f"{self.domain}.{self.op}" if self.domain else self.op
        return f"{op} node {self.name!r}" if self.name else f"{op} node that makes {', '.join(self.outputs)!r}"


@dataclass(frozen=True)
class Port:
    """An input or output of the graph: its name, type number, and dimensions (None where they are left open)."""

    name: str
    type: int
    dims: tuple[int | None, ...] | None


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

    def describe(self, program: "Program", name: str, seen: "Survey") -> Description | ScaledLayers | None:
        """The list of layers of a program with the input `name`, where it is one."""
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
        kept = [{k: v for k, v in held.items() if k in needed} for held in (self.weights, self.constants)]
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
            remedy=f"did you mean {', '.join(near)}?" if near else f"the last tensors are {', '.join(names[-3:])}",
        )


def ancestors(maker: Mapping[str, Node], names: Iterable[str]) -> set[str]:
    """The names, and those of all tensors that they are made from."""
    found = set[str]()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += maker[name].inputs if name in maker else ()
    return found


def ensure_order(nodes: Iterable[Node], known: set[str]) -> None:
    """Raise unless every node reads what was made before it, and no tensor is made twice."""
    for node in nodes:
        missing = [name for name in node.inputs if name not in known]
        if missing:
            raise Malformed(f"{node.label} reads {missing[0]!r}, which nothing before it makes")
        for name in filter(None, node.outputs):
            if name in known:
                raise Malformed(f"{node.label} makes {name!r}, which is there already")
            known.add(name)


def to_analysis_type(array: np.ndarray) -> np.ndarray:
    """The same numbers in the types of the analysis: float64, int64, bool."""
    if array.dtype.kind == "b":
        return array
    whole = array.dtype.kind in "iu"
    return array.astype(np.int64 if whole else np.float64)


def type_numbered(code: int, known: Mapping[int, Any], refused: Mapping[int, str], where: str) -> np.dtype:
    """The type of numbers with this number in a format."""
    if code not in known:
        raise SubjectError(
            "Numbers of this type are not read.",
            where=where,
            got=refused.get(code, f"type number {code}"),
            remedy="export the network with float32 or float64 weights",
        )
    return known[code]
