"""Whole channels of convolutions taken out of an ONNX model: what reads them and what makes them is cut with them.

A channel of a ReLU may go if it is 0 at every input of interest, or if nothing reads it but by weights of 0. Going up
from the ReLU, it is made by one convolution, perhaps followed by batch normalisation or arithmetic with constants;
going down, it is read by convolutions and matrices, perhaps behind pooling and flattening. Where anything else makes or
reads it (a residual sum, a node of another kind, a weight that two nodes share), it stays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.networks.programs.node import Node
from ftheta.networks.programs.program import Program
from ftheta.networks.reading import Allowance

from .model import MAX_FIELDS
from .schema import MODEL
from .tensors import ExternalData, array_of, dtype_of
from .wire import Budget, decode, encode

Shape = tuple[int, ...]
ARITHMETIC = ("Add", "Sub", "Mul", "Div")
KEEPS_ZERO = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Dropout", "Identity")
FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
WHOLE = 7  # the type of shapes
SPATIAL = ([2, 3], [-2, -1], [-1, -2], [3, 2])


@dataclass(frozen=True)
class Cut:
    """A tensor that loses the entries of a channel: `block` of them, one after the other, along `axis`."""

    tensor: str
    axis: int
    block: int = 1


@dataclass(frozen=True)
class Layer:
    """A ReLU behind a convolution: `before` and `after` are the tensors around it.

    `makers` hold the numbers that make its channels, `readers` those that multiply them; `shapes` are those of vectors,
    whose length changes with the channels.
    """

    name: str
    before: str
    after: str
    channels: int
    makers: tuple[Cut, ...]
    readers: tuple[Cut, ...]
    shapes: tuple[str, ...]

    def unread(self, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
        """The channels that are multiplied by 0 wherever they are read."""
        idle = np.ones(self.channels, bool)
        for cut in self.readers:
            weights = np.moveaxis(tensors[cut.tensor], cut.axis, 0)
            idle &= ~weights.reshape(self.channels, -1).any(1)
        return np.flatnonzero(idle)


def find_layers(program: Program, shape_of: Callable[[str], Shape]) -> list[Layer]:
    """The ReLUs whose channels can be taken out one by one, in the order of the program.

    `shape_of` tells the shape that a tensor has for one input.
    """
    graph = _Graph(program, shape_of)
    found = (graph.layer_at(node) for node in program.nodes if node.op == "Relu")
    return [layer for layer in found if layer is not None]


def cut_channels(
    tensors: dict[str, np.ndarray], layer: Layer, channels: Sequence[int]
) -> dict[str, np.ndarray]:
    """The tensors without these channels of the layer."""
    cut = dict(tensors)
    for part in (*layer.makers, *layer.readers):
        gone = [c * part.block + k for c in channels for k in range(part.block)]
        cut[part.tensor] = np.delete(cut[part.tensor], gone, part.axis)
    for name in layer.shapes:
        per_channel = cut[name][1] // layer.channels
        cut[name] = np.array([cut[name][0], per_channel * (layer.channels - len(channels))])
    return cut


def to_bytes(program: Program, data: bytes, cut: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of the model that `program` was read from, with these tensors for those of the same names."""
    message = decode(MODEL, memoryview(data), Budget(MAX_FIELDS))
    graph = message["graph"]
    folder = Path(program.where).parent
    held = ExternalData(folder, Allowance(program.where, len(data)))
    kept = [node for node in graph["node"] if not set(node["output"]) & set(cut)]
    made = [
        _constant(node["output"][0], cut)
        for node in graph["node"]
        if set(node["output"]) & set(cut)
    ]
    tensors = [_tensor(tensor, held, cut) for tensor in graph["initializer"]]
    nodes = [_node(node, held) for node in kept]
    graph = _without_absent({**graph, "node": [], "initializer": []})
    graph |= {"node": nodes, "initializer": [*tensors, *made]}
    return encode(MODEL, {**_without_absent({**message, "graph": None}), "graph": graph})


