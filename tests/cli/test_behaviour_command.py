"""`ftheta verify` with a property said by options, and `ftheta range`."""

import json

import numpy as np
import pytest

from ftheta.cli import run
from ftheta.networks.onnx.write import write
from ftheta.relu import ReluNetwork


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """x₁⁺ − x₂, and the same with another slope."""
    folder = tmp_path_factory.mktemp("networks")
    for name, slope in (("a", 1.0), ("b", 1.25)):
        W = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        write(
            ReluNetwork.dense([W, [[slope, -1.0, 1.0]]], [np.zeros(3), np.zeros(1)]),
            folder / f"{name}.onnx",
        )
    return str(folder / "a.onnx"), str(folder / "b.onnx")


@pytest.mark.parametrize(
    "words, code, answer",
    [
        (["--increasing", "0", "--decreasing", "1"], 0, "unsat"),
        (["--increasing", "0,1"], 1, "sat"),
        (["--convex"], 0, "unsat"),
    ],
)
def test_a_property_of_options_is_decided(files, words, code, answer, capsys):
    assert run(["verify", files[0], "--box=-1,1", *words]) == code
    assert capsys.readouterr().out.splitlines()[0] == answer


def test_two_networks_are_compared(files, capsys):
    a, b = files
    assert run(["verify", a, "--box=-1,1", "--close", b, "--eps", "0.25"]) == 0
    assert run(["verify", a, "--box=-1,1", "--close", b, "--eps", "0.24", "--json"]) == 1
    found = json.loads(capsys.readouterr().out.split("unsat\n")[1])
    assert found["answer"] == "sat"
    assert found["witness"]["x"][0] != "0"


def test_ranges_are_told_from_both_sides(files, capsys):
    assert run(["range", files[0], "--box=-1,1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lo"][0] <= -1 <= found["least"][0]  # at (0, 1)
    assert found["greatest"][0] <= 2 <= found["hi"][0]  # at (1, −1)


@pytest.mark.parametrize(
    "words",
    [
        ["--convex"],
        ["--box=-1,1"],
        ["--box=-1,1", "--convex", "--increasing", "0"],
        ["--box=-1,1", "--close", "b.onnx"],
        ["--box=-1,1", "--increasing", "first"],
        ["--box=0;1", "--convex"],
    ],
)
def test_options_that_say_no_property_are_refused(files, words, capsys):
    assert run(["verify", files[0], *words]) == 2
    assert "ftheta:" in capsys.readouterr().err
