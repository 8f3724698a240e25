"""Recurrent layers of ONNX beside onnxruntime, which others wrote."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ftheta as ft
from ftheta.logic import SubjectError

ort = pytest.importorskip("onnxruntime")

TIME, IN, SIZE = 5, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def write_layer(
    path, kind, direction="forward", *, biases=True, starts=False, read=0, **attributes
):
    """One layer with random weights; the output is that number `read` of the node."""
    rng = np.random.default_rng(3)
    ways = 2 if direction == "bidirectional" else 1
    rows = GATES[kind] * SIZE
    arrays = {"W": rng.normal(size=(ways, rows, IN)), "R": rng.normal(size=(ways, rows, SIZE))}
    if biases:
        arrays["B"] = rng.normal(size=(ways, 2 * rows))
    if starts:
        arrays["h"] = rng.normal(size=(ways, 1, SIZE))
        if kind == "LSTM":
            arrays["c"] = rng.normal(size=(ways, 1, SIZE))
    names = ["x", "W", "R", "B" if biases else "", ""] + [
        name for name in ("h", "c") if name in arrays
    ]
    outputs = ["y", "h_last", "c_last"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(
        kind, names, outputs, direction=direction, hidden_size=SIZE, **attributes
    )
    shapes = ([TIME, ways, 1, SIZE], [ways, 1, SIZE], [ways, 1, SIZE])
    graph = helper.make_graph(
        [node],
        kind,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [TIME, 1, IN])],
        [helper.make_tensor_value_info(outputs[read], TensorProto.FLOAT, shapes[read])],
        [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def agree(path) -> bool:
    x = np.random.default_rng(0).normal(size=(TIME, 1, IN)).astype(np.float32)
    (theirs,) = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(
        None, {"x": x}
    )
    mine = np.asarray(ft.load(str(path), x)(x))
    return mine.size == theirs.size and np.allclose(mine.ravel(), theirs.ravel(), atol=1e-5)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", GATES)
def test_a_layer_computes_what_onnxruntime_does(kind, direction, tmp_path):
    write_layer(tmp_path / "net.onnx", kind, direction, starts=True)
    assert agree(tmp_path / "net.onnx")


def test_first_states_are_no_parameters(tmp_path):
    write_layer(tmp_path / "net.onnx", "LSTM", starts=True)
    rows = 4 * SIZE
    assert ft.load(str(tmp_path / "net.onnx"), (TIME, 1, IN)).parameters == rows * (IN + SIZE + 2)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", {"read": 1, "biases": False}),
        ("LSTM", {"read": 2}),
        ("GRU", {"linear_before_reset": 1}),
        ("GRU", {"read": 1, "biases": False}),
        ("RNN", {"activations": ["Relu"]}),
    ],
)
def test_so_it_does_with_other_outputs_and_options(kind, options, tmp_path):
    write_layer(tmp_path / "net.onnx", kind, **options)
    assert agree(tmp_path / "net.onnx")


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("LSTM", {"input_forget": 1}, "Coupled gates"),
        ("LSTM", {"clip": 1.0}, "Clipped"),
        ("GRU", {"activations": ["Sigmoid", "Relu"]}, "activations of a GRU"),
        ("RNN", {"activations": ["Softsign"]}, "This activation"),
    ],
)
def test_what_is_not_read_is_said(kind, options, words, tmp_path):
    write_layer(tmp_path / "net.onnx", kind, **options)
    with pytest.raises(SubjectError, match=words):
        ft.load(str(tmp_path / "net.onnx"), (TIME, 1, IN))
