"""Models built with `onnx.helper`, and what onnxruntime makes of them: the second implementation of every operator."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from ftheta.networks.onnx.model import parse
from ftheta.networks.programs.importing import Imported, import_program

TYPES = {
    np.dtype(t): helper.np_dtype_to_tensor_dtype(np.dtype(t))
    for t in (np.float32, np.float64, np.int64, np.bool_)
}
IR = 8


def node(op: str, *inputs: str, out: Sequence[str] = ("y",), **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, list(inputs), list(out), **attributes)


def model(
    nodes: Sequence[onnx.NodeProto],
    dims: Sequence[Any] | None,
    tensors: Mapping[str, Any] | None = None,
    *,
    opset: int = 17,
    outputs: Sequence[str] = ("y",),
    dtype: Any = np.float32,
) -> onnx.ModelProto:
    """A model with the input `x`; tensors of float64 get the type `dtype`."""
    held = [
        numpy_helper.from_array(_typed(array, dtype), name)
        for name, array in (tensors or {}).items()
    ]
    x = helper.make_tensor_value_info("x", TYPES[np.dtype(dtype)], dims)
    ys = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "graph", [x], ys, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR)


def _typed(array: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(dtype if array.dtype == np.float64 else array.dtype)


def reference(made: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    except NoKernel:  # for float64, as it seems; the evaluator of onnx has every operator
        return np.asarray(ReferenceEvaluator(made).run(None, {"x": x})[0])  # type: ignore[index]
    return np.asarray(session.run(None, {"x": x})[0])


def read(
    made: onnx.ModelProto | bytes, shape: tuple[int, ...] | None = None, until: str | None = None
) -> Imported:
    data = made if isinstance(made, bytes) else made.SerializeToString()
    return import_program(parse(data, "graph").until(until), shape)


def ours(net: Imported, x: np.ndarray) -> np.ndarray:
    """The value at `x`; what is traced in place of the function has its shape and type."""
    assert net.outline is not None
    with jax.enable_x64(True):
        y = net.apply(net.params, np.asarray(x, np.float64))
        outline = jax.eval_shape(net.outline, net.params, np.asarray(x, np.float64))
    assert (outline.shape, outline.dtype) == (y.shape, y.dtype)
    return np.asarray(y)


def agrees(made: onnx.ModelProto, x: np.ndarray, rtol: float = 1e-5) -> None:
    """The import of a model whose input has a batch axis of one equals onnxruntime at `x`, to `rtol` of the largest."""
    net = read(made)
    expected = reference(made, x)
    found = ours(net, x[0] if x.ndim == len(net.input_shape) + 1 else x)
    expected = (
        expected[0] if expected.shape[:1] == (1,) and expected.ndim == found.ndim + 1 else expected
    )
    assert found.shape == expected.shape
    scale = np.abs(expected).max(initial=1e-30)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)
