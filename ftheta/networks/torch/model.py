"""A `.pt2` file as a program: what `torch.export.save` writes, read without torch and without unpickling anything."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.programs.importing import Imported, import_program
from ftheta.networks.programs.node import MAX_NODES, Node, Port, ensure_order
from ftheta.networks.programs.program import Program
from ftheta.networks.reading import Malformed

from .archive import AGAIN, BROKEN, Archive, open_archive, refuse_pickle
from .arguments import argument_of
from .dialect import Aten
from .fields import field, require_type, union, whole
from .inplace import functional
from .tensors import StoredTensors

SCHEMA = 8  # the major version of torch's schema of exported programs
IGNORED = frozenset(
    ["device", "pin_memory", "layout", "memory_format", "non_blocking", "copy", "is_coalesced"]
)
"""Arguments that change no number."""
X = {"self": "x", "input": "x"}
"""What operators call their first argument."""


def read(path: Path, *, until: str | None = None, shape: tuple[int, ...] | None = None) -> Imported:
    """The network in a `.pt2` file, up to the node or tensor `until`.

    `shape` is that of one input, without the batch axis; it is needed where the file leaves lengths open.
    """
    return import_program(read_model(path).until(until), shape)


def read_model(path: Path) -> Program:
    """The program in a `.pt2` file, or a SubjectError that says what is wrong with it."""
    with open_archive(path) as file:
        return parse(file, str(path))


def parse(file: IO[bytes], where: str) -> Program:
    """The program in a .pt2 archive; damage of any kind is a SubjectError."""
    try:
        return _program(Archive(file, where), where)
    except BROKEN as error:
        raise SubjectError(
            "The file is not a sound .pt2 archive.",
            where=where,
            got=f"{type(error).__name__ if not str(error) else error}",
            remedy=AGAIN,
        ) from error


def _program(archive: Archive, where: str) -> Program:
    name = _model_name(archive, where)
    document = archive.json(f"models/{name}.json")
    _ensure_version(document, where)
    module = field(document, "graph_module", dict)
    graph = field(module, "graph", dict)
    signature = field(module, "signature", dict)
    listed = field(graph, "nodes", list)
    if len(listed) > MAX_NODES:
        raise SubjectError(
            "The graph has more nodes than is allowed.", where=where, got=f"{len(listed):,}"
        )
    held = _Held.of(field(signature, "input_specs", list), archive, name)
    nodes = [node for entry in listed if (node := _node(entry, where)).outputs]
    specs = [
        require_type(spec, dict, "an output") for spec in field(signature, "output_specs", list)
    ]
    outputs = [_output(spec) for spec in specs if "user_output" in spec]
    ensure_order(nodes, {"", *held.names, *held.inputs})
    plain, ends = functional(nodes, [name for name in outputs if name], where)
    read = {name for node in plain for name in node.inputs} | set(ends)
    names = held.tensor_names(
        [name for name in held.names if name in read], {k for node in plain for k in node.outputs}
    )
    weights, constants = (
        {names[k]: k for k in names if (k in held.parameters) == learnt} for learnt in (True, False)
    )
    types = field(graph, "tensor_values", dict)
    return Program(
        where,
        Aten(),
        tuple(replace(node, inputs=tuple(names.get(k, k) for k in node.inputs)) for node in plain),
        {name: held.array(k) for name, k in weights.items()},
        {name: held.array(k) for name, k in constants.items()},
        tuple(_port(name, types) for name in held.inputs),
        tuple(Port(names.get(name, name), 0, None) for name in ends),
    )


def _model_name(archive: Archive, where: str) -> str:
    names = archive.names("models", ".json")
    if archive.has("data/aotinductor") or (
        not names and archive.names("data/aotinductor/model", "")
    ):
        raise SubjectError(
            "The file holds a compiled program and no graph.", where=where, remedy=AGAIN
        )
    if len(names) != 1:
        raise SubjectError(
            "A .pt2 file with one model is needed.",
            where=where,
            got=f"models {', '.join(names)[:200] or 'none'}",
            remedy=AGAIN,
        )
    for folder in ("weights", "constants"):
        if archive.has(f"data/{folder}/{names[0]}.pt"):
            raise refuse_pickle(
                where, f"data/{folder}/{names[0]}.pt, as older versions of torch wrote it"
            )
    if archive.has("byteorder") and archive.read("byteorder", 64).strip() != b"little":
        raise SubjectError(
            "Numbers with the last byte first are read alone.", where=where, got="byteorder big"
        )
    return names[0]


def _ensure_version(document: Any, where: str) -> None:
    version = field(document, "schema_version", dict)
    if field(version, "major", int) != SCHEMA:
        raise SubjectError(
            "The graph is written in a version of torch's schema that is not read.",
            where=where,
            got=f"version {version['major']}, by torch {str(document.get('torch_version', '?'))[:40]}",
            remedy=AGAIN,
        )


# ---- tensors that the graph takes as inputs --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Held:
    """The names of the graph that stand for tensors of the file, and of those that stand for inputs of the user."""

    names: Mapping[str, tuple[StoredTensors, str]]
    parameters: frozenset[str]
    inputs: tuple[str, ...]

    @classmethod
    def of(cls, specs: list[Any], archive: Archive, model: str) -> "_Held":
        weights = StoredTensors(
            archive, "data/weights", f"data/weights/{model}_weights_config.json"
        )
        constants = StoredTensors(
            archive, "data/constants", f"data/constants/{model}_constants_config.json"
        )
        names = dict[str, tuple[StoredTensors, str]]()
        parameters = set[str]()
        inputs = list[str]()
        for spec in specs:
            kind, held = union(spec)
            if kind == "user_input":
                argument, value = union(field(held, "arg", dict))
                inputs += [field(value, "name", str)] if argument == "as_tensor" else []
            elif kind in _STATE:
                name = field(field(held, "arg", dict), "name", str)
                full = field(held, _STATE[kind], str)
                names[name] = (weights if full in weights else constants), full
                parameters |= {name} if kind == "parameter" else set()
        return cls(names, frozenset(parameters), tuple(inputs))

    def array(self, name: str) -> np.ndarray:
        stored, full = self.names[name]
        return stored.array(full)

    def tensor_names(self, names: list[str], taken: set[str]) -> dict[str, str]:
        """What each tensor is called in the module, tied ones alike; its name in the graph if a node is called so."""
        taken = taken | set(self.inputs)
        first = dict[Any, str]()
        called = dict[str, str]()
        for name in names:
            stored, full = self.names[name]
            key = (stored.folder, stored.payload(full), name in self.parameters)
            called[name] = first.setdefault(key, name if full in taken else full)
        return called


_STATE = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}


def _port(name: str, types: Mapping[str, Any]) -> Port:
    meta = require_type(types.get(name), dict, f"the type of {name}")
    return Port(
        name, field(meta, "dtype", int), tuple(whole(size) for size in field(meta, "sizes", list))
    )


def _output(spec: Any) -> str:
    kind, value = union(field(field(spec, "user_output", dict), "arg", dict))
    return field(value, "name", str) if kind == "as_tensor" else ""


# ---- nodes -----------------------------------------------------------------------------------------------------------


def _node(entry: Any, where: str) -> Node:
    op = field(entry, "target", str).removeprefix("torch.ops.")
    outputs = tuple(name for argument in field(entry, "outputs", list) for name in _made(argument))
    given = require_type(entry, dict, "a node").get("name")
    name = given if isinstance(given, str) else "".join(outputs[:1])
    node = Node(op, (), outputs, {}, name)
    if not outputs:  # a check that was made while the program was exported
        return node
    inputs = list[str]()
    attributes = {}
    for argument in field(entry, "inputs", list):
        key = field(argument, "name", str)
        if key not in IGNORED:
            attributes[X.get(key, key)] = argument_of(
                field(argument, "arg", dict), inputs, f"{where}, {node.label}"
            )
    return replace(node, inputs=tuple(inputs), attributes=attributes)


def _made(argument: Any) -> Iterator[str]:
    """The names that an output of a node stands for; "" for a value that is None."""
    kind, held = union(argument)
    if kind in ("as_tensor", "as_optional_tensor"):
        yield field(held, "name", str) if "name" in require_type(held, dict, kind) else ""
    elif kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
        yield field(held, "as_name", str)
    elif kind == "as_tensors":
        yield from (field(one, "name", str) for one in require_type(held, list, kind))
    elif kind == "as_none":
        yield ""
    else:
        raise Malformed(f"an output {kind[:40]}")
