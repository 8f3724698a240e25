"""`ftheta fit` from the command line."""

import json

import numpy as np
import pytest

import ftheta as ft
from ftheta.cli import run

from .problems import regression


@pytest.fixture
def data(tmp_path):
    x, y = regression(40)
    np.savez(tmp_path / "data.npz", x=x, y=y)
    return tmp_path / "data.npz"


def test_the_weights_that_are_written_load_as_a_network(data, tmp_path, capsys):
    out = tmp_path / "net.npz"
    words = [
        "fit",
        str(data),
        "--widths",
        "8,4",
        "--steps",
        "30",
        "--batch",
        "10",
        "--out",
        str(out),
    ]
    assert run([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    net = ft.load(out)
    assert (
        isinstance(net, ft.Network)
        and net.description is not None
        and net.description.widths == (3, 8, 4, 1)
    )
    x, y = regression(40)
    predictions = np.array([np.asarray(net(row))[0] for row in x])
    assert (
        told["loss"] == pytest.approx(np.mean((predictions - y) ** 2), rel=1e-9)
        and told["steps"] == 30
    )


def test_a_run_in_a_checkpoint_is_resumed(data, tmp_path, capsys):
    place, out, whole = (str(tmp_path / name) for name in ("run.npz", "net.npz", "whole.npz"))
    words = ["fit", str(data), "--widths", "8"]
    assert run([*words, "--steps", "10", "--checkpoint", place]) == 0
    assert run([*words, "--steps", "25", "--checkpoint", place, "--resume", "--out", out]) == 0
    assert run([*words, "--steps", "25", "--out", whole]) == 0
    assert "25 steps" in capsys.readouterr().out
    assert all(
        (np.load(out)[name] == np.load(whole)[name]).all() for name in ("W0", "b0", "W1", "b1")
    )


def test_classes_get_an_output_each(tmp_path):
    out = tmp_path / "net.npz"
    data = tmp_path / "data.npz"
    np.savez(data, x=regression(20)[0], y=np.arange(20) % 3)
    assert (
        run(
            [
                "fit",
                str(data),
                "--loss",
                "cross-entropy",
                "--widths",
                "5",
                "--steps",
                "3",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert np.load(out)["W1"].shape == (3, 5)


def test_a_robust_loss_is_named_on_the_command_line(data, capsys):
    words = [
        "fit",
        str(data),
        "--widths",
        "5",
        "--steps",
        "4",
        "--robust",
        "ibp",
        "--epsilon",
        "0.1",
    ]
    assert run([*words, "--ramp", "1,3", "--clip=-9,9"]) == 0
    assert "ibp within ε = 0.1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, said",
    [
        (["--widths", "8,x"], "whole numbers"),
        (["--out", "net.pt"], ".npz"),
        (["--step", "0"], "positive"),
        (["--batch", "41"], "larger than the data"),
        (["--loss", "cross-entropy"], "not one of the classes"),
        (["--activation", "relux"], "Unknown activation"),
        (["--epsilon", "0.1"], "belong to a robust loss"),
        (["--robust", "ibp"], "--epsilon"),
        (["--robust", "magic", "--epsilon", "0.1"], "Unknown robust loss"),
        (["--robust", "ibp", "--epsilon", "0.1", "--norm", "3"], "norm"),
        (["--robust", "ibp", "--epsilon", "0.1", "--ramp", "5"], "two numbers"),
    ],
)
def test_wrong_words_are_refused(data, capsys, words, said):
    assert run(["fit", str(data), "--steps", "2", *words]) in (2, 4)
    assert said in capsys.readouterr().err


def test_training_needs_data(capsys):
    assert run(["fit", "digits-mlp"]) == 4
    assert "Dataset is needed" in capsys.readouterr().err
