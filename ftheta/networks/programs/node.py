"""The nodes of a program, one operator each, in an order in which each reads what was made before it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ftheta.networks.reading import Malformed

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
        return (
            f"{op} node {self.name!r}"
            if self.name
            else f"{op} node that makes {', '.join(self.outputs)!r}"
        )


@dataclass(frozen=True)
class Port:
    """An input or output of the graph: its name, type number, and dimensions (None where they are left open)."""

    name: str
    type: int
    dims: tuple[int | None, ...] | None


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
