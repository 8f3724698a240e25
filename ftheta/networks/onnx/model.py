"""An ONNX file as a program. The file is parsed, never executed."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.programs.node import MAX_NODES, Node, Port, ensure_order
from ftheta.networks.programs.program import Program
from ftheta.networks.reading import (
    MAX_BYTES,
    Allowance,
    Malformed,
    read_bytes,
    to_analysis_type,
    unpack_gzip,
)

from .dialect import Onnx
from .schema import MODEL
from .tensors import ExternalData, array_of
from .wire import Budget, decode

if TYPE_CHECKING:
    from ftheta.networks.programs.importing import Imported

MAX_FIELDS = 3_000_000
OPSETS = range(7, 29)
"""Versions of the operators that the rules know. From 7 on, operators broadcast as NumPy does."""


def read(
    path: Path,
    *,
    until: str | None = None,
    shape: tuple[int, ...] | None = None,
    keeps_inputs: bool = False,
) -> "Imported":
    """The network in an `.onnx` or `.onnx.gz` file, up to the node or tensor `until`.

    `shape` is that of one input, without the batch axis; it is needed where the file leaves lengths open. With
    `keeps_inputs`, those that the output does not depend on are inputs of the network all the same.
    """
    # needs JAX, which reading alone does not
    from ftheta.networks.programs.importing import import_program

    return import_program(read_model(path).until(until), shape, keeps_inputs=keeps_inputs)


def read_model(path: Path) -> Program:
    """The model in an `.onnx` or `.onnx.gz` file, or a SubjectError that says what is wrong with it."""
    where = str(path)
    data = unpack_file(path)
    return parse(data, where, path.parent, path.stat().st_size)


def unpack_file(path: Path) -> bytes:
    """The bytes of the model in an `.onnx` or `.onnx.gz` file."""
    if path.suffix.lower() != ".gz":
        return read_bytes(path, MAX_BYTES)
    try:
        return unpack_gzip(path, MAX_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise SubjectError(
            "The file cannot be unpacked.", where=str(path), got=f"{error}"
        ) from error


def parse(
    data: bytes, where: str, folder: Path | None = None, packed: int | None = None
) -> Program:
    """The model in the bytes of an ONNX file.

    `folder` is where its external data may be, `packed` the size of the file if it was packed.
    """
    allowance = Allowance(where, len(data) if packed is None else packed)
    try:
        message = decode(MODEL, memoryview(data), Budget(MAX_FIELDS))
        if message["graph"] is None:
            raise Malformed("there is no graph in it")
        return _model(message, where, ExternalData(folder, allowance))
    except (Malformed, OverflowError, OSError, RuntimeError, ValueError) as error:
        raise SubjectError(
            "The file is not a sound ONNX model.",
            where=where,
            got=f"{error}",
            remedy="export it again, and see what onnx.checker says of it",
        ) from error


def _model(message: Mapping[str, Any], where: str, external: ExternalData) -> Program:
    graph = message["graph"]
    opset = _opset(message, where)
    if len(graph["node"]) > MAX_NODES:
        raise SubjectError(
            "The graph has more nodes than is allowed.", where=where, got=f"{len(graph['node']):,}"
        )
    if graph["sparse_initializer"]:
        raise SubjectError(
            "Sparse weights are not read.",
            where=where,
            remedy="export the network with dense weights",
        )
    weights = {
        t["name"]: to_analysis_type(array_of(t, external, where)) for t in graph["initializer"]
    }
    nodes = [_node(node, external, where) for node in graph["node"]]
    constants = {
        n.outputs[0]: _constant(n, where)
        for n in nodes
        if n.op == "Constant" and n.outputs and not n.domain
    }
    inputs = tuple(_port(port) for port in graph["input"] if port["name"] not in weights)
    others = tuple(node for node in nodes if not (node.op == "Constant" and not node.domain))
    ensure_order(others, {"", *weights, *constants, *(port.name for port in inputs)})
    # an array is learnt, a number is not
    weights = {**{k: v for k, v in constants.items() if v.size > 1}, **weights}
    numbers = {k: v for k, v in constants.items() if k not in weights}
    outputs = tuple(_port(port) for port in graph["output"])
    return Program(where, Onnx(opset), others, weights, numbers, inputs, outputs)


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


def _node(node: Mapping[str, Any], external: ExternalData, where: str) -> Node:
    domain = "" if node["domain"] == "ai.onnx" else node["domain"]
    place = f"{where}, node {node['name'] or node['op_type']}"
    attributes = {a["name"]: _attribute(a, external, place) for a in node["attribute"]}
    return Node(
        node["op_type"],
        tuple(node["input"]),
        tuple(node["output"]),
        attributes,
        node["name"],
        domain,
    )


_KINDS = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}


def _attribute(attribute: Mapping[str, Any], external: ExternalData, where: str) -> Any:
    """Numbers, words, lists of them, or an array; None for what only operators without a rule have."""
    kind = attribute["type"]
    if kind == 4 and attribute["t"] is not None:
        return to_analysis_type(array_of(attribute["t"], external, where))
    return attribute[_KINDS[kind]] if kind in _KINDS else None


def _constant(node: Node, where: str) -> np.ndarray:
    for key in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if node.attributes.get(key) is not None:
            return to_analysis_type(np.asarray(node.attributes[key]))
    raise SubjectError(
        "A constant of this kind is not read.",
        where=f"{where}, {node.label}",
        got=[*node.attributes],
    )


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
