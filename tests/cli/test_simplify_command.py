"""`ftheta simplify`: what it writes is read by onnxruntime, and what makes no sense is refused."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

import ftheta as ft
from ftheta.cli import run
from ftheta.networks import random_mlp
from tests.networks.onnx import graphs
from tests.verifying.test_channels import write_network


@pytest.fixture
def model(tmp_path):
    """A network of float32 weights as people have it, and rows of a small box."""
    rng = np.random.default_rng(0)
    net = random_mlp(rng, (4, 30, 20, 3), "relu", bias=0.5)
    ft.save(net, tmp_path / "model.onnx", precision="float32")
    np.savez(tmp_path / "rows.npz", x=0.3 + 0.05 * rng.uniform(-1, 1, (50, 4)))
    return tmp_path


def evaluate(path, x):
    """Of onnxruntime."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = np.float64 if "double" in session.get_inputs()[0].type else np.float32
    return session.run(None, {session.get_inputs()[0].name: x.astype(wanted)})[0]


@pytest.mark.parametrize(
    "more", [[], ["--tolerance", "1e-4"], ["--tolerance", "0.2", "--precision", "float64"]]
)
def test_the_file_is_smaller_and_computes_the_same_in_onnxruntime(model, more, capsys):
    words = ["simplify", str(model / "model.onnx"), "--box", str(model / "rows.npz")]
    assert run([*words, "--out", str(model / "small.onnx"), "--json", *more]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["after"]["weights"] < told["before"]["weights"]
    assert told["after"]["neurons"] < told["before"]["neurons"]
    assert (told["deviation"] == 0) == (more == [])
    x = np.load(model / "rows.npz")["x"]
    gap = np.abs(evaluate(model / "model.onnx", x) - evaluate(model / "small.onnx", x)).max()
    assert gap <= told["deviation"] + 1e-5
    if more == []:
        assert (model / "small.onnx").stat().st_size < (model / "model.onnx").stat().st_size


@pytest.mark.parametrize("first", ["Conv", "Flatten"])
def test_networks_of_images_keep_their_shapes(tmp_path, first):
    rng = np.random.default_rng(0)
    wide = 48 if first == "Conv" else 36
    tensors = {
        "K": rng.normal(size=(3, 1, 3, 3)),
        "W": rng.normal(size=(wide, 2)),
        "V": rng.normal(size=(2, 2)),
    }
    nodes = [
        *(
            [graphs.node("Conv", "x", "K", out=["c"]), graphs.node("Relu", "c", out=["r"])]
            if first == "Conv"
            else []
        ),
        graphs.node("Flatten", "r" if first == "Conv" else "x", out=["f"]),
        graphs.node("Gemm", "f", "W", out=["h"]),
        graphs.node("Relu", "h", out=["p"]),
        graphs.node("Gemm", "p", "V", out=["y"]),
    ]
    made = graphs.model(nodes, ["batch", 1, 6, 6], tensors)
    path = tmp_path / "images.onnx"
    path.write_bytes(made.SerializeToString())
    out = tmp_path / "small.onnx"
    assert (
        run(["simplify", str(path), "--box=0.4,0.5", "--out", str(out), "--tolerance", "1e-3"]) == 0
    )
    x = rng.uniform(0.4, 0.5, (5, 1, 6, 6)).astype(np.float32)
    assert np.abs(evaluate(out, x) - graphs.reference(made, x)).max() < 1.1e-3


def test_the_words_say_what_was_removed_and_what_is_proved(model, capsys):
    words = ["simplify", str(model / "model.onnx"), "--box=0.25,0.35"]
    assert run(words) == 0
    text = capsys.readouterr().out
    assert "dead" in text and "equal at every input of the box" in text and "written" not in text


@pytest.mark.parametrize(
    "more, says, code",
    [
        (["--box", "iris.csv"], "no such file", 4),
        (["--box=1,0"], "empty", 2),
        (["--box=0,nan"], "NaN", 2),
        (["--box=0,inf"], "bounded", 2),
        (["--box=0,1;0,1"], "two numbers per variable", 2),
        (["--box", "digits-test"], "do not fit", 4),
        (["--box=0,1", "--tolerance=-1"], "tolerance", 2),
        (["--box=0,1", "--precision", "half"], "precision", 2),
        (["--box=0,1", "--out", "no/such/place.onnx"], "folder", 2),
        (["--box=0,1", "--out", "small.txt"], "kind of file", 2),
    ],
)
def test_what_makes_no_sense_is_refused(model, more, says, code, capsys):
    assert run(["simplify", str(model / "model.onnx"), *more]) == code
    assert says in capsys.readouterr().err


def test_files_that_are_there_are_kept(model, capsys):
    here = str(model / "model.onnx")
    before = (model / "model.onnx").read_bytes()
    assert run(["simplify", here, "--box=0,1", "--out", here, "--force"]) == 2
    (model / "taken.onnx").write_bytes(b"something")
    words = ["simplify", here, "--box=0,1", "--out", str(model / "taken.onnx")]
    assert run(words) == 2 and (model / "taken.onnx").read_bytes() == b"something"
    assert "--overwrite" in capsys.readouterr().err
    assert run([*words, "--overwrite"]) == 0 and (model / "taken.onnx").read_bytes() != b"something"
    assert (model / "model.onnx").read_bytes() == before


def test_rows_that_are_not_finite_and_networks_that_are_not_piecewise_affine_are_refused(
    model, capsys
):
    np.savez(model / "bad.npz", x=np.array([[0.0, 1.0, np.nan, 2.0]]))
    assert run(["simplify", str(model / "model.onnx"), "--box", str(model / "bad.npz")]) == 4
    ft.save(random_mlp(np.random.default_rng(0), (2, 4, 1), "tanh", bias=0.5), model / "smooth.npz")
    assert run(["simplify", str(model / "smooth.npz"), "--box=0,1"]) == 4
    assert "piecewise affine" in capsys.readouterr().err


def test_a_file_with_convolutions_loses_channels_and_stays_convolutional(tmp_path, capsys):
    path = write_network(tmp_path / "cnn.onnx", "flatten")
    small = tmp_path / "small.onnx"
    assert run(["simplify", str(path), "--box=0,1", "--out", str(small)]) == 0
    told = capsys.readouterr().out
    assert "9 channels are 6 on the box 0,1" in told
    assert "equal at every input of the box" in told
    assert [node.op_type for node in onnx.load(small).graph.node][:3] == ["Conv", "Relu", "Conv"]
    assert run(["simplify", str(path), "--box=0,1", "--matrices"]) == 0
    assert "written as matrices" in capsys.readouterr().out
