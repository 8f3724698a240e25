"""Whole channels of convolutions are removed, and the function stays the same on the box; runtimes agree."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import ftheta as ft
from ftheta.verifying.channels import Thinned, remove_channels
from tests.networks.onnx.graphs import model, node

SIDE = 6
BOX = (np.zeros((2, SIDE, SIDE)), np.ones((2, SIDE, SIDE)))
HEADS = ("flatten", "reshape", "reshape to a length", "mean")


def draw_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two convolutions of 5 and 4 channels and a matrix: channel 1 of the first and 2 of the second are dead, and
    nothing reads channel 3 of the first."""
    draw = lambda *shape: rng.normal(size=shape).astype(np.float32).astype(float)
    tensors = {"K": draw(5, 2, 3, 3), "k": draw(5), "L": draw(4, 5, 3, 3), "l": draw(4)}
    tensors["k"][1] = tensors["l"][2] = -1000.0
    tensors["L"][:, 3] = 0.0
    return tensors


def write_network(path: Path, head: str, *, residual: bool = False, opset: int = 17) -> Path:
    rng = np.random.default_rng(3)
    tensors = draw_weights(rng)
    nodes = [
        node("Conv", "x", "K", "k", out=["a"], pads=[1, 1, 1, 1]),
        node("Relu", "a", out=["r"]),
        node("Conv", "r", "L", "l", out=["b"], pads=[1, 1, 1, 1]),
        node("Relu", "b", out=["s"]),
    ]
    if residual:
        nodes += [node("Relu", "b", out=["t"]), node("Add", "s", "t", out=["u"])]
    else:
        nodes.append(node("MaxPool", "s", out=["u"], kernel_shape=[2, 2], strides=[2, 2]))
    entries = 4 * (SIDE**2 if residual else (SIDE // 2) ** 2)
    if head == "mean":
        nodes.append(node("ReduceMean", "u", out=["v"], axes=[2, 3], keepdims=0))
        entries = 4
    elif head == "flatten":
        nodes.append(node("Flatten", "u", out=["v"], axis=1))
    else:
        tensors["shape"] = np.array([-1, entries] if "length" in head else [0, -1])
        nodes.append(node("Reshape", "u", "shape", out=["v"]))
    tensors["W"] = rng.normal(size=(3, entries)).astype(np.float32).astype(float)
    tensors["w"] = np.zeros(3)
    nodes.append(node("Gemm", "v", "W", "w", transB=1))
    onnx.save(model(nodes, ["n", 2, SIDE, SIDE], tensors, opset=opset), path)
    return path


def run(path: Path, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return np.asarray(onnxruntime.InferenceSession(str(path), options).run(None, {"x": x})[0])


@pytest.mark.parametrize("head", HEADS)
def test_dead_and_unread_channels_go_and_runtimes_agree(tmp_path, head):
    path = write_network(tmp_path / "net.onnx", head)
    found = remove_channels(path, BOX)
    assert [layer.removed.tolist() for layer in found.layers] == [[1, 3], [2]]
    assert [layer.unread.tolist() for layer in found.layers] == [[3], []]
    small = found.save(tmp_path / "small.onnx")
    x = np.random.default_rng(0).uniform(size=(16, 2, SIDE, SIDE)).astype(np.float32)
    np.testing.assert_allclose(run(small, x), run(path, x), rtol=1e-5, atol=1e-5)
    held = {tensor.name: tuple(tensor.dims) for tensor in onnx.load(small).graph.initializer}
    assert held["K"] == (3, 2, 3, 3) and held["L"] == (3, 3, 3, 3) and held["k"] == (3,)
    assert found.proof.is_equality


def test_a_channel_that_some_pixel_of_the_box_turns_on_stays(tmp_path):
    """One pixel alone takes its pre-activation above 0, or not quite."""
    kernel = np.zeros((2, 1, 1, 1))
    kernel[0] = 1.0
    found = []
    for offset in (-3.99, -4.01):
        tensors = {"K": kernel, "k": np.array([offset, 1.0]), "W": np.ones((1, 8))}
        nodes = [
            node("Conv", "x", "K", "k", out=["a"]),
            node("Relu", "a", out=["r"]),
            node("Flatten", "r", out=["f"]),
            node("Gemm", "f", "W", transB=1),
        ]
        path = tmp_path / f"net{offset}.onnx"
        onnx.save(model(nodes, ["n", 1, 2, 2], tensors), path)
        high = np.ones((1, 2, 2))
        high[0, 1, 0] = 4.0
        found.append(remove_channels(path, (np.zeros((1, 2, 2)), high)).layers[0].dead.tolist())
    assert found == [[], [0]]


def test_what_two_nodes_read_or_add_up_stays(tmp_path):
    path = write_network(tmp_path / "net.onnx", "flatten", residual=True)
    found = remove_channels(path, BOX)
    assert [layer.channels for layer in found.layers] == [5]


def test_batch_normalisation_loses_its_channels_too(tmp_path):
    rng = np.random.default_rng(5)
    tensors = {
        "K": rng.normal(size=(4, 1, 3, 3)),
        "scale": np.ones(4),
        "shift": np.array([0.0, -100.0, 0.5, 0.0]),
        "mean": rng.normal(size=4),
        "var": rng.uniform(1, 2, size=4),
        "gain": np.array([1.0, 2.0, 0.5, 1.0]).reshape(4, 1, 1),
        "W": rng.normal(size=(4, 2)),
    }
    nodes = [
        node("Conv", "x", "K", out=["a"]),
        node("BatchNormalization", "a", "scale", "shift", "mean", "var", out=["b"]),
        node("Mul", "b", "gain", out=["c"]),
        node("Relu", "c", out=["r"]),
        node("GlobalAveragePool", "r", out=["p"]),
        node("Flatten", "p", out=["f"]),
        node("MatMul", "f", "W"),
    ]
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, ["x", 1, 4, 4], tensors), path)
    found = remove_channels(path, (np.zeros((1, 4, 4)), np.ones((1, 4, 4))))
    assert found.layers[0].removed.tolist() == [1]
    small = found.save(tmp_path / "small.onnx")
    x = rng.uniform(size=(8, 1, 4, 4)).astype(np.float32)
    np.testing.assert_allclose(run(small, x), run(path, x), rtol=1e-5, atol=1e-5)


def test_a_file_is_thinned_and_a_network_becomes_matrices(tmp_path):
    path = write_network(tmp_path / "net.onnx", "flatten")
    thin = ft.simplify(str(path), BOX)
    assert isinstance(thin, Thinned) and "3 of 5, 3 of 4" in str(thin)
    assert not isinstance(ft.simplify(str(path), BOX, tolerance=1.0), Thinned)
    x = np.full((2, SIDE, SIDE), 0.3)
    np.testing.assert_allclose(thin.network(x), thin.original(x), rtol=1e-9)
