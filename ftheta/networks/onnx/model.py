"""An ONNX file as data: nodes in order, tensors, inputs and outputs. A file is parsed, never executed."""

import difflib
import gzip
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic import SubjectError

from .schema import MODEL
from .tensors import Shelf, array_of, settled
from .wire import Budget, Malformed, decode

MAX_BYTES = 2 << 30  # of the file, unpacked, and again of its external data; the format itself ends here
MAX_RATIO, ALWAYS_ALLOWED = 200, 64 << 20  # how far a packed file may unfold
MAX_NODES = 20_000
MAX_FIELDS = 3_000_000
OPSETS = range(7, 29)
"""Versions of the operators that the rules know. From 7 on, operators broadcast as NumPy does."""


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


@dataclass(frozen=True, eq=False)
class Model:
    """A graph with its tensors. `weights` are named by the file as such; `constants` stand among its nodes."""

    where: str
    opset: int
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

    def until(self, name: str | None) -> "Model":
        """The model up to a node or tensor, without the nodes that it does not need."""
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
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += maker[name].inputs if name in maker else ()
    return found


def read_model(path: Path) -> Model:
    """The model in an `.onnx` or `.onnx.gz` file, or a SubjectError that says what is wrong with it."""
    where = str(path)
    if not path.is_file():
        raise SubjectError("There is no such file.", got=where, remedy="check the path")
    return parse(_unpacked(path), where, path.parent)


def _unpacked(path: Path) -> bytes:
    size, packed = path.stat().st_size, path.suffix == ".gz"
    if size == 0:
        raise SubjectError("The file is empty.", got=str(path))
    limit = min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_RATIO * size)) if packed else MAX_BYTES
    if not packed and size > limit:
        raise SubjectError("The file is larger than is allowed.", where=str(path), got=f"{size:,} bytes")
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SubjectError("The file cannot be unpacked.", where=str(path), got=f"{error}") from error
    if len(data) > limit:
        raise SubjectError(
            "The file unpacks to more than is allowed.", where=str(path), got=f"more than {limit:,} from {size:,} bytes"
        )
    return data


def parse(data: bytes, where: str, folder: Path | None = None) -> Model:
    """The model in the bytes of an ONNX file; `folder` is where its external data may be."""
    try:
        message = decode(MODEL, memoryview(data), Budget(MAX_FIELDS))
        if message["graph"] is None:
            raise Malformed("there is no graph in it")
        return _model(message, where, Shelf(folder, MAX_BYTES))
    except (Malformed, OverflowError, OSError, RuntimeError, ValueError) as error:
        raise SubjectError(
            "The file is not a sound ONNX model.",
            where=where,
            got=f"{error}",
            remedy="export it again, and see what onnx.checker says of it",
        ) from error


def _model(message: Mapping[str, Any], where: str, shelf: Shelf) -> Model:
    graph, opset = message["graph"], _opset(message, where)
    if len(graph["node"]) > MAX_NODES:
        raise SubjectError("The graph has more nodes than is allowed.", where=where, got=f"{len(graph['node']):,}")
    if graph["sparse_initializer"]:
        raise SubjectError("Sparse weights are not read.", where=where, remedy="export the network with dense weights")
    weights = {t["name"]: settled(array_of(t, shelf, where)) for t in graph["initializer"]}
    nodes = [_node(node, shelf, where) for node in graph["node"]]
    constants = {n.outputs[0]: _constant(n, where) for n in nodes if n.op == "Constant" and n.outputs and not n.domain}
    inputs = tuple(_port(port) for port in graph["input"] if port["name"] not in weights)
    others = tuple(node for node in nodes if not (node.op == "Constant" and not node.domain))
    _ordered(others, {"", *weights, *constants, *(port.name for port in inputs)}, where)
    return Model(where, opset, others, weights, constants, inputs, tuple(_port(port) for port in graph["output"]))


def _opset(message: Mapping[str, Any], where: str) -> int:
    versions = [o["version"] for o in message["opset_import"] if o["domain"] in ("", "ai.onnx")]
    if not versions or versions[0] not in OPSETS:
        raise SubjectError(
            "The operators are of a version that is not read.",
            where=where,
            got=f"opset {versions[0]}" if versions else "no opset",
            remedy=f"export with an opset from {OPSETS[0]} to {OPSETS[-1]}, for example 17",
        )
    return versions[0]


def _node(node: Mapping[str, Any], shelf: Shelf, where: str) -> Node:
    domain = "" if node["domain"] == "ai.onnx" else node["domain"]
    place = f"{where}, node {node['name'] or node['op_type']}"
    attributes = {a["name"]: _attribute(a, shelf, place) for a in node["attribute"]}
    return Node(node["op_type"], tuple(node["input"]), tuple(node["output"]), attributes, node["name"], domain)


_KINDS = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}


def _attribute(attribute: Mapping[str, Any], shelf: Shelf, where: str) -> Any:
    """Numbers, words, lists of them, or an array; None for what only operators without a rule have."""
    kind = attribute["type"]
    if kind == 4 and attribute["t"] is not None:
        return settled(array_of(attribute["t"], shelf, where))
    return attribute[_KINDS[kind]] if kind in _KINDS else None


def _constant(node: Node, where: str) -> np.ndarray:
    for key in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if node.attributes.get(key) is not None:
            return settled(np.asarray(node.attributes[key]))
    raise SubjectError("A constant of this kind is not read.", where=f"{where}, {node.label}", got=[*node.attributes])


def _port(port: Mapping[str, Any]) -> Port:
    kind = (port["type"] or {}).get("tensor_type")
    if kind is None:
        return Port(port["name"], 0, None)
    dims = (
        None
        if kind["shape"] is None
        else tuple(d["dim_value"] if d["dim_value"] > 0 else None for d in kind["shape"]["dim"])
    )
    return Port(port["name"], kind["elem_type"], dims)


def _ordered(nodes: tuple[Node, ...], known: set[str], where: str) -> None:
    """Every node reads what was made before it, and no tensor is made twice."""
    for node in nodes:
        missing = [name for name in node.inputs if name not in known]
        if missing:
            raise Malformed(f"{node.label} reads {missing[0]!r}, which nothing before it makes")
        for name in filter(None, node.outputs):
            if name in known:
                raise Malformed(f"{node.label} makes {name!r}, which is there already")
            known.add(name)