def _tensor(
    tensor: Mapping[str, Any], held: ExternalData, cut: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """The tensor with its numbers as bytes, whatever list or file they were in."""
    array = cut.get(tensor["name"])
    array = array_of(tensor, held, tensor["name"]) if array is None else array
    dtype = dtype_of(tensor["data_type"], tensor["name"])
    named = {"name": tensor["name"], "data_type": tensor["data_type"], "dims": array.shape}
    return {**named, "raw_data": np.ascontiguousarray(array, dtype).tobytes()}


def _constant(name: str, cut: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """A shape that was a node of its own."""
    shape = np.ascontiguousarray(cut[name], np.int64)
    return {"name": name, "data_type": WHOLE, "dims": shape.shape, "raw_data": shape.tobytes()}


def _node(node: Mapping[str, Any], held: ExternalData) -> dict[str, Any]:
    attributes = [_attribute(attribute, held) for attribute in node["attribute"]]
    return _without_absent(node) | {"attribute": attributes}


def _attribute(attribute: Mapping[str, Any], held: ExternalData) -> dict[str, Any]:
    """Its name and type, and the one field that the type says, also where that is 0."""
    field = FIELDS[attribute["type"]]
    value = _tensor(attribute["t"], held, {}) if field == "t" else attribute[field]
    return {"name": attribute["name"], "type": attribute["type"], field: value}


def _without_absent(value: Any) -> Any:
    """A message without fields that were not there: written with their empty value they would hide others."""
    if isinstance(value, dict):
        return {k: _without_absent(v) for k, v in value.items() if _is_there(v)}
    return [_without_absent(item) for item in value] if isinstance(value, list) else value


def _is_there(value: Any) -> bool:
    return value is not None and (isinstance(value, dict) or bool(value))


@dataclass
class _Below:
    """What was found below a ReLU: where its channels are multiplied, and the shapes that count them."""

    channels: int
    cuts: list[Cut] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)


class _Graph:
    """A program with the readers of each tensor."""

    def __init__(self, program: Program, shape_of: Callable[[str], Shape]) -> None:
        self.program = program
        self.shape_of = shape_of
        self.readers: dict[str, list[Node]] = {}
        for node in program.nodes:
            for name in filter(None, node.inputs):
                self.readers.setdefault(name, []).append(node)
        self.outputs = {port.name for port in program.outputs}

    def layer_at(self, relu: Node) -> Layer | None:
        """The layer around a ReLU, if its channels can go."""
        makers: list[Cut] = []
        channels = self._climb(relu.inputs[0], makers)
        if channels is None:
            return None
        below = _Below(channels)
        if not self._descend(relu.outputs[0], below, flat=False):
            return None
        return Layer(
            relu.name or relu.outputs[0],
            relu.inputs[0],
            relu.outputs[0],
            channels,
            tuple(makers),
            tuple(below.cuts),
            tuple(below.shapes),
        )

    def _climb(self, name: str, makers: list[Cut]) -> int | None:
        """The channels that the convolution above makes, with the tensors that have one entry for each."""
        behind: list[str] = []
        while True:
            node = self.program.maker.get(name)
            if node is None or not self._is_read_once(name):
                return None
            if node.op == "Conv":
                return self._read_maker(node, behind, makers)
            if node.op == "BatchNormalization":
                behind += node.inputs[1:]
                name = node.inputs[0]
            elif node.op in ARITHMETIC:
                moving = [i for i in node.inputs if self.program.tensor(i) is None]
                if len(moving) != 1:
                    return None
                behind += [i for i in node.inputs if i != moving[0]]
                name = moving[0]
            else:
                return None

    def _read_maker(self, conv: Node, behind: list[str], makers: list[Cut]) -> int | None:
        weight = self._own_weight(conv.inputs[1])
        if weight is None or weight.ndim != 4 or conv.attributes.get("group", 1) != 1:
            return None
        channels = len(weight)
        makers.append(Cut(conv.inputs[1], 0))
        for name in [*filter(None, conv.inputs[2:3]), *behind]:
            constant = self.program.tensor(name)
            if constant is not None and constant.size == 1:
                continue  # one number for all channels
            axis = self._axis_of_channels(name, channels)
            if axis is None:
                return None
            makers.append(Cut(name, axis))
        return channels

    def _axis_of_channels(self, name: str, channels: int) -> int | None:
        """The axis of a constant of one entry a channel: alone, or before the two axes of an image."""
        constant = self._own_weight(name)
        if constant is None or constant.size != channels:
            return None
        if constant.ndim == 1 and self._is_parameter_of_channels(name):
            return 0
        before_image = constant.ndim in (3, 4) and constant.shape[-3] == channels
        return constant.ndim - 3 if before_image else None

    def _is_parameter_of_channels(self, name: str) -> bool:
        """Whether a vector goes along the channels: in arithmetic it goes along the last axis."""
        return self.readers[name][0].op in ("Conv", "BatchNormalization")

    def _descend(self, name: str, below: _Below, *, flat: bool) -> bool:
        """Whether everything that reads a tensor multiplies its channels by numbers that can be cut."""
        if name in self.outputs:
            return False
        return all(self._follow(node, name, below, flat=flat) for node in self.readers[name])

    def _follow(self, node: Node, name: str, below: _Below, *, flat: bool) -> bool:
        if list(node.inputs).count(name) != 1 or node.inputs[0] != name:
            return False
        if node.op in ("Conv", "Gemm", "MatMul"):
            cut = self._cut_of_reader(node, below.channels, flat=flat)
            below.cuts += [] if cut is None else [cut]
            return cut is not None
        becomes_flat = self._keeps_channels(node, below)
        return becomes_flat is not None and self._descend(
            node.outputs[0], below, flat=flat or becomes_flat
        )

    def _keeps_channels(self, node: Node, below: _Below) -> bool | None:
        """Whether a channel is one stretch of a vector behind the node; None where it may be anywhere, or not be 0."""
        if node.op in KEEPS_ZERO:
            alone = len([out for out in node.outputs if out]) == 1
            return False if alone and not node.attributes.get("ceil_mode", 0) else None
        if node.op == "Flatten":
            return True if node.attributes.get("axis", 1) == 1 else None
        if node.op == "Reshape":
            return True if self._reshapes_to_vector(node, below) else None
        if node.op == "ReduceMean" and self._axes(node) in SPATIAL:
            return not node.attributes.get("keepdims", 1)
        return None

    def _reshapes_to_vector(self, node: Node, below: _Below) -> bool:
        """Whether each input becomes one vector; a length that is written down is one of the shapes to change."""
        shape = self.program.tensor(node.inputs[1])
        if shape is None or shape.shape != (2,) or len(self.shape_of(node.outputs[0])) != 1:
            return False
        if shape[1] == -1:
            return True
        below.shapes.append(node.inputs[1])
        return self._is_read_once(node.inputs[1]) and shape[1] % below.channels == 0

    def _axes(self, node: Node) -> list[int] | None:
        if node.attributes.get("axes") is not None or len(node.inputs) < 2:
            return node.attributes.get("axes")
        given = self.program.tensor(node.inputs[1])
        return None if given is None else [int(axis) for axis in given]

    def _cut_of_reader(self, node: Node, channels: int, *, flat: bool) -> Cut | None:
        """Where the numbers are that multiply the channels."""
        weight = self._own_weight(node.inputs[1])
        if weight is None:
            return None
        if node.op == "Conv":
            plain = not flat and node.attributes.get("group", 1) == 1
            return Cut(node.inputs[1], 1) if plain else None
        axis = 1 if node.op == "Gemm" and node.attributes.get("transB", 0) else 0
        whole = weight.ndim == 2 and weight.shape[axis] % channels == 0
        if not flat or not whole or node.attributes.get("transA", 0):
            return None
        return Cut(node.inputs[1], axis, weight.shape[axis] // channels)

    def _own_weight(self, name: str) -> np.ndarray | None:
        """A tensor of the file that one node reads, once."""
        made = name in self.program.maker
        return None if made or not self._is_read_once(name) else self.program.weights.get(name)

    def _is_read_once(self, name: str) -> bool:
        return name not in self.outputs and len(self.readers.get(name, ())) == 1
