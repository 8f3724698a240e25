"""Networks written as ONNX files: opset 20, one input of shape (batch, d) with the batch left open."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks.description import Description
from ftheta.networks.programs.spellings import SPELLINGS, Z
from ftheta.networks.reading import MAX_BYTES
from ftheta.networks.scaling import ScaledLayers

from .schema import MODEL
from .wire import encode

OPSET = 20
IR_VERSION = 9
Precision = Literal["float64", "float32"]
_TYPES = {"float64": (11, "<f8"), "float32": (1, "<f4")}
_TRUTH = 9
_WHOLE = 7
Shape = tuple[int, ...]


class _Sheet:
    """Nodes and tensors of a graph that is being written."""

    def __init__(self, precision: Precision) -> None:
        if precision not in _TYPES:
            raise UsageError(
                "Unknown precision.", got=precision, remedy=f"choose one of {', '.join(_TYPES)}"
            )
        self.type, self.dtype = _TYPES[precision]
        self.nodes: list[dict[str, Any]] = []
        self.tensors: list[dict[str, Any]] = []

    def numbers(self, name: str, array: Any) -> str:
        with np.errstate(over="ignore"):
            data = np.ascontiguousarray(array, self.dtype)
        if not np.isfinite(data).all():
            raise SubjectError(
                "A weight does not fit the precision.",
                where=name,
                got=self.dtype,
                remedy="use float64",
            )
        return self._tensor(name, data, self.type)

    def mask(self, name: str, array: np.ndarray) -> str:
        return self._tensor(name, np.ascontiguousarray(array, np.bool_), _TRUTH)

    def _tensor(self, name: str, data: np.ndarray, kind: int) -> str:
        self.tensors.append(
            {"dims": data.shape, "data_type": kind, "name": name, "raw_data": data.tobytes()}
        )
        return name

    def node(self, op: str, inputs: Sequence[str], output: str, **whole: int) -> str:
        attributes = [{"name": k, "i": v, "type": 2} for k, v in whole.items()]
        self.nodes.append(
            {
                "input": inputs,
                "output": [output],
                "name": output,
                "op_type": op,
                "attribute": attributes,
            }
        )
        return output

    def affine(self, i: int, x: str, weight: Any, bias: np.ndarray | None) -> str:
        names = [x, self.numbers(f"W{i}", weight)]
        if bias is not None:
            names.append(self.numbers(f"b{i}", bias))
        return self.node("Gemm", names, f"affine{i}", transB=1)

    def write_spelling(self, spelling: Any, z: str, output: str) -> str:
        """The nodes of an expression of `SPELLINGS`."""
        if spelling == Z:
            return z
        if isinstance(spelling, float):
            return self.numbers(f"{output}_number", np.array(spelling))
        op, *arguments = spelling
        return self.node(
            op,
            [self.write_spelling(a, z, f"{output}_{k}") for k, a in enumerate(arguments)],
            output,
        )

    def flat(self, shape: Shape) -> str:
        """The input as a row of numbers."""
        return "input" if len(shape) == 1 else self.node("Flatten", ["input"], "flat", axis=1)

    def bytes(self, name: str, shapes: tuple[Shape, Shape], output: str) -> bytes:
        if len(shapes[1]) == 1:
            self.node("Identity", [output], "output")
        else:
            target = self._tensor("output_shape", np.array([-1, *shapes[1]], np.int64), _WHOLE)
            self.node("Reshape", [output, target], "output")
        graph = {"node": self.nodes, "name": name, "initializer": self.tensors}
        graph |= {
            "input": [self._port("input", shapes[0])],
            "output": [self._port("output", shapes[1])],
        }
        model = {"ir_version": IR_VERSION, "producer_name": "ftheta", "graph": graph}
        return encode(MODEL, model | {"opset_import": [{"domain": "", "version": OPSET}]})

    def _port(self, name: str, shape: Shape) -> dict[str, Any]:
        dims = {"dim": [{"dim_param": "batch"}, *({"dim_value": n} for n in shape)]}
        return {"name": name, "type": {"tensor_type": {"elem_type": self.type, "shape": dims}}}


def layers_to_bytes(layers: Description | ScaledLayers, precision: Precision = "float64") -> bytes:
    """A list of layers: Gemm and the activation, spelled as in `SPELLINGS`, one after the other.

    A scaling of the inputs before them stays apart: Add, Sub, Mul and Div with its constants.
    """
    sheet = _Sheet(precision)
    x = "input"
    description = layers.layers if isinstance(layers, ScaledLayers) else layers
    steps = layers.scaling.steps if isinstance(layers, ScaledLayers) else ()
    for k, (operation, constant) in enumerate(steps):
        x = sheet.node(
            operation.capitalize(), [x, sheet.numbers(f"scaling{k}", constant)], f"scaled{k}"
        )
    for i, layer in enumerate(description.layers):
        x = sheet.affine(i, x, layer.weight, layer.bias if layer.has_bias else None)
        if layer.activation != "identity":
            x = sheet.write_spelling(
                SPELLINGS[layer.activation.lower().replace("_", "-")], x, f"{layer.activation}{i}"
            )
    widths = description.widths
    return sheet.bytes("network", (widths[:1], widths[-1:]), x)


def steps_to_bytes(
    steps: Sequence[tuple[Any, np.ndarray, np.ndarray]],
    precision: Precision = "float64",
    shapes: tuple[Shape, Shape] | None = None,
) -> bytes:
    """Steps of a ReLU normal form `(A, b, mask)`: Gemm, then ReLU where the mask says so.

    `shapes` are those of one input and of its output, if they are not vectors.
    """
    shapes = ((steps[0][0].shape[1],), (len(steps[-1][1]),)) if shapes is None else shapes
    sheet = _Sheet(precision)
    x = sheet.flat(shapes[0])
    for i, (matrix, offset, mask) in enumerate(steps):
        z = x = sheet.affine(i, x, matrix, offset)
        if mask.any():
            x = sheet.node("Relu", [z], f"relu{i}")
        if mask.any() and not mask.all():
            x = sheet.node("Where", [sheet.mask(f"rectified{i}", mask), x, z], f"state{i}")
    return sheet.bytes("relu_steps", shapes, x)


def to_bytes(
    net: Any, precision: Precision = "float64", shapes: tuple[Shape, Shape] | None = None
) -> bytes:
    """The ONNX file of a list of layers, or of anything with `steps` of a normal form; float64 keeps every number."""
    if isinstance(net, (Description, ScaledLayers)):
        return layers_to_bytes(net, precision)
    # before sparse matrices are filled in
    _ensure_fits(4 * sum(prod(step.matrix.shape) for step in net.steps))
    return steps_to_bytes(
        [(step.dense(), step.offset, step.rectified) for step in net.steps], precision, shapes
    )


def write(net: Any, path: Path, precision: Precision = "float64") -> None:
    """Write a list of layers or a normal form as an `.onnx` file."""
    store(to_bytes(net, precision), path)


def store(data: bytes, path: Path) -> None:
    """Write the bytes of a model; an unwritable path or a model beyond 2 GiB is a UsageError."""
    _ensure_fits(len(data))
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(
            "The file cannot be written.", where=str(path), got=error.strerror
        ) from None


def _ensure_fits(size: int) -> None:
    if size > MAX_BYTES:
        raise SubjectError(
            "An ONNX file ends at 2 GiB.", got=f"{size:,} bytes", remedy="save it as .npz"
        )
